import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

import { programOf, run } from "../../wire/command.ts";
import type { Finished } from "../../wire/command.ts";

/**
 * A folder in which other people's programs are installed and run. Their home and npm's cache are in it and they get an
 * environment of their own, so that they see nothing of the user and the user keeps nothing of them.
 */
export const installed = {
  "@apify/mcpc": "0.2.6",
  skills: "1.7.4",
  // The last that knows only the older path of discovery.
  "skills-before-0.2.0": "npm:skills@1.4.9",
} as const;

export interface Workshop {
  folder: string;
  env: Record<string, string>;
  /** A new folder for one attempt. */
  makeFolder(name: string): Promise<string>;
  /** Runs a program of a package to its end, by this Node. */
  run(program: Program, parameters: readonly string[], options?: { cwd?: string }): Promise<Finished>;
  /** More packages, for one part; what they bring to run at their installation is not run. */
  install(packages: Readonly<Record<string, string>>): Promise<void>;
  /** The file behind a program, and the version of its package. */
  find(program: Program): Promise<{ file: string; version: string }>;
  close(): Promise<void>;
}

export interface Program {
  package: string;
  bin: string;
}

/** A program that this repository has as a dev dependency is run from there. */
const ours = new Set(["@modelcontextprotocol/inspector", "mcp-remote"]);

/** @throws Error where npm cannot install */
export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), "interop-typescript-"));
  const env = environmentIn(folder);
  await mkdir(env["HOME"]!, { recursive: true });
  const close = () => rm(folder, { recursive: true, force: true });
  try {
    await install(folder, env, installed);
  } catch (error) {
    await close();
    throw error;
  }
  const require = createRequire(import.meta.url);
  const find = async ({ package: name, bin }: Program) => {
    if (ours.has(name)) {
      const { version } = require(`${name}/package.json`) as { version: string };
      return { file: programOf(name, bin), version };
    }
    const root = join(folder, "node_modules", name);
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      version: string;
      bin: Record<string, string>;
    };
    return { file: join(root, manifest.bin[bin]!), version: manifest.version };
  };
  return {
    folder,
    env,
    makeFolder: async (name) => {
      const path = join(folder, "work", name);
      await mkdir(path, { recursive: true });
      return path;
    },
    run: async (program, parameters, { cwd = folder } = {}) => {
      const { file } = await find(program);
      return run(process.execPath, [file, ...parameters], { cwd, env: only(env) });
    },
    install: (packages) => install(folder, env, packages, ["--ignore-scripts"]),
    find,
    close,
  };
}

/** What programs need of the user's environment: where things are and how to reach the network. */
const passedOn = /^(path|lang|lc_\w+|tmpdir|temp|tmp|systemroot|comspec|(https?|no|all)_proxy|node_extra_ca_certs)$/i;

function environmentIn(folder: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && (passedOn.test(name) || name.toLowerCase() === "npm_config_registry"),
  ) as [string, string][];
  const home = join(folder, "home");
  return {
    ...Object.fromEntries(kept),
    // Programs that start others by `node` get this one: the Inspector needs a newer Node than ours may be.
    PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
    HOME: home,
    USERPROFILE: home,
    npm_config_cache: join(folder, "npm"),
    npm_config_update_notifier: "false",
    MCPC_HOME_DIR: join(home, "mcpc"),
    MCP_CATALOG_PATH: join(home, "catalog.json"),
    MCP_REMOTE_CONFIG_DIR: join(home, "mcp-remote"),
    DISABLE_TELEMETRY: "1",
    DO_NOT_TRACK: "1",
    NO_COLOR: "1",
    CI: "1",
  };
}

/** `run` adds to our own environment; whatever is not named here is taken out of it. */
export function only(env: Record<string, string>): Record<string, string | undefined> {
  const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  return { ...none, ...env };
}

async function install(
  folder: string,
  env: Record<string, string>,
  packages: Readonly<Record<string, string>>,
  more: readonly string[] = [],
): Promise<void> {
  const wanted = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const flags = ["--prefix", folder, "--no-audit", "--no-fund", "--save-exact", "--loglevel", "error", ...more];
  const { code, stderr } = await run("npm", ["install", ...flags, ...wanted], { cwd: folder, env: only(env) });
  if (code !== 0) throw new Error(`npm could not install ${wanted.join(", ")}: ${stderr.slice(0, 500)}`);
}
