import type { Namespace } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import type { Person, Role, Scope, TokenPrincipal } from "../domain/principal.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { maxGrantsPerUser, maxMembershipsShown } from "../domain/limits.ts";
import { commit, runGuarded } from "./change.ts";
import { rankOf } from "./rights.ts";
import type { Origin } from "./rights.ts";
import type { Place } from "./tokens.ts";

/** What somebody has allowed a client at one address. Ended by removing it, with every record of the library's. */
export interface GrantRow {
  id: string;
  client_id: string;
  client_name: string;
  client_domain: string | null;
  audience: string;
  /** JSON. */
  scopes: string;
  granted_at: number;
  last_used_at: number | null;
  last_used_from: string | null;
  expires_at: number | null;
}

export interface NewGrant {
  id: string;
  userId: string;
  client: { id: string; name: string; domain: string | undefined };
  audience: string;
  /** Of the address; undefined: of the whole registry. */
  namespace: Namespace | undefined;
  scopes: readonly Scope[];
  /** Of a person at the API: where they allow it, and what they are there. */
  roles: Readonly<Record<Namespace, Role>> | undefined;
  account: { tokenId: string } | { person: Person };
}

/**
 * Written down in the namespace of whoever allows it; of a person at the API, wherever the client could change
 * something from now on; and of one who only reads at an address of the whole registry, nowhere.
 * @throws Problem `invalid_token` when the token ended meanwhile
 */
export async function createGrant(db: D1Database, by: Allowing, grant: NewGrant): Promise<void> {
  const { id, client, audience, scopes, roles } = grant;
  const { principal, now, from } = by;
  const statements = [db.prepare(insert).bind(...boundOf(grant), now), ...trim(db, grant.userId)];
  if (client.domain === undefined) statements.push(db.prepare(useRegistration).bind(client.id, now));
  const after = { client: client.id, name: client.name, address: audience, scopes };
  const { namespace } = principal;
  if (namespace !== undefined) {
    const event = { action: "allow-client", target: `grants/${id}`, after };
    return commit(db, { principal, namespace, now, from }, { event, statements });
  }
  const line = [JSON.stringify(roles ?? {}), now, formatPrincipal(principal), id, from.address, from.agent];
  const places = db.prepare(recordAllowed).bind(...line, withoutSecrets(JSON.stringify(after)));
  await runGuarded(db, [places, ...statements]);
}

/** Who allows it: what `Actor` says, of somebody who may have no namespace. */
export interface Allowing {
  principal: TokenPrincipal;
  now: number;
  from: Origin;
}

function boundOf({ id, userId, client, audience, namespace, scopes, roles, account }: NewGrant) {
  const { issuer = null, subject = null } = "person" in account ? account.person : {};
  const tokenId = "tokenId" in account ? account.tokenId : null;
  const about = [client.id, client.name, client.domain ?? null, audience, namespace ?? null];
  const what = [JSON.stringify(scopes), roles === undefined ? null : JSON.stringify(roles)];
  return [id, userId, ...about, ...what, tokenId, issuer, subject];
}

/** The newest first. */
export async function listGrants(
  db: D1Database,
  { userId, now }: { userId: string; now: number },
  before: Place,
  limit: number,
): Promise<GrantRow[]> {
  const { results } = await db.prepare(list).bind(userId, before.at, before.id, limit, now).all<GrantRow>();
  return results;
}

export interface Standing {
  userId: string;
  clientId: string;
  audience: string;
  /** Whether the token still is there, or for a person the membership, where the address is not everybody's. */
  isAlive: boolean;
  /** Whether the access token that was asked about still is one. */
  hasToken: boolean;
}

/** `key`: of the library's record of an access token. */
export async function findStanding(db: D1Database, id: string, now: number, key = ""): Promise<Standing | undefined> {
  const row = await db
    .prepare(standing)
    .bind(id, now, key)
    .first<{ user_id: string; client_id: string; audience: string; is_alive: number; has_token: number }>();
  if (row === null) return undefined;
  const { user_id: userId, client_id: clientId, audience } = row;
  return { userId, clientId, audience, isAlive: row.is_alive === 1, hasToken: row.has_token === 1 };
}

/** When the refresh token was used, if it was. */
export async function findSpent(db: D1Database, hash: string): Promise<number | undefined> {
  const row = await db
    .prepare(`SELECT spent_at FROM oauth_spent WHERE hash = ?1`)
    .bind(hash)
    .first<{ spent_at: number }>();
  return row?.spent_at;
}

