import assert from "node:assert/strict";

import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Workshop } from "./workshop.ts";

interface Report {
  name: string;
  conformance: unknown[];
  frontmatter: unknown[];
  files: { status: string }[];
  outcome: string;
}

const eras = { legacy: "2025-11-25", modern: "2026-07-28" };
const program = { package: "@modelcontextprotocol/inspector", bin: "mcp-inspector" };
/** Enough to be a load, and below what a minute allows. */
const [calls, atOnce] = [200, 8];

/** MCP Inspector's command line. That it verifies the seed in each era is also a test (test/wire/inspector.test.ts). */
export async function tryInspector(stage: Stage, workshop: Workshop): Promise<void> {
  const { version } = await workshop.find(program);
  const inspect = (url: string, era: string, parameters: string[]) =>
    workshop.run(program, ["--cli", url, "--transport", "http", "--protocol-era", era, ...parameters]);

  const verify = async (url: string, era: string, skills: readonly SourceSkill[], more: string[] = []) => {
    const parameters = ["--method", "skills/list", "--verify", "--require-digests", ...more];
    const { code, stdout, stderr } = await inspect(url, era, parameters);
    assert.equal(code, 0, stderr);
    assert.match(stderr + stdout, /no conformance errors/);
    const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
    const reports = lines.map((line) => JSON.parse(line) as Report);
    assert.deepEqual(reports.map(({ name }) => name).sort(), skills.map(({ path }) => path).sort());
    for (const { name, conformance, frontmatter, files, outcome } of reports) {
      assert.deepEqual([conformance, frontmatter, outcome], [[], [], "verified"], name);
      const { files: published } = skills.find(({ path }) => path === name)!;
      assert.deepEqual(
        files.map(({ status }) => status),
        published.map(() => "verified"),
        name,
      );
    }
  };

  for (const [name, era] of Object.entries(eras)) {
    const client = { client: "MCP Inspector (command line)", version, era };
    await attempt(
      client,
      "--verify --require-digests: the seed, a namespace, a private one by token and by link",
      async () => {
        const seed = await seedSkills();
        await verify(`${stage.origin}/mcp/registry`, name, seed);
        await verify(`${stage.origin}/mcp/${stage.namespace}`, name, hiring.skills);
        const header = ["--header", `Authorization: Bearer ${stage.readerToken}`];
        const inner = [innerSkill];
        await verify(`${stage.origin}/mcp/${stage.privateNamespace}`, name, inner, header);
        await verify(`${stage.readLink}/mcp`, name, inner);
        return `${seed.length + hiring.skills.length + 2 * inner.length} skills verified`;
      },
    );
    await attempt(client, `--load: ${calls} searches, ${atOnce} at once`, async () => {
      const tool = ["--method", "tools/call", "--tool-name", "search_skills", "--tool-arg", "query=match a CV"];
      const load = ["--load", "--load-requests", String(calls), "--load-concurrency", String(atOnce)];
      const url = `${stage.origin}/mcp/${stage.namespace}`;
      const { code, stdout, stderr } = await inspect(url, name, [...tool, ...load, "--format", "json"]);
      assert.equal(code, 0, stderr);
      const { result } = JSON.parse(stdout) as { result: Load };
      const { ok, toolErrors, errors, latencyMs } = result;
      assert.deepEqual([ok, toolErrors, errors], [calls, 0, 0]);
      return `none failed; p50 ${Math.round(latencyMs.p50)} ms, p99 ${Math.round(latencyMs.p99)} ms`;
    });
    await attempt(client, "tools/list --strict; resources/directory/read", async () => {
      const url = `${stage.origin}/mcp/${stage.namespace}`;
      const { code, stderr } = await inspect(url, name, ["--method", "tools/list", "--strict"]);
      assert.equal(code, 0, stderr);
      const uri = `skill://${stage.namespace}/match-candidates`;
      const { stdout } = await inspect(url, name, ["--method", "resources/directory/read", "--uri", uri]);
      const { resources } = JSON.parse(stdout) as { resources: { name: string }[] };
      assert.deepEqual(resources.map((resource) => resource.name).sort(), ["SKILL.md", "assets", "references"]);
    });
  }
}

interface Load {
  ok: number;
  toolErrors: number;
  errors: number;
  latencyMs: { p50: number; p99: number };
}
