import type { Remarks } from "./remark.ts";
import { YamlFault, fault } from "./yaml-fault.ts";
import { isSkippable, isTabIndented, mendTabs, placeOf } from "./yaml-line.ts";
import type { YamlLine } from "./yaml-line.ts";
import type { KeyMatch } from "./yaml-scalar.ts";

/** The reading position in the frontmatter's lines, and how reading resumes after a fault. */
export class YamlCursor {
  protected index = 0;
  protected readonly lines: YamlLine[];
  private readonly remarks: Remarks;
  /** The line of the last remark that a line is not "key: value". */
  private lastStray = -1;

  constructor(lines: YamlLine[], remarks: Remarks) {
    this.lines = lines;
    this.remarks = remarks;
  }

  /** The next line with content; tabs in its indentation are reported and read as spaces. */
  protected peek(): YamlLine | undefined {
    while (this.index < this.lines.length && isSkippable(this.lines[this.index]!)) this.index++;
    const line = this.lines[this.index];
    return line !== undefined && isTabIndented(line) ? this.mend(this.index) : line;
  }

  protected mend(index: number): YamlLine {
    const old = this.lines[index]!;
    const { line, fixed } = mendTabs(old);
    this.report(fault("tab_indent", { line: old.no, offset: old.indent }, 0), fixed);
    this.lines[index] = line;
    return line;
  }

  /** A mended line that turned out to belong to a mapping further left: its fixed text is moved there. */
  protected realign(line: YamlLine, indent: number): void {
    const last = this.remarks.kept.at(-1);
    if (last?.code === "tab_indent" && last.line === line.no) last.fixed = " ".repeat(indent) + line.text;
  }

  protected report({ remark }: YamlFault, fixed: string | undefined = remark.fixed): void {
    // A wrapped paragraph is one mistake, not one for each of its lines.
    const isStray = remark.code === "not_key_value" && fixed === undefined;
    const isSameParagraph = isStray && this.lastStray + 1 === remark.line;
    if (isStray) this.lastStray = remark.line!;
    if (!isSameParagraph) this.remarks.add({ ...remark, fixed });
  }

  /** A field that is indented under another is told as such, not as a colon in the other's text. */
  protected outdent(line: YamlLine, indent: number): YamlLine {
    const fixed = " ".repeat(indent) + line.text;
    if (line.isMended === true) this.realign(line, indent);
    else this.report(fault("bad_indent", placeOf(line), 0, "a field stands under another field"), fixed);
    this.lines[this.index] = { ...line, indent, isMended: true };
    return this.lines[this.index]!;
  }

  /** `key:value` without the space is no entry for YAML; its key counts all the same, lest it be called missing. */
  protected matchGluedKey(line: YamlLine): (KeyMatch & { isGlued: true }) | undefined {
    const key = /^[A-Za-z_][\w-]*(?=:(?!\/\/))/.exec(line.text)?.[0];
    if (key === undefined) return undefined;
    const { remark } = fault("not_key_value", placeOf(line), 0);
    const fixed = `${line.raw.slice(0, placeOf(line).offset)}${key}: ${line.text.slice(key.length + 1)}`;
    this.report(new YamlFault({ ...remark, fix: "Write a space after the colon.", fixed }));
    return { key, isPlain: true, end: key.length, rest: "", isGlued: true };
  }

  /** After a fault inside an entry or item that starts at line index `from`: to the next one beside it. */
  protected recover(error: unknown, from: number, indent: number): void {
    if (!(error instanceof YamlFault)) throw error;
    this.report(error);
    if (this.index === from) this.index++;
    this.skipDeeper(indent);
    if (error.remark.code === "unclosed_flow" && isClosing(this.lines[this.index])) this.index++;
  }

  protected skipDeeper(indent: number): void {
    for (; this.index < this.lines.length; this.index++) {
      let line = this.lines[this.index]!;
      if (isSkippable(line)) continue;
      // Only a tab in the first column is surely wrong: after spaces it may be the text of a block value.
      if (line.raw.startsWith("\t") && isTabIndented(line)) line = this.mend(this.index);
      if (line.indent <= indent) return;
    }
  }

  /** The line of the last content before the reading position. */
  protected lastLine(atLeast: number): number {
    let index = this.index - 1;
    while (index > 0 && this.lines[index]!.no > atLeast && isSkippable(this.lines[index]!)) index--;
    return Math.max(atLeast, this.lines[index]?.no ?? 0);
  }

  /** The lines under `line` that are indented deeper than `parentIndent`, as its value's would be. */
  protected linesBelow(line: YamlLine, parentIndent: number): YamlLine[] {
    const first = line.no - this.lines[0]!.no + 1;
    let end = first;
    while (end < this.lines.length && (isSkippable(this.lines[end]!) || this.lines[end]!.indent > parentIndent)) end++;
    if (isClosing(this.lines[end])) end++;
    while (end > first && isSkippable(this.lines[end - 1]!)) end--;
    return this.lines.slice(first, end);
  }
}

/** A bracket alone on its line, the end of a collection that was meant to span lines. */
function isClosing(line: YamlLine | undefined): boolean {
  return line !== undefined && /^[\]}],?[\t ]*$/.test(line.text);
}
