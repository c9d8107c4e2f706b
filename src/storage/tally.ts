import { maxClientsPerRelease, pickDays, readDays } from "../domain/limits.ts";
import type { Choice, Pick, ReleaseRead } from "../domain/tally.ts";

/**
 * Writing down what was searched and read, a batch at a time and after the answers (mcp/tally.ts), and forgetting it.
 * Of a namespace that was deleted meanwhile nothing is written, since nobody would remove it before the name is free.
 */
export interface TallyBatch {
  picks: readonly Pick[];
  choices: readonly Choice[];
  reads: readonly CountedRead[];
}

export interface CountedRead extends ReleaseRead {
  count: number;
}

/** All of it or nothing. The choices whose pick is not there (yet), or has its choice already. */
export async function writeTally(db: D1Database, { picks, choices, reads }: TallyBatch): Promise<Choice[]> {
  const statements = [
    ...(picks.length === 0 ? [] : [db.prepare(insertPicks).bind(JSON.stringify(picks))]),
    ...(reads.length === 0 ? [] : [db.prepare(countReads).bind(readsJson(reads), maxClientsPerRelease)]),
    ...(choices.length === 0 ? [] : [db.prepare(choose).bind(JSON.stringify(choices))]),
  ];
  if (statements.length === 0) return [];
  const answers = await db.batch<{ id: string }>(statements);
  if (choices.length === 0) return [];
  const met = new Set(answers.at(-1)!.results.map(({ id }) => id));
  return choices.filter(({ pickId }) => !met.has(pickId));
}

function readsJson(reads: readonly CountedRead[]): string {
  return JSON.stringify(
    reads.map(({ client, ...read }) => ({ ...read, client: client.name, release: client.version })),
  );
}

const lives = (name: string) => `EXISTS (SELECT 1 FROM namespaces n WHERE n.name = ${name} AND n.deleted_at IS NULL)`;

/** ?1 JSON of picks. One that was written although its answer was lost is not written twice. */
const insertPicks = `
INSERT INTO search_picks (id, namespace, collection, day, words, shown)
SELECT value ->> 'pickId', value ->> 'namespace', value ->> 'collection', value ->> 'day', value ->> 'words',
  value -> 'shown'
FROM json_each(?1) WHERE value ->> 'namespace' = '' OR ${lives("value ->> 'namespace'")}
ON CONFLICT DO NOTHING`;

/**
 * ?1 JSON of choices. One counts that the pick showed, at the address where it showed it, and the first of those. A
 * pick that is there is returned also where nothing counts: to look again would find nothing else.
 */
const choose = `
UPDATE search_picks AS p SET chosen = (
  SELECT c.value ->> 'skill' FROM json_each(?1) c
  WHERE c.value ->> 'pickId' = p.id AND c.value ->> 'namespace' = p.namespace
    AND c.value ->> 'collection' = p.collection
    AND EXISTS (SELECT 1 FROM json_each(p.shown) s WHERE s.value = c.value ->> 'skill')
  ORDER BY c.key LIMIT 1)
WHERE p.id IN (SELECT value ->> 'pickId' FROM json_each(?1)) AND p.chosen IS NULL
RETURNING id`;

/**
 * ?1 JSON of reads, ?2 clients told apart for each release and day: those that are there, then the new ones of this
 * statement as far as there is room; all others are one, 'other'.
 */
const countReads = `
WITH given AS (
  SELECT value ->> 'namespace' AS namespace, value ->> 'path' AS path, value ->> 'version' AS version,
    value ->> 'day' AS day, value ->> 'client' AS client, value ->> 'release' AS client_version, value ->> 'era' AS era,
    value ->> 'isCurrent' AS is_current, value ->> 'count' AS count
  FROM json_each(?1)
),
placed AS (
  SELECT g.*,
    EXISTS (SELECT 1 FROM release_reads r WHERE r.namespace = g.namespace AND r.day = g.day AND r.path = g.path
      AND r.version = g.version AND r.client = g.client AND r.client_version = g.client_version) AS is_known,
    (SELECT count(DISTINCT r.client || char(10) || r.client_version) FROM release_reads r
      WHERE r.namespace = g.namespace AND r.day = g.day AND r.path = g.path AND r.version = g.version
        AND r.client <> 'other') AS known,
    coalesce(g.is_current, (SELECT s.current IS g.version FROM skills s
      WHERE s.namespace = g.namespace AND s.path = g.path), 0) AS was_current
  FROM given g WHERE ${lives("g.namespace")}
),
ranked AS (
  SELECT *, is_known OR known + dense_rank() OVER (
    PARTITION BY namespace, path, day, version, is_known ORDER BY client, client_version) <= ?2 AS has_room FROM placed
)
INSERT INTO release_reads (namespace, path, version, day, client, client_version, era, was_current, reads)
SELECT namespace, path, version, day, iif(has_room, client, 'other'), iif(has_room, client_version, ''), era,
  was_current, count
FROM ranked WHERE true
ON CONFLICT DO UPDATE SET reads = reads + excluded.reads`;

/** What is too old to be kept, at most so many rows of each table. `today`: as of `dayOf`. */
export async function forgetTally(
  db: D1Database,
  today: number,
  limit: number,
): Promise<{ rows: number; hasMore: boolean }> {
  const results = await db.batch([
    db.prepare(forgetPicks).bind(today - pickDays, limit),
    db.prepare(forgetReads).bind(today - readDays, limit),
  ]);
  const counts = results.map(({ meta }) => meta.changes);
  return { rows: counts.reduce((sum, count) => sum + count, 0), hasMore: counts.some((count) => count >= limit) };
}

const forgetPicks = `
DELETE FROM search_picks WHERE id IN (SELECT id FROM search_picks WHERE day <= ?1 LIMIT ?2)`;

const readKey = `namespace, day, path, version, client, client_version, era, was_current`;

const forgetReads = `
DELETE FROM release_reads WHERE (${readKey}) IN (SELECT ${readKey} FROM release_reads WHERE day <= ?1 LIMIT ?2)`;
