import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort, migrate, startServer } from "../../src/cli/server.ts";
import type { ServerOptions } from "../../src/cli/server.ts";

/**
 * A started server in a process of its own, which ends with its parent: when the test runner ends, however it ends,
 * this process reads the end of its standard input, stops the server and removes the folder of its state. The options
 * come as the only argument, in JSON; the origin goes out as the only line.
 */
const options = JSON.parse(process.argv[2]!) as HostOptions;

/** With a config file of its own it is another Worker than the registry, which has no database. */
export type HostOptions = Pick<ServerOptions, "vars" | "configFile">;

const { signal } = endsWithInput();
const stateDirectory = await mkdtemp(join(tmpdir(), "state-"));
try {
  if (options.configFile === undefined) await migrate(stateDirectory, signal);
  const server = await startServer({ port: await freePort(), stateDirectory, signal, ...options });
  console.log(server.origin);
  await server.ended;
  await server.stop();
  signal.throwIfAborted();
  throw new Error(`The server ended by itself:\n${server.output()}`);
} catch (error) {
  if (!signal.aborted) console.error(error);
  process.exitCode = signal.aborted ? 0 : 1;
} finally {
  await rm(stateDirectory, { recursive: true, force: true });
}
process.exit();

function endsWithInput(): AbortController {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const event of ["end", "close", "error"]) process.stdin.once(event, end);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, end);
  process.stdin.resume();
  return controller;
}
