import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { readFolder } from "../../../src/cli/client.ts";
import type { SkillFile } from "../../../src/domain/entry.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";

/** What was published, against what a program left on the disk: the same files, to the byte, and no others. */
export function assertSameFiles(found: readonly SkillFile[], published: readonly SkillFile[], where: string): void {
  const paths = (files: readonly SkillFile[]) => files.map(({ path }) => path).sort();
  assert.deepEqual(paths(found), paths(published), `${where} has other files`);
  for (const { path, bytes } of published) {
    const same = found.find((file) => file.path === path)!;
    assert.equal(Buffer.compare(same.bytes, bytes), 0, `${where}/${path} has other bytes`);
  }
}

/** A folder of installed skills holds exactly these. */
export async function assertInstalled(folder: string, skills: readonly SourceSkill[]): Promise<void> {
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  assert.deepEqual(names, skills.map(({ path }) => path).sort(), `${folder} has other skills`);
  for (const { path, files } of skills) assertSameFiles(await readFolder(join(folder, path)), files, path);
}
