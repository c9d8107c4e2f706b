import { isVersion } from "../version.ts";
import { findPair } from "../frontmatter.ts";
import { isText, kindOfValue, placeOfPair, placeOfSpan, withQuotes, withSpan, withValue } from "./field.ts";
import type { Fields } from "./field.ts";
import { excerpt, maxFixedLength } from "./remark.ts";
import type { Pair, YamlNode } from "./yaml-node.ts";
import { quote } from "./yaml-scalar.ts";

/** `metadata` maps strings to strings; nearly half of the surveyed skills that have it break this. */
export function checkMetadata(fields: Fields): void {
  const pair = findPair(fields.skill.pairs, "metadata");
  if (pair === undefined || pair.value.kind === "unreadable") return;
  if (pair.value.kind !== "mapping") {
    fields.told.add(pair.value);
    const message = `metadata is ${kindOfValue(pair.value)}, but must map names to text.`;
    const fix = 'Write one "name: value" a line, indented, or remove metadata.';
    fields.remarks.add({ code: "metadata_not_mapping", ...placeOfPair(pair), message, fix });
    return;
  }
  for (const entry of pair.value.pairs) {
    checkValue(fields, entry, pair.value.span.line === pair.keySpan.line);
    if (entry.key === "version") checkVersion(fields, entry);
  }
}

/** A publish takes its version from here, when the request names none; a label that is no version is passed over. */
function checkVersion({ remarks }: Fields, { value, keySpan }: Pair): void {
  if (value.kind !== "scalar" || typeof value.value !== "string" || isVersion(value.value)) return;
  const message = `The metadata value "version" is "${excerpt(value.value)}", which is no semantic version and is ignored.`;
  const fix = 'Write a version such as "1.4.0", or remove the line and let the registry count.';
  remarks.add({ code: "version_ignored", ...placeOfSpan(keySpan), message, fix });
}

function checkValue(fields: Fields, entry: Pair, isFlow: boolean): void {
  const { skill, remarks, told } = fields;
  const node = entry.value;
  if (node.kind === "unreadable" || isText(node)) return;
  told.add(node);
  const name = excerpt(entry.key);
  const message = `The metadata value "${name}" is ${kindOfValue(node)}, but must be text.`;
  if (node.kind === "scalar") {
    const fixed = node.style === "empty" ? withValue(skill, node, '""') : withQuotes(skill, node);
    const fix = node.style === "empty" ? "Write a text, or remove the line." : "Put the value in quotes.";
    const place = node.style === "empty" ? placeOfSpan(entry.keySpan) : placeOfSpan(node.span);
    remarks.add({ code: "metadata_value_not_string", ...place, message, fix, fixed });
    return;
  }
  const fixed =
    isFlow || node.span.line === entry.keySpan.line ? flattenFlow(fields, node) : flattenBlock(fields, entry);
  const lines =
    entry.lastLine > entry.keySpan.line ? ` It spans the lines ${entry.keySpan.line} to ${entry.lastLine}.` : "";
  const fix = `Write it as one text, e.g. separated by commas, or as several entries with text.${lines}`;
  remarks.add({ code: "metadata_value_nested", ...placeOfSpan(entry.keySpan), message, fix, fixed });
}

/** `[a, b]` → `"a, b"`, on its line. */
function flattenFlow({ skill }: Fields, node: YamlNode): string | undefined {
  const items = node.kind === "sequence" ? textsOf(node.items) : undefined;
  return items === undefined ? undefined : withSpan(skill, node.span, quote(items.join(", ")));
}

/** A list of scalars becomes one text; a mapping of scalars becomes entries whose names carry the outer one. */
function flattenBlock({ skill }: Fields, { key, keySpan, value }: Pair): string | undefined {
  const written = skill.lines[keySpan.line - 1]!.slice(0, keySpan.end);
  if (value.kind === "sequence") {
    const items = textsOf(value.items);
    return items === undefined ? undefined : `${written}: ${quote(items.join(", "))}`;
  }
  if (value.kind !== "mapping" || !/^[\w-]+$/.test(key)) return undefined;
  const texts = textsOf(value.pairs.map((pair) => pair.value));
  if (texts === undefined || value.pairs.some((pair) => !/^[\w-]+$/.test(pair.key))) return undefined;
  return value.pairs.map((pair, index) => `${written}-${pair.key}: ${quote(texts[index]!)}`).join("\n");
}

/** The scalars as the author wrote them; undefined where one is no scalar, or none can be shown on one line. */
function textsOf(nodes: readonly YamlNode[]): string[] | undefined {
  const texts: string[] = [];
  let length = 0;
  for (const node of nodes) {
    if (node.kind !== "scalar") return undefined;
    const text = node.style === "plain" || node.style === "empty" ? node.source : String(node.value);
    length += text.length;
    if (length > maxFixedLength || /[\n\r]/.test(text)) return undefined;
    texts.push(text);
  }
  return texts;
}
