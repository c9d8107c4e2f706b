import { impactsOf } from "./impacts.ts";
import { questionOf, weightOf } from "./question.ts";

/**
 * The ranking for a list that is at hand, such as the tools of an address: the same words, impacts and weights as in
 * the index, with the frequencies of this very list.
 */
export interface RankedText {
  name: string;
  title?: string;
  description: string;
}

/**
 * Places of the texts that match, best first; ties in the order of the list. What most of the list has in common
 * distinguishes nothing, and what matches much less than the best is not what was asked for.
 */
export function rankTexts(query: string, texts: readonly RankedText[]): number[] {
  const impacts = texts.map(({ name, title = "", description }) =>
    impactsOf({ name, path: name, description, tags: [title], triggers: [], examples: [], body: "" }),
  );
  const weights = questionOf(query).flatMap(({ term }) => {
    const holding = impacts.filter((terms) => Object.hasOwn(terms, term)).length;
    const distinguishes = holding > 0 && holding <= texts.length * maxShareOfList;
    return distinguishes ? [{ term, weight: weightOf(holding, texts.length) }] : [];
  });
  const scores = impacts.map((terms) =>
    weights.reduce((sum, { term, weight }) => sum + weight * (terms[term]?.[0] ?? 0), 0),
  );
  const best = Math.max(0, ...scores);
  return scores
    .map((score, place) => ({ score, place }))
    .filter(({ score }) => score > 0 && score >= best * minShareOfBest)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ place }) => place);
}

/** A word that more of the list has says nothing about any of it. */
const maxShareOfList = 0.5;

/** A word in a name weighs about 0.87, in a description alone about 0.62: what is only mentioned stays out. */
const minShareOfBest = 0.75;
