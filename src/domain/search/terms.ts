import { impactsOf } from "./impacts.ts";
import type { Impacts, SearchDocument } from "./impacts.ts";

/**
 * Changes with whatever would make other terms of the same bytes: an index of another version is made anew by the
 * hourly run.
 */
export const indexVersion = 1;

/**
 * What the index keeps of a document: its words, and as terms of their own the names by which it is asked for exactly.
 * "=" begins no word, so no text can make one of them.
 */
export function termsToIndex(document: SearchDocument): Impacts {
  const names = [document.name, document.path].map(exactTerm);
  return { ...impactsOf(document), ...Object.fromEntries(names.map((term) => [term, [0, 0]])) };
}

/** "Process refunds", "process_refunds" and "process-refunds" ask for the same name. */
export function exactTerm(name: string): string {
  return `=${name
    .normalize("NFKC")
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, "-")}`;
}
