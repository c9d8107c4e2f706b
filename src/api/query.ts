import { echo, problem } from "../domain/problem.ts";
import type { ApiContext } from "./caller.ts";

/**
 * A misspelt `dry_run` must not change anything, and a misspelt filter would show what it should have left out: what
 * an address does not know is refused, not ignored.
 * @throws Problem `invalid_request`, which names the parameters that there are
 */
export function requireKnown(context: ApiContext, known: readonly string[]): void {
  const unknown = Object.keys(context.req.query()).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const rule = known.length === 0 ? "there are none here" : `there are ${known.join(", ")}`;
  throw problem("invalid_request", `There is no parameter "${echo(unknown)}"; ${rule}`);
}

/** A parameter that is true or false; anything else is refused, since a misread `dry_run` would change something. */
export function readFlag(context: ApiContext, name: string, otherwise: boolean): boolean {
  const texts = context.req.queries(name);
  if (texts === undefined) return otherwise;
  const [text = "", ...more] = texts;
  if (more.length === 0 && (text === "true" || text === "false")) return text === "true";
  throw problem("invalid_request", `${name} must be true or false, once, not "${echo(texts.join())}"`);
}

/** What changes that are asked for beforehand take. */
export const dryRun = ["dry_run"];

export function isDryRun(context: ApiContext): boolean {
  return readFlag(context, "dry_run", false);
}
