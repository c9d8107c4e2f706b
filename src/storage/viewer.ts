import type { CollectionTools } from "../domain/collection.ts";
import type { Namespace } from "../domain/names.ts";
import type { CollectionVisibility, NamespaceVisibility } from "../domain/policy.ts";
import { scopesOfRole } from "../domain/principal.ts";
import type { Person, Role, Scope } from "../domain/principal.ts";

/**
 * Who looks, as SQL. Rights are part of every WHERE clause, never a filter after the fetch, and the rows that prove
 * them (namespace, collection, token) come back in the same batch as the answer, so that asking costs no second round
 * trip. What these clauses show is what `may` (domain/policy.ts) allows; test/storage/policy-sql.test.ts compares them.
 */
export interface Viewer {
  /** The operator reads everything. */
  everything: boolean;
  /** Of the token or read link that came with the request. */
  tokenId: string | null;
  tokenHash: string | null;
  /** Milliseconds since 1970; tokens expire against it. */
  now: number;
}

/** What an address serves: everything, one namespace, or one collection of a namespace. */
export interface Reach {
  namespace: Namespace | undefined;
  collection: string | undefined;
}

/** What the database knows of the address and of the token that came with the request. */
export interface Gate {
  namespace: GateNamespace | undefined;
  collection: GateCollection | undefined;
  token: GateToken | undefined;
}

export interface GateNamespace {
  name: Namespace;
  title: string;
  description: string;
  visibility: NamespaceVisibility;
  revision: number;
  stamp: string;
}

export interface GateCollection {
  name: string;
  title: string;
  instructions: string;
  tools: CollectionTools;
  visibility: CollectionVisibility;
  revision: number;
}

