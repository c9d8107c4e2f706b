import { maxRateKeys, rateWindowMs } from "../domain/limits.ts";

/**
 * What an isolate has counted in the present window. All keys share their windows, so a new minute forgets everything
 * at once and nothing is ever searched for what has run out. Where more keys come than are kept, the oldest goes:
 * whoever commands that many addresses has that many allowances anyway.
 */
export class RateCounts {
  readonly #counts = new Map<string, number>();
  readonly #maxKeys: number;
  #window = 0;

  constructor(maxKeys: number = maxRateKeys) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#counts.size;
  }

  used(key: string, now: number): number {
    this.#turn(now);
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, amount: number, now: number): void {
    const used = this.used(key, now);
    if (used === 0 && this.#counts.size >= this.#maxKeys) this.#counts.delete(this.#counts.keys().next().value!);
    this.#counts.set(key, used + amount);
  }

  #turn(now: number): void {
    const window = Math.floor(now / rateWindowMs);
    if (window === this.#window) return;
    this.#window = window;
    this.#counts.clear();
  }
}

/** Whole seconds until the window ends; never 0. */
export function secondsLeft(now: number): number {
  return Math.ceil((rateWindowMs - (now % rateWindowMs)) / 1_000);
}
