import type { Namespace, SkillPath } from "../domain/names.ts";
import { minScoreShare } from "../domain/limits.ts";
import type { Version } from "../domain/version.ts";
import { matchedSql, questionJsonSql, scoringSql } from "./scoring-sql.ts";
import type { Asked } from "./scoring-sql.ts";
import { listedAnywhereSql, openedAnywhereSql, viewerSql, wholeNamespaces } from "./viewer.ts";

/** What every row of a search says of the whole question, and the first few of how they meet it. */
export interface Judged {
  /** 0 to 1. */
  score: number;
  is_exact: number;
  /** JSON array of [place of the term, impact, head], of the first rows. */
  matched: string | null;
  /** JSON of what is known of the question; see scoring-sql.ts. */
  question: string;
}

export interface SearchRow extends Judged {
  namespace: Namespace;
  path: SkillPath;
  name: string;
  description: string;
  /** The version to which the collection of the address pins the skill. */
  pinned: Version | null;
  /** Of its namespace. */
  title: string;
}

export interface ToolRow extends Judged {
  namespace: Namespace;
  /** The title of its namespace. */
  home: string;
  server: string;
  tool: string;
  title: string;
  description: string;
  url: string;
  /** JSON array of [path, pinned version or null] of skills here, in its namespace, that name it; the first few. */
  skills: string;
}

const order = `ORDER BY b.score DESC, b.namespace, b.path`;

/** How many of the best rows the decision whether anything fits looks at closely. */
const judgedSql = `row_number() OVER (${order}) <= 2`;

const openedSql = `opened (is_all) AS MATERIALIZED (
  SELECT c.is_all FROM viewer v CROSS JOIN collections c ON c.namespace = ?2 AND c.name = ?3
  CROSS JOIN namespaces n ON n.name = c.namespace
  WHERE n.deleted_at IS NULL AND ${openedAnywhereSql}
)`;

/**
 * A collection serves a pinned skill as that release says, any other as its current one; of both only what the caller
 * finds, or what is hidden would show in what is counted. A current release is never yanked, a pinned one may be.
 */
const pickedSkills = `${openedSql},
picked (doc, shelf, namespace) AS MATERIALIZED (
  SELECT d.id, d.shelf, d.namespace
  FROM viewer v CROSS JOIN opened o CROSS JOIN collection_items i ON i.namespace = ?2 AND i.collection = ?3
  CROSS JOIN skills s ON s.namespace = i.skill_namespace AND s.path = i.skill_path
  CROSS JOIN namespaces n ON n.name = s.namespace
  CROSS JOIN search_docs d ON d.namespace = s.namespace AND d.kind = 'skill' AND d.path = s.path
    AND d.version = coalesce(i.version, s.current)
  WHERE NOT o.is_all AND s.deleted_at IS NULL AND ${listedAnywhereSql}
    AND (d.shelf <> '@' OR EXISTS (SELECT 1 FROM releases r WHERE r.id = d.id AND r.yanked_at IS NULL))
)`;

const pinnedSql = `(SELECT i.version FROM collection_items i WHERE i.namespace = ?2 AND i.collection = ?3
  AND i.skill_namespace = b.namespace AND i.skill_path = b.path)`;

/**
 * A cursor names the row that the page before ended with, and the score that it had. Its present score counts, since
 * whatever is published changes all of them a little; the old one only where the row is gone. What matches much less
 * than the best was not asked for; measured, nothing that fits is lost.
 */
const shownSql = `
start (score) AS MATERIALIZED (
  SELECT coalesce((SELECT score FROM seen WHERE namespace = ?13 AND path = ?14), ?12)
),
shown AS MATERIALIZED (
  SELECT * FROM seen b
  WHERE b.score >= ${minScoreShare} * (SELECT max(score) FROM seen)
    AND (?12 IS NULL OR b.score < (SELECT score FROM start)
      OR (b.score = (SELECT score FROM start) AND (b.namespace, b.path) > (?13, ?14)))
  ${order} LIMIT (SELECT ?8)
)`;

/** `seen`: what the caller may find of the best; nothing else takes part in anything that follows. */
export function searchSkills(asked: Asked): string {
  const isCollection = asked.reached === "collection";
  return `
WITH ${scoringSql(asked, pickedSkills)},
seen AS MATERIALIZED (
  SELECT b.doc, b.shelf, b.score, b.is_exact, b.namespace, b.path, n.title
  FROM viewer v CROSS JOIN best b
  CROSS JOIN skills s ON s.namespace = b.namespace AND s.path = b.path
  CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE s.deleted_at IS NULL AND ${listedAnywhereSql} AND ${isCollection ? "true" : "b.version IS s.current"}
),${shownSql}
SELECT b.namespace, b.path, r.name, r.description, b.title, ${isCollection ? pinnedSql : "NULL"} AS pinned,
  b.score, b.is_exact, CASE WHEN ${judgedSql} THEN ${matchedSql} END AS matched, ${questionJsonSql(asked.reached)} AS question
FROM shown b CROSS JOIN releases r ON r.id = b.doc ${order}`;
}

