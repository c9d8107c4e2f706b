import { rateWindowMs, unshieldedShare } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { Problem } from "../domain/problem.ts";
import { RateCounts, secondsLeft } from "./rate-counts.ts";

/**
 * How often one token, or else one address, may ask. An isolate counts by itself, without a call to any store; past a
 * share of a limit it also asks a Rate Limiting binding, which counts for all isolates of a data centre. Limits are
 * therefore approximate: a shield against floods, not a meter.
 */
export const buckets = ["reads", "searches", "writes", "failed-credentials"] as const;
export type Bucket = (typeof buckets)[number];

export interface RateSettings {
  /** How many a window; see `buckets`. */
  limits: Readonly<Record<Bucket, number>>;
  shields: Readonly<Record<Bucket, RateLimit | undefined>>;
}

const windowSeconds = rateWindowMs / 1_000;

/** The counts of this isolate, by bucket, so that a flood in one pushes nothing out of another. */
const isolateCounts = Object.fromEntries(buckets.map((bucket) => [bucket, new RateCounts()])) as Record<
  Bucket,
  RateCounts
>;

/** Whom a request is counted against. */
export interface Payer {
  /** `token:…`, `user:…`, `link:…` or `address:…`. */
  key: string;
  /** The address, even where a token pays: failed credentials are its own. */
  address: string;
}

/** What one request has been counted for. */
export class Meter {
  readonly #settings: RateSettings;
  readonly #payer: Payer;
  readonly #now: number;
  readonly #counts: Readonly<Record<Bucket, RateCounts>>;
  readonly #standings = new Map<Bucket, number>();

  constructor(settings: RateSettings, payer: Payer, now: number, counts = isolateCounts) {
    this.#settings = settings;
    this.#payer = payer;
    this.#now = now;
    this.#counts = counts;
  }

  /** @throws Problem `rate_limited`; what is refused is not counted. */
  async spend(bucket: Bucket, amount = 1): Promise<void> {
    if (await this.#take(bucket, this.#payer.key, amount)) return;
    const who = this.#payer.key === this.#payer.address ? "your address" : "this token";
    const hint = who === "your address" ? "; with a token you have a limit of your own" : "";
    throw this.#exceeded(`${whole(this.#settings.limits[bucket])} ${bucket}`, { who, hint });
  }

  /** Counts a refused credential, and gives back the refusal: too many of them are no longer looked at one by one. */
  async refusalOf(refusal: Problem): Promise<Problem> {
    if (refusal.code !== "invalid_token") return refusal;
    if (await this.#take("failed-credentials", this.#payer.address, 1)) return refusal;
    const limit = whole(this.#settings.limits["failed-credentials"]);
    const hint = ". A good token is let through all the same; check the one that you send";
    return this.#exceeded(`${limit} refused tokens`, { who: "your address", hint });
  }

  /** draft-ietf-httpapi-ratelimit-headers, for each bucket that this request was counted in. */
  get headers(): Record<string, string> {
    if (this.#standings.size === 0) return {};
    const items = [...this.#standings];
    const left = secondsLeft(this.#now);
    return {
      "ratelimit-policy": items
        .map(([bucket]) => `"${bucket}";q=${this.#settings.limits[bucket]};w=${windowSeconds}`)
        .join(", "),
      ratelimit: items.map(([bucket, remaining]) => `"${bucket}";r=${remaining};t=${left}`).join(", "),
    };
  }

  async #take(bucket: Bucket, key: string, amount: number): Promise<boolean> {
    const limit = this.#settings.limits[bucket];
    const counts = this.#counts[bucket];
    const used = counts.used(key, this.#now);
    if (used + amount > limit) {
      this.#standings.set(bucket, Math.max(0, limit - used));
      return false;
    }
    counts.add(key, amount, this.#now);
    const isShielded = used < limit * unshieldedShare || (await passes(this.#settings.shields[bucket], key, amount));
    this.#standings.set(bucket, isShielded ? limit - used - amount : 0);
    return isShielded;
  }

  #exceeded(limit: string, { who, hint }: { who: string; hint: string }): Problem {
    const seconds = secondsLeft(this.#now);
    return problem(
      "rate_limited",
      `The limit of ${limit} per ${windowSeconds} seconds for ${who} is reached; try again in ${seconds} s${hint}`,
      { headers: { "retry-after": String(seconds), ...this.headers } },
    );
  }
}

/** A shield that is absent or out of order lets everything pass; the isolate has counted by itself. */
async function passes(shield: RateLimit | undefined, key: string, amount: number): Promise<boolean> {
  if (shield === undefined) return true;
  try {
    const outcomes = await Promise.all(Array.from({ length: amount }, () => shield.limit({ key })));
    return outcomes.every(({ success }) => success);
  } catch {
    return true;
  }
}

function whole(count: number): string {
  return count.toLocaleString("en");
}
