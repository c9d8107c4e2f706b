import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { projectRoot } from "../../src/cli/server.ts";
import { startCiIssuer } from "./ci-issuer.ts";
import type { CiIssuer } from "./ci-issuer.ts";
import { run } from "./command.ts";
import { RegistryClient } from "./registry-client.ts";

/** What the README tells a CI to do, run as it stands there: against a started registry, with a CI on loopback. */
const { origin, operatorToken } = inject("registry");
const operator = new RegistryClient(origin, operatorToken);
const namespace = "from-ci";
const commit = "0123456789abcdef0123456789abcdef01234567";
const ref = "acme/skills/.github/workflows/publish.yml@refs/heads/main";
const claims = { sub: "repo:acme/skills:environment:production", repository: "acme/skills", repository_id: "4711" };
const said = { ...claims, workflow_ref: ref, environment: "production", ref: "refs/heads/main", sha: commit };

let ci: CiIssuer;
let folder: string;
let readme: string;
const hasTools = (await Promise.all(["curl", "jq", "bash"].map((name) => run("which", [name])))).every(
  ({ code }) => code === 0,
);

beforeAll(async () => {
  ci = await startCiIssuer(said);
  folder = await mkdtemp(join(tmpdir(), "ci-"));
  readme = await readFile(join(projectRoot, "README.md"), "utf8");
  await writeSkill("Greet somebody");
  await operator.createNamespace(namespace);
});

afterAll(async () => {
  await ci.stop();
  await rm(folder, { recursive: true, force: true });
});

async function writeSkill(description: string): Promise<void> {
  await mkdir(join(folder, "skills/hello-ci"), { recursive: true });
  const text = `---\nname: hello-ci\ndescription: ${description}\n---\n# Hello\n`;
  await writeFile(join(folder, "skills/hello-ci/SKILL.md"), text);
}

async function trust(body: Record<string, unknown>): Promise<void> {
  const response = await operator.json("POST", `/namespaces/${namespace}/publishers`, { issuer: ci.origin, ...body });
  if (response.status !== 201) throw new Error(`publisher: ${response.status} ${await response.text()}`);
}

/** The block of that language which holds the text. */
function blockOf(language: string, text: string): string {
  const blocks = [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    (match) => match[1]!,
  );
  return blocks.find((block) => block.includes(text))!;
}

/** The shell of each step of a workflow, in order. */
function stepsOf(workflow: string): string[] {
  return [...workflow.matchAll(/^( +)run: \|\n((?:\1 +.*\n)+)/gm)].map((match) => match[2]!);
}

/** Runs the steps as GitHub does: a shell of its own for each, and what one writes to $GITHUB_ENV is there in the next. */
async function runSteps(steps: readonly string[]): Promise<{ code: number | null; output: string[] }> {
  const env: Record<string, string> = { ...ci.environment, REGISTRY: origin, NAMESPACE: namespace };
  const file = join(folder, "github-env");
  const output: string[] = [];
  for (const step of steps) {
    await writeFile(file, "");
    const more = { GITHUB_ENV: file, RUNNER_TEMP: folder };
    const ended = await run("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", step], {
      cwd: folder,
      env: { ...env, ...more },
    });
    output.push(ended.stdout + ended.stderr);
    if (ended.code !== 0) return { code: ended.code, output };
    for (const [, name, value] of (await readFile(file, "utf8")).matchAll(/^(\w+)=(.*)$/gm)) env[name!] = value!;
  }
  return { code: 0, output };
}

const release = async () => {
  const response = await fetch(`${origin}/api/v1/namespaces/${namespace}/skills/hello-ci`);
  return ((await response.json()) as { release: { version: string; source: Record<string, string> } }).release;
};

describe.skipIf(!hasTools)("the workflow of the README", () => {
  const steps = () => stepsOf(blockOf("yaml", "id-token: write"));

  test("publishes nothing as long as nobody trusts it, and says so", async () => {
    expect(steps()).toHaveLength(3);
    const { code, output } = await runSteps(steps());
    expect([code === 0, output.length]).toEqual([false, 1]);
    expect(output[0]).toContain("from nobody whom this namespace trusts");
  });

  test("lints and publishes what the namespace trusts it with, and the release says from where", async () => {
    await trust({ github: { repository: "acme/skills", repository_id: "4711", workflow: "publish.yml" } });
    const { code, output } = await runSteps(steps());
    expect([code, output[1], output[2]]).toEqual([
      0,
      expect.stringContaining('"dry_run": true'),
      expect.stringContaining('"version": "1.0.0"'),
    ]);
    expect(output[0]).toMatch(/^::add-mask::eyJ\S+\n::add-mask::skr_\S+\n$/);
    expect(await release()).toMatchObject({
      version: "1.0.0",
      source: { issuer: ci.origin, repository: "acme/skills", commit, workflow: ref },
    });
    const again = await runSteps(steps());
    expect([again.code, again.output[2]]).toEqual([0, expect.stringContaining('"changed": false')]);
  });

  test("stops at the lint where a skill has an error", async () => {
    await writeSkill("");
    const { code, output } = await runSteps(steps());
    expect([code === 0, output.length]).toEqual([false, 2]);
    expect(output[1]).toMatch(/"severity": "error"/);
    await writeSkill("Greet somebody");
  });
});

describe.skipIf(!hasTools)("the requests of the README for any other CI", () => {
  test("do the same", async () => {
    await trust({ claims: { repository_id: "4711", ref: "refs/heads/main" } });
    await writeSkill("Greet everybody");
    const url = `${ci.environment["ACTIONS_ID_TOKEN_REQUEST_URL"]!}&audience=${origin}`;
    const authorization = `bearer ${ci.environment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]!}`;
    const { value } = (await (await fetch(url, { headers: { authorization } })).json()) as { value: string };
    const script = blockOf("sh", "for QUERY in").replaceAll("acme", namespace);
    const sh = () => run("sh", ["-c", script], { cwd: folder, env: { REGISTRY: origin, JWT: value } });
    const { code, stdout, stderr } = await sh();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain('"dry_run":true');
    expect((await release()).version).toBe("1.0.1");
    const replay = await sh();
    expect([replay.code, replay.stdout]).toEqual([1, expect.stringContaining("exchanged already")]);
  });
});
