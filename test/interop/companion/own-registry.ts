import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort, migrate, startServer } from "../../../src/cli/server.ts";
import type { RunningServer } from "../../../src/cli/server.ts";
import { limitsForTests } from "../../limits-for-tests.ts";
import { RegistryClient } from "../../wire/registry-client.ts";

/** A registry that can be stopped and comes back at the same address with what it held. */
export interface OwnRegistry {
  origin: string;
  operator: RegistryClient;
  operatorToken: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

const operatorToken = "operator-token-for-companions-0123456789abcdef";
const vars = {
  ADMIN_TOKEN: operatorToken,
  SIGNING_KEY: "signing-key-for-companions-0123456789abcdef",
  ...limitsForTests,
};

export async function openOwnRegistry(): Promise<OwnRegistry> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "state-"));
  const port = await freePort();
  await migrate(stateDirectory);
  let server: RunningServer | undefined;
  const start = async () => {
    server = await startServer({ port, stateDirectory, vars });
  };
  const stop = async () => {
    await server?.stop();
    server = undefined;
  };
  await start();
  const origin = server!.origin;
  return {
    origin,
    operator: new RegistryClient(origin, operatorToken),
    operatorToken,
    stop,
    start,
    remove: async () => {
      await stop();
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}
