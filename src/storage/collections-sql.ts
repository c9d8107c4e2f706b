import { listedAnywhereSql, openedAnywhereSql, openedSql, sightSql, viewerSql } from "./viewer.ts";

/** The statements about collections. Those that look begin with the viewer's four parameters (viewer.ts). */

/** ?5 the namespace, ?6 after, ?7 rows. A private collection is shown to those who have rights in all of its namespace. */
export const listCollections = `
WITH ${sightSql}
SELECT namespace, name, title, instructions, visibility, is_all, tools, edition, created_at, updated_at FROM collections
WHERE namespace = ?5 AND name > ?6 AND ${openedSql}
ORDER BY name LIMIT ?7`;

/** ?5 the namespace, ?6 its name */
export const findCollection = `
WITH ${sightSql}
SELECT namespace, name, title, instructions, visibility, is_all, tools, edition, created_at, updated_at FROM collections
WHERE namespace = ?5 AND name = ?6 AND ${openedSql}`;

/** ?5 JSON array of {namespace, path, version}: what the viewer may read of each, by its place in the array. */
export const resolveItems = `
WITH ${viewerSql},
wanted AS (
  SELECT key, value ->> 'namespace' AS namespace, value ->> 'path' AS path, value ->> 'version' AS version
  FROM json_each(?5)
)
SELECT w.key AS place, s.visibility, s.current, r.version IS NOT NULL AS is_published, r.yanked_at IS NOT NULL AS is_yanked
FROM viewer v CROSS JOIN wanted w
CROSS JOIN skills s ON s.namespace = w.namespace AND s.path = w.path
CROSS JOIN namespaces n ON n.name = s.namespace
LEFT JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = w.version
WHERE s.deleted_at IS NULL AND n.deleted_at IS NULL
  AND (s.visibility = 'unlisted' AND n.visibility = 'public' OR ${listedAnywhereSql})`;

/**
 * ?5 the skill's namespace, ?6 its path: the collections that hold it, as far as the viewer may read them; whoever
 * hides a public skill does not learn of private collections of others that picked it. ?7 rows.
 */
export const listHolders = `
WITH ${viewerSql}
SELECT c.namespace, c.name, c.title, held.version FROM (
  SELECT namespace, collection, version FROM collection_items WHERE skill_namespace = ?5 AND skill_path = ?6
  UNION ALL
  SELECT namespace, name, NULL FROM collections WHERE namespace = ?5 AND is_all
) held
CROSS JOIN viewer v
CROSS JOIN collections c ON c.namespace = held.namespace AND c.name = held.collection
CROSS JOIN namespaces n ON n.name = c.namespace AND n.deleted_at IS NULL
WHERE ${openedAnywhereSql}
ORDER BY c.namespace, c.name LIMIT ?7`;

/**
 * ?5 a namespace, ?6 rows: the same for all of its skills. Its own collections of all skills hold whatever there is;
 * of others those count that hold a skill by name.
 */
export const listHoldersOfAny = `
WITH ${viewerSql}
SELECT c.namespace, c.name, c.title, NULL AS version FROM (
  SELECT namespace, collection FROM collection_items WHERE skill_namespace = ?5
  UNION
  SELECT namespace, name FROM collections WHERE namespace = ?5 AND is_all
) held
CROSS JOIN viewer v
CROSS JOIN collections c ON c.namespace = held.namespace AND c.name = held.collection
CROSS JOIN namespaces n ON n.name = c.namespace AND n.deleted_at IS NULL
WHERE ${openedAnywhereSql}
ORDER BY c.namespace <> ?5, c.namespace, c.name LIMIT ?6`;

// Below, ?1 is the namespace and ?2 the collection.

/** ?3 the edition that the maker saw, NULL when they did not look */
export const refuseMoved = `
INSERT INTO guards (edition_moved) SELECT 1 WHERE ?3 IS NOT NULL
  AND coalesce((SELECT edition FROM collections WHERE namespace = ?1 AND name = ?2), 0) <> ?3`;

