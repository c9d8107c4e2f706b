import type { Namespace, SkillPath } from "../domain/names.ts";
import type { Version } from "../domain/version.ts";
import { heldSql, listedAnywhereSql, viewerSql } from "./viewer.ts";

/** The question that search_skills asks. It begins with the viewer's four parameters (viewer.ts). */
export interface SearchRow {
  namespace: Namespace;
  path: SkillPath;
  name: string;
  description: string;
  score: number;
  /** The version to which the collection of the address pins the skill. */
  pinned: Version | null;
}

/**
 * ?5 namespace or NULL for all, ?6 JSON array of terms, ?7 rows, ?8 the least score. The simple ranking: a term counts
 * 1 where it begins a word of the path, 0.6 where it begins one of the description, and the score is the mean over
 * the query's terms, 0 to 1. What a collection pins is searched by the text of that release, be it current or not.
 */
export const search = `
WITH ${viewerSql},
scored AS (
  SELECT s.namespace, s.path, coalesce(p.version, s.current) AS version, p.version AS pinned,
    (SELECT sum(CASE
        WHEN instr(' ' || replace(replace(s.path, '-', ' '), '/', ' '), ' ' || value) THEN 1.0
        WHEN instr(coalesce(p.search_text, s.search_text), ' ' || value) THEN 0.6
        ELSE 0 END) / count(*)
     FROM json_each(?6)) AS score
  FROM viewer v CROSS JOIN skills s CROSS JOIN namespaces n ON n.name = s.namespace
  LEFT JOIN collection_items i
    ON i.namespace = ?2 AND i.collection = ?3 AND i.skill_namespace = s.namespace AND i.skill_path = s.path
  LEFT JOIN releases p ON p.namespace = s.namespace AND p.path = s.path AND p.version = i.version
  WHERE (?5 IS NULL OR s.namespace = ?5) AND s.deleted_at IS NULL AND ${listedAnywhereSql} AND ${heldSql}
    AND iif(i.version IS NULL, s.current IS NOT NULL, p.yanked_at IS NULL)
),
best AS (
  SELECT * FROM scored WHERE score >= ?8 ORDER BY score DESC, namespace, path LIMIT ?7
)
SELECT b.namespace, b.path, r.name, r.description, round(b.score, 4) AS score, b.pinned FROM best b
JOIN releases r ON r.namespace = b.namespace AND r.path = b.path AND r.version = b.version
WHERE r.yanked_at IS NULL
ORDER BY b.score DESC, b.namespace, b.path`;
