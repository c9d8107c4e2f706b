/** What a ranking is worth. `relevant`: what fits; `ranked`: what was found, best first. */
export function recallAt(k: number, ranked: readonly string[], relevant: readonly string[]): number {
  const first = new Set(ranked.slice(0, k));
  return relevant.filter((id) => first.has(id)).length / relevant.length;
}

/** Normalised discounted cumulative gain; every relevant skill gains one. */
export function ndcgAt(k: number, ranked: readonly string[], relevant: readonly string[]): number {
  const wanted = new Set(relevant);
  const gain = (place: number) => 1 / Math.log2(place + 2);
  const found = ranked.slice(0, k).reduce((sum, id, place) => sum + (wanted.has(id) ? gain(place) : 0), 0);
  const ideal = relevant.slice(0, k).reduce((sum, _, place) => sum + gain(place), 0);
  return found / ideal;
}

/** How often a fitting query has more confidence than a foreign one; a tie counts half. 0.5 is chance, 1 is perfect. */
export function areaUnderCurve(fitting: readonly number[], foreign: readonly number[]): number {
  const all = [...fitting.map((value) => ({ value, fits: true })), ...foreign.map((value) => ({ value, fits: false }))];
  all.sort((a, b) => a.value - b.value);
  let sum = 0;
  for (let from = 0; from < all.length;) {
    let to = from;
    while (to < all.length && all[to]!.value === all[from]!.value) to++;
    const ties = all.slice(from, to);
    sum += ties.filter(({ fits }) => fits).length * ((from + to + 1) / 2);
    from = to;
  }
  return (sum - (fitting.length * (fitting.length + 1)) / 2) / (fitting.length * foreign.length);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The same sequence in every run. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
