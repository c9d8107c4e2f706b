import { skillEntry } from "@modelcontextprotocol/server/ext/skills";
import { describe, expect, it } from "vitest";

import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { candidates, movingUri, parseSkillUri, pinnedUri } from "../../src/domain/uri.ts";
import type { Version } from "../../src/domain/version.ts";

const namespace = "acme" as Namespace;
const path = "billing/refunds" as SkillPath;
const version = "1.2.0" as Version;

describe("a skill address", () => {
  it("takes a pinned address apart into path, version and file", () => {
    expect(parseSkillUri(pinnedUri(namespace, path, version, "references/a b.md"))).toEqual({
      kind: "pinned",
      namespace,
      path,
      version,
      file: "references/a b.md",
    });
  });

  it("names the directory of a release when no file follows", () => {
    expect(parseSkillUri("skill://acme/billing/@1.2.0/refunds")).toMatchObject({ path, version, file: "" });
  });

  it("offers every split of a moving address, since only the catalogue knows where the skill ends", () => {
    const uri = parseSkillUri("skill://acme/billing/refunds/SKILL.md");
    expect(uri?.kind).toBe("moving");
    expect(candidates(["billing", "refunds", "SKILL.md"])).toEqual([
      { path: "billing", file: "refunds/SKILL.md" },
      { path: "billing/refunds", file: "SKILL.md" },
    ]);
  });

  it("is spelt exactly as the official SDK spells it, for every awkward file name", async () => {
    const names = [
      "a b.md",
      "100%.md",
      "q?.md",
      "h#.md",
      "A&B.md",
      "at@home.md",
      "(x).md",
      "日本.md",
      "é.md",
      "🎉.md",
      "^`{|}~.md",
      "a'b!*.md",
      "[x].md",
      "+=,;:$.md",
    ];
    const text = "---\nname: refunds\ndescription: d\n---\n";
    const files = Object.fromEntries([["SKILL.md", text], ...names.map((name) => [`dir/${name}`, "x"])]);
    const entry = await skillEntry("acme/billing/refunds", files);
    const ours = ["SKILL.md", ...names.map((name) => `dir/${name}`)].map((file) => movingUri(namespace, path, file));
    expect((entry.resources as { uri: string }[]).map((resource) => resource.uri).sort()).toEqual(ours.sort());
    for (const uri of ours) expect(parseSkillUri(uri)?.kind).toBe("moving");
  });

  it.each([
    "skill://acme",
    "skill://acme/",
    "skill://acme//SKILL.md",
    "skill://acme/pdf/",
    "skill://Acme/pdf/SKILL.md",
    "skill://acme/pdf/%53KILL.md",
    "skill://acme/pdf/a b.md",
    "skill://acme/pdf/a%2Fb.md",
    "skill://acme/pdf/%zz",
    "skill://acme/pdf/%2E%2E",
    "skill://acme/pdf/SKILL.md?x",
    "skill://acme/pdf/SKILL.md#x",
    "skill://acme:80/pdf/SKILL.md",
    "skill://u@acme/pdf/SKILL.md",
    "https://acme/pdf/SKILL.md",
    "",
  ])("has one spelling: %s names nothing", (uri) => {
    const parsed = parseSkillUri(uri);
    expect(parsed === undefined || (parsed.kind === "moving" && candidates(parsed.segments).length === 0)).toBe(true);
  });
});
