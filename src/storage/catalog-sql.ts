import type { Digest } from "../domain/digest.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import type { Version } from "../domain/version.ts";
import { listedSql, nothingSql, readableSql, servedSql, sightSql, surveyedSql } from "./viewer.ts";

/**
 * The questions of the catalogue, each beside the row it returns. Parameters 1 to 4 are the viewer (viewer.ts); a
 * statement's own begin at 5, always with the namespace. Lists walk a key, never an offset. CROSS JOIN is SQLite's
 * way to fix the order of the loops: left to itself the planner would begin a read with all files of a namespace.
 */
export type Parameter = string | number | null;

const current = `skills s
  CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = s.current`;

/** `key`: where the list goes on behind it. */
export interface EntryRow {
  key: string;
  path: SkillPath;
  name: string;
  entry: string;
}

/**
 * ?6 after, ?7 rows to look at, ?8 bytes of JSON, ?9 entries, ?10 the stamp of a revision whose page the caller has,
 * or NULL: nothing is looked at while the namespace is still at that revision. Sizes are summed before any entry is
 * read, so a page of large entries is cut in the database and never fills the isolate. The first entry always fits.
 */
export const listEntries = `
WITH ${sightSql},
page AS (
  SELECT s.path, s.current AS version, r.name, r.entry_bytes AS bytes FROM ${current}
  WHERE s.namespace = ?5 AND s.path > ?6 AND ${listedSql}
  ORDER BY s.path LIMIT iif(${nothingSql} OR (SELECT stamp FROM namespaces WHERE name = ?5) = ?10, 0, ?7)
),
sized AS (
  SELECT path, version, name, bytes, sum(bytes) OVER (ORDER BY path) AS total, count(*) OVER () AS found FROM page
)
SELECT z.path AS key, z.path, z.name, z.found, r.entry FROM sized z
JOIN releases r ON r.namespace = ?5 AND r.path = z.path AND r.version = z.version
WHERE z.total <= ?8 OR z.total = z.bytes
ORDER BY z.path LIMIT (SELECT ?9)`;

export interface SkillRow {
  namespace: Namespace;
  path: SkillPath;
  visibility: SkillVisibility;
  version: Version;
  name: string;
  description: string;
  skill_md_bytes: number;
  file_count: number;
  total_bytes: number;
  published_at: number;
  tar_digest: Digest;
}

const skillColumns = `
  s.namespace, s.path, s.visibility, r.version, r.name, r.description, r.skill_md_bytes, r.file_count, r.total_bytes,
  r.published_at, r.tar_digest`;

/** ?6 after, ?7 rows */
export const listSkills = `
WITH ${sightSql}
SELECT ${skillColumns} FROM ${current}
WHERE s.namespace = ?5 AND s.path > ?6 AND ${listedSql}
ORDER BY s.path LIMIT iif(${nothingSql}, 0, ?7)`;

export type AnySkillRow = Omit<SkillRow, "version" | "name" | "description"> & {
  version: Version | null;
  name: string | null;
  description: string | null;
};

/** ?6 after, ?7 rows. Whoever sees all of the namespace also sees what is unlisted or has no current release. */
export const listAllSkills = `
WITH ${sightSql}
SELECT ${skillColumns} FROM skills s
LEFT JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = s.current
WHERE s.namespace = ?5 AND s.path > ?6 AND s.deleted_at IS NULL
  AND (${surveyedSql} OR (s.current IS NOT NULL AND ${listedSql}))
ORDER BY s.path LIMIT iif(${nothingSql}, 0, ?7)`;

export interface SkillStateRow {
  namespace: Namespace;
  path: SkillPath;
  visibility: SkillVisibility;
  current: Version | null;
  created_at: number;
  updated_at: number;
}

/** ?6 path */
export const findSkill = `
WITH ${sightSql}
SELECT s.namespace, s.path, s.visibility, s.current, s.created_at, s.updated_at
FROM skills s
WHERE s.namespace = ?5 AND s.path = ?6 AND s.deleted_at IS NULL AND ${readableSql}`;

/** Which release a question found, for those who count reads. */
export interface ServedRow {
  path: SkillPath;
  version: Version;
  is_current: 0 | 1;
}

export interface FoundEntryRow extends ServedRow {
  entry: string;
  /** JSON, as that of a release. */
  source: string | null;
}

/** ?6 path, ?7 version or NULL for the current one; the spelling follows the question. */
export const findEntry = `
WITH ${sightSql}
SELECT CASE WHEN ?7 IS NULL THEN r.entry ELSE r.pinned_entry END AS entry,
  r.source, r.path, r.version, r.version IS s.current AS is_current
FROM skills s
CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = coalesce(?7, s.current)
WHERE s.namespace = ?5 AND s.path = ?6 AND ${readableSql} AND ${servedSql("?7")}`;

export interface FileRow {
  file: string;
  digest: Digest;
  size: number;
  media_type: string;
  executable: number;
}

/** A file as a read serves it. `is_text`: its bytes are lossless UTF-8; NULL in rows from before that was written down. */
export interface ReadableFileRow extends FileRow, ServedRow {
  is_text: number | null;
}

