import { listedAnywhereSql, openedAnywhereSql, sightSql } from "./viewer.ts";

/**
 * The groups of an address with their sizes, largest first: the lightweight way to see what is there. The parameters
 * of the viewer are followed by ?5 the namespace of the address or NULL, ?6 rows, and ?7 ?8 size and name of the group
 * to go on behind, or NULL. Sizes count what the caller finds in a list.
 */
export interface GroupRow {
  name: string;
  title: string;
  skills: number;
}

const behind = `(?7 IS NULL OR skills < ?7 OR (skills = ?7 AND name > ?8))`;

/** Of everything: namespaces. What everybody finds is counted beforehand; what is the caller's own comes on top. */
export const listNamespaceGroups = `
WITH ${sightSql},
own (namespace, docs) AS MATERIALIZED (
  SELECT g.namespace, g.docs FROM rights i CROSS JOIN search_groups g ON g.shelf = i.namespace AND g.namespace = i.namespace
  WHERE i.below = '' AND i.kind = 'token' AND NOT (SELECT everything FROM viewer)
  UNION ALL
  SELECT d.namespace, count(*) FROM viewer v CROSS JOIN search_docs d ON d.namespace = v.namespace AND d.kind = 'skill'
  WHERE v.below <> '' AND v.kind = 'token' AND NOT v.everything AND d.shelf = v.namespace
    AND substr(d.path || '/', 1, length(v.below)) = v.below
  GROUP BY d.namespace
  UNION ALL
  SELECT g.namespace, g.docs FROM viewer v CROSS JOIN namespaces n CROSS JOIN search_groups g ON g.shelf = n.name AND g.namespace = n.name
  WHERE v.everything
),
counted (name, title, skills) AS (
  SELECT * FROM (
    SELECT g.namespace, n.title, g.docs AS skills FROM search_groups g CROSS JOIN namespaces n ON n.name = g.namespace
    WHERE g.shelf = '' AND n.visibility = 'public' AND n.deleted_at IS NULL
      AND g.namespace NOT IN (SELECT namespace FROM own)
      AND (?7 IS NULL OR g.docs < ?7 OR (g.docs = ?7 AND g.namespace > ?8))
    ORDER BY g.docs DESC, g.namespace LIMIT ?6)
  UNION ALL
  SELECT o.namespace, n.title,
    o.docs + coalesce((SELECT docs FROM search_groups WHERE shelf = '' AND namespace = o.namespace), 0)
  FROM own o CROSS JOIN namespaces n ON n.name = o.namespace WHERE n.deleted_at IS NULL AND ?5 IS NULL
)
SELECT name, title, skills FROM counted WHERE ${behind} ORDER BY skills DESC, name LIMIT ?6`;

/** Of a namespace: the collections that the caller may open. */
export const listCollectionGroups = `
WITH ${sightSql},
counted (name, title, skills) AS (
  SELECT c.name, c.title, CASE
    WHEN c.is_all THEN coalesce((SELECT docs FROM search_groups WHERE shelf = '' AND namespace = ?5), 0)
      + CASE WHEN (SELECT level FROM sight) = 2
        THEN coalesce((SELECT docs FROM search_groups WHERE shelf = ?5 AND namespace = ?5), 0) ELSE 0 END
    ELSE (
      SELECT count(*) FROM collection_items i
      CROSS JOIN skills s ON s.namespace = i.skill_namespace AND s.path = i.skill_path
      CROSS JOIN namespaces n ON n.name = s.namespace
      WHERE i.namespace = c.namespace AND i.collection = c.name AND s.deleted_at IS NULL
        AND coalesce(i.version, s.current) IS NOT NULL AND ${listedAnywhereSql}
        AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.namespace = s.namespace AND r.path = s.path
          AND r.version = i.version AND r.yanked_at IS NOT NULL))
    END
  FROM viewer v CROSS JOIN namespaces n ON n.name = ?5 CROSS JOIN collections c ON c.namespace = n.name
  WHERE n.deleted_at IS NULL AND ${openedAnywhereSql}
)
SELECT name, title, skills FROM counted WHERE ${behind} ORDER BY skills DESC, name LIMIT ?6`;

/** Of a collection: the namespaces of what it holds. */
export const listHeldGroups = `
WITH ${sightSql},
held (namespace) AS (
  SELECT s.namespace FROM viewer v CROSS JOIN collection_items i ON i.namespace = ?2 AND i.collection = ?3
  CROSS JOIN skills s ON s.namespace = i.skill_namespace AND s.path = i.skill_path
  CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE s.deleted_at IS NULL AND coalesce(i.version, s.current) IS NOT NULL AND ${listedAnywhereSql}
    AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.namespace = s.namespace AND r.path = s.path
      AND r.version = i.version AND r.yanked_at IS NOT NULL)
  UNION ALL
  SELECT s.namespace FROM viewer v CROSS JOIN collections c ON c.namespace = ?2 AND c.name = ?3 AND c.is_all
  CROSS JOIN skills s ON s.namespace = ?2 CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE s.deleted_at IS NULL AND s.current IS NOT NULL AND ${listedAnywhereSql}
),
counted (name, title, skills) AS (
  SELECT h.namespace, (SELECT title FROM namespaces WHERE name = h.namespace), count(*) FROM held h GROUP BY h.namespace
)
SELECT name, title, skills FROM counted WHERE ${behind} AND ?5 IS NOT NULL ORDER BY skills DESC, name LIMIT ?6`;

/** ?7 JSON array of namespace/path: collections of the address that hold them, those with most first. */
export const nearestCollections = `
WITH ${sightSql},
near (name, skills) AS (
  SELECT i.collection, count(*) FROM json_each(?7) j
  CROSS JOIN collection_items i ON i.skill_namespace = substr(j.value, 1, instr(j.value, '/') - 1)
    AND i.skill_path = substr(j.value, instr(j.value, '/') + 1)
  WHERE i.namespace = ?5 GROUP BY i.collection
)
SELECT c.name, c.title, near.skills FROM near CROSS JOIN viewer v CROSS JOIN namespaces n ON n.name = ?5
CROSS JOIN collections c ON c.namespace = ?5 AND c.name = near.name
WHERE ${openedAnywhereSql} ORDER BY near.skills DESC, c.name LIMIT ?6`;
