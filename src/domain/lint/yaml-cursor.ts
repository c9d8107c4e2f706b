import type { Remarks } from "./remark.ts";
import { YamlFault, fault } from "./yaml-fault.ts";
import { isSkippable, isTabIndented, mendTabs } from "./yaml-line.ts";
import type { YamlLine } from "./yaml-line.ts";

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

  protected report({ remark }: YamlFault, fixed: string | undefined = remark.fixed): void {
    // A wrapped paragraph is one mistake, not one for each of its lines.
    const isStray = remark.code === "not_key_value" && fixed === undefined;
    const isSameParagraph = isStray && this.lastStray + 1 === remark.line;
    if (isStray) this.lastStray = remark.line!;
    if (!isSameParagraph) this.remarks.add({ ...remark, fixed });
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
