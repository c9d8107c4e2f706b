import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { programOf, run } from "../wire/command.ts";
import type { Finished } from "../wire/command.ts";

/** The official suite against an address, and what it wrote down about each check. */
export interface Check {
  scenario: string;
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

export interface SuiteRun extends Finished {
  checks: Check[];
}

export async function runSuite(url: string, parameters: readonly string[], outputFolder: string): Promise<SuiteRun> {
  const conformance = programOf("@modelcontextprotocol/conformance", "conformance");
  const all = [conformance, "server", "--url", url, "-o", outputFolder, ...parameters];
  const finished = await run(process.execPath, all);
  return { ...finished, checks: await readChecks(outputFolder) };
}

/** One folder a scenario, `server-{scenario}-{time}`, with the checks in JSON. */
export async function readChecks(outputFolder: string): Promise<Check[]> {
  const folders = await readdir(outputFolder);
  const read = folders.map(async (folder) => {
    const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    const checks = JSON.parse(await readFile(join(outputFolder, folder, "checks.json"), "utf8")) as Check[];
    return checks.map((check) => ({ ...check, scenario }));
  });
  return (await Promise.all(read)).flat();
}

/** The entries of an expected-failures file with their reasons; a line that is neither an entry nor a comment throws. */
export async function readExpected(file: string): Promise<{ entry: string; reason: string }[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => !/^\s*(?:#.*|server:)?$/.test(line));
  return lines.map((line) => {
    const [, entry, reason] = /^ {2}- (\S+) # ((?:fixture|feature): .+)$/.exec(line) ?? [];
    if (entry === undefined || reason === undefined) throw new Error(`Not an entry with a reason: ${line}`);
    return { entry, reason };
  });
}
