import type { SkillMd } from "../frontmatter.ts";
import type { Remarks } from "./remark.ts";

/**
 * Characters that a reviewer cannot see but a model reads: zero-width and bidirectional controls, the tag block,
 * control characters, runs of variation selectors. One remark for each line and character.
 */
const suspects =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class -- these are the characters we look for
  /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF9-\uFFFB\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;

/** Joiners are ordinary inside emoji and in scripts that shape their letters (Arabic, Indic and others). */
const joinable =
  /[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F\u{1F1E6}-\u{1F1FF}]|[\u0590-\u1CFF\uA800-\uABFF\uFB50-\uFDFF\uFE70-\uFEFC]/u;

export function checkInvisible(skill: SkillMd, remarks: Remarks): void {
  for (const [index, line] of skill.lines.entries()) {
    const seen = new Map<number, { at: number; count: number }>();
    for (const match of line.matchAll(suspects)) {
      const code = match[0].codePointAt(0)!;
      if (isOrdinary(line, match.index, code)) continue;
      const before = seen.get(code);
      if (before === undefined) seen.set(code, { at: match.index, count: 1 });
      else before.count++;
    }
    if (seen.size === 0) continue;
    const fixed = line.replaceAll(suspects, (char, at: number) =>
      isOrdinary(line, at, char.codePointAt(0)!) ? char : "",
    );
    for (const [code, { at, count }] of seen) {
      const column = at + 1 + (index === 0 ? skill.firstColumn : 0);
      const times = count === 1 ? "stands here" : `stands here and ${count - 1} more times on this line`;
      const message = `The invisible character U+${hex(code)} ${times}; readers cannot see it, but models read it.`;
      remarks.add({ code: "invisible_character", line: index + 1, column, message, fix: "Remove it.", fixed });
    }
  }
}

/** Each invisible character of a text once, where it is not an ordinary part of its neighbours. */
export function findInvisible(text: string): Set<number> {
  const found = new Set<number>();
  for (const match of text.matchAll(suspects)) {
    const code = match[0].codePointAt(0)!;
    if (!isOrdinary(text, match.index, code)) found.add(code);
  }
  return found;
}

const hex = (code: number) => code.toString(16).toUpperCase().padStart(4, "0");
const isSelector = (code: number) => code >= 0xfe00 && code <= 0xfe0f;

function isOrdinary(line: string, at: number, code: number): boolean {
  const previous = codePointBefore(line, at);
  if (isSelector(code)) return previous !== 0 && !isSelector(previous);
  if (code !== 0x200c && code !== 0x200d) return false;
  return joinable.test(String.fromCodePoint(previous));
}

/** 0 at the start of the line. */
function codePointBefore(line: string, at: number): number {
  if (at === 0) return 0;
  const wide = at > 1 ? line.codePointAt(at - 2)! : 0;
  return wide > 0xffff ? wide : line.charCodeAt(at - 1);
}
