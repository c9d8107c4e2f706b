import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import type { SkillFile } from "../../../src/domain/entry.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";
import { assertInstalled } from "./published.ts";
import type { Program, Workshop } from "./workshop.ts";

export const skillsProgram = { package: "skills", bin: "skills" };
export const wellKnown = ".well-known/agent-skills/index.json";

/** A project folder into which `npx skills` installs, and what it has to hold afterwards. */
export class Project {
  readonly folder: string;
  /** Where the program keeps the files; the folders of agents link there. */
  readonly skills: string;
  readonly #workshop: Workshop;
  readonly #program: Program;

  private constructor(workshop: Workshop, program: Program, folder: string) {
    this.#workshop = workshop;
    this.#program = program;
    this.folder = folder;
    this.skills = join(folder, ".agents/skills");
  }

  static async make(workshop: Workshop, program: Program, name: string): Promise<Project> {
    return new Project(workshop, program, await workshop.makeFolder(name));
  }

  /** All skills of a source, for two agents that read different folders. */
  add(source: string): Promise<Said> {
    return this.run("add", source, "--skill", "*", "--agent", "codex", "claude-code", "-y");
  }

  update(): Promise<Said> {
    return this.run("update", "--project", "-y");
  }

  async run(...parameters: string[]): Promise<Said> {
    const { code, stdout, stderr } = await this.#workshop.run(this.#program, parameters, { cwd: this.folder });
    return { code, text: stripVTControlCharacters(stdout + stderr).replaceAll(/\s+/g, " ") };
  }

  async assertHolds(skills: readonly SourceSkill[]): Promise<void> {
    await assertInstalled(this.skills, skills);
    // Claude Code looks into its own folder, which has links.
    for (const { path } of skills) {
      const linked = await readFile(join(this.folder, ".claude/skills", path, "SKILL.md"));
      assert.equal(Buffer.compare(linked, await readFile(join(this.skills, path, "SKILL.md"))), 0);
    }
  }

  /** The lock file names each skill, where it came from, and what it was. */
  async assertLocks(source: string, skills: readonly SourceSkill[], index: Index): Promise<void> {
    const locked = await this.locked();
    assert.deepEqual(Object.keys(locked).sort(), skills.map(({ path }) => path).sort());
    for (const { path, files } of skills) {
      assert.deepEqual(locked[path], {
        source: new URL(source).hostname,
        sourceUrl: source,
        sourceType: "well-known",
        computedHash: hashOf(files),
        wellKnownDigest: index.skills.find(({ name }) => name === path)!.digest,
      });
    }
  }

  async locked(): Promise<Record<string, { wellKnownDigest: string; computedHash: string }>> {
    const file = join(this.folder, "skills-lock.json");
    if (!existsSync(file)) return {};
    return (JSON.parse(await readFile(file, "utf8")) as { skills: Awaited<ReturnType<Project["locked"]>> }).skills;
  }
}

export interface Said {
  code: number | null;
  text: string;
}

export interface Index {
  skills: { name: string; url: string; digest: string }[];
}

export async function readIndex(source: string): Promise<Index> {
  const response = await fetch(`${source}/${wellKnown}`);
  assert.equal(response.status, 200);
  return (await response.json()) as Index;
}

/** What the program writes as `computedHash`: paths and bytes in the order of their names. */
function hashOf(files: readonly SkillFile[]): string {
  const hash = createHash("sha256");
  for (const { path, bytes } of files.toSorted((a, b) => a.path.localeCompare(b.path))) hash.update(path).update(bytes);
  return hash.digest("hex");
}