export interface GateToken {
  kind: "token" | "link";
  id: string;
  namespace: Namespace;
  /** Of a member's token never more than the member has by now. */
  role: Role;
  scopes: readonly Scope[];
  below: string;
  collection: string | undefined;
  member: Person | undefined;
  lastUsedAt: number | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** The first four parameters of every statement that looks: the viewer (JSON), the collection (or NULL twice), now. */
export function viewerParameters(viewer: Viewer, reach: Reach): [string, string | null, string | null, number] {
  const { everything, tokenId, tokenHash } = viewer;
  const isCollection = reach.collection !== undefined;
  return [
    JSON.stringify({ everything: everything ? 1 : 0, id: tokenId, hash: tokenHash }),
    isCollection ? (reach.namespace ?? null) : null,
    reach.collection ?? null,
    viewer.now,
  ];
}

/**
 * `viewer`: one row. The namespace whose private skills the token opens, if it lives, and below which path; of a read
 * link also the collection to which it leads.
 */
export const viewerSql = `viewer (everything, namespace, below, kind, collection) AS MATERIALIZED (
  SELECT ?1 ->> 'everything', t.namespace, t.below, t.kind, t.collection FROM (SELECT 1)
  LEFT JOIN tokens t ON t.id = ?1 ->> 'id' AND t.secret_hash = ?1 ->> 'hash' AND t.revoked_at IS NULL AND t.expires_at > ?4
)`;

/**
 * `sight`: one row, what the viewer sees of the namespace ?5. level 2: everything, 1: what is not private, 0: nothing;
 * and whatever lies below the path `below`. Statements use both as scalars, never as a joined table: a join, even of
 * one row, would cost lists their key order.
 */
export const sightSql = `${viewerSql},
sight (level, below) AS MATERIALIZED (
  SELECT
    CASE
      WHEN n.name IS NULL THEN 0
      WHEN v.everything OR (v.namespace = n.name AND v.below = '') THEN 2
      WHEN n.visibility = 'public' THEN 1
      ELSE 0 END,
    CASE WHEN v.namespace = n.name THEN v.below END
  FROM viewer v LEFT JOIN namespaces n ON n.name = ?5 AND n.deleted_at IS NULL
)`;

/**
 * True where the viewer sees nothing of namespace ?5. Lists have it in their LIMIT, so that a stranger at a private
 * namespace walks none of its rows: the answer would come later the more there are.
 */
export const nothingSql = `(SELECT level = 0 AND below IS NULL FROM sight)`;

export const isBelow = (below: string) => `substr(s.path || '/', 1, length(${below})) = ${below}`;

/** True for a skill `s` of namespace ?5 that the viewer may read, whether or not a list shows it. */
export const readableSql = `((SELECT level FROM sight) > (s.visibility = 'private')
  OR ${isBelow("(SELECT below FROM sight)")})`;

/** True for a skill `s` of namespace ?5 that lists and prompts show to the viewer. */
export const listedSql = `s.visibility <> 'unlisted' AND ${readableSql}`;

/** True for a skill `s` of namespace ?5 of which the viewer sees the publisher's view; no read link has that. */
export const surveyedSql = `((SELECT kind FROM viewer) IS NOT 'link'
  AND ((SELECT level FROM sight) = 2 OR ${isBelow("(SELECT below FROM sight)")}))`;

/**
 * True for a collection (not aliased) of namespace ?5 that the viewer may open; a read link to another opens none, and
 * a token with a path those that strangers may.
 */
export const openedSql = `CASE WHEN name = coalesce((SELECT collection FROM viewer), name)
  THEN (SELECT level FROM sight) > (visibility = 'private')
  ELSE visibility = 'public' AND (SELECT visibility FROM namespaces WHERE name = ?5) = 'public' END`;

/** The same across namespaces, for a collection `c` with its namespace `n` and the viewer `v`. */
export const openedAnywhereSql = `(v.everything
  OR (v.namespace = n.name AND v.below = '' AND c.name = coalesce(v.collection, c.name))
  OR (n.visibility = 'public' AND c.visibility = 'public'))`;

/** The same as `listedSql` across namespaces, for a skill `s` with its namespace `n` and the viewer `v`. */
export const listedAnywhereSql = `s.visibility <> 'unlisted' AND n.deleted_at IS NULL
  AND (v.everything
    OR (n.visibility = 'public' AND s.visibility <> 'private')
    OR (v.namespace = n.name AND ${isBelow("v.below")}))`;

const reachedSql = (andVersion: string) => `(?3 IS NULL
  OR EXISTS (SELECT 1 FROM collection_items i WHERE i.namespace = ?2 AND i.collection = ?3
    AND i.skill_namespace = s.namespace AND i.skill_path = s.path ${andVersion})
  OR (s.namespace = ?2 AND s.visibility <> 'unlisted'
    AND (SELECT is_all FROM collections WHERE namespace = ?2 AND name = ?3)))`;

/**
 * True for a skill `s` that the address serves. A collection serves what it holds: a skill that it pins under that
 * version only (`asked`, NULL for the moving address), any other under every address.
 */
export const servedSql = (asked: string) => reachedSql(`AND (i.version IS NULL OR i.version = ${asked})`);

/** True for a skill `s` that the address serves under any version. */
export const heldSql = reachedSql("");

const gateSql = `
WITH ${viewerSql}
SELECT n.name, n.title, n.description, n.visibility, n.revision, n.stamp,
  c.name AS collection, c.title AS collection_title, c.instructions, c.tools, c.visibility AS collection_visibility,
  c.revision AS collection_revision,
  t.id AS token_id, t.kind, t.namespace AS token_namespace, t.role, t.scopes, t.below, t.collection AS token_collection,
  t.issuer, t.subject, t.last_used_at, t.expires_at, m.role AS member_role
FROM viewer v
LEFT JOIN namespaces n ON n.name = ?5 AND n.deleted_at IS NULL
LEFT JOIN collections c ON c.namespace = n.name AND c.name = ?3
LEFT JOIN tokens t ON t.id = ?1 ->> 'id' AND v.namespace IS NOT NULL
LEFT JOIN members m ON m.namespace = t.namespace AND m.issuer = t.issuer AND m.subject = t.subject`;

interface GateRow {
  name: Namespace | null;
  title: string;
  description: string;
  visibility: NamespaceVisibility;
  revision: number;
  stamp: string;
  collection: string | null;
  collection_title: string;
  instructions: string;
  tools: CollectionTools;
  collection_visibility: CollectionVisibility;
  collection_revision: number;
  token_id: string | null;
  kind: "token" | "link";
  token_namespace: Namespace;
  role: Role;
  scopes: string | null;
  below: string;
  token_collection: string | null;
  issuer: string | null;
  subject: string | null;
  last_used_at: number | null;
  expires_at: number;
  member_role: Role | null;
}

export function gateStatement(db: D1Database, viewer: Viewer, reach: Reach): D1PreparedStatement {
  return db.prepare(gateSql).bind(...viewerParameters(viewer, reach), reach.namespace ?? null);
}

export function readGate(result: D1Result<unknown>): Gate {
  const row = result.results[0] as GateRow;
  const { name, title, description, visibility, revision, stamp } = row;
  return {
    namespace: name === null ? undefined : { name, title, description, visibility, revision, stamp },
    collection:
      row.collection === null
        ? undefined
        : {
            name: row.collection,
            title: row.collection_title,
            instructions: row.instructions,
            tools: row.tools,
            visibility: row.collection_visibility,
            revision: row.collection_revision,
          },
    token: row.token_id === null ? undefined : readToken(row, row.token_id),
  };
}

/** A member's token ends with the membership, and never has more rights than the member has left. */
function readToken(row: GateRow, id: string): GateToken | undefined {
  const member = row.issuer === null ? undefined : { issuer: row.issuer, subject: row.subject! };
  if (member !== undefined && row.member_role === null) return undefined;
  const role = row.member_role !== null && ranks[row.member_role] < ranks[row.role] ? row.member_role : row.role;
  const own = row.scopes === null ? scopesOfRole[row.role] : (JSON.parse(row.scopes) as Scope[]);
  const ceiling = row.member_role === null ? own : scopesOfRole[row.member_role];
  return {
    kind: row.kind,
    id,
    namespace: row.token_namespace,
    role,
    scopes: own.filter((scope) => ceiling.includes(scope)),
    below: row.below,
    collection: row.token_collection ?? undefined,
    member,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}

const ranks: Readonly<Record<Role, number>> = { reader: 0, publisher: 1, admin: 2 };
