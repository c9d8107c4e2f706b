import type { Entry } from "../domain/entry.ts";
import { documentOf } from "../domain/search/document.ts";
import { indexVersion, termsToIndex } from "../domain/search/terms.ts";
import { toolDocument } from "../domain/server-tools.ts";
import type { ListedTool } from "../domain/server.ts";
import { maxIndexBatches } from "../domain/limits.ts";
import { logEvent } from "../log.ts";
import type { Blobs } from "../storage/blobs.ts";
import {
  listReleasesToIndex,
  listToolsToIndex,
  nextNamespace,
  recountSome,
  shelveSome,
  syncDocs,
  writeTerms,
} from "../storage/search-index.ts";
import type { PostingKey, ReleaseToIndex } from "../storage/search-index.ts";

/**
 * What the clock does for the index: moves what was shown or hidden, and cuts into words anew what an older program
 * cut. What one run leaves the next goes on with. Returns how many documents it touched.
 */
export async function keepIndex(db: D1Database, blobs: Blobs): Promise<number> {
  let touched = 0;
  for (let batches = 0; batches < maxIndexBatches; batches++) {
    const { rows, hasMore } = await indexSome(db, blobs);
    touched += rows;
    if (!hasMore) break;
  }
  if (touched > 0) logEvent("search", { indexed: touched });
  return touched;
}

async function indexSome(db: D1Database, blobs: Blobs): Promise<{ rows: number; hasMore: boolean }> {
  const moved = await shelveSome(db);
  if (moved.hasMore) return moved;
  const releases = await reindexReleases(db, blobs, undefined);
  if (releases.length > 0) return { rows: releases.length, hasMore: true };
  const tools = await reindexTools(db, undefined);
  return { rows: tools.length, hasMore: tools.length > 0 };
}

/** Where a rebuild is. It begins without one, goes through the four kinds in turn, and may be given up at any time. */
export type RebuildPlace =
  | { step: "releases" | "tools"; after: number }
  | { step: "documents"; after: string }
  | { step: "counts"; after: PostingKey };

export const rebuildStart: RebuildPlace = { step: "releases", after: 0 };

/** One step of a rebuild, each a batch of its own. Undefined when all is done. */
export async function rebuildSome(
  db: D1Database,
  blobs: Blobs,
  place: RebuildPlace,
): Promise<RebuildPlace | undefined> {
  switch (place.step) {
    case "releases": {
      const last = (await reindexReleases(db, blobs, place.after)).at(-1);
      return last === undefined ? { step: "tools", after: 0 } : { step: "releases", after: last };
    }
    case "tools": {
      const last = (await reindexTools(db, place.after)).at(-1);
      return last === undefined ? { step: "documents", after: "" } : { step: "tools", after: last };
    }
    case "documents": {
      const name = await nextNamespace(db, place.after);
      if (name === null) return { step: "counts", after: { shelf: "", term: "" } };
      return { step: "documents", after: (await syncDocs(db, name)) > 0 ? place.after : name };
    }
    case "counts": {
      const end = await recountSome(db, place.after);
      return end === undefined ? undefined : { step: "counts", after: end };
    }
  }
}

/** The ids that were done. */
async function reindexReleases(db: D1Database, blobs: Blobs, after: number | undefined): Promise<number[]> {
  const releases = await listReleasesToIndex(db, indexVersion, after);
  const made: { id: number; terms: string }[] = [];
  for (const release of releases) made.push({ id: release.id, terms: await termsOf(release, blobs) });
  if (made.length > 0) await writeTerms(db, "releases", made, indexVersion);
  return made.map(({ id }) => id);
}

async function termsOf({ path, entry, namespace, digest }: ReleaseToIndex, blobs: Blobs): Promise<string> {
  const { frontmatter } = JSON.parse(entry) as Entry;
  return JSON.stringify(termsToIndex(documentOf(path, frontmatter, await blobs.read(digest, namespace))));
}

async function reindexTools(db: D1Database, after: number | undefined): Promise<number[]> {
  const tools = await listToolsToIndex(db, indexVersion, after);
  const made = tools.map(({ id, server, definition }) => ({
    id,
    terms: JSON.stringify(termsToIndex(toolDocument(server, JSON.parse(definition) as ListedTool))),
  }));
  if (made.length > 0) await writeTerms(db, "server_tools", made, indexVersion);
  return made.map(({ id }) => id);
}
