import { chatGptBudget } from "./budget.ts";
import type { Entry } from "./entry.ts";
import { skillMd } from "./uri.ts";

/**
 * What the importers of others accept, as they publish it or as their programs do: ChatGPT ("Import skills from the MCP
 * server") takes a snapshot of a whole list, or none of it where one entry is beyond its limits; Claude Code leaves out
 * what it declines. An entry is judged as it stands on the wire, so that a release, a collection and whatever an address
 * answers are judged alike.
 */
export const importers = ["chatgpt", "claude-code"] as const;
export type Importer = (typeof importers)[number];

/** One thing that an importer would decline, and by how much. */
export interface Misfit {
  /** Stable, snake_case; the README lists them. */
  rule: string;
  /** The address of the skill, undefined where the list as a whole is meant. */
  skill: string | undefined;
  limit: number | string;
  found: number | string;
  message: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;

const chatGpt = { ...chatGptBudget, maxSkills: 5, maxPages: 10, maxArchiveBytes: 8 * MiB };
/** What the program 2.1.332 does; its maker does not document it. */
const claudeCode = {
  maxSkills: 100,
  maxPages: 20,
  maxEntryBytes: 512 * KiB,
  maxUriBytes: 2048,
  maxFiles: 512,
  maxSkillBytes: 16 * MiB,
  maxSkillMdBytes: 1_000_000,
  maxDepth: 64,
  namePattern: /^[a-z0-9]+(?:-[a-z0-9]+)*$/,
  maxNameLength: 64,
};

/** What a list of entries is to an importer; empty: it takes all of it. `pages`: over how many the list came. */
export function misfitsOf(importer: Importer, entries: readonly Entry[], pages = 1): Misfit[] {
  return importer === "chatgpt" ? chatGptMisfits(entries, pages) : claudeCodeMisfits(entries, pages);
}

type Measured = [found: number, limit: number];

/** A limit that is passed, by the measured number. */
function beyond(rule: string, skill: string | undefined, [found, limit]: Measured, what: string): Misfit[] {
  if (found <= limit) return [];
  return [{ rule, skill, limit, found, message: `${what}: ${found}, at most ${limit} (${found - limit} too many)` }];
}

function chatGptMisfits(entries: readonly Entry[], pages: number): Misfit[] {
  const names = new Set(entries.map(({ frontmatter }) => frontmatter.name));
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  return [
    ...beyond("too_many_skills", undefined, [names.size, chatGpt.maxSkills], "Skills of one server"),
    ...beyond("too_many_pages", undefined, [pages, chatGpt.maxPages], "Pages of the list"),
    ...beyond(
      "too_many_archive_bytes",
      undefined,
      [bytes, chatGpt.maxArchiveBytes],
      "Bytes of all skills, before they are packed",
    ),
    ...sameNames(entries),
    ...entries.flatMap((entry) => [
      ...beyond("too_many_files", entry.uri, [entry.resources.length, chatGpt.maxFiles], "Files"),
      ...beyond("skill_md_too_large", entry.uri, [mainBytesOf(entry), chatGpt.maxSkillMdBytes], "Bytes of SKILL.md"),
      ...beyond(
        "file_too_large",
        entry.uri,
        [largestOther(entry), chatGpt.maxOtherFileBytes],
        "Bytes of the largest other file",
      ),
      ...beyond("skill_too_large", entry.uri, [bytesOf(entry), chatGpt.maxSkillBytes], "Bytes of the skill"),
      ...otherFolder(entry),
    ]),
  ];
}

function claudeCodeMisfits(entries: readonly Entry[], pages: number): Misfit[] {
  const json = new TextEncoder().encode(JSON.stringify(entries)).byteLength;
  return [
    ...beyond("too_many_skills", undefined, [entries.length, claudeCode.maxSkills], "Skills of one server"),
    ...beyond("too_many_pages", undefined, [pages, claudeCode.maxPages], "Pages of the list"),
    ...beyond("too_many_entry_bytes", undefined, [json, claudeCode.maxEntryBytes], "Bytes of all entries as JSON"),
    ...sameAddresses(entries),
    ...entries.flatMap((entry) => [
      ...beyond("uri_too_long", entry.uri, [byteLength(entry.uri), claudeCode.maxUriBytes], "Bytes of the address"),
      ...beyond("too_many_files", entry.uri, [entry.resources.length, claudeCode.maxFiles], "Files"),
      ...beyond("skill_md_too_large", entry.uri, [mainBytesOf(entry), claudeCode.maxSkillMdBytes], "Bytes of SKILL.md"),
      ...beyond("skill_too_large", entry.uri, [bytesOf(entry), claudeCode.maxSkillBytes], "Bytes of the skill"),
      ...beyond(
        "frontmatter_too_deep",
        entry.uri,
        [depthOf(entry.frontmatter), claudeCode.maxDepth],
        "Levels of the frontmatter",
      ),
      ...badName(entry),
      ...otherFolder(entry),
      ...badManifest(entry),
    ]),
  ];
}

function badName({ uri, frontmatter: { name } }: Entry): Misfit[] {
  if (claudeCode.namePattern.test(name) && name.length <= claudeCode.maxNameLength) return [];
  const limit = `${claudeCode.namePattern.source}, at most ${claudeCode.maxNameLength} characters`;
  return [
    { rule: "name_not_valid", skill: uri, limit, found: name, message: `The name "${name}" does not match ${limit}` },
  ];
}

/** Both take the last folder of the address for the skill's name. */
function otherFolder({ uri, frontmatter: { name } }: Entry): Misfit[] {
  const folder = decoded(uri.split("/").at(-2) ?? "");
  if (folder === name) return [];
  const message = `The folder in the address is "${folder}", the name "${name}"`;
  return [{ rule: "name_is_not_folder", skill: uri, limit: folder, found: name, message }];
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function badManifest({ uri, resources }: Entry): Misfit[] {
  const root = uri.slice(0, -skillMd.length);
  const uris = resources.map((resource) => resource.uri);
  const faults: [string, string | undefined][] = [
    ["manifest_lacks_skill_md", uris.includes(uri) ? undefined : uri],
    ["manifest_repeats_file", uris.find((one, index) => uris.indexOf(one) !== index)],
    ["manifest_leaves_folder", uris.find((one) => !one.startsWith(root))],
  ];
  return faults.flatMap(([rule, found]) =>
    found === undefined
      ? []
      : [{ rule, skill: uri, limit: root, found, message: `The manifest's ${found} breaks ${rule}` }],
  );
}

function sameNames(entries: readonly Entry[]): Misfit[] {
  return repeated(entries, "name_twice", ({ frontmatter }) => frontmatter.name);
}

function sameAddresses(entries: readonly Entry[]): Misfit[] {
  return repeated(entries, "uri_twice", ({ uri }) => uri);
}

function repeated(entries: readonly Entry[], rule: string, keyOf: (entry: Entry) => string): Misfit[] {
  const seen = new Set<string>();
  return entries.flatMap((entry) => {
    const key = keyOf(entry);
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    return [
      { rule, skill: entry.uri, limit: 1, found: key, message: `"${key}" is there twice; the second is not taken` },
    ];
  });
}

function mainBytesOf({ uri, resources }: Entry): number {
  return resources.find((resource) => resource.uri === uri)?.size ?? 0;
}

function largestOther({ uri, resources }: Entry): number {
  return Math.max(0, ...resources.filter((resource) => resource.uri !== uri).map(({ size }) => size));
}

function bytesOf({ resources }: Entry): number {
  return resources.reduce((sum, { size }) => sum + size, 0);
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
