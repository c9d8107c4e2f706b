import type { Namespace } from "../domain/names.ts";
import type { NamespaceVisibility, Role } from "../domain/principal.ts";

/**
 * Who looks, as SQL. Rights are part of every WHERE clause, never a filter after the fetch, and the rows that prove
 * them (namespace, token) come back in the same batch as the answer, so that asking costs no second round trip.
 */
export interface Viewer {
  /** The operator reads everything. */
  everything: boolean;
  tokenId: string | null;
  tokenHash: string | null;
  /** Milliseconds since 1970; tokens expire against it. */
  now: number;
}

/** What the database knows of the address and of the token that came with the request. */
export interface Gate {
  namespace:
    | { name: Namespace; title: string; visibility: NamespaceVisibility; revision: number; stamp: string }
    | undefined;
  token: { id: string; namespace: Namespace; role: Role } | undefined;
}

/** The first four parameters of every statement that looks. */
export function viewerParameters(viewer: Viewer): [number, string | null, string | null, number] {
  return [viewer.everything ? 1 : 0, viewer.tokenId, viewer.tokenHash, viewer.now];
}

/** `viewer`: one row. The namespace whose private skills the token opens, if it lives. */
export const viewerSql = `viewer (everything, namespace) AS (
  SELECT ?1, (SELECT namespace FROM tokens WHERE id = ?2 AND secret_hash = ?3 AND revoked_at IS NULL AND expires_at > ?4)
)`;

/**
 * `sight`: one row, what the viewer sees of the namespace ?5. 2: everything, 1: what is not private, 0: nothing.
 * Statements use it as a scalar, never as a joined table: a join, even of one row, would cost lists their key order.
 */
export const sightSql = `${viewerSql},
sight (level) AS (
  SELECT CASE
    WHEN v.everything OR v.namespace = ?5 THEN 2
    WHEN (SELECT visibility FROM namespaces WHERE name = ?5) = 'public' THEN 1
    ELSE 0 END
  FROM viewer v
)`;

/** True for a skill `s` of namespace ?5 that the viewer may read, whether or not a list shows it. */
export const readableSql = `(SELECT level FROM sight) > (s.visibility = 'private')`;

/** True for a skill `s` of namespace ?5 that lists and prompts show to the viewer. */
export const listedSql = `s.visibility <> 'unlisted' AND ${readableSql}`;

/** The same across namespaces, for a skill `s` with its namespace `n` and the viewer `v`. */
export const listedAnywhereSql = `s.visibility <> 'unlisted'
  AND (v.everything OR v.namespace = n.name OR (n.visibility = 'public' AND s.visibility <> 'private'))`;

const gateSql = `
WITH ${viewerSql}
SELECT n.name, n.title, n.visibility, n.revision, n.stamp, t.id AS token_id, t.namespace AS token_namespace, t.role
FROM viewer v
LEFT JOIN namespaces n ON n.name = ?5
LEFT JOIN tokens t ON t.id = ?2 AND v.namespace IS NOT NULL`;

interface GateRow {
  name: Namespace | null;
  title: string;
  visibility: NamespaceVisibility;
  revision: number;
  stamp: string;
  token_id: string | null;
  token_namespace: Namespace;
  role: Role;
}

export function gateStatement(db: D1Database, viewer: Viewer, namespace: Namespace | undefined): D1PreparedStatement {
  return db.prepare(gateSql).bind(...viewerParameters(viewer), namespace ?? null);
}

export function readGate(result: D1Result<unknown>): Gate {
  const row = result.results[0] as GateRow;
  const { name, title, visibility, revision, stamp } = row;
  return {
    namespace: name === null ? undefined : { name, title, visibility, revision, stamp },
    token: row.token_id === null ? undefined : { id: row.token_id, namespace: row.token_namespace, role: row.role },
  };
}
