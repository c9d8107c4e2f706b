import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gunzipSync } from "node:zlib";

import { freePort } from "../../../src/cli/server.ts";

/**
 * Somebody else's project: a folder of its own that installs the package as npm packs it, compiles against its types,
 * and runs on the Node of the machine and not on ours.
 */
export interface Project {
  folder: string;
  /** Of Node, as `v20.20.2`. */
  node: string;
  start(registry: string): Promise<Companion>;
  /** Empties the cache of its server. */
  forget(): Promise<void>;
  remove(): Promise<void>;
}

export interface Companion {
  address: URL;
  /** What it wrote on standard error. */
  complaints(): string;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, "../../..");
const startDeadlineMs = 20_000;
const toolCount = 100;

export async function installProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "companion-"));
  const tarball = run("npm", ["pack", "--json", "--pack-destination", folder], root);
  const [{ filename }] = JSON.parse(tarball.slice(tarball.indexOf("["))) as [{ filename: string }];
  const dependencies = {
    "@modelcontextprotocol/node": "2.1.2",
    "@modelcontextprotocol/server": "2.4.0",
    "skill-registry": `file:${filename}`,
  };
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  run("npm", ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
  await cp(join(import.meta.dirname, "server"), join(folder, "src"), { recursive: true });
  await writeFile(join(folder, "tools.json"), await realTools());
  await compile(folder);
  const program = await nodeOfMachine();
  return {
    folder,
    node: run(program, ["--version"], folder).trim(),
    start: (registry) => start(program, folder, registry),
    forget: () => rm(join(folder, ".skills"), { recursive: true, force: true }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** With the declarations that the package ships, and without its sources. */
async function compile(folder: string): Promise<void> {
  const compilerOptions = {
    target: "es2022",
    module: "nodenext",
    strict: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    rewriteRelativeImportExtensions: true,
    rootDir: "src",
    outDir: "out",
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"] }));
  run(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], folder);
}

async function realTools(): Promise<string> {
  const lines = gunzipSync(await readFile(join(root, "test/bench/tool-data/tools.jsonl.gz")))
    .toString()
    .split("\n");
  return `[${lines.slice(0, toolCount).join(",")}]`;
}

/** The Node that npm runs on: the project's own comes with its dependencies, and servers of others run on older ones. */
async function nodeOfMachine(): Promise<string> {
  const program = process.env["npm_node_execpath"];
  return program !== undefined && /^v2[0-9]\./.test(run(program, ["--version"], root)) ? program : process.execPath;
}

async function start(program: string, folder: string, registry: string): Promise<Companion> {
  const port = await freePort();
  const child = spawn(program, ["out/server.js"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "pipe"],
    env: {
      ...process.env,
      REGISTRY: registry,
      PORT: String(port),
      REFRESH_MS: "500",
      TOOLS: join(folder, "tools.json"),
    },
  });
  let complaints = "";
  child.stderr.on("data", (bytes: Buffer) => (complaints += bytes.toString()));
  const ended = once(child, "exit");
  const companion = {
    address: new URL(`http://127.0.0.1:${port}/mcp`),
    complaints: () => complaints,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
  const deadline = Date.now() + startDeadlineMs;
  while (!(await answers(companion.address))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`The companion did not start: ${complaints}`);
    await setTimeout(50);
  }
  return companion;
}

async function answers(address: URL): Promise<boolean> {
  return fetch(address).then(
    () => true,
    () => false,
  );
}

function run(program: string, parameters: string[], cwd: string): string {
  return execFileSync(program, parameters, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
