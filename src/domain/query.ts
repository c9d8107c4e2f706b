import { maxQueryTerms } from "./limits.ts";

/**
 * Text → words, the same way for what is published and for what is asked. Everything that is not a letter or a digit
 * separates, so quotes, `*`, `NEAR`, SQL and JSON are mere words.
 */
const stopWords = new Set(
  (
    "an and are as at be but by can could do does for from had has have how if in into is it its me my of on or our " +
    "please should so some that the their them then there these this to use using want was we what when where which " +
    "who why will with would you your need help skill"
  ).split(" "),
);

/** A task in plain words → the terms to look for, each once. Words that say nothing about a task are left out. */
export function queryTerms(query: string): string[] {
  const terms = wordsOf(query).map(stem).filter(isMeaningful);
  return [...new Set(terms)].slice(0, maxQueryTerms);
}

/** The words of a text, a space before each: a term is met where it begins a word. */
export function searchableText(text: string): string {
  return wordsOf(text)
    .map((word) => ` ${word}`)
    .join("");
}

function wordsOf(text: string): string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** A plural loses its s, since a term also meets every word that begins with it. */
function stem(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

/** A single Latin letter begins too many words to mean anything. */
function isMeaningful(word: string): boolean {
  return !/^[a-z0-9]$/.test(word) && !stopWords.has(word);
}
