import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { cp, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { createInterface } from "node:readline";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { freePort, projectRoot } from "../../src/cli/server.ts";
import { run } from "./command.ts";
import { pathWithCurl } from "./curl.ts";
import { endProcesses, findProcesses, waitForNone } from "./processes.ts";
import { amountOf, seedSkills } from "./source.ts";

/**
 * `npm start` as a stranger meets it: in a checkout of its own, so that the .dev.vars and the state of the person who
 * runs the tests are neither used nor touched.
 */
const stopDeadlineMs = 15_000;
const notInACheckout = new Set(["node_modules", ".git", ".wrangler", ".dev.vars", ".tmp", ".reports"]);
let checkout: string;
let port: number;

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "checkout-"));
  port = await freePort();
  const filter = (path: string) => !notInACheckout.has(relative(projectRoot, path));
  await cp(projectRoot, checkout, { recursive: true, filter });
  await symlink(join(projectRoot, "node_modules"), join(checkout, "node_modules"));
});
afterEach(() => endProcesses(checkout, stopDeadlineMs));
afterAll(() => rm(checkout, { recursive: true, force: true }));

interface Started {
  npm: ChildProcess;
  /** All that it printed until it was ready, or until it ended. */
  lines: string[];
}

/** Every process of it has the path of the checkout in its environment, by which it is found later. */
async function npmStart(state: string, ...parameters: string[]): Promise<Started> {
  const npm = spawn("npm", ["start", ...parameters], {
    cwd: checkout,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...environmentOfAStranger(), PORT: String(port), STATE_DIR: join(checkout, state) },
  });
  const lines: string[] = [];
  npm.stderr.on("data", (chunk: Buffer) => lines.push(chunk.toString()));
  for await (const line of createInterface(npm.stdout)) {
    lines.push(line);
    if (line.startsWith("ready ")) return { npm, lines };
  }
  throw new Error(`npm start ended before it was ready:\n${lines.join("\n")}`);
}

/** Without what npm and the test runner tell their children. */
function environmentOfAStranger(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE$|NODE_|VITE|CI$)/.test(name));
  const path = process.env["PATH"]!.split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

async function expectNothingLeft({ npm }: Started): Promise<void> {
  expect(await waitForNone(checkout, stopDeadlineMs)).toEqual([]);
  expect(npm.exitCode ?? npm.signalCode).not.toBeNull();
  await expect(fetch(`http://localhost:${port}/api/v1`)).rejects.toThrow();
}

const namespaceFacts = async () => (await fetch(`http://localhost:${port}/api/v1/namespaces/registry`)).json();

/** The commands that it prints, as somebody pastes them. */
async function paste(command: string) {
  const { PATH, ...env } = environmentOfAStranger();
  return run("sh", ["-c", command], { cwd: checkout, env: { ...env, PATH: await pathWithCurl(PATH!) } });
}

describe("npm start", () => {
  let facts: unknown;

  test("publishes the seed and says how to use it, with commands that work, and ends by Ctrl-C", async () => {
    const source = await seedSkills();
    const started = await npmStart("state");
    const text = started.lines.join("\n");
    const address = `http://localhost:${port}/mcp/registry`;
    expect(started.lines.at(-1)).toBe(`ready http://localhost:${port}`);
    expect(text).toMatch(new RegExp(`^MCP address +${address}$`, "m"));
    expect(started.lines.filter((line) => line.endsWith(" published"))).toHaveLength(source.length);

    const secrets = join(checkout, ".dev.vars");
    const [, token] = /^ADMIN_TOKEN=(\S{32,})$/m.exec(await readFile(secrets, "utf8"))!;
    expect(text).toMatch(new RegExp(`^Operator token +${token!}\\b`, "m"));
    expect((await stat(secrets)).mode & 0o077).toBe(0);

    const curl = /^ +(curl (?:.*\\\n)*.*)$/m.exec(text)![1]!;
    const listed = JSON.parse((await paste(curl)).stdout) as { result: { skills: { uri: string }[] } };
    const uris = source.map(({ path }) => `skill://registry/${path}/SKILL.md`);
    expect(listed.result.skills.map(({ uri }) => uri).sort()).toEqual(uris.sort());

    const inspected = await paste(/^ +(npx mcp-inspector .*)$/m.exec(text)![1]!);
    const { skills, files } = amountOf(source);
    expect(inspected.stdout + inspected.stderr).toContain(
      `Verified ${skills} skills and ${files} files: no conformance errors`,
    );
    expect(inspected.code).toBe(0);

    facts = await namespaceFacts();
    expect(facts).toMatchObject({ name: "registry", visibility: "public" });
    expect((await findProcesses(checkout)).length).toBeGreaterThan(1);
    started.npm.kill("SIGINT");
    await expectNothingLeft(started);
  });

  test("changes nothing when it is started again, neither the skills nor the secrets, and ends by SIGTERM", async () => {
    const secrets = join(checkout, ".dev.vars");
    const before = `# Mine\nOTHER="kept"\n${await readFile(secrets, "utf8")}`;
    await writeFile(secrets, before);
    const started = await npmStart("state");
    const outcomes = started.lines.filter((line) => / (unchanged|published)$/.test(line));
    expect(outcomes).toHaveLength((await seedSkills()).length);
    expect(outcomes.every((line) => line.endsWith(" unchanged"))).toBe(true);
    expect(await namespaceFacts()).toEqual(facts);
    expect(await readFile(secrets, "utf8")).toBe(before);
    started.npm.kill("SIGTERM");
    await expectNothingLeft(started);
  });

  test("starts without the seed when told so, and ends even when npm is killed", async () => {
    const started = await npmStart("other-state", "--", "--empty");
    expect(started.lines.at(-1)).toBe(`ready http://localhost:${port}`);
    expect(started.lines.filter((line) => line.endsWith(" published"))).toEqual([]);
    expect((await fetch(`http://localhost:${port}/api/v1/namespaces/registry`)).status).toBe(404);
    started.npm.kill("SIGKILL");
    await expectNothingLeft(started);
  });
});
