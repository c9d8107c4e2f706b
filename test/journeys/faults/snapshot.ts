import { env } from "cloudflare:workers";

import type { Namespace } from "../../../src/domain/names.ts";

/**
 * A namespace set back to how it was, so that thousands of faults begin from one state. Rows are taken and put back
 * as they are, from whatever tables there are; bytes that came since are removed, or a retry would find them there.
 */
export interface Snapshot {
  namespace: Namespace;
  tables: { table: string; rows: Record<string, string | number | null>[] }[];
  digests: string;
}

/** Whose rows others refer to comes first. */
const order = ["namespaces", "skills", "releases"];
const rankOf = (table: string) => (order.includes(table) ? order.indexOf(table) : order.length);
const keyOf = (table: string) => (table === "namespaces" ? "name" : "namespace");

export async function take(namespace: Namespace): Promise<Snapshot> {
  const { results } = await env.DB.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'").all<{
    name: string;
    sql: string;
  }>();
  const tables = results
    .filter(({ name, sql }) => name === "namespaces" || /^\s+namespace\s/m.test(sql))
    .filter(({ name }) => !isOfIndex(name))
    .map(({ name }) => name)
    .sort((a, b) => rankOf(a) - rankOf(b));
  const answers = await env.DB.batch<Record<string, string | number | null>>(
    tables.map((table) => env.DB.prepare(`SELECT * FROM ${table} WHERE ${keyOf(table)} = ?1`).bind(namespace)),
  );
  const known = await env.DB.prepare("SELECT json_group_array(digest) AS digests FROM blobs").first<string>("digests");
  return {
    namespace,
    tables: tables.map((table, index) => ({ table, rows: answers[index]!.results.map(withoutGenerated) })),
    digests: known!,
  };
}

/** The search index follows the rows, and is made anew of them. */
const isOfIndex = (table: string) => /^search_(?:docs|postings|groups)$/.test(table);
const index = `
INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
SELECT id, kind, namespace, path, version, shelf FROM search_due WHERE namespace = ?1`;

/** Nothing can be written to a column that the database computes. */
function withoutGenerated(row: Record<string, string | number | null>) {
  return Object.fromEntries(Object.entries(row).filter(([column]) => column !== "skeleton"));
}

/** The counts of a namespace come back with its row, and what was recorded since has to go; the triggers wait. */
const waiting = [
  "audit_is_not_deleted",
  "skills_count_new",
  "skills_count_changed",
  "releases_count_new",
  "releases_count_gone",
];

async function waitingTriggers(): Promise<{ drop: D1PreparedStatement[]; create: D1PreparedStatement[] }> {
  const { results } = await env.DB.prepare(
    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name IN (SELECT value FROM json_each(?1))",
  )
    .bind(JSON.stringify(waiting))
    .all<{ name: string; sql: string }>();
  if (results.length !== waiting.length) throw new Error("a trigger that the snapshot knows is gone");
  return {
    drop: results.map(({ name }) => env.DB.prepare(`DROP TRIGGER ${name}`)),
    create: results.map(({ sql }) => env.DB.prepare(sql)),
  };
}

export async function putBack({ namespace, tables, digests }: Snapshot): Promise<void> {
  const erase = tables
    .toReversed()
    .map(({ table }) => env.DB.prepare(`DELETE FROM ${table} WHERE ${keyOf(table)} = ?1`).bind(namespace));
  const forget = env.DB.prepare(
    "DELETE FROM blobs WHERE digest NOT IN (SELECT value FROM json_each(?1)) RETURNING digest",
  ).bind(digests);
  const insert = tables.flatMap(({ table, rows }) =>
    rows.map((row) => {
      const columns = Object.keys(row);
      const places = columns.map((_, index) => `?${index + 1}`).join(", ");
      return env.DB.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`).bind(
        ...Object.values(row),
      );
    }),
  );
  const { drop, create } = await waitingTriggers();
  // Skills refer to releases and releases to skills.
  const answers = await env.DB.batch<{ digest: string }>([
    env.DB.prepare("PRAGMA defer_foreign_keys = ON"),
    ...drop,
    ...erase,
    forget,
    ...insert,
    env.DB.prepare(index).bind(namespace),
    ...create,
  ]);
  const gone = answers[drop.length + erase.length + 1]!.results.map(
    ({ digest }) => `blobs/sha256/${digest.slice("sha256:".length)}`,
  );
  if (gone.length > 0) await env.BLOBS.delete(gone);
}
