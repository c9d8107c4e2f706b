import { excerpt } from "./remark.ts";
import type { Remarks } from "./remark.ts";
import { YamlCursor } from "./yaml-cursor.ts";
import { fault, YamlFault } from "./yaml-fault.ts";
import { assertDepth, readFlow } from "./yaml-flow.ts";
import { foldBlock, isTabIndented, placeOf, toYamlLines } from "./yaml-line.ts";
import type { YamlLine } from "./yaml-line.ts";
import type { Pair, ScalarNode, YamlNode } from "./yaml-node.ts";
import { rescueValue } from "./yaml-rescue.ts";
import { commentIndex, isSequenceItem, isWhite, matchKey, readQuoted, resolvePlain } from "./yaml-scalar.ts";
import { assertPlain, expectOnlyComment, stripComment, trimWhiteStart } from "./yaml-scalar.ts";

/**
 * The frontmatter as YAML. It follows the official SDK's parser branch by branch, so that it finds a fault exactly
 * where that one throws; but it goes on: the entry with the fault becomes `unreadable`, and reading resumes at the
 * next line that is indented no deeper. Each line is consumed once, so the time is linear.
 */
export function readYaml(raws: readonly string[], firstNo: number, remarks: Remarks): Pair[] {
  return new YamlReader(toYamlLines(raws, firstNo), remarks).readDocument();
}

interface MappingUnderWay {
  pairs: Pair[];
  keys: Set<string>;
}

/** A value about to be read: its line, its text (a suffix of the line), and what it stands in. */
interface Spot {
  line: YamlLine;
  rest: string;
  parentIndent: number;
  depth: number;
}

/** The fields of the format, which no text of a value is likely to begin a line with. */
const field = /^(?:name|description|license|compatibility|metadata|allowed-tools):(?:[\t ]|$)/;

class YamlReader extends YamlCursor {
  readDocument(): Pair[] {
    this.dropByteOrderMark();
    const into: MappingUnderWay = { pairs: [], keys: new Set() };
    let indent = this.peek()?.indent ?? 0;
    for (let line = this.peek(); line !== undefined; line = this.peek()) {
      // In the first two cases the SDK gives up: a list item among keys, or a key left of the first one.
      if (isSequenceItem(line.text)) {
        this.report(fault("not_key_value", placeOf(line), 0));
        this.index++;
        this.skipDeeper(line.indent);
      } else if (line.indent < indent) {
        if (line.isMended !== true) this.report(fault("bad_indent", placeOf(line), 0, "it is left of the first key"));
        indent = line.indent;
      } else {
        this.readMapping(indent, 0, into);
      }
    }
    return into.pairs;
  }

  /** YAML drops the mark before the first content, so reading it as part of a key would differ. */
  private dropByteOrderMark(): void {
    const first = this.peek();
    if (first === undefined || !first.text.startsWith("\uFEFF")) return;
    this.report(fault("bom_in_frontmatter", placeOf(first), 0));
    this.lines[this.index] = { ...first, text: trimWhiteStart(first.text.slice(1)) };
  }

  private readMapping(indent: number, depth: number, into: MappingUnderWay): void {
    for (let line = this.peek(); line !== undefined && line.indent >= indent; line = this.peek()) {
      assertDepth(depth, placeOf(line));
      if (line.indent > indent && line.isMended !== true) this.skipBadIndent(line, indent);
      else if (isSequenceItem(line.text)) return;
      else {
        if (line.indent > indent) this.realign(line, indent);
        this.readEntry(line, indent, depth, into);
      }
    }
  }

  private skipBadIndent(line: YamlLine, indent: number): void {
    this.report(fault("bad_indent", placeOf(line), 0, "it is deeper than its neighbours"));
    this.skipDeeper(indent);
  }

  private readEntry(line: YamlLine, indent: number, depth: number, into: MappingUnderWay): void {
    const from = this.index;
    let pair: Pair | undefined;
    try {
      const place = placeOf(line);
      const match = matchKey(line.text, place) ?? this.matchGluedKey(line);
      if (match === undefined) throw fault("not_key_value", place, 0);
      this.index++;
      const keySpan = { line: line.no, start: place.offset, end: place.offset + match.end };
      const value: YamlNode = { kind: "unreadable", span: keySpan };
      pair = { key: match.key, keySpan, isPlainKey: match.isPlain, value, lastLine: line.no };
      if (into.keys.has(match.key)) this.report(fault("duplicate_key", place, 0, excerpt(match.key)));
      else into.pairs.push(pair);
      into.keys.add(match.key);
      if (match.isGlued === true) this.skipDeeper(indent);
      else pair.value = this.readValue({ line, rest: match.rest, parentIndent: indent, depth: depth + 1 }, true);
    } catch (error) {
      this.recover(error, from, indent);
    }
    if (pair !== undefined) pair.lastLine = this.lastLine(pair.lastLine);
  }

