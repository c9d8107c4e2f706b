import type { LintCode } from "../lint-table.ts";
import { maxFindings } from "../limits.ts";

/** A finding before it knows its file and severity; lint.ts adds both. */
export interface Remark {
  code: LintCode;
  /** 1-based; null for the file as a whole. */
  line: number | null;
  /** 1-based, in UTF-16 code units. */
  column: number | null;
  message: string;
  fix: string;
  fixed?: string | undefined;
}

/** Longer replacements help nobody, and 200 findings must not carry 200 copies of a long line. */
export const maxFixedLength = 4000;
const maxExcerptLength = 60;

/**
 * The remarks about one file. A megabyte can hold hundreds of thousands of faults, so of each code only as many are
 * kept as could ever be shown, and the others are counted. Rules add in the order of the file.
 */
export class Remarks {
  readonly kept: Remark[] = [];
  leftOut = 0;
  private readonly counts = new Map<LintCode, number>();

  add(remark: Remark): void {
    const count = (this.counts.get(remark.code) ?? 0) + 1;
    this.counts.set(remark.code, count);
    if (count > maxFindings) this.leftOut++;
    else if ((remark.fixed?.length ?? 0) > maxFixedLength) this.kept.push({ ...remark, fixed: undefined });
    else this.kept.push(remark);
  }

  has(code: LintCode): boolean {
    return this.counts.has(code);
  }
}

/** A piece of the author's text for a sentence: bounded, never ending in half a character. */
export function excerpt(text: string): string {
  if (text.length <= maxExcerptLength) return text.toWellFormed();
  const cut = text.slice(0, maxExcerptLength);
  return `${(/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut).toWellFormed()}…`;
}

/** How many code points `text` has, which is what the Agent Skills format counts. */
export function countCharacters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += text.codePointAt(index)! > 0xffff ? 2 : 1) count++;
  return count;
}
