import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { withBrowser } from "../browser-program.ts";
import { formatRow } from "../row.ts";

/**
 * Python's clients. Each list of requirements has an environment of its own below ~/.cache, made once, since fast-agent
 * pins other versions than FastMCP; the programs print the rows.
 */
const here = import.meta.dirname;
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skill-registry-interop");

interface Environment {
  requirements: string;
  /** The minor versions of Python 3 that it runs on, as the metadata of its packages say; the first one found is taken. */
  minors: readonly number[];
  programs: readonly string[];
}

const common: Environment = {
  requirements: "requirements.txt",
  minors: [11, 12, 13, 14],
  programs: ["seed_skills.py", "sdk.py", "fastmcp_client.py", "sign_in.py"],
};
/** `Requires-Python: <3.16,>=3.12` */
const fastAgent: Environment = {
  requirements: "requirements-fast-agent.txt",
  minors: [13, 14, 12, 15],
  programs: ["fast_agent_host.py"],
};

function main(browser: Record<string, string>): number {
  const python = findPython(common.minors);
  if (python === undefined) {
    console.log(`skipped: there is no Python 3.11 to 3.14 here, only ${foundPythons()}`);
    return 0;
  }
  let failures = runAll(python, common, browser);
  const newer = findPython(fastAgent.minors);
  if (newer === undefined) sayNotRun();
  else failures += runAll(newer, fastAgent, browser);
  return failures === 0 ? 0 : 1;
}

function runAll(python: string, { requirements, programs }: Environment, browser: Record<string, string>): number {
  const interpreter = makeEnvironment(python, requirements);
  return programs.filter((program) => {
    const { status, error } = spawnSync(interpreter, [join(here, program)], {
      stdio: ["ignore", "inherit", "inherit"],
      // No bytecode beside the sources: wrangler watches this tree.
      env: { ...process.env, ...browser, PYTHONDONTWRITEBYTECODE: "1", PYTHONWARNINGS: "ignore" },
      timeout: 150_000,
    });
    if (status !== 0) console.log(`${program} ended with ${status ?? error?.message}`);
    return status !== 0;
  }).length;
}

/** The interpreter of an environment that holds exactly these packages; a changed list makes a new one. */
function makeEnvironment(python: string, requirements: string): string {
  const list = join(here, requirements);
  const key = createHash("sha256").update(python).update(readFileSync(list)).digest("hex").slice(0, 16);
  const folder = join(cache, `python-${key}`);
  const interpreter = join(folder, "bin/python");
  const done = join(folder, "done");
  if (existsSync(done)) return interpreter;
  const began = performance.now();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  execFileSync(python, ["-m", "venv", folder], { stdio: "inherit" });
  // The list is complete, so there is nothing to resolve.
  execFileSync(interpreter, ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", list], {
    stdio: "inherit",
  });
  writeFileSync(done, "");
  console.log(`${requirements}: installed for ${python} in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  return interpreter;
}

function findPython(minors: readonly number[]): string | undefined {
  const found = allPythons();
  return minors.map((minor) => found.get(minor)).find((path) => path !== undefined);
}

function foundPythons(): string {
  return [...allPythons().keys()].map((minor) => `3.${minor}`).join(", ") || "none";
}

/** By minor version: what the PATH has, and what pyenv installed. */
function allPythons(): Map<number, string> {
  const versions = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), "versions");
  const installed = existsSync(versions) ? readdirSync(versions) : [];
  const names = ["python3", ...Array.from({ length: 6 }, (_, index) => `python3.${index + 11}`)];
  const candidates = [...names, ...installed.map((version) => join(versions, version, "bin/python3"))];
  const found = new Map<number, string>();
  for (const candidate of candidates) {
    const code = "import sys, venv, ensurepip; print(sys.version_info.minor, sys.executable)";
    const { status, stdout } = spawnSync(candidate, ["-c", code], { encoding: "utf8" });
    const [, minor, path] = /^(\d+) (.+)$/m.exec(stdout ?? "") ?? [];
    if (status === 0 && path !== undefined && !found.has(Number(minor))) found.set(Number(minor), path);
  }
  return found;
}

function sayNotRun(): void {
  const pinned = /^fast-agent-mcp==(.+)$/m.exec(readFileSync(join(here, fastAgent.requirements), "utf8"))![1]!;
  console.log(
    formatRow({
      client: "fast-agent",
      version: pinned,
      era: "none",
      tried: "its skills commands",
      result: "client fails",
      note: `not run: its metadata ask for Python 3.12 to 3.15; here is only ${foundPythons()}`,
    }),
  );
}

process.exit(await withBrowser(main));