/**
 * ?3 JSON of the content, ?4 now.
 * The counts of a new one begin with the time, which is above those of a deleted one of its name.
 */
export const putCollection = `
INSERT INTO collections (namespace, name, title, instructions, visibility, is_all, tools, edition, revision,
  public_revision, stamp, created_at, updated_at)
SELECT ?1, ?2, ?3 ->> 'title', ?3 ->> 'instructions', ?3 ->> 'visibility', ?3 ->> 'skills' = 'all',
  coalesce(?3 ->> 'tools', 'registry'), 1, ?4, ?4,
  lower(hex(randomblob(8))), ?4, ?4 WHERE true
ON CONFLICT (namespace, name) DO UPDATE SET title = excluded.title, instructions = excluded.instructions,
  visibility = excluded.visibility, is_all = excluded.is_all, tools = excluded.tools, edition = edition + 1, revision = revision + 1,
  stamp = excluded.stamp, updated_at = excluded.updated_at`;

export const dropItems = `DELETE FROM collection_items WHERE namespace = ?1 AND collection = ?2`;

/** ?3 as above */
export const insertItems = `
INSERT INTO collection_items (namespace, collection, position, skill_namespace, skill_path, version)
SELECT ?1, ?2, key + 1, value ->> 'namespace', value ->> 'path', value ->> 'version'
FROM json_each(?3, '$.skills') WHERE ?3 ->> 'skills' <> 'all'`;

/** What it holds now: an item goes with its skill, whatever its last edition says. */
export const listItems = `
SELECT skill_namespace AS namespace, skill_path AS path, version FROM collection_items
WHERE namespace = ?1 AND collection = ?2 ORDER BY position`;

/** ?3 as above, ?4 now, ?5 who, ?6 the digest of ?3 */
export const insertEdition = `
INSERT INTO collection_editions (namespace, collection, edition, content, digest, made_at, made_by)
SELECT namespace, name, edition, ?3, ?6, ?4, ?5 FROM collections WHERE namespace = ?1 AND name = ?2`;

/** ?3 how many stay */
export const dropOldEditions = `
DELETE FROM collection_editions WHERE namespace = ?1 AND collection = ?2
  AND edition <= (SELECT edition FROM collections WHERE namespace = ?1 AND name = ?2) - ?3`;

/** ?3 the collection, for a guard (caps.ts) */
export const isThere = `EXISTS (SELECT 1 FROM collections WHERE namespace = ?1 AND name = ?3)`;

export const deleteCollection = [
  dropItems,
  `DELETE FROM collection_editions WHERE namespace = ?1 AND collection = ?2`,
  `DELETE FROM collections WHERE namespace = ?1 AND name = ?2`,
];

/** Read links of a deleted collection must not open another that takes its name. ?3 now */
export const revokeLinks = `
UPDATE tokens SET revoked_at = coalesce(revoked_at, ?3) WHERE namespace = ?1 AND kind = 'link' AND collection = ?2`;

/** ?3 now */
export const countLinks = `
SELECT count(*) AS links FROM tokens
WHERE namespace = ?1 AND kind = 'link' AND collection = ?2 AND revoked_at IS NULL AND expires_at > ?3`;

/** For the audit log, which keeps for ever: a content only by its digest. ?9 the collection. */
export const collectionBefore = `
SELECT json_object('title', content ->> 'title', 'visibility', content ->> 'visibility',
  'skills', iif(content ->> 'skills' = 'all', 'all', json_array_length(content, '$.skills')),
  'digest', digest, 'edition', edition)
FROM collection_editions WHERE namespace = ?1 AND collection = ?9 ORDER BY edition DESC LIMIT 1`;

export const editionAfter = `
SELECT json_object('edition', 1 + coalesce((SELECT edition FROM collections WHERE namespace = ?1 AND name = ?9), 0))`;

/** ?3 the edition to stop before, ?4 rows */
export const listEditions = `
SELECT edition, content, made_at, made_by FROM collection_editions
WHERE namespace = ?1 AND collection = ?2 AND edition < ?3 ORDER BY edition DESC LIMIT ?4`;