const wanted = `wanted AS (
  SELECT value ->> 'path' AS path, value ->> 'version' AS version, value ->> 'file' AS file FROM json_each(?6)
)`;

const wantedReleases = `wanted w
  CROSS JOIN skills s ON s.namespace = ?5 AND s.path = w.path
  CROSS JOIN release_files f
    ON f.namespace = s.namespace AND f.path = s.path AND f.version = coalesce(w.version, s.current)`;

/** ?6 JSON of {path, version, file}: of all the ways to read an address at most one names a file. */
export const findFile = `
WITH ${sightSql}, ${wanted}
SELECT f.file, f.digest, f.size, f.media_type, f.executable, f.is_text, f.path, f.version,
  f.version IS s.current AS is_current
FROM ${wantedReleases}
WHERE f.file = w.file AND ${readableSql} AND ${servedSql("w.version")} LIMIT 1`;

export interface DirectoryRow extends FileRow {
  path: SkillPath;
}

/** ?6 as above, where `file` is a directory, '' for the root of the skill. */
export const listDirectory = `
WITH ${sightSql}, ${wanted}
SELECT s.path, f.file, f.digest, f.size, f.media_type, f.executable FROM ${wantedReleases}
WHERE (w.file = '' OR (f.file > w.file || '/' AND f.file < w.file || '0')) AND ${readableSql}
  AND ${servedSql("w.version")}
ORDER BY f.file`;

export interface ReleaseRow {
  id: number;
  path: SkillPath;
  version: Version;
  is_current: number;
  name: string;
  description: string;
  tree: Digest;
  executables: string;
  file_count: number;
  total_bytes: number;
  zip_digest: Digest;
  zip_bytes: number;
  tar_digest: Digest;
  tar_bytes: number;
  published_at: number;
  published_by: string;
  /** JSON; null: published without a trusted publisher. */
  source: string | null;
  yanked_at: number | null;
}

/** Of a release `r` of the skill `s`, with its archives' blobs `z` and `t`. */
export const releaseColumns = `
  r.id, r.path, r.version, r.version IS s.current AS is_current, r.name, r.description, r.tree, r.executables,
  r.file_count, r.total_bytes, r.zip_digest, z.size AS zip_bytes, r.tar_digest, t.size AS tar_bytes, r.published_at,
  r.published_by, r.source, r.yanked_at`;

const releaseTables = `skills s
  CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path
  CROSS JOIN blobs z ON z.digest = r.zip_digest
  CROSS JOIN blobs t ON t.digest = r.tar_digest`;

/** ?6 path, ?7 version or NULL for the current one */
export const findRelease = `
WITH ${sightSql}
SELECT ${releaseColumns}, CASE WHEN ?7 IS NULL THEN r.entry ELSE r.pinned_entry END AS entry FROM ${releaseTables}
WHERE s.namespace = ?5 AND s.path = ?6 AND r.version = coalesce(?7, s.current) AND ${readableSql}
  AND ${servedSql("?7")}`;

/** ?6 path, ?7 version or NULL for the current one */
export const listFiles = `
WITH ${sightSql}
SELECT f.file, f.digest, f.size, f.media_type, f.executable
FROM skills s
CROSS JOIN release_files f ON f.namespace = s.namespace AND f.path = s.path AND f.version = coalesce(?7, s.current)
WHERE s.namespace = ?5 AND s.path = ?6 AND ${readableSql} AND ${servedSql("?7")}
ORDER BY f.file`;

/** ?6 path, ?7 the version to begin after, which then comes first, or NULL; ?8 rows */
export const listReleases = `
WITH ${sightSql}
SELECT ${releaseColumns} FROM ${releaseTables}
WHERE s.namespace = ?5 AND s.path = ?6 AND ${readableSql}
  AND r.id <= coalesce((SELECT id FROM releases WHERE namespace = ?5 AND path = ?6 AND version = ?7),
    iif(?7 IS NULL, 9223372036854775807, 0))
ORDER BY r.id DESC LIMIT ?8 + (?7 IS NOT NULL)`;

/** ?5 a digest. Where several public releases hold the bytes, any of their media types. */
export interface BlobRow {
  size: number;
  media_type: string;
}

const isPublic = `s.visibility = 'public' AND n.visibility = 'public' AND n.deleted_at IS NULL`;

/**
 * Bytes that anybody may have: those that a public release holds, as a file or as its archive. The viewer's parameters
 * stand before the digest and none of them counts: rights of one's own open nothing here.
 */
export const findPublicBlob = `
SELECT size, media_type FROM (
  SELECT f.size, f.media_type FROM release_files f
  CROSS JOIN skills s ON s.namespace = f.namespace AND s.path = f.path
  CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE f.digest = ?5 AND ${isPublic} LIMIT 1)
UNION ALL
SELECT b.size, a.media_type FROM (
  SELECT 'application/zip' AS media_type, namespace, path FROM releases WHERE zip_digest = ?5
  UNION ALL
  SELECT 'application/gzip', namespace, path FROM releases WHERE tar_digest = ?5
) a
CROSS JOIN skills s ON s.namespace = a.namespace AND s.path = a.path
CROSS JOIN namespaces n ON n.name = s.namespace
CROSS JOIN blobs b ON b.digest = ?5
WHERE ${isPublic} LIMIT 1`;
