import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { projectRoot } from "../../src/cli/server.ts";
import { run } from "./command.ts";
import { pathWithCurl } from "./curl.ts";
import { RegistryClient } from "./registry-client.ts";
import { seedSkills } from "./source.ts";

/** The scripts that the registry's own skills hand to agents: documentation that has to stay true. */
const { origin, operatorToken } = inject("registry");
const operator = new RegistryClient(origin, operatorToken);
const skills = join(projectRoot, "skills");

describe("verify-skill.mjs of the skill find-and-load-skills", () => {
  const verify = (address: string, uri: string) =>
    run(process.execPath, [join(skills, "find-and-load-skills/scripts/verify-skill.mjs"), address, uri]);

  test("finds every file of every skill of the seed to be as listed", async () => {
    for (const { path, files } of await seedSkills()) {
      const uri = `skill://registry/${path}/SKILL.md`;
      const { code, stdout } = await verify(`${origin}/mcp/registry`, uri);
      const lines = stdout.trimEnd().split("\n");
      expect(lines.filter((line) => line.startsWith("ok "))).toHaveLength(files.length);
      const bytes = files.reduce((sum, file) => sum + file.bytes.byteLength, 0);
      expect(lines.at(-1)).toBe(`verified ${uri}: ${files.length} files, ${bytes} bytes`);
      expect(code).toBe(0);
    }
  });

  test("verifies the largest skill there can be", async () => {
    const { code, stdout } = await verify(`${origin}/mcp/large`, "skill://large/large/SKILL.md");
    expect(stdout).toContain("512 files, 16777216 bytes");
    expect(code).toBe(0);
  });

  test("says that there is nothing to check at the address of no skill", async () => {
    const { code, stderr } = await verify(`${origin}/mcp/registry`, "skill://registry/none/SKILL.md");
    expect(stderr).toContain("cannot get");
    expect(code).toBe(2);
  });
});

describe("publish.sh of the skill publish-skills", () => {
  const namespace = "scratch";
  let folder: string;
  let token: string;
  let path: string;

  beforeAll(async () => {
    path = await pathWithCurl(process.env["PATH"]!);
    folder = await mkdtemp(join(tmpdir(), "publish-"));
    await operator.createNamespace(namespace);
    token = await operator.mintToken(namespace, "publisher");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const publishAs = (bearer: string, ...parameters: string[]) =>
    run("sh", [join(skills, "publish-skills/scripts/publish.sh"), ...parameters, origin, namespace], {
      env: { SKILL_REGISTRY_TOKEN: bearer, PATH: path },
    });
  const publish = (skill: string, ...options: string[]) => publishAs(token, ...options, skill);

  async function writeSkill(name: string, skillMd: string): Promise<string> {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, "SKILL.md"), skillMd);
    return join(folder, name);
  }

  test("publishes a folder, and again changes nothing", async () => {
    const skill = await writeSkill("greet", "---\nname: greet\ndescription: Greets people\n---\n# Greet\n");
    const dry = await publish(skill, "-n");
    expect(dry.stdout).toContain("dry_run: true");
    expect(dry.code).toBe(0);
    const first = await publish(skill);
    expect(first.stdout).toContain("changed: true");
    expect(first.stdout).toContain("release.version: 1.0.0");
    expect(first.code).toBe(0);
    const second = await publish(skill);
    expect(second.stdout).toContain("changed: false");
    expect(second.stdout).toContain("release.version: 1.0.0");
    expect(second.code).toBe(0);
  });

  test("publishes all skills of the seed as they lie in the repository", async () => {
    for (const { path } of await seedSkills()) {
      const { code, stdout } = await publish(join(skills, path), "-p", `copies/${path}`);
      expect(stdout).toContain(`skill://scratch/copies/${path}/SKILL.md`);
      expect(code).toBe(0);
    }
  });

  test("prints what is wrong with a skill, where, and how to mend it", async () => {
    const skill = await writeSkill("broken", "---\nname: Broken Name\n---\n");
    const { code, stdout } = await publish(skill);
    expect(stdout).toMatch(/^error +SKILL\.md:2:\d+: .+ \[name_invalid\]\n +fix: /m);
    expect(stdout).toMatch(/^error +SKILL\.md:.+ \[description_missing\]\n +fix: /m);
    expect(code).toBe(1);
  });

  test("tells a conflict from a token that may not publish", async () => {
    const skill = await writeSkill("greet", "---\nname: greet\ndescription: Greets people, otherwise\n---\n# Greet\n");
    expect((await publish(skill, "-v", "1.0.0")).code).toBe(3);
    const reader = await operator.mintToken(namespace, "reader");
    const refused = await publishAs(reader, skill);
    expect(refused.code).toBe(4);
  });
});
