import { Hono } from "hono";

import { app } from "../../src/app.ts";
import { hexOf } from "../../src/domain/digest.ts";
import type { Digest } from "../../src/domain/digest.ts";
import { maxPageBytes, maxPageEntries } from "../../src/domain/limits.ts";
import type { Env } from "../../src/env.ts";
import type { Namespace } from "../../src/domain/names.ts";
import { searchSkillsHere } from "../../src/mcp/search.ts";
import type { Visit } from "../../src/mcp/visit.ts";
import { Catalog } from "../../src/storage/catalog.ts";
import * as sql from "../../src/storage/catalog-sql.ts";

/**
 * The product as it is, and beside it the bare routes that it is measured against: the same storage work, the same
 * bytes out, and no MCP, no rights, no headers. This entry exists for the bench only and is never deployed.
 */
const bare = new Hono<{ Bindings: Env }>();
const json = { "content-type": "application/json" };

bare.post("/bench/constant", async (context) => {
  await context.req.text();
  return context.body('{"jsonrpc":"2.0","id":1,"result":{}}', 200, json);
});

interface Question {
  namespace: string;
  path: string;
  file: string;
}

/** One D1 row by its key. */
const entryOf = `SELECT r.entry FROM skills s
  JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = s.current
  WHERE s.namespace = ?1 AND s.path = ?2`;

bare.post("/bench/row", async (context) => {
  const { namespace, path } = await context.req.json<Question>();
  const row = await context.env.DB.prepare(entryOf).bind(namespace, path).first<{ entry: string }>();
  return context.body(row!.entry, 200, json);
});

/** The SELECT of a page of skills/list, 101 rows looked at, and its entries joined as they are stored. */
bare.post("/bench/page", async (context) => {
  const { namespace } = await context.req.json<Question>();
  const { results } = await context.env.DB.prepare(sql.listEntries)
    .bind(0, null, null, Date.now(), namespace, "", maxPageEntries + 1, maxPageBytes, maxPageEntries, null)
    .all<sql.EntryRow>();
  return context.body(`[${results.map((row) => row.entry).join()}]`, 200, json);
});

bare.post("/bench/directory", async (context) => {
  const { namespace, path } = await context.req.json<Question>();
  const wanted = JSON.stringify([{ path, version: null, file: "" }]);
  const { results } = await context.env.DB.prepare(sql.listDirectory)
    .bind(0, null, null, Date.now(), namespace, wanted)
    .all<sql.DirectoryRow>();
  return context.json(results);
});

/** One D1 row, then the bytes it names. */
const digestOf = `SELECT f.digest FROM skills s
  JOIN release_files f ON f.namespace = s.namespace AND f.path = s.path AND f.version = s.current
  WHERE s.namespace = ?1 AND s.path = ?2 AND f.file = ?3`;

async function findFile(env: Env, { namespace, path, file }: Question): Promise<R2ObjectBody> {
  const row = await env.DB.prepare(digestOf).bind(namespace, path, file).first<{ digest: Digest }>();
  return (await env.BLOBS.get(`blobs/sha256/${hexOf(row!.digest)}`))!;
}

bare.post("/bench/file", async (context) => {
  const object = await findFile(context.env, await context.req.json());
  return context.body(await object.arrayBuffer());
});

bare.post("/bench/stream", async (context) => {
  return context.body((await findFile(context.env, await context.req.json())).body);
});

bare.post("/bench/base64", async (context) => {
  const object = await findFile(context.env, await context.req.json());
  const bytes = new Uint8Array(await object.arrayBuffer());
  return context.body((bytes as Uint8Array & { toBase64(): string }).toBase64());
});

interface Search {
  namespace?: string;
  collection?: string;
  query: string;
  limit: number;
}

/** A search as the product does it, with what it would not say: the order where it abstains, and what D1 counted. */
bare.post("/bench/search", async (context) => {
  const { namespace, collection, query, limit } = await context.req.json<Search>();
  const counted = { rowsRead: 0, sqlMs: 0 };
  const viewer = { everything: false, tokenId: null, tokenHash: null, access: null, person: null, now: Date.now() };
  const reach = { namespace: namespace as Namespace | undefined, collection };
  const catalog = new Catalog(counting(context.env.DB, counted), viewer, reach, () => {});
  const { isAnswer, rows, evidence } = await searchSkillsHere({ catalog } as Visit, query, { limit });
  const ranked = rows.map((row) => `${row.namespace}/${row.path}`);
  return context.json({ isAnswer, confidence: evidence["confidence"] ?? 0, ranked, ...counted });
});

/** A database that adds up what its batches cost; the first statement of each is the gate's. */
function counting(db: D1Database, counted: { rowsRead: number; sqlMs: number }): D1Database {
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await db.batch(statements);
    for (const { meta } of results) {
      counted.rowsRead += meta.rows_read;
      counted.sqlMs += meta.duration;
    }
    return results;
  };
  return { prepare: (sql: string) => db.prepare(sql), batch } as unknown as D1Database;
}

/** wrangler.toml names them, so that what is built has to hold them; the bench itself binds none. */
export { Feed } from "../../src/live/feed.ts";
export { Sessions } from "../../src/live/sessions.ts";

// oxlint-disable-next-line import/no-default-export
export default {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> {
    const isBare = new RegExp("^https?://[^/]+/bench/").test(request.url);
    return isBare ? bare.fetch(request, env, context) : app.fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;
