import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";

/**
 * Runs the Worker in `wrangler dev`, with D1 and R2 on this machine. Used by `npm start` and by the tests that speak
 * to a started server; both must leave no process behind, so each server is a process group of its own.
 */
export const projectRoot = resolve(import.meta.dirname, "../..");

/** No telemetry, no prompts, no look-ups: everything has to work without a network. */
export const quiet = {
  CI: "1",
  DO_NOT_TRACK: "1",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  NO_COLOR: "1",
};

const startDeadlineMs = 110_000;
const stopGraceMs = 4_000;
const pollMs = 150;

export interface ServerOptions {
  port: number;
  /** Where D1 and R2 keep their files. */
  stateDirectory: string;
  /** Worker vars beside those of wrangler.toml and .dev.vars. */
  vars?: Readonly<Record<string, string>>;
  configFile?: string;
  /** Ends the server, also while it is still starting. */
  signal?: AbortSignal;
}

export interface RunningServer {
  origin: string;
  /** Ends every process of the server; resolves when they are gone. */
  stop(): Promise<void>;
  /** Resolves when the server ends by itself. */
  ended: Promise<void>;
  /** The end of what it printed, for the day it ends by itself. */
  output(): string;
}

/** Applies the D1 migrations that the state directory lacks. */
export async function migrate(stateDirectory: string, signal?: AbortSignal): Promise<void> {
  const child = runWrangler(["d1", "migrations", "apply", "DB", "--local", "--persist-to", stateDirectory]);
  const output = collect(child);
  const ended = new Promise<number | null>((done) => child.once("exit", done));
  signal?.addEventListener("abort", () => void stopGroup(child, ended));
  const code = await ended;
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`The migrations failed:\n${output()}`);
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  if (!(await isFree(options.port))) throw new Error(`Port ${options.port} is in use; choose another one with PORT`);
  const vars = Object.entries(options.vars ?? {}).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const flags = ["--port", String(options.port), "--inspector-port", String(await freePort())];
  const config = options.configFile === undefined ? [] : ["--config", options.configFile];
  const child = runWrangler([
    "dev",
    ...config,
    ...flags,
    "--persist-to",
    options.stateDirectory,
    "--show-interactive-dev-session=false",
    "--log-level",
    "warn",
    ...vars,
  ]);
  const output = collect(child);
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const stop = () => stopGroup(child, ended);
  options.signal?.addEventListener("abort", () => void stop());
  const origin = `http://localhost:${options.port}`;
  try {
    await Promise.race([
      answers(origin),
      ended.then(() => Promise.reject(new Error(`The server ended before it answered:\n${output()}`))),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { origin, stop, ended, output };
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

/** Asked first, because whoever else listens there would answer in place of our server. */
async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const isListening = await new Promise<boolean>((done) => {
    probe.once("error", () => done(false));
    probe.listen(port, "127.0.0.1", () => done(true));
  });
  if (isListening) await new Promise((done) => probe.close(done));
  return isListening;
}

function runWrangler(parameters: readonly string[]): ChildProcess {
  const require = createRequire(import.meta.url);
  const wrangler = join(dirname(require.resolve("wrangler/package.json")), "bin/wrangler.js");
  return spawn(process.execPath, [wrangler, ...parameters], {
    cwd: projectRoot,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...quiet },
  });
}

/** Keeps the end of what a process prints, for the day it fails. */
function collect(child: ChildProcess): () => string {
  const keptCharacters = 8_000;
  let text = "";
  const keep = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-keptCharacters);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => text;
}

async function answers(origin: string): Promise<void> {
  const deadline = Date.now() + startDeadlineMs;
  while (Date.now() < deadline) {
    try {
      await fetch(`${origin}/api/v1`, { signal: AbortSignal.timeout(5_000) });
      return;
    } catch {
      await new Promise((done) => setTimeout(done, pollMs));
    }
  }
  throw new Error(`The server did not answer at ${origin} within ${startDeadlineMs / 1000} seconds`);
}

/** Open streams keep the runtime alive through SIGTERM, so what is still there after a grace period is killed. */
async function stopGroup(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name);
      return true;
    } catch {
      return false;
    }
  };
  signal("SIGTERM");
  await Promise.race([ended, new Promise((done) => setTimeout(done, stopGraceMs).unref())]);
  signal("SIGKILL");
  await ended;
}
