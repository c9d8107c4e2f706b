import { maxStatisticsRows, minMissedSearches } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { Era } from "../domain/tally.ts";
import type { Version } from "../domain/version.ts";

/** What those who run a namespace see of searches and reads there; of those at `/mcp` itself, '', the operator. */
export interface SearchStatistics {
  totals: SearchTotals;
  missed: MissedRow[];
  chosen: ChosenRow[];
}

export interface SearchTotals {
  asked: number;
  shown: number;
  abstained: number;
  chosen: number;
}

export interface MissedRow {
  words: string;
  count: number;
}

export interface ChosenRow {
  namespace: Namespace;
  path: SkillPath;
  shown: number;
  chosen: number;
}

/** Since a day, inclusive. What few asked is no row of `missed`: it might be one person's. */
export async function findSearches(
  db: D1Database,
  namespace: Namespace | "",
  since: number,
): Promise<SearchStatistics> {
  const [totals, missed, chosen] = await db.batch([
    db.prepare(countSearches).bind(namespace, since),
    db.prepare(listMissed).bind(namespace, since, minMissedSearches, maxStatisticsRows),
    db.prepare(listChosen).bind(namespace, since, maxStatisticsRows),
  ]);
  return {
    totals: totals!.results[0] as SearchTotals,
    missed: missed!.results as MissedRow[],
    chosen: chosen!.results as ChosenRow[],
  };
}

const asked = `FROM search_picks p WHERE p.namespace = ?1 AND p.day >= ?2`;

const countSearches = `
SELECT count(*) AS asked, count(nullif(p.shown, '[]')) AS shown, count(*) - count(nullif(p.shown, '[]')) AS abstained,
  count(p.chosen) AS chosen ${asked}`;

const listMissed = `
SELECT p.words, count(*) AS count ${asked} AND p.shown = '[]' AND p.words <> ''
GROUP BY p.words HAVING count(*) >= ?3 ORDER BY count DESC, p.words LIMIT ?4`;

/** A namespace sees its own skills; what else its collections show is of others. */
const listChosen = `
SELECT substr(skill, 1, instr(skill, '/') - 1) AS namespace, substr(skill, instr(skill, '/') + 1) AS path, shown, chosen
FROM (
  SELECT s.value AS skill, count(*) AS shown, count(iif(p.chosen = s.value, 1, NULL)) AS chosen
  FROM search_picks p CROSS JOIN json_each(p.shown) s
  WHERE p.namespace = ?1 AND p.day >= ?2 AND (?1 = '' OR substr(s.value, 1, length(?1) + 1) = ?1 || '/')
  GROUP BY s.value
)
ORDER BY chosen DESC, shown DESC, skill LIMIT ?3`;

export interface ReadRow {
  path: SkillPath;
  version: Version;
  day: number;
  client: string;
  client_version: string;
  era: Era;
  was_current: 0 | 1;
  reads: number;
}

export interface StaleRow {
  path: SkillPath;
  version: Version;
  /** What is current now; null where nothing is. */
  current: Version | null;
  reads: number;
  last_day: number;
}

/** Of a namespace, or of one skill of it, since a day, inclusive. */
export interface ReadRange {
  namespace: Namespace;
  path: SkillPath | undefined;
  since: number;
}

export type ReadPlace = Omit<ReadRow, "reads">;

/** Newest day first, then by path, version and client, from behind a place. */
export async function listReads(
  db: D1Database,
  { namespace, path, since }: ReadRange,
  after: ReadPlace | undefined,
  limit: number,
): Promise<ReadRow[]> {
  const place = after ?? { day: null, path: "", version: "", client: "", client_version: "", era: "", was_current: 0 };
  const { results } = await db
    .prepare(path === undefined ? listReadsSql("") : listReadsSql("AND r.path = ?3"))
    .bind(
      namespace,
      since,
      path ?? null,
      limit,
      place.day,
      place.path,
      place.version,
      place.client,
      place.client_version,
      place.era,
      place.was_current,
    )
    .all<ReadRow>();
  return results;
}

const listReadsSql = (andPath: string) => `
SELECT r.path, r.version, r.day, r.client, r.client_version, r.era, r.was_current, r.reads FROM release_reads r
WHERE r.namespace = ?1 AND r.day >= ?2 AND r.day <= coalesce(?5, 9007199254740991) ${andPath}
  AND (?5 IS NULL OR r.day < ?5
    OR (r.path, r.version, r.client, r.client_version, r.era, r.was_current) > (?6, ?7, ?8, ?9, ?10, ?11))
ORDER BY r.day DESC, r.path, r.version, r.client, r.client_version, r.era, r.was_current LIMIT ?4`;

/** Releases that agents read although another was current, most read first. */
export async function listStale(db: D1Database, { namespace, path, since }: ReadRange): Promise<StaleRow[]> {
  const { results } = await db
    .prepare(listStaleSql)
    .bind(namespace, since, path ?? null, maxStatisticsRows)
    .all<StaleRow>();
  return results;
}

const listStaleSql = `
SELECT t.path, t.version, s.current, t.reads, t.last_day FROM (
  SELECT r.path, r.version, sum(r.reads) AS reads, max(r.day) AS last_day
  FROM release_reads r INDEXED BY release_reads_stale
  WHERE r.namespace = ?1 AND r.day >= ?2 AND r.was_current = 0 AND (?3 IS NULL OR r.path = ?3)
  GROUP BY r.path, r.version ORDER BY 3 DESC, r.path, r.version LIMIT ?4
) t
LEFT JOIN skills s ON s.namespace = ?1 AND s.path = t.path
ORDER BY t.reads DESC, t.path, t.version`;