  private readSequence(indent: number, depth: number): YamlNode {
    const items: YamlNode[] = [];
    const first = this.peek()!;
    assertDepth(depth, placeOf(first));
    const start = placeOf(first).offset;
    for (let line = this.peek(); line !== undefined && line.indent >= indent; line = this.peek()) {
      if (line.indent > indent && line.isMended !== true) this.skipBadIndent(line, indent);
      else if (isSequenceItem(line.text)) items.push(this.readItem(line, indent, depth));
      else break;
    }
    return { kind: "sequence", items, span: { line: first.no, start, end: first.raw.length } };
  }

  private readItem(line: YamlLine, indent: number, depth: number): YamlNode {
    const from = this.index;
    const after = line.text.slice(1);
    const rest = trimWhiteStart(after);
    const place = placeOf(line, rest);
    try {
      if (rest === "" || rest.startsWith("#") || !(isSequenceItem(rest) || matchKey(rest, place) !== undefined)) {
        this.index++;
        return this.readValue({ line, rest, parentIndent: indent, depth: depth + 1 }, false);
      }
      // `- key: value` or `- - item`: the item is a block of its own that starts at the column of `rest`.
      if (after.slice(0, after.length - rest.length).includes("\t")) throw fault("tab_indent", placeOf(line, after), 0);
      this.lines[this.index] = { ...line, indent: line.indent + 1 + (after.length - rest.length), text: rest };
      return this.readNested(this.lines[this.index]!, depth + 1);
    } catch (error) {
      this.recover(error, from, indent);
      return { kind: "unreadable", span: { line: line.no, start: place.offset, end: line.raw.length } };
    }
  }

  private readNested(line: YamlLine, depth: number): YamlNode {
    if (isSequenceItem(line.text)) return this.readSequence(line.indent, depth);
    const into: MappingUnderWay = { pairs: [], keys: new Set() };
    this.readMapping(line.indent, depth, into);
    const span = { line: line.no, start: placeOf(line).offset, end: line.raw.length };
    return { kind: "mapping", pairs: into.pairs, span };
  }

  private readValue(spot: Spot, isCompactAllowed: boolean): YamlNode {
    const { line, rest } = this.withoutAnchor(spot);
    if (rest === "" || rest.startsWith("#")) return this.readBelow({ ...spot, rest }, isCompactAllowed);
    if (rest.startsWith("|") || rest.startsWith(">")) return this.readBlockScalar({ ...spot, rest });
    try {
      return this.readInline(spot);
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      throw rescueValue(error, line, rest, this.linesBelow(line, spot.parentIndent));
    }
  }

  /** An anchor or tag before a block is reported and passed over, so that the block is checked as well. */
  private withoutAnchor(spot: Spot): Spot {
    const { line, rest } = spot;
    if (!rest.startsWith("&") && !rest.startsWith("!")) return spot;
    const end = rest.search(/[\t ]/);
    const after = end === -1 ? "" : trimWhiteStart(rest.slice(end));
    if (after !== "" && !"|>#".includes(after[0]!)) return spot;
    this.report(fault("anchor_or_tag", placeOf(line, rest), 0));
    return { ...spot, rest: after };
  }

  private readBelow(spot: Spot, isCompactAllowed: boolean): YamlNode {
    const { line, rest, parentIndent, depth } = spot;
    const next = this.peek();
    if (next !== undefined && next.indent > parentIndent) {
      if (isSequenceItem(next.text) || looksLikeEntry(next)) return this.readNested(next, depth);
      this.index++;
      return this.readValue({ line: next, rest: next.text, parentIndent, depth }, false);
    }
    if (isCompactAllowed && next !== undefined && next.indent === parentIndent && isSequenceItem(next.text)) {
      return this.readSequence(parentIndent, depth);
    }
    const { offset } = placeOf(line, rest);
    return { ...scalarNode(line, offset, offset), style: "empty", value: null };
  }

