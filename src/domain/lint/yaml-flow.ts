import { excerpt } from "./remark.ts";
import { fault } from "./yaml-fault.ts";
import type { Place } from "./yaml-fault.ts";
import type { Pair, Span, YamlNode } from "./yaml-node.ts";
import { checkKey, isWhite, readQuoted, resolveKey, resolvePlain, skipWhite, trimWhiteEnd } from "./yaml-scalar.ts";

/** `[lists]` and `{mappings}` on one line, by the rules of the official SDK. */

const maxDepth = 32;
// After `-`, `?` or `:`, any of these makes it an indicator in a flow collection.
const separators = " \t,[]{}";

export function assertDepth(depth: number, place: Place): void {
  if (depth > maxDepth) throw fault("too_deep", place, 0);
}

interface Read<T> {
  value: T;
  end: number;
}

/** The collection that starts at `text[start]`, a bracket. */
export function readFlow(text: string, start: number, place: Place, depth: number): Read<YamlNode> {
  assertDepth(depth, place);
  const isList = text[start] === "[";
  const close = isList ? "]" : "}";
  const items: YamlNode[] = [];
  const pairs: Pair[] = [];
  const keys = new Set<string>();
  const done = (at: number): Read<YamlNode> => {
    const span = spanOf(place, start, at + 1);
    return { value: isList ? { kind: "sequence", items, span } : { kind: "mapping", pairs, span }, end: at + 1 };
  };
  let index = skipWhite(text, start + 1);
  while (text[index] !== close) {
    if (text[index] === undefined) throw fault("unclosed_flow", place, start);
    if (isList) {
      const item = readFlowValue(text, index, place, depth);
      items.push(item.value);
      index = skipWhite(text, item.end);
    } else {
      const pair = readFlowPair(text, index, place, depth);
      if (keys.has(pair.value.key)) throw fault("duplicate_key", place, index, excerpt(pair.value.key));
      keys.add(pair.value.key);
      pairs.push(pair.value);
      index = skipWhite(text, pair.end);
    }
    if (text[index] === close) break;
    if (text[index] === undefined) throw fault("unclosed_flow", place, start);
    if (text[index] !== ",")
      throw fault(
        "flow_syntax",
        place,
        index,
        `"${String.fromCodePoint(text.codePointAt(index)!)}" is unexpected here`,
      );
    index = skipWhite(text, index + 1);
  }
  return done(index);
}

function readFlowPair(text: string, start: number, place: Place, depth: number): Read<Pair> {
  const key = readFlowKey(text, start, place);
  const item = readFlowValue(text, key.colon + 1, place, depth);
  const keySpan = spanOf(place, start, key.end);
  const pair = { key: key.value, keySpan, isPlainKey: key.isPlain, value: item.value, lastLine: place.line };
  return { value: pair, end: item.end };
}

interface FlowKey extends Read<string> {
  isPlain: boolean;
  colon: number;
}

function readFlowKey(text: string, index: number, place: Place): FlowKey {
  const char = text[index];
  if (char === undefined) throw fault("unclosed_flow", place, index);
  if (char === '"' || char === "'") {
    const quoted = readQuoted(text, index, place);
    const colon = skipWhite(text, quoted.end);
    if (text[colon] !== ":") throw fault("flow_syntax", place, colon, 'expected ": " after the key');
    return { value: checkKey(quoted.value, place, index), end: quoted.end, isPlain: false, colon };
  }
  if (char === "[" || char === "{") throw fault("flow_syntax", place, index, "a collection cannot be a key");
  assertPlainStart(text, index, place);
  const colon = scanPlain(text, index);
  const raw = trimWhiteEnd(text.slice(index, colon));
  if (raw === "" || text[colon] !== ":" || !isWhite(text[colon + 1])) {
    throw fault("flow_syntax", place, index, 'expected "key: value"');
  }
  return { value: resolveKey(raw, place, index), end: index + raw.length, isPlain: true, colon };
}

function readFlowValue(text: string, start: number, place: Place, depth: number): Read<YamlNode> {
  const index = skipWhite(text, start);
  const char = text[index];
  if (char === undefined) throw fault("unclosed_flow", place, start);
  if (char === "[" || char === "{") return readFlow(text, index, place, depth + 1);
  const scalar = { kind: "scalar", isOneLine: true, commentAt: -1 } as const;
  if (char === '"' || char === "'") {
    const { value, end } = readQuoted(text, index, place);
    const span = spanOf(place, index, end);
    return { value: { ...scalar, style: "quoted", value, source: "", span }, end };
  }
  assertPlainStart(text, index, place);
  const end = scanPlain(text, index);
  if (text[end] === ":") throw fault("flow_syntax", place, end, "a mapping needs its own { }");
  const raw = trimWhiteEnd(text.slice(index, end));
  if (raw === "") throw fault("flow_syntax", place, index, "a value is empty");
  const value = resolvePlain(raw, { line: place.line, offset: place.offset + index });
  const span = spanOf(place, index, index + raw.length);
  return { value: { ...scalar, style: "plain", value, source: raw, span }, end };
}

function assertPlainStart(text: string, index: number, place: Place): void {
  const char = text[index]!;
  if ("&*!".includes(char)) throw fault("anchor_or_tag", place, index);
  if ("|>%@`#".includes(char) || ("-?:".includes(char) && separators.includes(text[index + 1] ?? " "))) {
    throw fault("unquoted_special", place, index, char);
  }
}

/** The end of a plain scalar: a flow indicator, a comment or a `:` indicator. */
function scanPlain(text: string, index: number): number {
  let end = index;
  while (end < text.length) {
    const char = text[end]!;
    if (",[]{}".includes(char)) break;
    if (char === "#" && isWhite(text[end - 1])) break;
    if (char === ":" && separators.includes(text[end + 1] ?? " ")) break;
    end++;
  }
  return end;
}

function spanOf(place: Place, start: number, end: number): Span {
  return { line: place.line, start: place.offset + start, end: place.offset + end };
}
