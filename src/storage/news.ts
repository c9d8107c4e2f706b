import { maxCollectionsTold } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { CollectionVisibility, NamespaceVisibility, SkillVisibility } from "../domain/policy.ts";
import type { Version } from "../domain/version.ts";

/**
 * What listeners have to be told of a change, read in the batch that makes it: how its skills were and are, which
 * collections hold them, and the revisions that it raised. Nothing here is for a caller; it says what private ones did.
 */
export interface News {
  namespace: { name: Namespace; visibility: NamespaceVisibility } & Revisions;
  /** Of /mcp, which has only what is public. */
  registryRevision: number;
  skills: { path: SkillPath; before: SkillFacts | undefined; after: SkillFacts | undefined }[];
  collections: Holder[];
}

export interface Revisions {
  revision: number;
  publicRevision: number;
}

export interface SkillFacts {
  visibility: SkillVisibility;
  current: Version | null;
  /** Versions that are yanked, in order. */
  yanked: readonly Version[];
}

/** A collection that holds one of the skills (`path`), or all of its namespace (`path` null). */
export interface Holder extends Revisions {
  namespace: Namespace;
  name: string;
  visibility: CollectionVisibility;
  path: SkillPath | null;
  version: Version | null;
}

/** `before` goes first in the batch and `after` last. */
export function newsOf(db: D1Database, namespace: Namespace, paths: readonly SkillPath[]) {
  const asked = JSON.stringify(paths);
  const bind = (statement: string) => db.prepare(statement).bind(namespace, asked);
  return {
    before: [findSkills, findHolders].map(bind),
    after: [findSkills, findNamespace, findHolders].map(bind),
  };
}

/** From the results of a batch that began and ended with the statements of `newsOf`. */
export function readNews(results: readonly D1Result<unknown>[]): News {
  const [was, held] = results.slice(0, 2).map((result) => result.results) as [SkillRow[], HolderRow[]];
  const before = byPath(was);
  const [after, [namespace], holders] = results.slice(-3).map((result) => result.results) as [
    SkillRow[],
    NamespaceRow[],
    HolderRow[],
  ];
  const now = byPath(after);
  const paths = new Set([...before.keys(), ...now.keys()]);
  const { name, visibility, revision, public_revision, registry_revision } = namespace!;
  return {
    namespace: { name, visibility, revision, publicRevision: public_revision },
    registryRevision: registry_revision,
    skills: [...paths].map((path) => ({ path, before: before.get(path), after: now.get(path) })),
    collections: [...holders, ...held.flatMap((row) => droppedFrom(row, namespace!, before, now))].map(
      ({ public_revision: publicRevision, ...holder }) => ({ ...holder, publicRevision }),
    ),
  };
}

interface SkillRow {
  path: SkillPath;
  visibility: SkillVisibility;
  current: Version | null;
  yanked: string;
}

interface NamespaceRow {
  name: Namespace;
  visibility: NamespaceVisibility;
  revision: number;
  public_revision: number;
  registry_revision: number;
}

type HolderRow = Omit<Holder, "publicRevision"> & { public_revision: number };

/** A collection that dropped a deleted skill in the same batch, counting as collections_drop_deleted (0006) does. */
function droppedFrom(
  row: HolderRow,
  { name, visibility }: NamespaceRow,
  before: ReadonlyMap<SkillPath, SkillFacts>,
  now: ReadonlyMap<SkillPath, SkillFacts>,
): HolderRow[] {
  if (row.path === null || now.has(row.path)) return [];
  const isPublic = visibility === "public" && before.get(row.path)?.visibility === "public";
  return [
    {
      ...row,
      revision: row.revision + Number(row.namespace === name || isPublic),
      public_revision: row.public_revision + Number(isPublic),
    },
  ];
}

function byPath(rows: readonly SkillRow[]): Map<SkillPath, SkillFacts> {
  return new Map(
    rows.map(({ path, visibility, current, yanked }) => [
      path,
      { visibility, current, yanked: JSON.parse(yanked) as Version[] },
    ]),
  );
}

