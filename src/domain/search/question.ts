import { termsOf } from "./words.ts";

/**
 * What a search asks for, before anything is known of what the registry holds.
 */

export type QuestionTerm = { term: string; count: number };

/**
 * Distinct terms that one search looks up, the first ones: a prompt says what it wants before it pastes its code, and
 * each term costs the reading of its postings. Real prompts of 100 words have about 60, so this cuts only pasted files;
 * half as many would cost a point of nDCG@10.
 */
export const maxQuestionTerms = 64;

/** The distinct terms of a query in the order of their first occurrence, and how often each occurs. */
export function questionOf(query: string): QuestionTerm[] {
  const counts = new Map<string, number>();
  for (const term of termsOf(query)) {
    const count = counts.get(term);
    if (count !== undefined) counts.set(term, count + 1);
    else if (counts.size < maxQuestionTerms) counts.set(term, 1);
  }
  return [...counts].map(([term, count]) => ({ term, count }));
}

/**
 * How much a term tells, in thousandths of a nat: the rarer in the public registry, the more (idf of BM25, which
 * stays positive). How often a query repeats it does not count: measured, that only rewards pasted code.
 */
export function weightOf(df: number, documents: number): number {
  return Math.round(1_000 * Math.log(1 + (Math.max(documents - df, 0) + 0.5) / (df + 0.5)));
}
