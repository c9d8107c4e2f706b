import { findConflicts } from "./publish-state.ts";

/** The statements of the ledger. ?1 is the namespace, and ?2 the path wherever one skill is meant. */

/**
 * ?1 JSON array of {digest, size}, ?2 now, ?3 the birth of rows that this touch inserts, ?4 the namespace. A publisher
 * whose clock was read long ago does not make a row older than it is. `is_held`: a release of this very namespace has
 * the bytes; those that only others have count as missing, or a publish would tell by its speed who has which bytes.
 */
export const touchBlobs = `
INSERT INTO blobs (digest, size, state, touched_at, birth)
SELECT DISTINCT value ->> 'digest', value ->> 'size', 'touched', ?2, ?3 FROM json_each(?1) WHERE true
ON CONFLICT (digest) DO UPDATE SET touched_at = max(touched_at, excluded.touched_at) WHERE state <> 'deleting'
RETURNING digest, state, birth, (
  EXISTS (SELECT 1 FROM release_files f WHERE f.digest = blobs.digest AND f.namespace = ?4)
  OR EXISTS (SELECT 1 FROM releases r WHERE r.zip_digest = blobs.digest AND r.namespace = ?4)
  OR EXISTS (SELECT 1 FROM releases r WHERE r.tar_digest = blobs.digest AND r.namespace = ?4)) AS is_held`;

/** ?1 JSON object of digests and the births of their rows */
export const markStored = `
UPDATE blobs SET state = 'stored' FROM json_each(?1) AS mine
WHERE blobs.digest = mine.key AND blobs.birth = mine.value AND blobs.state = 'touched'`;

/** ?2 JSON of {path, version, above} */
export const refusePathConflict = `INSERT INTO guards (path_conflict) SELECT 1 WHERE EXISTS (${findConflicts})`;

export const refuseSpentVersion = `
INSERT INTO guards (version_spent)
SELECT 1 FROM spent_versions WHERE namespace = ?1 AND path = ?2 AND version = ?3`;

/** ?2 JSON array of paths */
export const refuseMovedOn = `
INSERT INTO guards (moved_on) SELECT 1 FROM json_each(?2) WHERE NOT EXISTS (
  SELECT 1 FROM skills WHERE namespace = ?1 AND path = value AND current IS NOT NULL)`;

/** The visibility of a new skill: as requested, else as the namespace says in this moment. */
const newVisibility = (requested: string) =>
  `coalesce(${requested}, (SELECT coalesce(default_visibility, visibility) FROM namespaces WHERE name = ?1))`;

/** A deleted skill that is published again begins anew: its visibility is that of a new one. ?3 that or NULL, ?4 now */
export const insertSkill = `
INSERT INTO skills (namespace, path, visibility, created_at, updated_at)
VALUES (?1, ?2, ${newVisibility("?3")}, ?4, ?4)
ON CONFLICT (namespace, path) DO UPDATE SET
  updated_at = excluded.updated_at,
  created_at = CASE WHEN deleted_at IS NULL THEN created_at ELSE excluded.created_at END,
  visibility = CASE WHEN deleted_at IS NULL THEN visibility ELSE excluded.visibility END,
  deleted_at = NULL`;

/**
 * ?3 version, ?4 JSON of the scalar columns, ?5 and ?6 the entries, ?7 the terms. Where it comes from is what the token
 * that publishes it was given for.
 */
export const insertRelease = `
INSERT INTO releases (namespace, path, version, major, minor, patch, pre, name, description, tree, executables,
  file_count, total_bytes, skill_md_bytes, zip_digest, tar_digest, search_text, published_at, published_by, entry_bytes,
  entry, pinned_entry, terms, indexed, source)
SELECT ?1, ?2, ?3, c ->> 'major', c ->> 'minor', c ->> 'patch', c ->> 'pre', c ->> 'name', c ->> 'description',
  c ->> 'tree', c ->> 'executables', c ->> 'file_count', c ->> 'total_bytes', c ->> 'skill_md_bytes', c ->> 'zip',
  c ->> 'tar', '', c ->> 'now', c ->> 'by', c ->> 'entry_bytes', ?5, ?6, ?7, c ->> 'indexed',
  (SELECT t.source FROM tokens t WHERE t.id = c ->> 'token')
FROM (SELECT ?4 AS c)`;

export const insertFiles = `
INSERT INTO release_files (namespace, path, version, file, digest, size, media_type, executable, is_text)
SELECT ?1, ?2, ?3, value ->> 'file', value ->> 'digest', value ->> 'size', value ->> 'mediaType',
  value ->> 'executable', value ->> 'isText'
FROM json_each(?4)`;

/** ?4 JSON array of {server, tool} */
export const insertTools = `
INSERT INTO release_tools (namespace, path, version, server, tool, position)
SELECT ?1, ?2, ?3, value ->> 'server', value ->> 'tool', key FROM json_each(?4) WHERE true ON CONFLICT DO NOTHING`;

export const setVisibility = `UPDATE skills SET visibility = ?3, updated_at = ?4 WHERE namespace = ?1 AND path = ?2`;

/** ?3 version */
export const setCurrent = `
UPDATE skills SET current = ?3, updated_at = ?4 WHERE namespace = ?1 AND path = ?2`;

/** What a skill was before a change, for the audit log; ?9 path. */
export const stateOfSkill = `
SELECT json_object('visibility', visibility, 'current', current) FROM skills
WHERE namespace = ?1 AND path = ?9 AND deleted_at IS NULL`;

/** What a publish says besides of a skill that it makes; ?9 path, ?10 the requested visibility or NULL. */
export const visibilityOfNew = `
SELECT iif(EXISTS (SELECT 1 FROM skills WHERE namespace = ?1 AND path = ?9 AND deleted_at IS NULL), '{}',
  json_object('visibility', ${newVisibility("?10")}))`;

export const raiseRevision = `
UPDATE namespaces SET revision = revision + 1, stamp = lower(hex(randomblob(8))) WHERE name = ?1`;

export const listCurrentBelow = `
SELECT path FROM skills WHERE namespace = ?1 AND path > ?2 || '/' AND path < ?2 || '0' AND current IS NOT NULL
ORDER BY path`;

/** ?2 JSON array of paths, ?3 now */
export const withdraw = [
  `UPDATE releases SET yanked_at = ?3
   WHERE namespace = ?1 AND path IN (SELECT value FROM json_each(?2)) AND yanked_at IS NULL`,
  `UPDATE skills SET current = NULL, updated_at = ?3
   WHERE namespace = ?1 AND path IN (SELECT value FROM json_each(?2))`,
];
