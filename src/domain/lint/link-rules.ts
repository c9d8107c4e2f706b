import type { SkillMd } from "../frontmatter.ts";
import { excerpt } from "./remark.ts";
import type { Remarks } from "./remark.ts";

/**
 * Relative markdown links in the body of SKILL.md that lead to no file of the release. Code, addresses, anchors and
 * placeholders are left alone: only what looks like a path of a file is judged.
 */
const maxTargetLength = 1024;

export function checkLinks(skill: SkillMd, paths: readonly string[], remarks: Remarks): void {
  const known = knownPaths(paths);
  let fence = "";
  for (let index = skill.bodyLine - 1; index < skill.lines.length; index++) {
    const line = skill.lines[index]!;
    const mark = /^\s{0,12}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === "" || (mark[0] === fence[0] && mark.length >= fence.length))) {
      fence = fence === "" ? mark : "";
    } else if (fence === "") {
      const offset = index === 0 ? skill.firstColumn : 0;
      for (const link of linksOf(line)) tellIfBroken({ link, line, no: index + 1, offset }, known, remarks);
    }
  }
}

/** Files and folders, and the spelling of each by its lower case, to tell "wrong case" from "missing". */
function knownPaths(paths: readonly string[]): Map<string, string> {
  const known = new Map<string, string>();
  for (const path of paths) {
    for (let end = path.length; end !== -1; end = path.lastIndexOf("/", end - 1)) {
      const part = path.slice(0, end);
      known.set(part, part);
      if (!known.has(part.toLowerCase())) known.set(part.toLowerCase(), part);
      if (end === 0) break;
    }
  }
  return known;
}

interface Link {
  target: string;
  /** Offset of the target in the line. */
  at: number;
}

function linksOf(line: string): Link[] {
  const links: Link[] = [];
  if (!line.includes("](") && !line.includes("]:")) return links;
  const text = blankCodeSpans(line);
  const definition = /^\s{0,3}\[(?!\^)[^\]\n]{1,200}\]:[ \t]{0,20}(?=\S)/.exec(text);
  if (definition !== null) addLink(links, line, definition[0].length);
  let at = text.indexOf("](");
  // The search goes on behind each target, so that no character is looked at twice.
  while (at !== -1) at = text.indexOf("](", addLink(links, line, at + 2));
  return links;
}

/** Adds the link whose target stands at `from`, if one does; returns where the target ends. */
function addLink(links: Link[], line: string, from: number): number {
  const isAngled = line[from] === "<";
  const start = isAngled ? from + 1 : from;
  const last = Math.min(line.length, start + maxTargetLength);
  let depth = 0;
  let end = start;
  for (; end < last; end++) {
    const char = line[end]!;
    if (isAngled ? char === ">" : char === " " || char === "\t" || (char === ")" && depth === 0)) break;
    if (char === "(") depth++;
    else if (char === ")") depth--;
  }
  if (end > start && end < start + maxTargetLength) links.push({ target: line.slice(start, end), at: start });
  return end;
}

/** The line with the inside of `code spans` blanked, so that offsets stay. */
function blankCodeSpans(line: string): string {
  const runs = [...line.matchAll(/`+/g)];
  const last = new Map(runs.map((run, index) => [run[0].length, index]));
  const parts: string[] = [];
  let from = 0;
  for (let index = 0; index < runs.length; index++) {
    const open = runs[index]!;
    if (last.get(open[0].length) === index) continue;
    // A later run of the same length exists, so this search ends there and nothing is searched twice.
    let close = index + 1;
    while (runs[close]![0].length !== open[0].length) close++;
    const end = runs[close]!.index;
    parts.push(line.slice(from, open.index), " ".repeat(end - open.index));
    from = end;
    index = close;
  }
  parts.push(line.slice(from));
  return parts.join("");
}

interface FoundLink {
  link: Link;
  line: string;
  no: number;
  offset: number;
}

function tellIfBroken({ link, line, no, offset }: FoundLink, known: Map<string, string>, remarks: Remarks): void {
  const { target, at } = link;
  const file = /^[^?#]*/.exec(target)![0];
  if (!looksLikeFile(file)) return;
  const path = resolve(decode(file));
  if (path === "" || (path !== undefined && known.get(path) === path)) return;
  const spelling = path === undefined ? undefined : known.get(path.toLowerCase());
  const shown = excerpt(target);
  const place = { code: "broken_link", line: no, column: at + 1 + offset } as const;
  if (spelling === undefined) {
    const where = path === undefined ? "leads out of the skill's folder" : "leads to no file of this skill";
    remarks.add({ ...place, message: `The link "${shown}" ${where}.`, fix: "Add the file, or mend the link." });
    return;
  }
  const message = `The link "${shown}" leads to no file of this skill; "${spelling}" differs in upper and lower case.`;
  const fixed = line.slice(0, at) + encodeURI(spelling.toWellFormed()) + line.slice(at + file.length);
  remarks.add({ ...place, message, fix: `Write "${spelling}".`, fixed });
}

/** Neither an address (`https:`, `//host`, `/root`, `#here`) nor a placeholder (`url`, `{file}`, `<path>`, `...`). */
function looksLikeFile(file: string): boolean {
  if (file === "" || /^(?:[A-Za-z][A-Za-z\d+.-]*:|\/)/.test(file)) return false;
  return /[A-Za-z\d]/.test(file) && /[./]/.test(file) && !/[{}<>$*|\\]|\.\.\.|…/.test(file);
}

function decode(file: string): string {
  try {
    return decodeURIComponent(file);
  } catch {
    return file;
  }
}

/** The path inside the skill's folder, without `.` and `..`; undefined where it leads out of it. */
function resolve(file: string): string | undefined {
  const parts: string[] = [];
  for (const part of file.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}
