import { purgeBatchReleases, purgeBatchRows } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";

/**
 * What a deleted namespace leaves goes bit by bit, long before anybody can take its name. Skills stay as tombstones
 * with their spent versions, so that a pinned address never means other bytes, not even under a later owner; the audit
 * log stays whole. Losing the way between two batches costs nothing: the next run goes on.
 */
export async function purgeSome(db: D1Database, now: number): Promise<{ rows: number; hasMore: boolean }> {
  const name = await db.prepare(nextToPurge).first<Namespace>("name");
  if (name === null) return { rows: 0, hasMore: false };
  const releases = await changesOf(
    db,
    removeReleases.map((statement) => db.prepare(statement).bind(name, purgeBatchReleases)),
  );
  if (releases > 0) return { rows: releases, hasMore: true };
  const rows = await changesOf(db, [
    ...removeRows.map((statement) => db.prepare(statement).bind(name, purgeBatchRows)),
    db.prepare(finish).bind(name, now),
  ]);
  return { rows, hasMore: true };
}

async function changesOf(db: D1Database, statements: D1PreparedStatement[]): Promise<number> {
  const results = await db.batch(statements);
  return results.reduce((sum, { meta }) => sum + meta.changes, 0);
}

const nextToPurge = `
SELECT name FROM namespaces WHERE deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY deleted_at LIMIT 1`;

// ?1 namespace, ?2 releases. The oldest go first; all statements of a batch mean the same ones.

const gone = `(SELECT deleted_at FROM namespaces WHERE name = ?1)`;

const these = `(SELECT id FROM releases WHERE namespace = ?1 ORDER BY id LIMIT ?2)`;

const theseKeys = `(SELECT path, version FROM releases WHERE namespace = ?1 ORDER BY id LIMIT ?2)`;

const removeReleases = [
  `UPDATE skills SET deleted_at = ${gone}, current = NULL
   WHERE namespace = ?1 AND current IS NOT NULL AND path IN (SELECT path FROM ${theseKeys})`,
  `INSERT INTO spent_versions (namespace, path, version, major, minor, patch, pre)
   SELECT namespace, path, version, major, minor, patch, pre FROM releases WHERE id IN ${these}
   ON CONFLICT DO NOTHING`,
  `DELETE FROM release_files WHERE namespace = ?1 AND (path, version) IN ${theseKeys}`,
  `DELETE FROM releases WHERE id IN ${these}`,
];

/** ?1 namespace, ?2 rows of a table. */
const remove = (table: string, keys: string) => `
DELETE FROM ${table} WHERE (${keys}) IN (SELECT ${keys} FROM ${table} WHERE namespace = ?1 LIMIT ?2)`;

/** What refers to another comes before it. */
const removeRows = [
  `UPDATE skills SET deleted_at = ${gone}
   WHERE (namespace, path) IN (SELECT namespace, path FROM skills WHERE namespace = ?1 AND deleted_at IS NULL LIMIT ?2)`,
  remove("collection_items", "namespace, collection, position"),
  remove("collection_editions", "namespace, collection, edition"),
  `DELETE FROM collections WHERE (namespace, name) IN (
     SELECT namespace, name FROM collections c WHERE c.namespace = ?1 AND NOT EXISTS (
       SELECT 1 FROM collection_items i WHERE i.namespace = c.namespace AND i.collection = c.name) LIMIT ?2)`,
  // Each takes its words out of the index as it goes.
  remove("server_tools", "id"),
  `DELETE FROM servers WHERE (namespace, name) IN (
     SELECT namespace, name FROM servers v WHERE v.namespace = ?1 AND NOT EXISTS (
       SELECT 1 FROM server_tools t WHERE t.namespace = v.namespace AND t.server = v.name) LIMIT ?2)`,
  remove("members", "id"),
  remove("group_roles", "namespace, group_name"),
  remove("grants", "id"),
  remove("invitations", "id"),
  remove("tokens", "id"),
  remove("trusted_publishers", "id"),
  remove("receipts", "namespace, principal, key"),
  remove("search_picks", "id"),
  remove("release_reads", "namespace, day, path, version, client, client_version, era, was_current"),
];

const emptied = (
  "collections collection_editions servers server_tools members group_roles grants invitations tokens " +
  "trusted_publishers receipts releases search_picks release_reads"
).split(" ");

const isEmpty = emptied.map((table) => `AND NOT EXISTS (SELECT 1 FROM ${table} WHERE namespace = ?1)`).join(" ");

/** The name is free once this is set and the tombstone is old enough. */
const finish = `
UPDATE namespaces SET purged_at = ?2 WHERE name = ?1 ${isEmpty}
  AND NOT EXISTS (SELECT 1 FROM skills WHERE namespace = ?1 AND deleted_at IS NULL)`;