/**
 * Ends it at once, with all its tokens, and with what it made and left behind: tokens, links, open invitations, trusted
 * publishers, and what those tokens made of it. The address that it was for; undefined: there was none of this user. `from`
 * says where it is written down: in the namespace of the token or of the address, if it has one.
 */
export async function revokeGrant(
  db: D1Database,
  { userId, id }: { userId: string; id: string },
  why: { action: string; now: number; from: Origin },
): Promise<string | undefined> {
  const { action, now, from } = why;
  const place = [userId, id];
  const [dropped] = (
    await db.batch<{ audience: string }>([
      db.prepare(recordEnd).bind(...place, now, action, from.address, from.agent),
      ...endMade.map((statement) => db.prepare(statement).bind(...place, now)),
      // Its record would take the row along, which says what it was for.
      ...[dropTrusts, drop, dropRecord, dropTokens].map((statement) => db.prepare(statement).bind(...place)),
    ])
  ).slice(-3);
  return dropped!.results[0]?.audience;
}

export interface Membership {
  namespace: Namespace;
  role: Role;
  via_group: string | null;
}

/** The namespaces that know a person; through a `grant`, as far as that goes. */
export async function listMemberships(
  db: D1Database,
  { issuer, subject }: Person,
  now: number,
  grant: string | null = null,
): Promise<Membership[]> {
  const { results } = await db.prepare(memberships).bind(issuer, subject, now, grant).all<Membership>();
  return results;
}

/** What the client is called, and what it was allowed. */
export async function findGrant(
  db: D1Database,
  id: string,
): Promise<{ client_name: string; audience: string; scopes: readonly Scope[] } | undefined> {
  const row = await db
    .prepare(`SELECT client_name, audience, scopes FROM grants WHERE id = ?1`)
    .bind(id)
    .first<{ client_name: string; audience: string; scopes: string }>();
  return row === null ? undefined : { ...row, scopes: JSON.parse(row.scopes) as Scope[] };
}

/** The grants of a user that are too many, the oldest first; their records have no effect without them. */
function trim(db: D1Database, userId: string): D1PreparedStatement[] {
  return [db.prepare(dropOldest).bind(userId)];
}

const memberships = `
SELECT m.namespace, m.via_group,
  iif(g.roles IS NOT NULL AND ${rankOf("g.roles ->> m.namespace")} < ${rankOf("m.role")}, g.roles ->> m.namespace, m.role)
    AS role
FROM members m JOIN namespaces n ON n.name = m.namespace LEFT JOIN grants g ON g.id = ?4
WHERE m.issuer = ?1 AND m.subject = ?2 AND m.is_proven AND (m.until IS NULL OR m.until > ?3) AND n.deleted_at IS NULL
  AND (g.roles IS NULL OR g.roles ->> m.namespace IS NOT NULL)
ORDER BY m.namespace LIMIT ${maxMembershipsShown}`;

const insert = `
INSERT INTO grants (id, user_id, client_id, client_name, client_domain, audience, namespace, scopes, roles, token_id,
  issuer, subject, granted_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`;

/** ?1 the roles, ?4 id. Who only reads in a namespace lets nobody change it. */
const recordAllowed = `
INSERT INTO audit (namespace, seq, at, principal, action, target, address, agent, after)
SELECT n.name, coalesce((SELECT max(seq) FROM audit WHERE namespace = n.name), 0) + 1, ?2, ?3, 'allow-client',
  'grants/' || ?4, ?5, ?6, ?7
FROM json_each(?1) j CROSS JOIN namespaces n ON n.name = j.key AND n.deleted_at IS NULL WHERE j.value <> 'reader'`;

const useRegistration = `UPDATE oauth_registrations SET used_at = ?2 WHERE client_id = ?1`;

const dropOldest = `
DELETE FROM grants WHERE user_id = ?1 AND id IN (
  SELECT id FROM grants WHERE user_id = ?1 ORDER BY granted_at DESC, id DESC LIMIT -1 OFFSET ${maxGrantsPerUser})`;

