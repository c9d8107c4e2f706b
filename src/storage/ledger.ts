import type { Digest } from "../domain/digest.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { splitVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";

/**
 * Writing. Blobs are touched, sent to R2, marked as stored; then one batch commits a release and makes everything
 * visible at once. Whatever fails before that batch leaves nothing that a reader can see.
 */
export interface Blob {
  digest: Digest;
  size: number;
}

export interface NewFile extends Blob {
  file: string;
  mediaType: string;
  executable: boolean;
}

export interface NewRelease {
  path: SkillPath;
  version: Version;
  name: string;
  description: string;
  tree: Digest;
  executables: readonly string[];
  files: readonly NewFile[];
  zip: Blob;
  tar: Blob;
  entry: string;
  pinnedEntry: string;
  entryBytes: number;
  publishedBy: string;
  now: number;
  /** For a skill that is new; `setVisibility` also changes one that exists. */
  visibility: SkillVisibility;
  setVisibility: boolean;
  becomesCurrent: boolean;
  searchText: string;
}

export interface KnownRelease {
  version: Version;
  tree: Digest;
  executables: string[];
}

/** What a publish must know of the skill before it decides: one read. */
export interface SkillState {
  skill: { visibility: SkillVisibility; current: Version | null } | undefined;
  current: KnownRelease | undefined;
  requested: KnownRelease | undefined;
  /** The highest full version of current's major.minor line, or of all releases when current is none or a pre-release. */
  highest: Version | undefined;
  /** A skill above or below this path, which must not exist. */
  conflict: SkillPath | undefined;
}

export class Ledger {
  readonly #db: D1Database;
  readonly #namespace: Namespace;

  constructor(db: D1Database, namespace: Namespace) {
    this.#db = db;
    this.#namespace = namespace;
  }

  async findState(path: SkillPath, requested: Version | undefined): Promise<SkillState> {
    const [skills, releases, highest, conflicts] = await this.#db.batch([
      this.#db.prepare(findSkill).bind(this.#namespace, path),
      this.#db.prepare(findReleases).bind(this.#namespace, path, requested ?? null),
      this.#db.prepare(findHighest).bind(this.#namespace, path),
      this.#db.prepare(findConflict).bind(this.#namespace, path, JSON.stringify(ancestorsOf(path))),
    ]);
    const skill = skills!.results[0] as SkillState["skill"];
    const known = (releases!.results as unknown as (KnownRelease & { executables: string })[]).map((row) => ({
      version: row.version,
      tree: row.tree,
      executables: JSON.parse(row.executables) as string[],
    }));
    return {
      skill,
      current: known.find((release) => release.version === skill?.current),
      requested: known.find((release) => release.version === requested),
      highest: (highest!.results[0] as { version: Version } | undefined)?.version,
      conflict: (conflicts!.results[0] as { path: SkillPath } | undefined)?.path,
    };
  }

  /**
   * Reserves the blobs of an upload and returns those whose bytes are still missing.
   * @throws Problem `busy` when a sweep is removing one of them right now.
   */
  async touch(blobs: readonly Blob[], now: number): Promise<Set<Digest>> {
    const { results } = await this.#db
      .prepare(touchBlobs)
      .bind(JSON.stringify(blobs), now)
      .all<{ digest: Digest; state: string }>();
    if (results.length < new Set(blobs.map((blob) => blob.digest)).size) {
      throw problem("busy", undefined, { headers: { "retry-after": "2" } });
    }
    return new Set(results.filter((row) => row.state === "touched").map((row) => row.digest));
  }

  /** Marks blobs whose bytes R2 has taken and checked. */
  async markStored(digests: readonly Digest[]): Promise<void> {
    if (digests.length === 0) return;
    await this.#db.prepare(markStored).bind(JSON.stringify(digests)).run();
  }

  /**
   * The moment a release becomes visible; all of it or none.
   * @throws Problem `version_exists`, `path_conflict`, or `busy` when a blob went missing meanwhile.
   */
  async commit(release: NewRelease): Promise<{ revision: number }> {
    try {
      const results = await this.#db.batch<{ revision: number }>(this.#commitStatements(release));
      return { revision: results.at(-1)!.results[0]!.revision };
    } catch (error) {
      throw refusalOf(error, release) ?? error;
    }
  }

  /** Changes who may see a skill. */
  async setVisibility(path: SkillPath, visibility: SkillVisibility, now: number): Promise<void> {
    await this.#db.batch([
      this.#db.prepare(setVisibility).bind(this.#namespace, path, visibility, now),
      this.#db.prepare(raiseRevision).bind(this.#namespace),
    ]);
  }

  #commitStatements(release: NewRelease): D1PreparedStatement[] {
    const { path, version, now } = release;
    const bind = (sql: string, ...parameters: (string | number | null)[]) =>
      this.#db.prepare(sql).bind(this.#namespace, path, ...parameters);
    const statements = [
      bind(refusePathConflict, JSON.stringify(ancestorsOf(path))),
      bind(insertSkill, release.visibility, now),
      bind(insertRelease, version, JSON.stringify(releaseColumns(release)), release.entry, release.pinnedEntry),
      bind(insertFiles, version, JSON.stringify(release.files)),
    ];
    if (release.setVisibility) statements.push(bind(setVisibility, release.visibility, now));
    if (release.becomesCurrent) statements.push(bind(setCurrent, version, release.searchText, now));
    return [...statements, this.#db.prepare(raiseRevision).bind(this.#namespace)];
  }
}

