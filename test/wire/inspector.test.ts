import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { programOf, run } from "./command.ts";
import { seedSkills } from "./source.ts";

const { origin } = inject("registry");
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "inspector-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

interface Report {
  name: string;
  conformance: unknown[];
  frontmatter: unknown[];
  files: { status: string }[];
  outcome: string;
}

test.each([
  { era: "the era it has by default", parameters: [] },
  { era: "the legacy era", parameters: ["--protocol-era", "legacy"] },
  { era: "the modern era", parameters: ["--protocol-era", "modern"] },
])("the MCP Inspector verifies every file of the seed in $era", async ({ parameters }) => {
  const inspector = programOf("@modelcontextprotocol/inspector", "mcp-inspector");
  const verify = ["--cli", `${origin}/mcp/registry`, "--transport", "http", "--method", "skills/list", "--verify"];
  // It keeps a catalogue of servers in the home directory.
  const { code, stdout, stderr } = await run(process.execPath, [inspector, ...verify, ...parameters], {
    env: { HOME: home, USERPROFILE: home, MCP_CATALOG_PATH: join(home, "catalog.json") },
  });
  expect(`${stdout}${stderr}`).toContain("no conformance errors");
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  const reports = lines.map((line) => JSON.parse(line) as Report);
  const source = await seedSkills();
  expect(reports.map(({ name }) => name).sort()).toEqual(source.map(({ path }) => path).sort());
  for (const report of reports) {
    expect(report).toMatchObject({ conformance: [], frontmatter: [], outcome: "verified" });
    const { files } = source.find(({ path }) => path === report.name)!;
    expect(report.files.map(({ status }) => status)).toEqual(files.map(() => "verified"));
  }
  expect(code).toBe(0);
});
