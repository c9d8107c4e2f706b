import type { SkillMd } from "../frontmatter.ts";
import type { SkillPath } from "../names.ts";
import type { Remarks } from "./remark.ts";
import type { Pair, ScalarNode, Span, YamlNode } from "./yaml-node.ts";
import { quote } from "./yaml-scalar.ts";

/** What the rules about fields look at. */
export interface Fields {
  skill: SkillMd;
  path: SkillPath;
  folder: string | undefined;
  remarks: Remarks;
  /** Values that a rule has already told about; a second remark about quoting them would only repeat it. */
  told: Set<YamlNode>;
}

/** Where to point for a field: its value where that starts on the same line, else its key. */
export function placeOfPair(pair: Pair): { line: number; column: number } {
  const span = pair.value.span.line === pair.keySpan.line ? pair.value.span : pair.keySpan;
  return placeOfSpan(span);
}

export function placeOfSpan(span: Span): { line: number; column: number } {
  return { line: span.line, column: span.start + 1 };
}

/** The line of the span with `text` in the span's place. */
export function withSpan(skill: SkillMd, span: Span, text: string): string {
  const raw = skill.lines[span.line - 1]!;
  return raw.slice(0, span.start) + text + raw.slice(span.end);
}

/** The line with another value, where the value is a scalar of one line. */
export function withValue(skill: SkillMd, node: YamlNode, text: string): string | undefined {
  if (node.kind !== "scalar" || !node.isOneLine) return undefined;
  if (node.style !== "empty") return withSpan(skill, node.span, text);
  const raw = skill.lines[node.span.line - 1]!;
  const rest = raw.slice(node.span.start);
  return `${raw.slice(0, node.span.start).trimEnd()} ${text}${rest === "" ? "" : ` ${rest}`}`;
}

/** The line with the plain scalar in quotes, which makes it the string that the author wrote. */
export function withQuotes(skill: SkillMd, node: YamlNode): string | undefined {
  return node.kind === "scalar" ? withValue(skill, node, quote(node.source)) : undefined;
}

/** What a value is, for a sentence. */
export function kindOfValue(node: YamlNode): string {
  if (node.kind === "sequence") return "a list";
  if (node.kind !== "scalar") return "a mapping";
  if (node.value === null) return node.style === "empty" ? "empty, which means null," : "null";
  if (typeof node.value === "string") return "text";
  return typeof node.value === "number" ? "a number" : "a boolean";
}

export function isText(node: YamlNode): node is ScalarNode & { value: string } {
  return node.kind === "scalar" && typeof node.value === "string";
}
