import { buildEntry } from "../domain/entry.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { HeldSkill } from "./held-skill.ts";
import { RegistryError } from "./http.ts";

/**
 * An entry's frontmatter is what hosts show before anybody reads a file, and no digest covers it: so it has to be what
 * the official SDK reads from the SKILL.md whose digest is right. @throws RegistryError
 */
export async function checkFrontmatter({ entry, roots }: HeldSkill, skillMd: Uint8Array): Promise<void> {
  const [namespace = "", ...folders] = roots[0]!.slice("skill://".length).split("/");
  const path = folders.filter((folder) => !folder.startsWith("@")).join("/");
  const files = [{ path: "SKILL.md", bytes: skillMd }];
  const built = await buildEntry(namespace as Namespace, path as SkillPath, files);
  const isSame = "entry" in built && JSON.stringify(built.entry.frontmatter) === JSON.stringify(entry.frontmatter);
  if (!isSame) throw new RegistryError(`${entry.uri}: the entry's frontmatter is not that of its SKILL.md`);
}
