import type { Skill } from "@modelcontextprotocol/server/ext/skills";

import { digestOfText } from "../domain/digest.ts";
import { encodeSegment } from "../domain/uri.ts";
import type { HeldFile } from "./files.ts";
import { RegistryError } from "./http.ts";

/** One skill as it is served: a release, under the address that the collection shows. */
export interface HeldSkill {
  /** What the release is known by: equal keys are equal skills. */
  key: string;
  entry: Skill;
  /** The address of its folder, and the pinned one of the same release where it is known. */
  roots: string[];
  files: HeldFile[];
}

const suffix = "/SKILL.md";

export function rootOf(skillMdUri: string): string {
  if (!skillMdUri.endsWith(suffix)) throw new RegistryError(`"${skillMdUri}" is no address of a SKILL.md`);
  return skillMdUri.slice(0, -suffix.length);
}

export function fileUri(root: string, file: string): string {
  return `${root}/${file.split("/").map(encodeSegment).join("/")}`;
}

/** The `resources` of an entry below the address, in the order in which the registry has them. */
export function resourcesOf(root: string, files: readonly HeldFile[]) {
  const resources = files.map(({ file, digest, size }) => ({ uri: fileUri(root, file), digest, size }));
  return resources.sort((a, b) => (a.uri < b.uri ? -1 : 1));
}

/** The digest of a release: SHA-256 over the lines `<digest>  <file>\n`, sorted by file. */
export async function treeOf(files: readonly HeldFile[]): Promise<string> {
  const sorted = [...files].sort((a, b) => (a.file < b.file ? -1 : 1));
  return digestOfText(sorted.map(({ file, digest }) => `${digest}  ${file}\n`).join(""));
}

/** The entry under another address of the same release. */
export function entryAt(skill: HeldSkill, root: string): Skill {
  return { ...skill.entry, uri: root + suffix, resources: resourcesOf(root, skill.files) };
}

/** What a refresh changed, by addresses of SKILL.md files, in the words of the SDK's `SkillCatalog.reload`. */
export interface SkillChanges {
  added: string[];
  removed: string[];
  changed: string[];
  /** Whether what clients list changed, so that they should be told: `resources/list_changed`. */
  listChanged: boolean;
}

export function changesBetween(before: readonly HeldSkill[], after: readonly HeldSkill[]): SkillChanges {
  const [old, now] = [before, after].map((skills) => new Map(skills.map(({ entry }) => [entry.uri, entry])));
  const listed = (skills: readonly HeldSkill[]) =>
    JSON.stringify(skills.map(({ entry: { uri, frontmatter } }) => [uri, frontmatter.name, frontmatter.description]));
  return {
    added: [...now!.keys()].filter((uri) => !old!.has(uri)),
    removed: [...old!.keys()].filter((uri) => !now!.has(uri)),
    changed: [...now!].flatMap(([uri, entry]) => {
      const known = old!.get(uri);
      return known !== undefined && JSON.stringify(known) !== JSON.stringify(entry) ? [uri] : [];
    }),
    listChanged: listed(before) !== listed(after),
  };
}

const digestPattern = /^sha256:[0-9a-f]{64}$/;

/**
 * A registry's digests become names in a cache and its sizes limits of what is read, so each is looked at before it is
 * either. @throws RegistryError
 */
export function checkHeld(skill: HeldSkill): HeldSkill {
  const fault = (what: string) => new RegistryError(`${skill.entry.uri}: ${what}`);
  const sizes = new Map<string, number>();
  for (const { file, digest, size } of skill.files) {
    if (!digestPattern.test(digest)) throw fault(`${file} has no SHA-256 digest`);
    if (!Number.isSafeInteger(size) || size < 0) throw fault(`${file} has no size`);
    if ((sizes.get(digest) ?? size) !== size) throw fault(`${file} has another size than a file of the same digest`);
    sizes.set(digest, size);
  }
  if (!skill.files.some(({ file }) => file === "SKILL.md")) throw fault("the release holds no SKILL.md");
  return skill;
}
