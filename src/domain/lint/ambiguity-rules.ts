import { placeOfSpan, withQuotes, withSpan } from "./field.ts";
import type { Fields } from "./field.ts";
import type { Pair, YamlNode } from "./yaml-node.ts";
import { quote } from "./yaml-scalar.ts";

/**
 * Values that YAML 1.1 (PyYAML, Ruby, older js-yaml) and YAML 1.2 (the official SDK) read differently: the same
 * skill would mean one thing here and another there. Quotes end the argument.
 */
const longest = 64;

const forms: readonly { test: RegExp; yaml11: string; yaml12: string }[] = [
  { test: /^(?:y|yes|n|no|on|off)$/i, yaml11: "a boolean", yaml12: "text" },
  { test: /^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d[\d.:+\-Zz \t]*)?$/, yaml11: "a date", yaml12: "text" },
  { test: /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/, yaml11: "a number in base 60", yaml12: "text" },
  { test: /^[-+]?0b[01_]+$/, yaml11: "a binary number", yaml12: "text" },
  { test: /^[-+]0x[\dA-Fa-f_]+$/, yaml11: "a hexadecimal number", yaml12: "text" },
  { test: /^[-+]?(?=[\d._]*_)(?:0x[\dA-Fa-f_]+|\d[\d_]*(?:\.[\d_]*)?)$/, yaml11: "a number", yaml12: "text" },
  { test: /^[-+]?0(?=\d*[1-9])[0-7]+$/, yaml11: "an octal number", yaml12: "a decimal number" },
  { test: /^[-+]?0(?=\d*[1-9])\d+$/, yaml11: "text", yaml12: "a decimal number" },
  { test: /^0o[0-7]+$/, yaml11: "text", yaml12: "an octal number" },
  { test: /^[-+]?(?:\d+|(?:\d+\.\d*|\.\d+)(?=[Ee]\d))[Ee][-+]?\d+$/, yaml11: "text", yaml12: "a number" },
];

/** How each version reads the plain text, or undefined where they agree. */
export function readings(text: string): { yaml11: string; yaml12: string } | undefined {
  return text.length > longest ? undefined : forms.find((form) => form.test.test(text));
}

export function checkAmbiguity(fields: Fields): void {
  for (const pair of fields.skill.pairs) checkPair(fields, pair);
}

function checkPair(fields: Fields, pair: Pair): void {
  if (pair.isPlainKey) {
    const read = pair.key === "<<" ? { yaml11: "a merge of another mapping", yaml12: "a key" } : readings(pair.key);
    const fixed = withSpan(fields.skill, pair.keySpan, quote(pair.key));
    if (read !== undefined) tell(fields, { ...read, text: pair.key, fixed, place: placeOfSpan(pair.keySpan) });
  }
  checkNode(fields, pair.value);
}

function checkNode(fields: Fields, node: YamlNode): void {
  if (fields.told.has(node)) return;
  if (node.kind === "mapping") for (const pair of node.pairs) checkPair(fields, pair);
  if (node.kind === "sequence") for (const item of node.items) checkNode(fields, item);
  if (node.kind !== "scalar" || node.style !== "plain") return;
  const read = readings(node.source);
  if (read === undefined) return;
  tell(fields, { ...read, text: node.source, fixed: withQuotes(fields.skill, node), place: placeOfSpan(node.span) });
}

interface Reading {
  text: string;
  yaml11: string;
  yaml12: string;
  fixed: string | undefined;
  place: { line: number; column: number };
}

function tell({ remarks }: Fields, { text, yaml11, yaml12, fixed, place }: Reading): void {
  const message = `YAML 1.1 reads ${text} as ${yaml11}, YAML 1.2 as ${yaml12}.`;
  remarks.add({ code: "yaml_ambiguous", ...place, message, fix: "Put it in quotes.", fixed });
}
