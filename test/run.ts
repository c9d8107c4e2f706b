import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { endProcesses } from "./wire/processes.ts";

/**
 * `npm test`: everything that has to pass, cheapest first, and nothing after the first failure. Each step leaves a
 * report in .reports/, in the form that vitest writes, for .ci/run to sum.
 *
 * All that a run starts or writes belongs to one folder below the system's temporary folder. A keeper in a session of
 * its own ends the processes and removes the folder when this one is gone, whichever way: it reads the end of its
 * standard input then.
 */
const root = resolve(import.meta.dirname, "..");
const reports = join(root, ".reports");
const graceMs = 8_000;
const watchParentMs = 1_000;
/** Far above what a run takes, so that a step that hangs fails here and not in whatever runs us. */
const deadlineMs = (process.env["CAMPAIGN"] ? 18 : 12) * 60_000;

interface Step {
  name: string;
  commands: string[][];
  /** The tool writes its own report. */
  reports?: boolean;
}

async function listSteps(): Promise<Step[]> {
  const projects = [
    "tsconfig.json",
    "src/cli/tsconfig.json",
    "src/adapter/tsconfig.json",
    ...(await findTestProjects()),
  ];
  return [
    { name: "types", commands: projects.map((project) => ["tsc", "-p", project]) },
    { name: "lint", commands: [["oxlint", "--deny-warnings"]] },
    { name: "format", commands: [["oxfmt", "--check"]] },
    vitest("workers", "test/vitest.config.ts"),
    vitest("wire", "test/wire.config.ts"),
  ];
}

async function findTestProjects(): Promise<string[]> {
  const files = await readdir(join(root, "test"), { recursive: true });
  return files.filter((file) => /(^|[\\/])tsconfig\.json$/.test(file)).map((file) => join("test", file));
}

function vitest(name: string, config: string): Step {
  const report = `--outputFile.json=${join(reports, `${name}.json`)}`;
  return {
    name,
    commands: [["vitest", "run", "--config", config, "--reporter=default", "--reporter=json", report]],
    reports: true,
  };
}

async function main(): Promise<number> {
  await rm(reports, { recursive: true, force: true });
  await mkdir(reports);
  const folder = await mkdtemp(join(tmpdir(), "skill-registry-test-"));
  const keeper = startKeeper(folder);
  const stopped = whenStopped();
  try {
    for (const step of await listSteps()) {
      const start = performance.now();
      const isPassed = await Promise.race([runStep(step, folder), stopped]);
      const seconds = ((performance.now() - start) / 1_000).toFixed(1);
      console.log(`${isPassed ? "passed" : "FAILED"}  ${step.name} (${seconds} s)`);
      if (!isPassed) return 1;
    }
    return 0;
  } finally {
    await keeper.finish();
  }
}

async function runStep(step: Step, folder: string): Promise<boolean> {
  let isPassed = true;
  for (const command of step.commands) isPassed &&= await runTool(command, folder);
  if (step.reports !== true) await writeReport(step.name, isPassed);
  return isPassed;
}

/** One tool is one test: it passed or it failed. */
async function writeReport(name: string, success: boolean): Promise<void> {
  const counts = { numTotalTests: 1, numPassedTests: Number(success), numFailedTests: Number(!success) };
  const report = { ...counts, numPendingTests: 0, numTodoTests: 0, success };
  await writeFile(join(reports, `${name}.json`), JSON.stringify(report));
}

function runTool([program, ...parameters]: string[], folder: string): Promise<boolean> {
  const child = spawn(join(root, "node_modules/.bin", program!), parameters, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...environmentIn(folder) },
  });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("exit", (code) => done(code === 0));
  });
}

/** No telemetry, no prompts, no look-ups; temporary files, logs and registries of running Workers in our folder. */
function environmentIn(folder: string): Record<string, string> {
  return {
    CI: "1",
    DO_NOT_TRACK: "1",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    // Not a warning for each test file that no secrets are in a file: the tests bring their own.
    WRANGLER_LOG: "error",
    TMPDIR: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    // Ours first: the tools need the Node that the project brings.
    PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
  };
}

/** False when the run is to end early: by a signal, because npm or the terminal is gone, or because it takes too long. */
function whenStopped(): Promise<false> {
  const parent = process.ppid;
  return new Promise((done) => {
    const stop = (reason: string) => {
      console.log(`stopped: ${reason}`);
      done(false);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop(signal));
    setInterval(() => process.ppid !== parent && stop("its parent ended"), watchParentMs).unref();
    setTimeout(() => stop(`it took more than ${deadlineMs / 60_000} minutes`), deadlineMs).unref();
  });
}

interface Keeper {
  /** Resolves when everything of the run is gone. */
  finish(): Promise<void>;
}

function startKeeper(folder: string): Keeper {
  const keeper: ChildProcess = spawn(process.execPath, [import.meta.filename, "--keep", folder], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true,
  });
  const gone = new Promise<void>((done) => keeper.once("exit", () => done()));
  return {
    finish: () => {
      keeper.stdin!.end();
      return gone;
    },
  };
}

async function keep(folder: string): Promise<void> {
  await new Promise((done) => process.stdin.once("close", done).resume());
  const attempts = 5;
  for (let attempt = 0; attempt < attempts && existsSync(folder); attempt++) {
    await endProcesses(folder, graceMs);
    // Somebody may still write while we remove; then there is somebody to end.
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

const [mode, folder] = process.argv.slice(2);
if (mode === "--keep") await keep(folder!);
else process.exit(await main());
