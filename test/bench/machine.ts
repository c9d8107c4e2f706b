import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { convertV4MiniflareOptions, Miniflare, Response as MiniflareResponse } from "miniflare";
import type { Request as MiniflareRequest } from "miniflare";

import { quiet } from "../../src/cli/server.ts";
import { limitsForTests } from "../limits-for-tests.ts";
import { programOf, run } from "../wire/command.ts";

/**
 * The built Worker in workerd, with the D1 and R2 of Miniflare in the same process and a socket of its own: no proxy
 * in Node is in the path, which `wrangler dev` has and which costs more than the Worker itself.
 */
const root = join(import.meta.dirname, "../..");
export const operator = "operator-token-of-the-bench-0123456789abcdef";

export interface Bundle {
  code: string;
  bytes: number;
  gzipBytes: number;
}

/** What `wrangler deploy` would send, minified. */
export async function build(entry: string): Promise<Bundle> {
  const outdir = await mkdtemp(join(tmpdir(), "bench-build-"));
  const wrangler = programOf("wrangler", "wrangler");
  const flags = ["deploy", join(root, entry), "--dry-run", "--minify", "--outdir", outdir];
  const { code, stdout, stderr } = await run(process.execPath, [wrangler, ...flags], { cwd: root, env: quiet });
  if (code !== 0) throw new Error(`The build of ${entry} failed:\n${stdout}${stderr}`);
  const script = (await readdir(outdir)).find((name) => name.endsWith(".js"))!;
  const bytes = await readFile(join(outdir, script));
  await rm(outdir, { recursive: true });
  return { code: bytes.toString(), bytes: bytes.byteLength, gzipBytes: gzipSync(bytes, { level: 9 }).byteLength };
}

export interface Machine {
  origin: string;
  /** Of the second service, where there is one. */
  otherOrigin: string | undefined;
  database: D1;
  /** CPU time of all threads of workerd since it started, in microseconds. */
  cpuUs(): Promise<number>;
  /** `VmRSS` now, `VmHWM` the highest ever, in MiB. */
  memoryMiB(): Promise<{ now: number; peak: number }>;
  stop(): Promise<void>;
}

/** Only what the bench uses of D1; the Worker's types do not belong into a Node program. */
export interface D1 {
  prepare(sql: string): {
    bind(...values: unknown[]): { run(): Promise<unknown>; all(): Promise<{ results: unknown[] }> };
  };
}

export interface StartOptions {
  /** The same Worker once more, in an isolate of its own, with the same database, bytes and objects. */
  isTwice?: boolean;
  vars?: Readonly<Record<string, string>>;
  /** Answers for every other host that the Worker asks; absent: the network does. */
  outside?: (request: Request) => Promise<Response>;
}

export async function start(
  bundle: Bundle,
  stateDirectory: string,
  { isTwice = false, vars = {}, outside }: StartOptions = {},
): Promise<Machine> {
  if (!existsSync("/proc/self/task")) throw new Error("The bench reads /proc, so it needs Linux");
  const config = await readFile(join(root, "wrangler.toml"), "utf8");
  const before = new Set(await workerds());
  const service = (name: string) => ({
    name,
    compatibilityDate: /compatibility_date = "(.+)"/.exec(config)![1]!,
    compatibilityFlags: /compatibility_flags = \[(.*)\]/.exec(config)![1]!.match(/\w+/g)!,
    modulesRoot: root,
    modules: [{ type: "ESModule" as const, path: join(root, `${name}.mjs`), contents: bundle.code }],
    d1Databases: { DB: "bench" },
    r2Buckets: { BLOBS: "bench" },
    durableObjects: { FEEDS: objects("Feed", name), SESSIONS: objects("Sessions", name) },
    bindings: { ADMIN_TOKEN: operator, SIGNING_KEY: operator, ...limitsForTests, ...vars },
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    ...(outside === undefined ? {} : { outboundService: answering(outside) }),
  });
  const workers = [service("bench"), ...(isTwice ? [service("other")] : [])];
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ resourcePersistencePath: stateDirectory, cf: false, workers }),
  );
  await miniflare.ready;
  const origin = (await miniflare.unsafeGetDirectURL("bench")).origin;
  const pid = (await workerds()).find((candidate) => !before.has(candidate))!;
  return {
    origin,
    otherOrigin: isTwice ? (await miniflare.unsafeGetDirectURL("other")).origin : undefined,
    database: (await miniflare.getD1Database("DB")) as D1,
    cpuUs: cpuClock(pid),
    memoryMiB: () => memoryOf(pid),
    stop: () => miniflare.dispose(),
  };
}

/** Miniflare has classes of its own for requests and answers; ours see those that everybody has. */
function answering(outside: (request: Request) => Promise<Response>) {
  return async (asked: MiniflareRequest): Promise<MiniflareResponse> => {
    const { url, method, headers } = asked;
    const body = method === "GET" ? {} : { body: await asked.arrayBuffer() };
    const answer = await outside(new Request(url, { method, headers: [...headers], ...body, redirect: "manual" }));
    return new MiniflareResponse(await answer.arrayBuffer(), { status: answer.status, headers: [...answer.headers] });
  };
}

/** The objects live in the first service, whoever calls them. */
function objects(className: string, name: string) {
  return { className, useSQLite: true, ...(name === "bench" ? {} : { scriptName: "bench" }) };
}

export async function migrate(database: D1): Promise<void> {
  for (const { queries } of await readD1Migrations(join(root, "migrations"))) {
    for (const query of queries) await database.prepare(query).bind().run();
  }
}

/** Our own children called workerd. */
async function workerds(): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
  return pids
    .filter((_, index) => new RegExp(`^\\d+ \\(workerd\\) \\w ${process.pid} `).test(stats[index]!))
    .map(Number);
}

/** `schedstat` counts nanoseconds where `stat` counts hundredths of a second. Threads that ended keep their share. */
function cpuClock(pid: number): () => Promise<number> {
  const nanoseconds = new Map<string, number>();
  return async () => {
    for (const thread of await readdir(`/proc/${pid}/task`)) {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => undefined);
      if (text !== undefined) nanoseconds.set(thread, Number(text.split(" ")[0]));
    }
    return [...nanoseconds.values()].reduce((sum, value) => sum + value, 0) / 1000;
  };
}

async function memoryOf(pid: number): Promise<{ now: number; peak: number }> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)![1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
