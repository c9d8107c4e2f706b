import { maxQuestionTerms } from "../limits.ts";
import { termsOf } from "./words.ts";

/**
 * What a search asks for, before anything is known of what the registry holds.
 */

export type QuestionTerm = { term: string; count: number };

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
