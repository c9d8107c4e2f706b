import { Hono } from "hono";
import * as z from "zod";

import { formatCursor, parseCursor, readKey } from "../domain/cursor.ts";
import { maxIndexBatches } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { logFailure } from "../log.ts";
import { rebuildSome, rebuildStart } from "../publish/reindex.ts";
import type { RebuildPlace } from "../publish/reindex.ts";
import { Blobs } from "../storage/blobs.ts";
import { shelveSome } from "../storage/search-index.ts";
import { requireOperator } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { readJson } from "./json.ts";
import { requireKnown } from "./query.ts";

/** The search index, for the operator: it keeps itself, and can be made anew while everybody goes on searching. */
export const searchIndexApi = new Hono<AppEnv>();

const list = "search-index";

const request = z.strictObject({ cursor: z.string().nullish() });

/** One step; `next_cursor` is where to go on, null when all is done. `npm run reindex` goes through all of them. */
searchIndexApi.post("/search-index/rebuild", async (context) => {
  await requireOperator(context);
  requireKnown(context, []);
  const { cursor } = await readJson(context, request);
  const position = cursor === undefined || cursor === null ? undefined : parseCursor(list, cursor);
  const place = position === undefined ? rebuildStart : placeIn(position.key);
  const next = await rebuildSome(context.env.DB, new Blobs(context.env.BLOBS), place);
  if (next === undefined) return context.json({ step: place.step, next_cursor: null });
  const key = keyOf(next);
  return context.json({ step: place.step, next_cursor: formatCursor(list, { page: (position?.page ?? 0) + 1, key }) });
});

/** A place as a key: its step, and what it is behind. */
function keyOf({ step, after }: RebuildPlace): string {
  return JSON.stringify(step === "counts" ? [step, after.shelf, after.term] : [step, String(after), ""]);
}

function placeIn(key: string): RebuildPlace {
  const [step, after, term] = readKey(key, ["string", "string", "string"]) as [string, string, string];
  if (step === "counts") return { step, after: { shelf: after, term } };
  if (step === "documents") return { step, after };
  if ((step === "releases" || step === "tools") && /^\d{1,15}$/.test(after)) return { step, after: Number(after) };
  throw problem("invalid_cursor", "The cursor is not from this list; start again without a cursor");
}

/**
 * Moves the namespace's documents in the search index, the first of them before the answer. What may be seen is decided
 * without it; and what is left, when there is very much, the hourly run moves.
 */
export async function moveShelf(context: ApiContext): Promise<void> {
  try {
    const { hasMore } = await shelveSome(context.env.DB);
    if (hasMore) context.executionCtx.waitUntil(moveRest(context.env.DB));
  } catch (error) {
    logFailure("search", error);
  }
}

async function moveRest(db: D1Database): Promise<void> {
  try {
    for (let batches = 0; batches < maxIndexBatches && (await shelveSome(db)).hasMore; batches++);
  } catch (error) {
    logFailure("search", error);
  }
}