/** A collection has the tools that its skills name; one of all skills those of its namespace. */
const pickedTools = `${openedSql},
picked (doc, shelf, namespace) AS MATERIALIZED (
  SELECT DISTINCT d.id, d.shelf, d.namespace
  FROM viewer v CROSS JOIN opened o CROSS JOIN collection_items i ON i.namespace = ?2 AND i.collection = ?3
  CROSS JOIN skills s ON s.namespace = i.skill_namespace AND s.path = i.skill_path
  CROSS JOIN namespaces n ON n.name = s.namespace
  CROSS JOIN release_tools t ON t.namespace = s.namespace AND t.path = s.path
    AND t.version = coalesce(i.version, s.current)
  CROSS JOIN search_docs d ON d.namespace = t.namespace AND d.kind = 'tool' AND d.path = t.server || '/' || t.tool
  WHERE NOT o.is_all AND s.deleted_at IS NULL AND ${listedAnywhereSql}
)`;

/**
 * Skills that the caller finds here and that name the tool: through one of them its schema is had. In a collection those
 * that it holds, each with the version to which it is pinned.
 */
const namedSql = `(SELECT json_group_array(json_array(path, NULL)) FROM (
  SELECT s.path FROM viewer v CROSS JOIN release_tools u
  CROSS JOIN skills s ON s.namespace = u.namespace AND s.path = u.path AND s.current = u.version
  CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE u.namespace = t.namespace AND u.server = t.server AND u.tool = t.name AND s.deleted_at IS NULL
    AND ${listedAnywhereSql}
  ORDER BY s.path LIMIT 3))`;

const namedInCollectionSql = `(SELECT json_group_array(json_array(path, version)) FROM (
  SELECT s.path, i.version FROM viewer v CROSS JOIN release_tools u
  CROSS JOIN skills s ON s.namespace = u.namespace AND s.path = u.path
  CROSS JOIN namespaces n ON n.name = s.namespace
  LEFT JOIN collection_items i ON i.namespace = ?2 AND i.collection = ?3
    AND i.skill_namespace = s.namespace AND i.skill_path = s.path
  WHERE u.namespace = t.namespace AND u.server = t.server AND u.tool = t.name AND s.deleted_at IS NULL
    AND u.version = coalesce(i.version, s.current) AND ${listedAnywhereSql}
    AND (i.skill_path IS NOT NULL OR ((SELECT is_all FROM opened) AND s.namespace = ?2))
  ORDER BY s.path LIMIT 3))`;

/** Tools of a namespace are seen by whoever sees all of it, and those of a public one by everybody. */
const seenSql = `(v.everything OR n.visibility = 'public' OR n.name IN ${wholeNamespaces} OR ?3 IS NOT NULL)`;

export function searchTools(asked: Asked): string {
  const naming = asked.reached === "collection" ? namedInCollectionSql : namedSql;
  return `
WITH ${scoringSql(asked, pickedTools)},
seen AS MATERIALIZED (
  SELECT b.doc, b.shelf, b.score, b.is_exact, b.namespace, b.path, n.title AS home
  FROM viewer v CROSS JOIN best b CROSS JOIN namespaces n ON n.name = b.namespace
  WHERE n.deleted_at IS NULL AND ${seenSql}
),${shownSql}
SELECT b.namespace, b.home, t.server, t.name AS tool, t.title, t.description, m.url, b.score, b.is_exact, ${naming} AS skills,
  CASE WHEN ${judgedSql} THEN ${matchedSql} END AS matched, ${questionJsonSql(asked.reached)} AS question
FROM shown b CROSS JOIN server_tools t ON t.id = -b.doc
CROSS JOIN servers m ON m.namespace = t.namespace AND m.name = t.server ${order}`;
}

/** ?5 JSON array of {namespace, path, version}: the entries of what a search found, by their place in the array. */
export const findEntries = `
WITH ${viewerSql}
SELECT iif(j.value ->> 'version' IS NULL, r.entry, r.pinned_entry) AS entry
FROM viewer v CROSS JOIN json_each(?5) j
CROSS JOIN skills s ON s.namespace = j.value ->> 'namespace' AND s.path = j.value ->> 'path'
CROSS JOIN namespaces n ON n.name = s.namespace
CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path
  AND r.version = coalesce(j.value ->> 'version', s.current)
WHERE s.deleted_at IS NULL AND r.yanked_at IS NULL AND ${listedAnywhereSql}
ORDER BY j.key`;
