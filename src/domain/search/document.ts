import { decodeLossless } from "../media-type.ts";
import type { SearchDocument } from "./impacts.ts";

/** SKILL.md → the document. `tags`, `triggers` and `examples` may stand in the frontmatter or in its `metadata`. */
export function documentOf(
  path: string,
  frontmatter: Readonly<Record<string, unknown>> & { name: string; description: string },
  skillMd: Uint8Array,
): SearchDocument {
  const metadata = (frontmatter["metadata"] ?? {}) as Record<string, unknown>;
  const field = (...names: string[]) =>
    names.flatMap((name) => [...textsIn(frontmatter[name]), ...textsIn(metadata[name])]);
  return {
    name: frontmatter.name,
    path,
    description: frontmatter.description,
    tags: field("tags", "keywords"),
    triggers: field("triggers"),
    examples: field("examples", "example-prompts"),
    body: bodyOf(decodeLossless(skillMd) ?? ""),
  };
}

/** A text, or a list of texts; anything else says nothing. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** What stands behind the frontmatter. */
function bodyOf(text: string): string {
  const end = /^\uFEFF?---\s*$[\s\S]*?^---\s*$/m.exec(text);
  return end === null ? text : text.slice(end.index + end[0].length);
}