/** The scalar columns travel as one JSON parameter; only the long texts are parameters of their own. */
function releaseColumns(release: NewRelease): Record<string, string | number> {
  return {
    ...splitVersion(release.version),
    name: release.name,
    description: release.description,
    tree: release.tree,
    executables: JSON.stringify(release.executables),
    file_count: release.files.length,
    total_bytes: release.files.reduce((sum, file) => sum + file.size, 0),
    skill_md_bytes: release.files.find((file) => file.file === "SKILL.md")!.size,
    zip: release.zip.digest,
    tar: release.tar.digest,
    now: release.now,
    by: release.publishedBy,
    entry_bytes: release.entryBytes,
  };
}

function refusalOf(error: unknown, release: NewRelease): Error | undefined {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes("path_conflict")) {
    return problem(
      "path_conflict",
      `A skill already lies above or below "${release.path}"; no skill's path may lie inside another's`,
    );
  }
  if (message.includes("UNIQUE constraint failed: releases")) {
    return problem(
      "version_exists",
      `Version ${release.version} of "${release.path}" exists with other bytes; a version is never reused, so publish ` +
        `under the next one`,
    );
  }
  const isBlobMissing = message.includes("blob_missing") || message.includes("FOREIGN KEY");
  return isBlobMissing ? problem("busy", undefined, { headers: { "retry-after": "2" } }) : undefined;
}

function ancestorsOf(path: SkillPath): string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"));
}

// ?1 namespace and ?2 path in every statement about a skill.

const findSkill = `SELECT visibility, current FROM skills WHERE namespace = ?1 AND path = ?2`;

const findReleases = `
SELECT r.version, r.tree, r.executables FROM releases r
JOIN skills s ON s.namespace = r.namespace AND s.path = r.path
WHERE r.namespace = ?1 AND r.path = ?2 AND r.version IN (s.current, ?3)`;

const findHighest = `
SELECT r.version FROM releases r
LEFT JOIN releases c ON c.namespace = r.namespace AND c.path = r.path AND c.pre = ''
  AND c.version = (SELECT current FROM skills WHERE namespace = ?1 AND path = ?2)
WHERE r.namespace = ?1 AND r.path = ?2 AND r.pre = ''
  AND (c.id IS NULL OR (r.major = c.major AND r.minor = c.minor))
ORDER BY r.major DESC, r.minor DESC, r.patch DESC LIMIT 1`;

const touchBlobs = `
INSERT INTO blobs (digest, size, state, touched_at)
SELECT DISTINCT value ->> 'digest', value ->> 'size', 'touched', ?2 FROM json_each(?1) WHERE true
ON CONFLICT (digest) DO UPDATE SET touched_at = excluded.touched_at WHERE state <> 'deleting'
RETURNING digest, state`;

const markStored = `
UPDATE blobs SET state = 'stored' WHERE state = 'touched' AND digest IN (SELECT value FROM json_each(?1))`;

// '0' follows '/' in order, so the range holds exactly the paths below ?2. ?3 holds the paths above it.
const findConflict = `
SELECT path FROM skills WHERE namespace = ?1 AND path IN (SELECT value FROM json_each(?3))
UNION ALL SELECT path FROM skills WHERE namespace = ?1 AND path > ?2 || '/' AND path < ?2 || '0' LIMIT 1`;

const refusePathConflict = `INSERT INTO guards (path_conflict) SELECT 1 WHERE EXISTS (${findConflict})`;

const insertSkill = `
INSERT INTO skills (namespace, path, visibility, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (namespace, path) DO UPDATE SET updated_at = excluded.updated_at`;

const insertRelease = `
INSERT INTO releases (namespace, path, version, major, minor, patch, pre, name, description, tree, executables,
  file_count, total_bytes, skill_md_bytes, zip_digest, tar_digest, published_at, published_by, entry_bytes, entry,
  pinned_entry)
SELECT ?1, ?2, ?3, c ->> 'major', c ->> 'minor', c ->> 'patch', c ->> 'pre', c ->> 'name', c ->> 'description',
  c ->> 'tree', c ->> 'executables', c ->> 'file_count', c ->> 'total_bytes', c ->> 'skill_md_bytes', c ->> 'zip',
  c ->> 'tar', c ->> 'now', c ->> 'by', c ->> 'entry_bytes', ?5, ?6
FROM (SELECT ?4 AS c)`;

const insertFiles = `
INSERT INTO release_files (namespace, path, version, file, digest, size, media_type, executable)
SELECT ?1, ?2, ?3, value ->> 'file', value ->> 'digest', value ->> 'size', value ->> 'mediaType', value ->> 'executable'
FROM json_each(?4)`;

const setVisibility = `UPDATE skills SET visibility = ?3, updated_at = ?4 WHERE namespace = ?1 AND path = ?2`;

const setCurrent = `
UPDATE skills SET current = ?3, search_text = ?4, updated_at = ?5 WHERE namespace = ?1 AND path = ?2`;

const raiseRevision = `UPDATE namespaces SET revision = revision + 1 WHERE name = ?1 RETURNING revision`;
