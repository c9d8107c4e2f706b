import { env } from "cloudflare:workers";

declare global {
  namespace Cloudflare {
    interface Env {
      /** "full" for the whole of each campaign, "ci" for half of it; by default a tenth. */
      CAMPAIGN: string;
      /** A seed in place of the fixed one. */
      CAMPAIGN_SEED: string;
    }
  }
}

/** The same in every run unless somebody asks for another, and printed, so that a failure can be had again. */
export const seed = Number(env.CAMPAIGN_SEED || 20_261_130);
/** CI has twenty minutes for everything: what takes longest of the whole is drawn there as well. */
const isHalf = env.CAMPAIGN === "ci";
export const isFull = env.CAMPAIGN === "full" || isHalf;

/** With the machine to itself no sample takes a twentieth of this; here other tests run beside. */
export const deadlineMs = 15_000;

/** A number of samples of the whole, of its half, or of its tenth. */
export const scaled = (whole: number): number => (isFull ? whole / (isHalf ? 2 : 1) : Math.ceil(whole / 10));

let turns = seed;

/** All of them, or every tenth, beginning elsewhere each time, so that all come up with one caller or another. */
export function sampled<Item>(items: readonly Item[]): readonly Item[] {
  return items.length <= 10 ? items : everyNth(items, 10);
}

/** The same for what comes up again and again with something else: one of `n`, in CI of two or `inCi`, never none. */
export function everyNth<Item>(items: readonly Item[], n: number, inCi = 2): readonly Item[] {
  if (isFull && !isHalf) return items;
  const step = Math.min(isHalf ? inCi : n, items.length);
  const turn = turns++;
  return items.filter((_, place) => (place + turn) % step === 0);
}

export function tell(name: string, counts: Record<string, number>): void {
  console.log(`${name}, seed ${seed}: ${JSON.stringify(counts)}`);
}
