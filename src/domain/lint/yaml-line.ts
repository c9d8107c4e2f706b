import type { Place } from "./yaml-fault.ts";
import { isWhite, skipWhite } from "./yaml-scalar.ts";

/** One line of the frontmatter. `text` is always a suffix of `raw`, so that places can be computed from lengths. */
export interface YamlLine {
  /** 1-based, in the file. */
  no: number;
  /** Leading spaces only: a tab ends the indentation. */
  indent: number;
  /** The line after its leading spaces and tabs. */
  text: string;
  raw: string;
  /** Its tab is already reported, and `indent` counts each tab as two spaces. */
  isMended?: boolean;
}

export function toYamlLines(raws: readonly string[], firstNo: number): YamlLine[] {
  return raws.map((raw, index) => {
    const start = skipWhite(raw, 0);
    let indent = 0;
    while (raw[indent] === " ") indent++;
    return { no: firstNo + index, indent, text: raw.slice(start), raw };
  });
}

export const isSkippable = (line: YamlLine): boolean => line.text === "" || line.text.startsWith("#");
export const isTabIndented = (line: YamlLine): boolean => line.isMended !== true && line.raw[line.indent] === "\t";

/** Where `suffix`, the end of the line, stands. */
export function placeOf(line: YamlLine, suffix: string = line.text): Place {
  return { line: line.no, offset: line.raw.length - suffix.length };
}

/** The line with two spaces for each tab of its indentation. */
export function mendTabs(line: YamlLine): { line: YamlLine; fixed: string } {
  let indent = 0;
  let index = 0;
  for (; isWhite(line.raw[index]); index++) indent += line.raw[index] === "\t" ? 2 : 1;
  return { line: { ...line, indent, isMended: true }, fixed: " ".repeat(indent) + line.raw.slice(index) };
}

/** Joins the lines of a block scalar as YAML does (the algorithm of js-yaml, which the SDK copies). */
export function foldBlock(contents: readonly string[], isFolded: boolean, chomping: string): string {
  const parts: string[] = [];
  let empty = 0;
  let hasContent = false;
  let isMoreIndented = false;
  for (const content of contents) {
    if (content === "") {
      empty++;
      continue;
    }
    if (!isFolded || isWhite(content[0])) {
      parts.push("\n".repeat(hasContent ? 1 + empty : empty));
      isMoreIndented = isFolded;
    } else if (isMoreIndented) {
      isMoreIndented = false;
      parts.push("\n".repeat(empty + 1));
    } else if (empty > 0) {
      parts.push("\n".repeat(empty));
    } else if (hasContent) {
      parts.push(" ");
    }
    parts.push(content);
    hasContent = true;
    empty = 0;
  }
  if (chomping === "+") parts.push("\n".repeat(hasContent ? 1 + empty : empty));
  else if (chomping === "" && hasContent) parts.push("\n");
  return parts.join("");
}
