import { maxQueryTerms } from "./limits.ts";

/** Words that say nothing about a task; left in, they would make every skill a match. */
const stopWords = new Set(
  (
    "a an and are as at be but by can could do does for from had has have how i if in into is it its me my of on or our " +
    "please should so some that the their them then there these this to use using want was we what when where which " +
    "who why will with would you your need help skill skills"
  ).split(" "),
);

/**
 * A task in plain words → the terms to look for. Everything that is not a letter or a digit separates, so quotes,
 * `*`, `NEAR`, SQL and JSON are mere words; plurals lose their s because terms are matched as parts of words.
 */
export function queryTerms(query: string): string[] {
  const words = foldText(query).match(/[\p{L}\p{N}]+/gu) ?? [];
  const meaningful = words.filter((word) => !stopWords.has(word));
  return [...new Set((meaningful.length > 0 ? meaningful : words).map(stem))].slice(0, maxQueryTerms);
}

/** The one folding of text for search, at publish and at query. */
export function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function stem(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
