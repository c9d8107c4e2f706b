import { problem } from "../domain/problem.ts";
import type { ApiContext } from "./caller.ts";

/** A parameter that is true or false; anything else is refused, since a misread `dry_run` would change something. */
export function readFlag(context: ApiContext, name: string, otherwise: boolean): boolean {
  const text = context.req.query(name);
  if (text === undefined) return otherwise;
  if (text === "true" || text === "false") return text === "true";
  throw problem("invalid_request", `${name} must be true or false, not "${text}"`);
}