// ?1 namespace, ?2 JSON array of paths.

const findSkills = `
SELECT s.path, s.visibility, s.current, (
  SELECT json_group_array(version) FROM (SELECT r.version FROM releases r
    WHERE r.namespace = s.namespace AND r.path = s.path AND r.yanked_at IS NOT NULL ORDER BY r.id)) AS yanked
FROM json_each(?2) w CROSS JOIN skills s ON s.namespace = ?1 AND s.path = w.value WHERE s.deleted_at IS NULL`;

const findNamespace = `
SELECT name, visibility, told_revision AS revision, public_revision,
  (SELECT public_revision FROM registry) AS registry_revision, ?2 IS NULL AS unused
FROM namespaces WHERE name = ?1`;

const findHolders = `
SELECT c.namespace, c.name, c.visibility, c.revision, c.public_revision, i.skill_path AS path, i.version
FROM json_each(?2) w
CROSS JOIN collection_items i ON i.skill_namespace = ?1 AND i.skill_path = w.value
CROSS JOIN collections c ON c.namespace = i.namespace AND c.name = i.collection
UNION ALL
SELECT namespace, name, visibility, revision, public_revision, NULL, NULL FROM collections
WHERE namespace = ?1 AND is_all`;

/** Where people of a namespace, or what it publishes, may be listened to beyond its own address. */
export interface Reachable {
  namespace: { name: Namespace; visibility: NamespaceVisibility } & Revisions;
  registryRevision: number;
  /** Its own collections, and those of others that hold its skills. */
  collections: Pick<Holder, "namespace" | "name" | "visibility" | "revision" | "publicRevision">[];
}

/** Read after a change that concerns all of a namespace: who may do what in it, its visibility, its end. */
export async function findReachable(db: D1Database, namespace: Namespace): Promise<Reachable | undefined> {
  const [facts, collections] = await db.batch([
    db.prepare(findNamespace).bind(namespace, null),
    db.prepare(findConcerned).bind(namespace, maxCollectionsTold),
  ]);
  const row = facts!.results[0] as NamespaceRow | undefined;
  if (row === undefined) return undefined;
  return {
    namespace: {
      name: row.name,
      visibility: row.visibility,
      revision: row.revision,
      publicRevision: row.public_revision,
    },
    registryRevision: row.registry_revision,
    collections: (collections!.results as HolderRow[]).map(({ public_revision, ...holder }) => ({
      ...holder,
      publicRevision: public_revision,
    })),
  };
}

/** A collection as a listener of it counts. */
export async function findCollectionNews(db: D1Database, namespace: Namespace, name: string): Promise<CollectionNews> {
  const row = await db
    .prepare(
      `SELECT n.visibility, c.visibility AS own, coalesce(c.revision, 0) AS revision,
         coalesce(c.public_revision, 0) AS public_revision, (SELECT public_revision FROM registry) AS registry_revision
       FROM namespaces n LEFT JOIN collections c ON c.namespace = n.name AND c.name = ?2 WHERE n.name = ?1`,
    )
    .bind(namespace, name)
    .first<
      Revisions & { visibility: string; own: string | null; public_revision: number; registry_revision: number }
    >();
  return {
    isPublic: row?.visibility === "public" && row.own === "public",
    revision: row?.revision ?? 0,
    publicRevision: row?.public_revision ?? 0,
    registryRevision: row?.registry_revision ?? 0,
  };
}

export interface CollectionNews extends Revisions {
  isPublic: boolean;
  registryRevision: number;
}

const findConcerned = `
SELECT namespace, name, visibility, revision, public_revision FROM collections WHERE namespace = ?1
UNION
SELECT c.namespace, c.name, c.visibility, c.revision, c.public_revision FROM collection_items i
CROSS JOIN collections c ON c.namespace = i.namespace AND c.name = i.collection
WHERE i.skill_namespace = ?1
LIMIT ?2`;
