import { problem } from "../domain/problem.ts";
import type { ApiContext } from "./caller.ts";

/** The ETag of what is replaced as a whole is the number of its edition. */
export function etagOf(edition: number): string {
  return `"${edition}"`;
}

/** `If-Match: "3"`: only if edition 3 is what it replaces. */
export function readIfMatch(context: ApiContext): number | undefined {
  const header = context.req.header("if-match");
  if (header === undefined) return undefined;
  const edition = /^"(\d{1,9})"$/.exec(header.trim())?.[1];
  if (edition === undefined) throw problem("invalid_request", 'If-Match must be the ETag of an edition, e.g. "3"');
  return Number(edition);
}
