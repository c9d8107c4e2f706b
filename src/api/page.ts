import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { Place } from "../storage/tokens.ts";
import type { ApiContext } from "./caller.ts";

/** One page of a list, from the place that the request's cursor names. */
export interface ListOf<Row> {
  /** Names the list and its filters: a cursor of another is refused. */
  list: string;
  /** What a key looks like; a cursor can be written by anybody. */
  key: RegExp;
  /** The rows after that key (undefined: from the start), at most `limit`. */
  load: (key: string | undefined, limit: number) => Promise<Row[]>;
  keyOf: (row: Row) => string;
}

/** @throws Problem `invalid_cursor` */
export async function readPage<Row>(
  context: ApiContext,
  { list, key, load, keyOf }: ListOf<Row>,
): Promise<{ items: Row[]; next: string | null }> {
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? undefined : parseCursor(list, cursor);
  if (position !== undefined && !key.test(position.key)) {
    throw problem("invalid_cursor", "The cursor is not from this list; start again without a cursor");
  }
  const rows = await load(position?.key, maxPageEntries + 1);
  const items = rows.slice(0, maxPageEntries);
  const page = (position?.page ?? 0) + 1;
  const next = rows.length > maxPageEntries ? formatCursor(list, { page, key: keyOf(items.at(-1)!) }) : null;
  return { items, next };
}

/** Keys of lists that are in order of time: the milliseconds, and the id where two fall together. */
export const placeKey = /^\d{1,16} [0-9a-f]{16}$/;

export function formatPlace(at: number, id: string): string {
  return `${at} ${id}`;
}

/** Before everything, for lists that begin with the oldest. */
export const firstPlace: Place = { at: -1, id: "" };
/** After everything, for lists that begin with the newest. */
export const lastPlace: Place = { at: Number.MAX_SAFE_INTEGER, id: "" };

export function readPlace(key: string | undefined, start: Place): Place {
  if (key === undefined) return start;
  const [at, id] = key.split(" ");
  return { at: Number(at), id: id! };
}
