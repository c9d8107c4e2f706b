import type { Digest } from "../domain/digest.ts";
import { maxReindexedReleases, maxReindexedTerms, maxReindexedTools, maxSyncedDocs } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";

/**
 * Keeping the index. Triggers (migrations/0007) keep it with every change; what is here moves what is too much for one
 * change, and makes anew what an older program made or what somebody doubts. Each step is one batch, after which every
 * search finds what it found before or better: nothing is ever taken away to be built again.
 */
export interface ReleaseToIndex {
  id: number;
  namespace: Namespace;
  path: SkillPath;
  /** JSON of the entry. */
  entry: string;
  /** Of its SKILL.md. */
  digest: Digest;
}

export interface ToolToIndex {
  id: number;
  server: string;
  definition: string;
}

/** Terms as JSON, by the id of a release or tool. */
export type MadeTerms = readonly { id: number; terms: string }[];

/**
 * Moves documents of a namespace that was shown, hidden or deleted to the shelf where they belong now, some at a time.
 */
export async function shelveSome(db: D1Database): Promise<{ rows: number; hasMore: boolean }> {
  const name = await db.prepare(nextToShelve).first<Namespace>("name");
  if (name === null) return { rows: 0, hasMore: false };
  const rows = await syncDocs(db, name);
  if (rows === 0) await db.prepare(shelved).bind(name).run();
  return { rows, hasMore: true };
}

/** Releases whose terms another version of the rules made, or (`after`) all of them in order. */
export async function listReleasesToIndex(db: D1Database, version: number, after?: number): Promise<ReleaseToIndex[]> {
  const where = after === undefined ? "r.indexed <> ?1 ORDER BY r.indexed, r.id" : "r.id > ?1 ORDER BY r.id";
  const { results } = await db
    .prepare(
      `SELECT r.id, r.namespace, r.path, r.entry, f.digest FROM releases r
       CROSS JOIN release_files f ON f.namespace = r.namespace AND f.path = r.path AND f.version = r.version
         AND f.file = 'SKILL.md'
       WHERE ${where} LIMIT ?2`,
    )
    .bind(after ?? version, maxReindexedReleases)
    .all<ReleaseToIndex>();
  return results;
}

export async function listToolsToIndex(db: D1Database, version: number, after?: number): Promise<ToolToIndex[]> {
  const where = after === undefined ? "indexed <> ?1 ORDER BY indexed, id" : "id > ?1 ORDER BY id";
  const { results } = await db
    .prepare(`SELECT id, server, definition FROM server_tools WHERE ${where} LIMIT ?2`)
    .bind(after ?? version, maxReindexedTools)
    .all<ToolToIndex>();
  return results;
}

/** A trigger takes the old postings away and puts the new ones in, in the same batch. */
export async function writeTerms(db: D1Database, table: "releases" | "server_tools", made: MadeTerms, version: number) {
  await db
    .prepare(
      `UPDATE ${table} SET terms = m.value ->> 'terms', indexed = ?2 FROM json_each(?1) AS m
       WHERE ${table}.id = m.value ->> 'id'`,
    )
    .bind(JSON.stringify(made), version)
    .run();
}

/**
 * Makes the documents of a namespace those that are due, some at a time. Returns how many went and came; 0: all are.
 */
export async function syncDocs(db: D1Database, namespace: Namespace): Promise<number> {
  const changes = [dropUndue, addDue].map((statement) => db.prepare(statement).bind(namespace, maxSyncedDocs));
  const results = await db.batch<{ id: number }>(changes);
  return results.reduce((sum, { results: rows }) => sum + rows.length, 0);
}

export async function nextNamespace(db: D1Database, after: string): Promise<Namespace | null> {
  return db.prepare(`SELECT name FROM namespaces WHERE name > ?1 ORDER BY name LIMIT 1`).bind(after).first("name");
}

/** Where a stretch of the postings begins, behind which it goes on. */
export interface PostingKey {
  shelf: string;
  term: string;
}

