import type { SkillRow } from "./catalog-sql.ts";
import { isBelow, listedAnywhereSql, listedSql, openedAnywhereSql, sightSql } from "./viewer.ts";

/**
 * Lists that somebody picked: what a collection holds in its order, and at a personal address the skills of the
 * caller's own namespaces before it. What the viewer may not read, what is yanked, and a second skill of one name are
 * left out; at most 100 remain. The parameters of the viewer are followed by
 *
 *   ?5 ?6 the collection · ?7 1: the caller's own namespaces come first · ?8 namespace/path of the skill to begin after, or NULL
 *   ?9 rows to look at · ?10 bytes of JSON · ?11 entries of the whole list
 *
 * A skill to begin after is found in the list as the viewer sees it, and comes first: so that a cursor holds no place
 * in the whole list, which would tell of what is left out, and that one whose skill has left the list is known as such.
 */
const own = `
  SELECT row_number() OVER (ORDER BY namespace, path) AS position, namespace, path, NULL AS version FROM (
    SELECT s.namespace, s.path FROM skills s
    WHERE ?7 AND s.namespace IN (SELECT namespace FROM rights) AND s.current IS NOT NULL AND s.visibility <> 'unlisted'
      AND ${isBelow("(SELECT below FROM viewer)")}
    ORDER BY s.namespace, s.path LIMIT (SELECT ?11))`;

/** A collection of all skills of its namespace; `opened` has a row if the viewer may see the collection. */
const all = `
  SELECT 1000 + row_number() OVER (ORDER BY path), namespace, path, NULL FROM (
    SELECT s.namespace, s.path FROM skills s
    WHERE s.namespace = ?5 AND (SELECT is_all FROM opened) AND s.current IS NOT NULL AND ${listedSql}
    ORDER BY s.path LIMIT (SELECT ?11))`;

const items = `
  SELECT 1000 + i.position, i.skill_namespace, i.skill_path, i.version
  FROM opened o CROSS JOIN collection_items i ON i.namespace = ?5 AND i.collection = ?6 WHERE NOT o.is_all`;

const shownSql = `${sightSql},
opened (is_all) AS MATERIALIZED (
  SELECT c.is_all FROM viewer v CROSS JOIN collections c ON c.namespace = ?5 AND c.name = ?6
  CROSS JOIN namespaces n ON n.name = c.namespace
  WHERE n.deleted_at IS NULL AND ${openedAnywhereSql}
),
picked AS (${own} UNION ALL ${all} UNION ALL ${items}),
readable AS (
  SELECT p.position, p.version IS NOT NULL AS is_pinned, s.namespace, s.path, s.visibility, r.version, r.name,
    r.entry_bytes AS bytes, row_number() OVER (PARTITION BY r.name ORDER BY p.position) AS place
  FROM viewer v CROSS JOIN picked p
  CROSS JOIN skills s ON s.namespace = p.namespace AND s.path = p.path
  CROSS JOIN namespaces n ON n.name = s.namespace
  CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = coalesce(p.version, s.current)
  WHERE r.yanked_at IS NULL AND ${listedAnywhereSql}
),
listed AS MATERIALIZED (SELECT * FROM readable WHERE place = 1 ORDER BY position LIMIT (SELECT ?11)),
start (position) AS MATERIALIZED (
  SELECT CASE WHEN ?8 IS NULL THEN 0 ELSE (SELECT position FROM listed WHERE namespace || '/' || path = ?8) END
),
shown AS (
  SELECT *, ?8 IS NOT NULL AND position = (SELECT position FROM start) AS is_start FROM listed
  WHERE position >= (SELECT position FROM start) ORDER BY position LIMIT ?9 + (?8 IS NOT NULL)
)`;

/**
 * As for namespaces, sizes are summed before an entry is read, and the first entry always fits. The skill to begin
 * after has no entry here and counts for nothing.
 */
export const listPickedEntries = `
WITH ${shownSql},
sized AS (
  SELECT *, sum(iif(is_start, 0, bytes)) OVER (ORDER BY position) AS total,
    count(*) OVER () - (?8 IS NOT NULL) AS found FROM shown
)
SELECT z.namespace || '/' || z.path AS key, z.path, z.name, z.found,
  CASE WHEN z.is_start THEN '' WHEN z.is_pinned THEN r.pinned_entry ELSE r.entry END AS entry
FROM sized z JOIN releases r ON r.namespace = z.namespace AND r.path = z.path AND r.version = z.version
WHERE z.is_start OR z.total <= ?10 OR z.total = z.bytes
ORDER BY z.position LIMIT ?9 - 1 + (?8 IS NOT NULL)`;

/** `key`: its namespace and path. A pinned skill is shown under its pinned address, with what that release says. */
export interface PickedRow extends SkillRow {
  key: string;
  is_pinned: number;
}

export const listPickedSkills = `
WITH ${shownSql}
SELECT z.namespace || '/' || z.path AS key, z.is_pinned, z.namespace, z.path, z.visibility, z.version, z.name, r.description,
  r.skill_md_bytes, r.file_count, r.total_bytes, r.published_at, r.tar_digest, ?10 AS unused
FROM shown z JOIN releases r ON r.namespace = z.namespace AND r.path = z.path AND r.version = z.version
ORDER BY z.position LIMIT ?9 - 1 + (?8 IS NOT NULL)`;
