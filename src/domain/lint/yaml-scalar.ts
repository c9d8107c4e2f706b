import { excerpt } from "./remark.ts";
import { fault } from "./yaml-fault.ts";
import type { Place } from "./yaml-fault.ts";

/**
 * Scalars and keys, read with the very rules of the official SDK's frontmatter parser (a subset of YAML 1.2 with the
 * core schema): what it accepts is accepted here, what it refuses is a fault with a column. The random test in
 * test/domain/frontmatter.test.ts holds the two together.
 */

export const isWhite = (char: string | undefined): boolean => char === " " || char === "\t";
export const isSequenceItem = (text: string): boolean => text[0] === "-" && (text.length === 1 || isWhite(text[1]));

export function skipWhite(text: string, index: number): number {
  let position = index;
  while (isWhite(text[position])) position++;
  return position;
}

/** YAML white space is only space and tab; `String.prototype.trim` would strip more. */
export function trimWhiteStart(text: string): string {
  return text.slice(skipWhite(text, 0));
}

export function trimWhiteEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isWhite(text[end - 1])) end--;
  return text.slice(0, end);
}

const comment = /[\t ]#/;

/** Where the `#` of a comment stands in plain text, or -1. */
export function commentIndex(text: string): number {
  const at = text.search(comment);
  return at === -1 ? -1 : at + 1;
}

export function stripComment(text: string): string {
  const at = commentIndex(text);
  return trimWhiteEnd(at === -1 ? text : text.slice(0, at - 1));
}

/** After a quoted value or a collection only a comment may follow. */
export function expectOnlyComment(text: string, end: number, place: Place): void {
  const next = skipWhite(text, end);
  if (next === text.length || (next > end && text[next] === "#")) return;
  throw fault("text_after_value", place, next);
}

export function assertPlain(text: string, place: Place): void {
  const colon = text.search(/:(?:[\t ]|$)/);
  if (colon !== -1) throw fault("unquoted_colon", place, colon);
}

const integer = /^[+-]?\d+$/;
const octal = /^0o[0-7]+$/;
const hexadecimal = /^0x[\dA-Fa-f]+$/;
const float = /^[+-]?(?:\.\d+|\d+(?:\.\d*)?)(?:[Ee][+-]?\d+)?$/;
const specialFloat = /^(?:[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** The value of a plain scalar in the core schema of YAML 1.2. */
export function resolvePlain(text: string, place: Place): unknown {
  if (text === "" || /^(?:~|null|Null|NULL)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  let number: number | undefined;
  if (integer.test(text) || float.test(text)) number = Number(text);
  else if (octal.test(text)) number = Number.parseInt(text.slice(2), 8);
  else if (hexadecimal.test(text)) number = Number.parseInt(text.slice(2), 16);
  else if (specialFloat.test(text)) number = Number.NaN;
  if (number === undefined) return text;
  if (!Number.isFinite(number)) throw fault("number_not_json", place, 0, excerpt(text));
  return number;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\u0007",
  b: "\b",
  t: "\t",
  "\t": "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\u001B",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\u0085",
  _: "\u00A0",
  L: "\u2028",
  P: "\u2029",
};
const hexWidths: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** The value of the quoted text that starts at `start`, and where the text after it begins. */
export function readQuoted(text: string, start: number, place: Place): { value: string; end: number } {
  const quote = text[start]!;
  const parts: string[] = [];
  let index = start + 1;
  while (index < text.length) {
    const char = text[index]!;
    if (char === quote && (quote === '"' || text[index + 1] !== "'")) return { value: parts.join(""), end: index + 1 };
    if (char === quote) {
      parts.push("'");
      index += 2;
    } else if (quote === '"' && char === "\\") {
      const { decoded, length } = decodeEscape(text, index, place);
      parts.push(decoded);
      index += length;
    } else {
      parts.push(char);
      index++;
    }
  }
  throw fault("unclosed_quote", place, start);
}

function decodeEscape(text: string, index: number, place: Place): { decoded: string; length: number } {
  const code = text[index + 1];
  if (code === undefined) throw fault("unclosed_quote", place, index);
  if (Object.hasOwn(simpleEscapes, code)) return { decoded: simpleEscapes[code]!, length: 2 };
  const width = Object.hasOwn(hexWidths, code) ? hexWidths[code]! : 0;
  const hex = text.slice(index + 2, index + 2 + width);
  const isHex = width > 0 && hex.length === width && /^[\dA-Fa-f]+$/.test(hex);
  if (!isHex || Number.parseInt(hex, 16) > 0x10_ff_ff) throw fault("bad_escape", place, index, `\\${code}${hex}`);
  return { decoded: String.fromCodePoint(Number.parseInt(hex, 16)), length: 2 + width };
}

export interface KeyMatch {
  key: string;
  isPlain: boolean;
  /** Offset after the key. */
  end: number;
  /** Whether the space after the colon is missing, which is told already. */
  isGlued?: boolean;
  /** What follows the colon, without white space before it: always a suffix of the line. */
  rest: string;
}

/** `key: rest` at the start of `text`, or undefined where the text is no such thing. */
export function matchKey(text: string, place: Place): KeyMatch | undefined {
  const first = text[0];
  if (first === '"' || first === "'") {
    const { value, end } = readQuoted(text, 0, place);
    if (text[end] !== ":" || !(end + 1 === text.length || isWhite(text[end + 1]))) return undefined;
    return { key: checkKey(value, place, 0), isPlain: false, end, rest: trimWhiteStart(text.slice(end + 1)) };
  }
  if (first === "?") throw fault("bad_key", place, 0, "?");
  if (first === undefined || "[]{}&*!|>%@`#,".includes(first)) return undefined;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "#" && isWhite(text[index - 1])) return undefined;
    if (text[index] !== ":" || !(index + 1 === text.length || isWhite(text[index + 1]))) continue;
    const key = trimWhiteEnd(text.slice(0, index));
    if (key === "") return undefined;
    const rest = trimWhiteStart(text.slice(index + 1));
    return { key: resolveKey(key, place, 0), isPlain: true, end: key.length, rest };
  }
  return undefined;
}

export function checkKey(key: string, place: Place, index: number): string {
  if (key === "__proto__") throw fault("proto_key", place, index);
  return key;
}

/** A plain key must not be read as a number, a boolean or null. */
export function resolveKey(raw: string, place: Place, index: number): string {
  const at = { line: place.line, offset: place.offset + index };
  if (typeof resolvePlain(raw, at) !== "string") throw fault("bad_key", place, index, excerpt(raw));
  return checkKey(raw, place, index);
}

/** The text as a quoted scalar of one line: double quotes, or single ones where it holds `"` or `\`. */
export function quote(text: string): string {
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}