/** Drops postings of no document and counts anew, for the next stretch of terms. Undefined when there are no more. */
export async function recountSome(db: D1Database, after: PostingKey): Promise<PostingKey | undefined> {
  const end = await db.prepare(endOfStretch).bind(after.shelf, after.term, maxReindexedTerms).first<PostingKey>();
  if (end === null) {
    await db.batch(recountWhole.map((statement) => db.prepare(statement)));
    return undefined;
  }
  const stretch = [after.shelf, after.term, end.shelf, end.term] as const;
  await db.batch([dropStray, dropCounts, insertCounts].map((statement) => db.prepare(statement).bind(...stretch)));
  return end;
}

const nextToShelve = `SELECT name FROM namespaces WHERE to_shelve = 1 ORDER BY name LIMIT 1`;

/** Asked again in this moment: another change may have come since the last look. */
const shelved = `
UPDATE namespaces SET to_shelve = 0 WHERE name = ?1 AND NOT EXISTS (
    SELECT id, shelf FROM search_docs WHERE namespace = ?1 EXCEPT SELECT id, shelf FROM search_due WHERE namespace = ?1)
  AND NOT EXISTS (
    SELECT id, shelf FROM search_due WHERE namespace = ?1 EXCEPT SELECT id, shelf FROM search_docs WHERE namespace = ?1)`;

// ?1 namespace, ?2 documents.

const dropUndue = `
DELETE FROM search_docs WHERE id IN (
  SELECT d.id FROM search_docs d WHERE d.namespace = ?1 AND (d.id, d.shelf, d.version) NOT IN (
    SELECT id, shelf, version FROM search_due WHERE namespace = ?1) LIMIT ?2)
RETURNING id`;

const addDue = `
INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
SELECT id, kind, namespace, path, version, shelf FROM search_due
WHERE namespace = ?1 AND id NOT IN (SELECT id FROM search_docs WHERE namespace = ?1) LIMIT ?2
RETURNING id`;

/** ?1 shelf, ?2 term, ?3 terms */
const endOfStretch = `
SELECT shelf, term FROM (
  SELECT DISTINCT shelf, term FROM search_postings WHERE (shelf, term) > (?1, ?2) ORDER BY shelf, term LIMIT ?3)
ORDER BY shelf DESC, term DESC LIMIT 1`;

// ?1 ?2 behind which shelf and term, ?3 ?4 up to which.

const stretch = `(shelf, term) > (?1, ?2) AND (shelf, term) <= (?3, ?4)`;

const dropStray = `
DELETE FROM search_postings WHERE ${stretch} AND NOT EXISTS (
  SELECT 1 FROM search_docs d WHERE d.id = search_postings.doc AND d.shelf = search_postings.shelf
    AND json_type(iif(d.kind = 'skill', (SELECT terms FROM releases WHERE id = d.id),
      (SELECT terms FROM server_tools WHERE id = -d.id)), '$."' || search_postings.term || '"') IS NOT NULL)`;

const dropCounts = `DELETE FROM search_terms WHERE ${stretch} AND term <> ''`;

const insertCounts = `
INSERT INTO search_terms (shelf, term, docs, heard)
SELECT p.shelf, p.term, count(*), sum(d.heard)
FROM search_postings p CROSS JOIN search_docs d ON d.id = p.doc
WHERE (p.shelf, p.term) > (?1, ?2) AND (p.shelf, p.term) <= (?3, ?4) AND p.shelf <> '@' GROUP BY p.shelf, p.term`;

const counted = `(
  SELECT shelf, namespace, count(*) AS docs, sum(heard) AS heard FROM search_docs WHERE shelf <> '@'
  GROUP BY shelf, namespace)`;

/** What is counted by document and not by word, and words that no document has any more. */
const recountWhole = [
  `DELETE FROM search_terms WHERE term = '' OR NOT EXISTS (
     SELECT 1 FROM search_postings p WHERE p.shelf = search_terms.shelf AND p.term = search_terms.term)`,
  `INSERT INTO search_terms (shelf, term, docs, heard) SELECT shelf, '', sum(docs), sum(heard) FROM ${counted} GROUP BY shelf`,
  `DELETE FROM search_groups`,
  `INSERT INTO search_groups (shelf, namespace, docs, heard) SELECT shelf, namespace, docs, heard FROM ${counted}`,
];
