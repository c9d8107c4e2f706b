import { findBlock } from "./lint/frontmatter-block.ts";
import type { Remarks } from "./lint/remark.ts";
import { byteOrderMark, decodeSkillMd, normaliseLineEnds } from "./lint/source-text.ts";
import { readYaml } from "./lint/yaml-block.ts";
import type { Pair } from "./lint/yaml-node.ts";

/**
 * A tolerant reader of SKILL.md: bytes → lines, the frontmatter block, and its keys with their places. It never
 * throws and goes on after each fault, so that an author sees all of them at once. Whether a skill is accepted is
 * not decided here but by the SDK's `skillEntry` (entry.ts).
 */
export interface SkillMd {
  /** All lines without their ends, and without a byte order mark. */
  lines: readonly string[];
  /** What columns on the first line must be moved by: 1 after a byte order mark. */
  firstColumn: 0 | 1;
  /** Whether there is a frontmatter whose fields can be judged. */
  hasFields: boolean;
  /** 1-based line of the opening `---`. */
  openLine: number;
  /** 1-based line where the body starts. */
  bodyLine: number;
  pairs: Pair[];
}

/** More could not be an entry (maxEntryBytes), and its tree would cost a Worker's memory; real ones reach 5 KiB. */
export const maxFrontmatterLength = 256 * 1024;

/** Reads the file; every fault becomes a remark. */
export function readSkillMd(bytes: Uint8Array, remarks: Remarks): SkillMd {
  const decoded = decodeSkillMd(bytes, remarks);
  const firstColumn = decoded.startsWith("\uFEFF") ? 1 : 0;
  if (firstColumn === 1) remarks.add(byteOrderMark);
  const text = normaliseLineEnds(decoded.slice(firstColumn), remarks);
  const lines = text.split("\n");
  const block = findBlock(text, remarks);
  const none = { lines, firstColumn, hasFields: false, openLine: 1, bodyLine: 1, pairs: [] } as const;
  if (block === undefined) return { ...none, pairs: [] };
  const { openLine, firstLine, yaml } = block;
  const bodyLine = firstLine + yaml.length + 1;
  const length = yaml.reduce((sum, line) => sum + line.length + 1, 0);
  if (length > maxFrontmatterLength) {
    remarks.add({
      code: "frontmatter_too_large",
      line: openLine,
      column: 1,
      message: `The frontmatter has ${length} characters, but at most ${maxFrontmatterLength} are read.`,
      fix: "Move the text into the body; hosts keep the frontmatter of every skill in memory.",
    });
    return { ...none, bodyLine, pairs: [] };
  }
  return { lines, firstColumn, hasFields: true, openLine, bodyLine, pairs: readYaml(yaml, firstLine, remarks) };
}

/** The entry of a key, where it is there. */
export function findPair(pairs: readonly Pair[], key: string): Pair | undefined {
  return pairs.find((pair) => pair.key === key);
}
