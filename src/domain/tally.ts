import { maxClientTextLength, maxPickWordLength, maxPickWords } from "./limits.ts";
import type { Namespace, SkillPath } from "./names.ts";
import { withoutSecrets } from "./redact.ts";
import type { Version } from "./version.ts";

/**
 * What is counted of searches and reads, and what is left out of it. Nothing here says who asked: no token, no address,
 * no sentence.
 */
export interface Pick {
  /** `pick_…`, random: only whoever got the answer can say what was chosen of it. */
  pickId: string;
  /** '' for the whole registry, as is `collection` for a namespace. */
  namespace: string;
  collection: string;
  day: number;
  words: string;
  /** `namespace/path`, best first; none where nothing was close. */
  shown: readonly string[];
}

/** That a skill was loaded of those that a pick showed, at the address where it showed them. */
export interface Choice {
  pickId: string;
  namespace: string;
  collection: string;
  skill: string;
}

export interface ReleaseRead {
  namespace: Namespace;
  path: SkillPath;
  version: Version;
  day: number;
  client: Client;
  era: Era;
  /** Undefined: as it is when the read is written down. */
  isCurrent: boolean | undefined;
}

export type Era = "2025" | "2026";

/** A program, as it names itself. */
export interface Client {
  name: string;
  version: string;
}

export const unknownClient: Client = { name: "unknown", version: "" };

const millisecondsPerDay = 86_400_000;

/** Days since 1970, in UTC. */
export function dayOf(milliseconds: number): number {
  return Math.floor(milliseconds / millisecondsPerDay);
}

/** "2026-08-15" */
export function formatDay(day: number): string {
  return new Date(day * millisecondsPerDay).toISOString().slice(0, 10);
}

const pickIdPattern = /^pick_[\w-]{22}$/;

export function isPickId(text: string): boolean {
  return pickIdPattern.test(text);
}

/** The stems of a query as they are kept: in alphabetical order, so that no sentence can be read from them. */
export function formatWords(stems: readonly string[]): string {
  const words = stems.map((stem) => stem.toLowerCase()).filter(isCommonWord);
  return [...new Set(words)].sort().slice(0, maxPickWords).join(" ");
}

/** Something with "@", "/" or a colon in it leads to a person or a place; what is long and full of digits opens or names one thing. */
const telling = [
  /[@/:\\\s]/,
  /^(?:sk[rli]|pick)_/,
  // A telephone or account number, or a piece of one: a year is as long as a number may be.
  /\d{5,}/,
  // Of a digest, a UUID or a token of ours, which a stemmer takes apart at its lines.
  /^(?=.*\d)[0-9a-f]{8,}$/,
  /^[0-9a-f]{16,}$/,
  /^(?=(?:.*\d){3})(?=.*[a-z])[a-z0-9_-]{12,}$/,
];

function isCommonWord(word: string): boolean {
  return word !== "" && [...word].length <= maxPickWordLength && !telling.some((pattern) => pattern.test(word));
}

/**
 * A query without what its words would not show any more to be an e-mail address, a link or a number of somebody: to
 * be taken out before it is split into words.
 */
export function withoutTraces(query: string): string {
  return query.replaceAll(/\S*(?:[@\\]|:\/\/|sk[rli]_)\S*/gi, " ").replaceAll(/\+?\d[\d\s().-]{5,}\d/g, " ");
}

/** A program's name or version as it may be kept. One that holds an address of a person or a secret says nothing. */
export function cleanClient(name: unknown, version: unknown): Client | undefined {
  const cleaned = cleanText(name);
  if (cleaned === "") return undefined;
  return { name: cleaned, version: cleanText(version) };
}

function cleanText(given: unknown): string {
  if (typeof given !== "string") return "";
  const text = given
    .slice(0, 4 * maxClientTextLength)
    .replaceAll(/[^\x20-\x7e]+/g, "")
    .trim();
  const isTelling = withoutSecrets(text) !== text || /\S@\S+\.\S|:\/\/|[0-9a-f]{16}|\d{9}/i.test(text);
  return isTelling ? "" : text.slice(0, maxClientTextLength).trim();
}

/** RFC 9110, 10.1.5: the first product of a User-Agent is the program itself. */
export function clientOfUserAgent(text: string | null): Client | undefined {
  const product = /^([\w!#$%&'*+.^`|~-]+)(?:\/([\w!#$%&'*+.^`|~-]+))?/.exec(text ?? "");
  return product === null ? undefined : cleanClient(product[1], product[2]);
}
