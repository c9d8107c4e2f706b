import { maxQueryLength } from "../limits.ts";
import { problem } from "../problem.ts";

/**
 * A query of a list method is plain text: nothing in it is an operator. Empty means absent.
 * @throws Problem `invalid_request` that names the limit
 */
export function parseQuery(text: string): string | undefined {
  const query = text.trim();
  if ([...query].length > maxQueryLength) {
    throw problem("invalid_request", `query must be at most ${maxQueryLength} characters`);
  }
  return query === "" ? undefined : query;
}
