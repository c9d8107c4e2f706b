/** Names that look most like one that nobody knows, for whoever mistyped it. */
export class Nearest {
  readonly #known: { name: string; pairs: Set<string> }[];

  constructor(names: readonly string[]) {
    this.#known = names.map((name) => ({ name, pairs: pairsOf(name) }));
  }

  /** Best first; names that share next to nothing with it are no help. */
  to(name: string, limit: number): string[] {
    const pairs = pairsOf(name);
    return this.#known
      .map((known) => ({ name: known.name, likeness: likenessOf(pairs, known.pairs) }))
      .filter(({ likeness }) => likeness >= minLikeness)
      .sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1))
      .slice(0, limit)
      .map((known) => known.name);
  }
}

/** `find_jobs` is still near `search_job`, whose second word it shares. */
const minLikeness = 0.25;

/** Sørensen and Dice: it costs as much as the names are long, where counting edits would cost their product. */
function likenessOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared++;
  return (2 * shared) / (a.size + b.size);
}

/** Neighbouring letters, and where words begin and end, whatever separates them: `searchJobs` is `search_jobs`. */
function pairsOf(name: string): Set<string> {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  const letters = ` ${words.replaceAll(/[^a-z0-9]+/g, " ")} `;
  return new Set(Array.from({ length: letters.length - 1 }, (_, index) => letters.slice(index, index + 2)));
}