/** A code that nobody redeemed, and a sign-in that nobody renewed in time, are none. */
const list = `
SELECT g.id, g.client_id, g.client_name, g.client_domain, g.audience, g.scopes, g.granted_at, g.last_used_at,
  g.last_used_from, r.expires_at
FROM grants g JOIN oauth_records r ON r.key = 'grant:' || g.user_id || ':' || g.id
WHERE g.user_id = ?1 AND (g.granted_at, g.id) < (?2, ?3) AND r.expires_at > ?5
ORDER BY g.granted_at DESC, g.id DESC LIMIT ?4`;

const standing = `
SELECT g.user_id, g.client_id, g.audience, CASE
  WHEN g.token_id IS NOT NULL THEN EXISTS (
    SELECT 1 FROM tokens t JOIN namespaces n ON n.name = t.namespace AND n.deleted_at IS NULL WHERE t.id = g.token_id AND t.revoked_at IS NULL AND t.expires_at > ?2
      AND (t.issuer IS NULL OR EXISTS (SELECT 1 FROM members m WHERE m.namespace = t.namespace
        AND m.issuer = t.issuer AND m.subject = t.subject AND (m.until IS NULL OR m.until > ?2))))
  ELSE g.namespace IS NULL OR EXISTS (
    SELECT 1 FROM members m JOIN namespaces n ON n.name = m.namespace AND n.deleted_at IS NULL
    WHERE m.namespace = g.namespace AND m.issuer = g.issuer AND m.subject = g.subject AND m.is_proven
      AND (m.until IS NULL OR m.until > ?2))
    OR (g.audience NOT LIKE '%/me/mcp/%' AND EXISTS (
      SELECT 1 FROM namespaces n WHERE n.name = g.namespace AND n.visibility = 'public' AND n.deleted_at IS NULL))
  END AS is_alive,
  EXISTS (SELECT 1 FROM oauth_records WHERE key = ?3) AS has_token
FROM grants g WHERE g.id = ?1`;

// ?1 user, ?2 grant.

const drop = `DELETE FROM grants WHERE user_id = ?1 AND id = ?2 RETURNING audience`;

/** Its lines of the audit log, as rights.ts writes them, wherever `createGrant` wrote one. */
const recordEnd = `
INSERT INTO audit (namespace, seq, at, principal, action, target, address, agent, before)
SELECT o.namespace, coalesce((SELECT max(seq) FROM audit WHERE namespace = o.namespace), 0) + 1, ?3, 'grant:' || o.id, ?4,
  'grants/' || o.id, ?5, ?6, json_object('client', o.client_id, 'address', o.audience)
FROM (SELECT g.id, g.client_id, g.audience, coalesce(
    (SELECT namespace FROM tokens WHERE id = g.token_id), g.namespace) AS namespace
  FROM grants g WHERE g.user_id = ?1 AND g.id = ?2
  UNION ALL
  SELECT g.id, g.client_id, g.audience, j.key FROM grants g CROSS JOIN json_each(g.roles) j
  WHERE g.user_id = ?1 AND g.id = ?2 AND j.value <> 'reader') o
WHERE o.namespace IS NOT NULL`;

/** By whose names it may have made something: its own, and those of tokens that came of it. */
const made = `
WITH RECURSIVE made (name) AS (
  SELECT 'grant:' || id FROM grants WHERE user_id = ?1 AND id = ?2
  UNION SELECT 'token:' || t.id FROM made CROSS JOIN tokens t ON t.minted_by = made.name)`;

/** ?3 now. */
const endMade = [
  `${made}
UPDATE invitations SET revoked_at = ?3
WHERE created_by IN (SELECT name FROM made) AND revoked_at IS NULL AND accepted_at IS NULL`,
  `${made}
UPDATE tokens SET revoked_at = ?3 WHERE revoked_at IS NULL AND id IN (
  SELECT t.id FROM tokens t JOIN trusted_publishers p ON p.id = t.publisher AND p.created_by IN (SELECT name FROM made))`,
  `${made}
UPDATE tokens SET revoked_at = ?3 WHERE revoked_at IS NULL AND minted_by IN (SELECT name FROM made)`,
];

const dropTrusts = `${made}
DELETE FROM trusted_publishers WHERE created_by IN (SELECT name FROM made)`;

const dropRecord = `DELETE FROM oauth_records WHERE key = 'grant:' || ?1 || ':' || ?2`;

const dropTokens = `
DELETE FROM oauth_records WHERE key > 'token:' || ?1 || ':' || ?2 || ':' AND key < 'token:' || ?1 || ':' || ?2 || ';'`;
