import { stemmer } from "stemmer";

import { maxWordLength } from "../limits.ts";

/**
 * Text → terms, the same for what is published and for what is asked. Everything that is not a letter or a digit
 * separates, so quotes, `*`, `NEAR`, SQL and JSON are mere words.
 */

/** Words of grammar, and those that every request for help shares: they say nothing about a task. */
const stopWords = new Set(
  (
    "a about also am an and any are aren as at be been being between but by can could couldn did didn do does doesn " +
    "doing don for from had has have having he help her here hers him his how i if im in into is isn it its just let " +
    "ll may me might mine must my need no nor not of on onto or our ours please re shall she should shouldn skill skills so " +
    "some such than that the their theirs them then there these they this those to too us use using ve very want was " +
    "wasn we were what when where which who whom whose why will with won would wouldn you your yours"
  ).split(" "),
);

/** A letter with its sharp or pluses names a language (C#, C++, F#); alone it would be dropped. Marks begin no word. */
const wordPattern = /(?<![\p{L}\p{N}])\p{L}(?:#|\+\+)|[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Scripts that are written without spaces, and Hangul, whose words carry endings that no stemmer here knows. */
const unspacedRun = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]+/gu;

/** Where camelCase turns: before a capital after a small letter or digit, and before the last of several capitals. */
const camelTurn = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** The terms of a text in their order, repetitions kept. */
export function termsOf(text: string): string[] {
  const words = text.normalize("NFKC").match(wordPattern) ?? [];
  return words.flatMap(termsOfWord);
}

function termsOfWord(word: string): string[] {
  const runs = word.match(unspacedRun);
  if (!runs) return termsOfSpaced(word);
  return [...runs.flatMap(bigramsOf), ...word.split(unspacedRun).flatMap(termsOfSpaced)];
}

/** A compound gives its parts and the whole: `GitHub` must meet github, and `PullRequest` a pull request. */
function termsOfSpaced(word: string): string[] {
  if (word.length > maxWordLength) return [];
  const parts = word.split(camelTurn);
  const spellings = parts.length > 1 ? [...parts, word] : parts;
  return spellings
    .map((spelling) => spelling.toLowerCase())
    .filter(isMeaningful)
    .map(stemOf);
}

/** Neighbouring pairs find a word wherever it begins; a lone character is a term of its own. */
function bigramsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

/** A single small Latin letter is a variable or a list's label; a single digit may be the version that matters. */
function isMeaningful(word: string): boolean {
  return word !== "" && !/^[a-z]$/.test(word) && !stopWords.has(word);
}

/** Only English has a stemmer here; a word with a digit or of another script stays as it is. */
function stemOf(word: string): string {
  return /^[a-z]+$/.test(word) ? stemmer(word) : word;
}
