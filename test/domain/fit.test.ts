import { describe, expect, it } from "vitest";

import type { Digest } from "../../src/domain/digest.ts";
import type { Entry } from "../../src/domain/entry.ts";
import { misfitsOf } from "../../src/domain/fit.ts";

/** What importers of others decline, each rule by name and by how much. */
const KiB = 1024;

interface Parts {
  name?: string;
  folder?: string;
  files?: Record<string, number>;
  more?: Record<string, unknown>;
}

function entryOf({ name = "one", folder = name, files = {}, more = {} }: Parts = {}): Entry {
  const root = `skill://acme/${folder}`;
  const digest = `sha256:${"0".repeat(64)}` as Digest;
  const all = { "SKILL.md": 1_000, ...files };
  return {
    uri: `${root}/SKILL.md`,
    frontmatter: { name, description: "What it does", ...more },
    resources: Object.entries(all).map(([file, size]) => ({ uri: `${root}/${file}`, digest, size })),
  };
}

const rulesOf = (importer: "chatgpt" | "claude-code", entries: Entry[], pages?: number) =>
  misfitsOf(importer, entries, pages).map(({ rule }) => rule);
const many = (count: number, parts: Parts = {}) =>
  Array.from({ length: count }, (_, index) => entryOf({ ...parts, name: `skill-${index}` }));
const filesOf = (count: number, size = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`file-${index}.md`, size]));

describe("what an importer takes", () => {
  it("is an ordinary skill", () => {
    expect([misfitsOf("chatgpt", [entryOf()]), misfitsOf("claude-code", [entryOf()])]).toEqual([[], []]);
  });

  it.each([
    ["too_many_skills", many(6), 1],
    ["too_many_pages", [entryOf()], 11],
    ["too_many_files", [entryOf({ files: filesOf(100) })], 1],
    ["skill_md_too_large", [entryOf({ files: { "SKILL.md": 256 * KiB + 1 } })], 1],
    ["file_too_large", [entryOf({ files: { "a.bin": 1024 * KiB + 1 } })], 1],
    ["skill_too_large", [entryOf({ files: filesOf(6, 1024 * KiB) })], 1],
    ["too_many_archive_bytes", many(3, { files: filesOf(3, 1024 * KiB) }), 1],
    ["name_twice", [entryOf(), entryOf()], 1],
    ["name_is_not_folder", [entryOf({ folder: "two" })], 1],
  ])("is for ChatGPT not beyond: %s", (rule, entries, pages) => {
    expect(rulesOf("chatgpt", entries, pages)).toEqual([rule]);
  });

  it.each([
    ["too_many_skills", many(101), 1],
    ["too_many_pages", [entryOf()], 21],
    ["too_many_entry_bytes", many(60, { more: { notes: "x".repeat(10_000) } }), 1],
    ["uri_too_long", [entryOf({ folder: `${"x".repeat(2_048)}/one` })], 1],
    ["too_many_files", [entryOf({ files: filesOf(512) })], 1],
    ["skill_md_too_large", [entryOf({ files: { "SKILL.md": 1_000_001 } })], 1],
    ["skill_too_large", [entryOf({ files: filesOf(17, 1024 * KiB) })], 1],
    ["name_not_valid", [entryOf({ name: "One" })], 1],
    ["name_is_not_folder", [entryOf({ folder: "two" })], 1],
    ["uri_twice", [entryOf(), entryOf()], 1],
  ])("is for Claude Code not beyond: %s", (rule, entries, pages) => {
    expect(rulesOf("claude-code", entries, pages)).toEqual([rule]);
  });

  it("is told by how much it is beyond", () => {
    expect(misfitsOf("chatgpt", many(7))).toEqual([
      {
        rule: "too_many_skills",
        skill: undefined,
        limit: 5,
        found: 7,
        message: "Skills of one server: 7, at most 5 (2 too many)",
      },
    ]);
  });

  it("has a manifest that holds SKILL.md, no file twice and none elsewhere", () => {
    const entry = entryOf();
    const elsewhere = { ...entry.resources[0]!, uri: "skill://acme/other/x.md" };
    expect(rulesOf("claude-code", [{ ...entry, resources: [] }])).toEqual(["manifest_lacks_skill_md"]);
    expect(rulesOf("claude-code", [{ ...entry, resources: [...entry.resources, ...entry.resources] }])).toEqual([
      "manifest_repeats_file",
    ]);
    expect(rulesOf("claude-code", [{ ...entry, resources: [...entry.resources, elsewhere] }])).toEqual([
      "manifest_leaves_folder",
    ]);
  });

  it("has a frontmatter that is not too deep", () => {
    let value: unknown = "end";
    for (let depth = 0; depth < 65; depth++) value = { value };
    expect(rulesOf("claude-code", [entryOf({ more: { deep: value } })])).toEqual(["frontmatter_too_deep"]);
  });
});
