import type { Remarks } from "./remark.ts";
import { quote } from "./yaml-scalar.ts";

/** The lines between `---` and `---`. */
export interface Block {
  /** 1-based line of the opening `---`; where it is missing, the line above which it belongs. */
  openLine: number;
  /** 1-based line of the first line of YAML. */
  firstLine: number;
  yaml: string[];
}

/**
 * Finds the frontmatter. The SDK wants `---` as the very first line; where an author put something before it, the
 * block is found all the same, so that its own faults are told in the same answer.
 */
export function findBlock(text: string, remarks: Remarks): Block | undefined {
  if (text.startsWith("---\n")) return closeBlock(text.slice(4), 1, remarks);
  const lines = text.split("\n");
  const open = findOpening(lines);
  if (open !== -1) {
    remarks.add(notFirst(lines, open));
    return closeBlock(lines.slice(open + 1).join("\n"), open + 1, remarks);
  }
  const first = Math.max(
    0,
    lines.findIndex((line) => line.trim() !== ""),
  );
  const isUnopened = fieldLine.test(lines[first]!);
  remarks.add(isUnopened ? unopened(lines, first) : missing(lines, first));
  if (!isUnopened) return undefined;
  const end = lines.findIndex((line, index) => index > first && (line.trim() === "" || line.startsWith("---")));
  return { openLine: first + 1, firstLine: first + 1, yaml: lines.slice(first, end === -1 ? undefined : end) };
}

const fieldLine = /^\s{0,8}(?:name|description)\s{0,8}:/;
/** How far a `---` may be from the top, and its fields from it, to be taken for a displaced frontmatter. */
const maxLinesBefore = 200;
const maxLinesToField = 20;

function findOpening(lines: readonly string[]): number {
  for (let index = 0; index < Math.min(lines.length, maxLinesBefore); index++) {
    if (lines[index]!.length > 80 || lines[index]!.trim() !== "---") continue;
    const after = lines.slice(index + 1, index + 1 + maxLinesToField);
    const end = after.indexOf("---");
    const fields = end === -1 ? after : after.slice(0, end);
    if (index === 0 || fields.some((line) => fieldLine.test(line))) return index;
  }
  return -1;
}

function closeBlock(rest: string, openLine: number, remarks: Remarks): Block {
  // The SDK's own expression: with `m` it also matches beside U+2028 and a lone CR, and so must this.
  const close = /^---[\t ]*$/m.exec(rest);
  if (close !== null) {
    const yaml = rest.slice(0, close.index).split("\n");
    if (yaml.at(-1) === "") yaml.pop();
    return { openLine, firstLine: openLine + 1, yaml };
  }
  const lines = rest.split("\n");
  const almost = lines.findIndex((line) => /^(?:\.\.\.|-{4,}|[\t ]+---)[\t ]*$/.test(line));
  const blank = lines.findIndex((line) => line.trim() === "");
  const end = almost === -1 ? blank : almost;
  remarks.add({
    code: "frontmatter_unclosed",
    line: almost === -1 ? openLine : openLine + 1 + almost,
    column: 1,
    message:
      almost === -1
        ? 'No line "---" closes the frontmatter that opens here.'
        : `${quote(lines[almost]!.slice(0, 20))} does not close the frontmatter; only "---" does.`,
    fix: 'Write "---" alone on the line after the last field.',
    ...(almost === -1 ? {} : { fixed: "---" }),
  });
  return { openLine, firstLine: openLine + 1, yaml: end === -1 ? lines : lines.slice(0, end) };
}

function notFirst(lines: readonly string[], open: number) {
  const at = { code: "frontmatter_not_first", line: 1, column: 1 } as const;
  if (open === 0) {
    const message = 'The opening "---" has white space beside it.';
    return { ...at, message, fix: 'Write "---" alone on the first line.', fixed: "---" };
  }
  const what = kindOf(lines.slice(0, open));
  const message = `The frontmatter starts on line ${open + 1}, after ${what}; it must start on the first line.`;
  const fix =
    what === "a code fence"
      ? "Remove the fence around the frontmatter."
      : 'Move what is above it below the closing "---", or remove it.';
  return { ...at, message, fix };
}

function unopened(lines: readonly string[], first: number) {
  return {
    code: "frontmatter_missing",
    line: first + 1,
    column: 1,
    message: 'The frontmatter lacks its opening line "---".',
    fix: 'Write "---" as the first line of the file.',
    fixed: `---\n${lines[first]!}`,
  } as const;
}

function missing(lines: readonly string[], first: number) {
  const what =
    lines[first]!.trim() === "" ? "is empty" : `has no frontmatter; it starts with ${kindOf(lines.slice(first))}`;
  return {
    code: "frontmatter_missing",
    line: 1,
    column: 1,
    message: `SKILL.md ${what}.`,
    fix: 'Start the file with the lines "---", "name: …", "description: …" and "---".',
  } as const;
}

/** What stands in front, in the author's terms. */
function kindOf(before: readonly string[]): string {
  const first = before.find((line) => line.trim() !== "")?.trimStart();
  if (first === undefined) return before.length === 1 ? "a blank line" : `${before.length} blank lines`;
  if (first.startsWith("<!--")) return "an HTML comment";
  if (first.startsWith("```") || first.startsWith("~~~")) return "a code fence";
  return first.startsWith("#") ? "a heading" : "text";
}
