import type { SkillRow } from "./catalog-sql.ts";
import { isBelow, listedAnywhereSql, listedSql, openedAnywhereSql, sightSql } from "./viewer.ts";

/**
 * Lists that somebody picked: what a collection holds in its order, and at a personal address the skills of the
 * caller's own namespace before it. What the viewer may not read, what is yanked, and a second skill of one name are
 * left out; at most 100 remain. The parameters of the viewer are followed by
 *
 *   ?5 ?6 the collection · ?7 1: the caller's own namespace comes first · ?8 the position to begin after
 *   ?9 rows to look at · ?10 bytes of JSON · ?11 entries of the whole list
 */
const own = `
  SELECT row_number() OVER (ORDER BY path) AS position, namespace, path, NULL AS version FROM (
    SELECT s.namespace, s.path FROM skills s
    WHERE ?7 AND s.namespace = (SELECT namespace FROM viewer) AND s.current IS NOT NULL AND s.visibility <> 'unlisted'
      AND ${isBelow("(SELECT below FROM viewer)")}
    ORDER BY s.path LIMIT ?11)`;

/** A collection of all skills of its namespace; `opened` has a row if the viewer may see the collection. */
const all = `
  SELECT 1000 + row_number() OVER (ORDER BY path), namespace, path, NULL FROM (
    SELECT s.namespace, s.path FROM skills s
    WHERE s.namespace = ?5 AND (SELECT is_all FROM opened) AND s.current IS NOT NULL AND ${listedSql}
    ORDER BY s.path LIMIT ?11)`;

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
shown AS (
  SELECT * FROM (SELECT * FROM readable WHERE place = 1 ORDER BY position LIMIT ?11)
  WHERE position > ?8 ORDER BY position LIMIT ?9
)`;

/** As for namespaces, sizes are summed before an entry is read, and the first entry always fits. */
export const listPickedEntries = `
WITH ${shownSql},
sized AS (SELECT *, sum(bytes) OVER (ORDER BY position) AS total, count(*) OVER () AS found FROM shown)
SELECT CAST(z.position AS TEXT) AS key, z.path, z.name, z.found, iif(z.is_pinned, r.pinned_entry, r.entry) AS entry
FROM sized z JOIN releases r ON r.namespace = z.namespace AND r.path = z.path AND r.version = z.version
WHERE z.total <= ?10 OR z.total = z.bytes
ORDER BY z.position LIMIT ?9 - 1`;

/** `key`: its position. A pinned skill is shown under its pinned address, with what that release says. */
export interface PickedRow extends SkillRow {
  key: string;
  is_pinned: number;
}

export const listPickedSkills = `
WITH ${shownSql}
SELECT CAST(z.position AS TEXT) AS key, z.is_pinned, z.namespace, z.path, z.visibility, z.version, z.name, r.description,
  r.skill_md_bytes, r.file_count, r.total_bytes, r.published_at, r.tar_digest, ?10 AS unused
FROM shown z JOIN releases r ON r.namespace = z.namespace AND r.path = z.path AND r.version = z.version
ORDER BY z.position LIMIT ?9 - 1`;
