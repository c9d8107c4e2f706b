import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { readRows } from "./row.ts";
import type { Row } from "./row.ts";
import { openStage } from "./stage.ts";
import { writeTable } from "./table.ts";

/**
 * `npm run interop -- java`: other people's programs against a started registry, in their own languages. A suite is a
 * folder with a `suite.ts`, which is run by itself, gets the stage in the variable REGISTRY and says rows (row.ts). It
 * ends with 0 when green; where its toolchain is missing it prints one line `skipped: REASON` and ends with 0 too.
 * Several names run one after the other; `all`: every suite. `table` writes what the last runs said into the README.
 */
const here = import.meta.dirname;
const root = join(here, "../..");
export const suites = ["java", "python", "go", "typescript", "companion", "browser"] as const;
/** Of all, those begin first that take longest. */
const inTurn: readonly string[] = ["typescript", "companion", "java", "browser", "python", "go"];
/** On a fresh machine, with everything that has to be downloaded. */
const maxMinutes = 6;
/** Suites at the same time: each waits for downloads and for a registry of its own most of the time. */
const atOnce = 3;

async function main(names: readonly string[]): Promise<number> {
  if (names.includes("table")) {
    await writeTable(root, suites);
    return 0;
  }
  const wanted = names.includes("all") ? inTurn.filter((name) => existsSync(join(here, name))) : names;
  if (wanted.length === 0) throw new Error(`Name a suite: ${suites.join(", ")}, or all; or table`);
  const waiting = [...wanted];
  let failures = 0;
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      failures += (await runSuite(name, wanted.length > 1)) ? 0 : 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return failures === 0 ? 0 : 1;
}

/** Of several suites each says what it has to say when it is done, so that their lines stay apart. */
async function runSuite(name: string, isOneOfSeveral: boolean): Promise<boolean> {
  const program = join(here, name, "suite.ts");
  if (!existsSync(program)) throw new Error(`There is no suite "${name}"; there are ${suites.join(", ")}`);
  const began = performance.now();
  const { stage, close } = await openStage();
  try {
    const env = { ...process.env, REGISTRY: JSON.stringify(stage) };
    const { code, output } = await runProgram(program, env, !isOneOfSeveral);
    if (isOneOfSeveral) process.stdout.write(output);
    const rows = readRows(output);
    const skipped = /^skipped: .+$/m.exec(output)?.[0];
    const isGreen =
      code === 0 && !rows.some(({ result }) => result === "failed") && (rows.length > 0 || skipped !== undefined);
    await report(name, { rows, isGreen, skipped });
    const seconds = ((performance.now() - began) / 1_000).toFixed(0);
    console.log(`${isGreen ? "passed" : "FAILED"}  ${name}: ${skipped ?? `${rows.length} rows`} (${seconds} s)`);
    return isGreen;
  } finally {
    await close();
  }
}

function runProgram(
  program: string,
  env: NodeJS.ProcessEnv,
  isHeard: boolean,
): Promise<{ code: number | null; output: string }> {
  // In a group of its own, so that whatever it started ends with it.
  const child = spawn(process.execPath, [program], {
    stdio: ["ignore", "pipe", "inherit"],
    env,
    detached: true,
    cwd: root,
  });
  let output = "";
  child.stdout.on("data", (bytes: Buffer) => {
    output += bytes.toString();
    if (isHeard) process.stdout.write(bytes);
  });
  const timer = setTimeout(() => {
    console.log(`${program} took more than ${maxMinutes} minutes`);
    endGroup(child.pid!);
  }, maxMinutes * 60_000);
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      clearTimeout(timer);
      endGroup(child.pid!);
      done({ code, output });
    });
  });
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/** One result is written after the other, or one would be lost. */
let writing = Promise.resolve();

/** For .ci/run in the form that vitest writes, and for the table. */
async function report(
  name: string,
  { rows, isGreen, skipped }: { rows: readonly Row[]; isGreen: boolean; skipped: string | undefined },
): Promise<void> {
  const failed =
    rows.filter(({ result }) => result === "failed").length +
    (isGreen || rows.some(({ result }) => result === "failed") ? 0 : 1);
  const counts = {
    numPassedTests: rows.length - rows.filter(({ result }) => result === "failed").length,
    numFailedTests: failed,
  };
  await mkdir(join(root, ".reports"), { recursive: true });
  const text = JSON.stringify({
    ...counts,
    numPendingTests: 0,
    numTodoTests: 0,
    success: isGreen,
    skipped: skipped ?? null,
  });
  await writeFile(join(root, ".reports", `interop-${name}.json`), text);
  if (skipped !== undefined || process.env["CI"] === "1") return;
  const date = new Date().toISOString().slice(0, 10);
  writing = writing.then(async () => {
    const results = join(here, "results.json");
    const known = existsSync(results) ? (JSON.parse(await readFile(results, "utf8")) as object) : {};
    await writeFile(results, `${JSON.stringify({ ...known, [name]: { date, rows } }, undefined, 2)}\n`);
  });
  await writing;
}

process.exit(await main(process.argv.slice(2)));
