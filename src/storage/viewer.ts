import type { Namespace } from "../domain/names.ts";
import type { Person } from "../domain/principal.ts";

/**
 * Who looks, as SQL. Rights are part of every WHERE clause, never a filter after the fetch, and the rows that prove
 * them (gate.ts) come back in the same batch as the answer, so that asking costs no second round trip. What these clauses show is what `may` (domain/policy.ts) allows; test/storage/policy-sql.test.ts compares them.
 */
export interface Viewer {
  /** The operator reads everything. */
  everything: boolean;
  /** Of the token or read link that came with the request. */
  tokenId: string | null;
  tokenHash: string | null;
  /** An access token of a sign-in, and the address that it has to be for. */
  access: { key: string; audience: string } | null;
  /** Somebody at the pages, whom the OpenID provider named. */
  person: Person | null;
  /** Milliseconds since 1970; tokens expire against it. */
  now: number;
}

/** What an address serves: everything, one namespace, or one collection of a namespace. */
export interface Reach {
  namespace: Namespace | undefined;
  collection: string | undefined;
}

/** The first four parameters of every statement that looks: the viewer (JSON), the collection (or NULL twice), now. */
export function viewerParameters(viewer: Viewer, reach: Reach): [string, string | null, string | null, number] {
  const { everything, tokenId, tokenHash, access, person } = viewer;
  const isCollection = reach.collection !== undefined;
  return [
    JSON.stringify({ everything: everything ? 1 : 0, id: tokenId, hash: tokenHash, ...access, ...person }),
    isCollection ? (reach.namespace ?? null) : null,
    reach.collection ?? null,
    viewer.now,
  ];
}

/** True for a row of `members` that still is one: whom a group of the provider made one is it for a time. */
export const isMemberNow = (alias: string) => `(${alias}.until IS NULL OR ${alias}.until > ?4)`;

/**
 * `allowed`: the grant behind an access token that is for this address, or a person at the pages; no row for others.
 * `viewer`: one row. The namespace whose private skills the caller may read, if it lives, and below which path; of a
 * read link also the collection to which it leads. A person at an address of the whole registry has none of their own.
 * `rights`: a row for each namespace where the caller is no stranger, which is that one, or the person's memberships.
 */
export const viewerSql = `allowed (grant_id, namespace, token_id, issuer, subject, roles) AS MATERIALIZED (
  SELECT g.id, g.namespace, g.token_id, g.issuer, g.subject, g.roles
  FROM oauth_records r CROSS JOIN grants g ON g.id = r.value ->> 'grantId'
  WHERE r.key = ?1 ->> 'key' AND r.expires_at > ?4 AND r.value ->> 'audience' = ?1 ->> 'audience'
  UNION ALL
  SELECT NULL, NULL, NULL, ?1 ->> 'issuer', ?1 ->> 'subject', NULL WHERE ?1 ->> 'subject' IS NOT NULL
),
viewer (everything, namespace, below, kind, collection, token_id) AS MATERIALIZED (
  SELECT ?1 ->> 'everything', coalesce(t.namespace, m.namespace), coalesce(t.below, iif(a.issuer IS NULL, NULL, '')),
    coalesce(t.kind, iif(a.issuer IS NULL, NULL, 'token')), t.collection, t.id
  FROM (SELECT 1)
  LEFT JOIN allowed a
  LEFT JOIN tokens t ON t.id = coalesce(?1 ->> 'id', a.token_id)
    AND (t.secret_hash = ?1 ->> 'hash' OR t.id = a.token_id) AND t.revoked_at IS NULL AND t.expires_at > ?4
  LEFT JOIN members m ON m.namespace = a.namespace AND m.issuer = a.issuer AND m.subject = a.subject
    AND m.is_proven AND ${isMemberNow("m")}
),
rights (namespace, below, kind) AS MATERIALIZED (
  SELECT namespace, below, kind FROM viewer WHERE namespace IS NOT NULL
  UNION ALL
  SELECT m.namespace, '', 'token' FROM allowed a
  CROSS JOIN members m ON m.issuer = a.issuer AND m.subject = a.subject AND m.is_proven
    AND ${isMemberNow("m")}
  WHERE a.namespace IS NULL AND (a.roles IS NULL OR a.roles ->> m.namespace IS NOT NULL)
)`;

/** The same for whoever did not sign in, of whom most requests come: a fraction to prepare and to run. */
const plainViewerSql = `viewer (everything, namespace, below, kind, collection, token_id) AS MATERIALIZED (
  SELECT ?1 ->> 'everything', t.namespace, t.below, t.kind, t.collection, t.id FROM (SELECT 1)
  LEFT JOIN tokens t ON t.id = ?1 ->> 'id' AND t.secret_hash = ?1 ->> 'hash' AND t.revoked_at IS NULL AND t.expires_at > ?4
),
rights (namespace, below, kind) AS MATERIALIZED (
  SELECT namespace, below, kind FROM viewer WHERE namespace IS NOT NULL
)`;

export function isSignedIn({ access, person }: Viewer): boolean {
  return access !== null || person !== null;
}

const plainStatements = new Map<string, string>();

/** A statement that begins with `viewerSql`, as this viewer asks it. Statements are constants, so the map is small. */
export function askedBy(statement: string, viewer: Viewer): string {
  if (isSignedIn(viewer)) return statement;
  const known = plainStatements.get(statement);
  if (known !== undefined) return known;
  const plain = statement.replace(viewerSql, () => plainViewerSql);
  plainStatements.set(statement, plain);
  return plain;
}

/** The namespaces all of which the caller sees, as a list in SQL. */
export const wholeNamespaces = `(SELECT namespace FROM rights WHERE below = '')`;

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
      WHEN v.everything OR r.below = '' THEN 2
      WHEN n.visibility = 'public' THEN 1
      ELSE 0 END,
    iif(n.name IS NULL, NULL, r.below)
  FROM (SELECT (SELECT below FROM rights WHERE namespace = ?5) AS below) r CROSS JOIN viewer v
  LEFT JOIN namespaces n ON n.name = ?5 AND n.deleted_at IS NULL
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
  OR (n.name IN ${wholeNamespaces} AND c.name = coalesce(v.collection, c.name))
  OR (n.visibility = 'public' AND c.visibility = 'public'))`;

/** The same as `listedSql` across namespaces, for a skill `s` with its namespace `n` and the viewer `v`. */
export const listedAnywhereSql = `s.visibility <> 'unlisted' AND n.deleted_at IS NULL
  AND (v.everything
    OR (n.visibility = 'public' AND s.visibility <> 'private')
    OR n.name IN ${wholeNamespaces}
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
