import { sampled } from "../campaigns/scale.ts";
import { ask, withoutNames } from "./answers.ts";
import type { Attempt, Seen } from "./answers.ts";
import type { Case } from "./seed.ts";

/** What is tried at a thing of A, beside the same tried at a thing that nobody ever made. */
export interface Pair {
  aimed: Attempt;
  absent: Attempt;
}

export function pairsOf({ aimed, absent }: Case, make: (target: Case["aimed"]) => Attempt[]): Pair[] {
  const others = make(absent);
  return make(aimed).map((one, index) => ({ aimed: one, absent: others[index]! }));
}

let tried = 0;

/** By this test file so far. */
export function pairsTried(): number {
  return tried;
}

/** Everything that differs between the two answers (of a tenth of the pairs, unless the campaigns run whole); with `isCosted` also between what they asked of the stores. */
export async function differences(
  { aimed, absent }: Case,
  pairs: readonly Pair[],
  token: string | undefined,
  { markers, isCosted = false }: { markers: readonly string[]; isCosted?: boolean },
): Promise<string[]> {
  const found: string[] = [];
  for (const pair of sampled(pairs)) {
    tried++;
    const [one, other] = [await ask(pair.aimed, token), await ask(pair.absent, token)];
    const name = `${pair.aimed.method} ${pair.aimed.path} ${textOf(pair.aimed).slice(0, 200)}`;
    const [left, right] = [withoutNames(one, aimed), withoutNames(other, absent)];
    if (left !== right) found.push(`${name}\n  is ${left}\n  is not ${right}`);
    found.push(...leaksIn(pair.aimed, one, markers, aimed).map((marker) => `${name} shows ${marker}: ${one.body}`));
    if (isCosted && one.calls.join("\n") !== other.calls.join("\n")) {
      const place = one.calls.findIndex((call, index) => call !== other.calls[index]);
      const [more, less] = [one.calls, other.calls].map((calls) => calls[place]?.replaceAll(/\s+/g, " "));
      found.push(`${name}: call ${place} of ${one.calls.length} is ${more}, and not ${less}`);
    }
    if (one.status >= 500) found.push(`${name} is ${one.status}`);
  }
  return found;
}

/** The markers that an answer shows, other than those that the request itself named. */
export function leaksIn(attempt: Attempt, seen: Seen, markers: readonly string[], names: Record<string, string>) {
  const request = decodeURIComponent(`${attempt.path} ${textOf(attempt)}`);
  const own = Object.values(names).filter((name) => request.includes(name));
  if (own.includes(names["skill"]!)) own.push(names["skill"]!.split("/").at(-1)!);
  const shown = withoutNames(seen, Object.fromEntries(own.map((name, place) => [`own${place}`, name])));
  return markers.filter((marker) => !own.includes(marker) && shown.includes(marker));
}

function textOf({ headers, body }: Attempt): string {
  return `${JSON.stringify(headers ?? {})} ${typeof body === "string" ? body : ""}`;
}