  private readInline(spot: Spot): YamlNode {
    const { line, rest, depth } = spot;
    const place = placeOf(line, rest);
    const first = rest[0]!;
    if (first === '"' || first === "'") {
      const { value, end } = readQuoted(rest, 0, place);
      expectOnlyComment(rest, end, place);
      return { ...scalarNode(line, place.offset, place.offset + end), style: "quoted", value };
    }
    if (first === "[" || first === "{") {
      const { value, end } = readFlow(rest, 0, place, depth);
      expectOnlyComment(rest, end, place);
      return value;
    }
    if ("&*!".includes(first)) throw fault("anchor_or_tag", place, 0);
    const isIndicator = first === "?" && (rest.length === 1 || isWhite(rest[1]));
    if ("%@`,]}".includes(first) || isIndicator || isSequenceItem(rest))
      throw fault("unquoted_special", place, 0, first);
    return this.readPlain(spot);
  }

  private readPlain({ line, rest, parentIndent, depth }: Spot): YamlNode {
    const place = placeOf(line, rest);
    const start = stripComment(rest);
    assertPlain(start, place);
    const parts = [start];
    let isCommented = commentIndex(rest) !== -1;
    let blanks = 0;
    for (; this.index < this.lines.length; this.index++) {
      let next = this.lines[this.index]!;
      if (next.text === "") {
        blanks++;
        continue;
      }
      if (next.text.startsWith("#")) break;
      if (isTabIndented(next)) {
        const isOutside = next.indent <= parentIndent;
        next = this.mend(this.index);
        // By its spaces alone the line does not belong to the value, which then must make sense without it.
        if (isOutside && parts.length === 1) resolvePlain(start, place);
      }
      if (next.indent > parentIndent && depth === 1 && field.test(next.text)) next = this.outdent(next, parentIndent);
      if (next.indent <= parentIndent || (next.isMended === true && looksLikeEntry(next))) break;
      if (isCommented) throw fault("comment_inside_value", placeOf(next), 0);
      const part = stripComment(next.text);
      assertPlain(part, placeOf(next));
      isCommented = commentIndex(next.text) !== -1;
      parts.push(blanks > 0 ? "\n".repeat(blanks) : " ", part);
      blanks = 0;
    }
    const source = parts.join("");
    const at = commentIndex(rest);
    const node = scalarNode(line, place.offset, place.offset + start.length);
    const commentAt = at === -1 ? -1 : place.offset + at;
    const isOneLine = parts.length === 1;
    return { ...node, style: "plain", value: resolvePlain(source, place), source, isOneLine, commentAt };
  }

  private readBlockScalar({ line, rest, parentIndent }: Spot): ScalarNode {
    const place = placeOf(line, rest);
    const match = /^([>|])([+-]?)(?:[\t ]+#.*)?[\t ]*$/.exec(rest);
    if (match === null) throw fault("bad_block_header", place, 0);
    const value = foldBlock(this.readBlockLines(parentIndent), match[1] === ">", match[2] ?? "");
    return { ...scalarNode(line, place.offset, line.raw.length), style: "block", value, isOneLine: false };
  }

  private readBlockLines(parentIndent: number): string[] {
    const contents: string[] = [];
    let contentIndent = -1;
    let leadingWidth = 0;
    for (; this.index < this.lines.length; this.index++) {
      const next = this.lines[this.index]!;
      const isOnlySpaces = next.indent === next.raw.length;
      if (contentIndent === -1 && !isOnlySpaces && next.indent > parentIndent) {
        contentIndent = next.indent;
        if (leadingWidth > contentIndent) {
          this.report(fault("bad_indent", placeOf(next), 0, "a blank line above is indented deeper"));
        }
      }
      if (contentIndent !== -1 && next.indent >= contentIndent) {
        contents.push(next.raw.slice(contentIndent));
      } else if (isOnlySpaces) {
        if (contentIndent === -1) leadingWidth = Math.max(leadingWidth, next.indent);
        contents.push("");
      } else if (isTabIndented(next)) {
        contents.push(this.mend(this.index).text);
      } else {
        break;
      }
    }
    return contents;
  }
}

function scalarNode(line: YamlLine, start: number, end: number): Omit<ScalarNode, "style" | "value"> {
  return { kind: "scalar", source: "", span: { line: line.no, start, end }, isOneLine: true, commentAt: -1 };
}

/** Whether the line starts a mapping; a key that is refused still makes it one, a quote that never ends does not. */
function looksLikeEntry(line: YamlLine): boolean {
  try {
    return matchKey(line.text, placeOf(line)) !== undefined;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return ["bad_key", "proto_key", "number_not_json"].includes(error.remark.code);
  }
}
