import { findPair } from "../frontmatter.ts";
import { maxCompatibilityLength, maxDescriptionLength } from "../limits.ts";
import { checkAmbiguity } from "./ambiguity-rules.ts";
import { isText, kindOfValue, placeOfPair, placeOfSpan, withQuotes, withSpan } from "./field.ts";
import type { Fields } from "./field.ts";
import { checkMetadata } from "./metadata-rules.ts";
import { checkName } from "./name-rules.ts";
import { countCharacters, excerpt } from "./remark.ts";
import { checkTools } from "./tools-rules.ts";
import type { Pair } from "./yaml-node.ts";
import { quote, trimWhiteEnd } from "./yaml-scalar.ts";

/** The fields of the Agent Skills format, by the SDK's rules and what is known of hosts. */
export function checkFields(fields: Fields): void {
  if (!fields.skill.hasFields) return;
  checkName(fields);
  checkDescription(fields);
  checkCompatibility(fields);
  checkLicense(fields);
  checkTools(fields);
  checkMetadata(fields);
  checkKeys(fields);
  checkAmbiguity(fields);
}

const descriptionFix = "Say in one or two sentences what the skill does and when to use it.";

function checkDescription(fields: Fields): void {
  const { skill, remarks } = fields;
  const pair = findPair(skill.pairs, "description");
  if (pair === undefined) {
    const message = "SKILL.md has no description.";
    remarks.add({ code: "description_missing", line: skill.openLine, column: 1, message, fix: descriptionFix });
    return;
  }
  const node = pair.value;
  if (node.kind === "unreadable") return;
  const at = placeOfPair(pair);
  if (node.kind === "scalar" && (node.value === null || node.value === "")) {
    remarks.add({ code: "description_missing", ...at, message: "The description is empty.", fix: descriptionFix });
  } else if (!isText(node)) {
    const message = `The description is ${kindOfValue(node)}, not text.`;
    const fixed = withQuotes(skill, node);
    remarks.add({ code: "description_not_string", ...at, message, fix: "Put the description in quotes.", fixed });
    fields.told.add(node);
  } else if (node.value.trim() === "") {
    remarks.add({ code: "description_blank", ...at, message: "The description is blank.", fix: descriptionFix });
  } else {
    checkDescriptionText(fields, pair, node.value);
  }
}

function checkDescriptionText(fields: Fields, pair: Pair, text: string): void {
  const { skill, remarks } = fields;
  const length = countCharacters(text);
  if (length > maxDescriptionLength) {
    const message = `The description has ${length} characters; at most ${maxDescriptionLength} are allowed.`;
    const fix = `Shorten it by ${length - maxDescriptionLength} characters; details belong into the body.`;
    remarks.add({ code: "description_too_long", ...placeOfPair(pair), message, fix });
  }
  const tag = /<\/?[A-Za-z][^<>]*>/.exec(text)?.[0];
  if (tag !== undefined) {
    const message = `The description contains "${excerpt(tag)}"; some hosts strip or refuse angle brackets.`;
    const fix = "Write it without the angle brackets.";
    remarks.add({ code: "angle_brackets", ...findInValue(fields, pair, tag), message, fix });
  }
  const { value } = pair;
  if (value.kind !== "scalar" || value.commentAt === -1) return;
  const { line, start } = value.span;
  const raw = skill.lines[line - 1]!;
  const fixed = value.isOneLine ? raw.slice(0, start) + quote(trimWhiteEnd(raw.slice(start))) : undefined;
  const message = `The description ends here: " #" begins a comment in YAML.`;
  const fix = "Put the description in quotes if this belongs to it.";
  remarks.add({ code: "value_cut_by_comment", line, column: value.commentAt + 1, message, fix, fixed });
}

/** Where a piece of the value stands in the source; the key where folding or escapes hide it. */
function findInValue({ skill }: Fields, pair: Pair, piece: string): { line: number; column: number } {
  for (let no = pair.keySpan.line; no <= pair.lastLine; no++) {
    const from = no === pair.keySpan.line ? pair.keySpan.end : 0;
    const at = skill.lines[no - 1]!.indexOf(piece, from);
    if (at !== -1) return { line: no, column: at + 1 };
  }
  return placeOfPair(pair);
}

function checkCompatibility(fields: Fields): void {
  const { skill, remarks, told } = fields;
  const pair = findPair(skill.pairs, "compatibility");
  if (pair === undefined || pair.value.kind === "unreadable") return;
  const node = pair.value;
  const at = { code: "compatibility_invalid", ...placeOfPair(pair) } as const;
  const fix = `Write a text of 1 to ${maxCompatibilityLength} characters, or remove the line.`;
  if (!isText(node)) {
    told.add(node);
    const isNull = node.kind === "scalar" && node.value === null;
    const fixed = isNull ? undefined : withQuotes(skill, node);
    remarks.add({ ...at, message: `compatibility is ${kindOfValue(node)}, but must be text.`, fix, fixed });
    return;
  }
  const length = countCharacters(node.value);
  if (length > 0 && length <= maxCompatibilityLength) return;
  const message = length === 0 ? "compatibility is empty." : `compatibility has ${length} characters.`;
  remarks.add({ ...at, message, fix });
}

function checkLicense(fields: Fields): void {
  const { skill, remarks, told } = fields;
  const pair = findPair(skill.pairs, "license");
  if (pair === undefined || pair.value.kind === "unreadable" || isText(pair.value)) return;
  told.add(pair.value);
  const isNull = pair.value.kind === "scalar" && pair.value.value === null;
  const fixed = isNull ? undefined : withQuotes(skill, pair.value);
  const message = `license is ${kindOfValue(pair.value)}, but should be text.`;
  const fix = 'Write the name of the licence, e.g. "license: MIT", or remove the line.';
  remarks.add({ code: "license_not_string", ...placeOfPair(pair), message, fix, fixed });
}

const knownKeys = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

function checkKeys({ skill, remarks }: Fields): void {
  for (const { key, keySpan } of skill.pairs) {
    if (knownKeys.includes(key)) continue;
    const meant = knownKeys.find((known) => known === key.toLowerCase().replaceAll("_", "-"));
    const isFree = meant !== undefined && findPair(skill.pairs, meant) === undefined;
    const message = `The Agent Skills format has no key "${excerpt(key)}"; it is published as it is, but strict readers refuse it.`;
    const fix = isFree ? `Write "${meant}".` : "Move it under metadata, as text, or remove it.";
    const fixed = isFree ? withSpan(skill, keySpan, meant) : undefined;
    remarks.add({ code: "unknown_key", ...placeOfSpan(keySpan), message, fix, fixed });
  }
}
