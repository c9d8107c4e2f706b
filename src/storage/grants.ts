import type { Namespace } from "../domain/names.ts";
import type { Person, Role, Scope } from "../domain/principal.ts";
import { maxGrantsPerUser } from "../domain/limits.ts";
import { commit, runGuarded } from "./change.ts";
import type { Actor, Origin } from "./rights.ts";
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
  account: { tokenId: string } | { person: Person };
}

/**
 * `actor`: in whose namespace it is written down; undefined for a person at an address of the whole registry.
 * @throws Problem `invalid_token` when the token ended meanwhile
 */
export async function createGrant(
  db: D1Database,
  actor: Actor | undefined,
  grant: NewGrant,
  now: number,
): Promise<void> {
  const { id, client, audience, scopes } = grant;
  const statements = [db.prepare(insert).bind(...boundOf(grant), now), ...trim(db, grant.userId)];
  if (client.domain === undefined) statements.push(db.prepare(useRegistration).bind(client.id, now));
  if (actor === undefined) return runGuarded(db, statements);
  const after = { client: client.id, name: client.name, address: audience, scopes };
  await commit(db, actor, { event: { action: "allow-client", target: `grants/${id}`, after }, statements });
}

function boundOf({ id, userId, client, audience, namespace, scopes, account }: NewGrant) {
  const { issuer = null, subject = null } = "person" in account ? account.person : {};
  const tokenId = "tokenId" in account ? account.tokenId : null;
  const about = [client.id, client.name, client.domain ?? null, audience, namespace ?? null];
  return [id, userId, ...about, JSON.stringify(scopes), tokenId, issuer, subject];
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
 * Ends it at once, with all its tokens. The address that it was for; undefined: there was none of this user. `from`
 * says where it is written down: in the namespace of the token or of the address, if it has one.
 */
export async function revokeGrant(
  db: D1Database,
  { userId, id }: { userId: string; id: string },
  why: { action: string; now: number; from: Origin },
): Promise<string | undefined> {
  const { action, now, from } = why;
  const place = [userId, id];
  const [, dropped] = (await db.batch([
    db.prepare(recordEnd).bind(...place, now, action, from.address, from.agent),
    ...[drop, dropRecord, dropTokens].map((statement) => db.prepare(statement).bind(...place)),
  ])) as [D1Result, D1Result<{ audience: string }>];
  return dropped.results[0]?.audience;
}

/** The namespaces that know a person, for the account page. */
export async function listMemberships(
  db: D1Database,
  { issuer, subject }: Person,
  now: number,
): Promise<{ namespace: Namespace; role: Role; via_group: string | null }[]> {
  const { results } = await db
    .prepare(
      `SELECT m.namespace, m.role, m.via_group FROM members m JOIN namespaces n ON n.name = m.namespace
       WHERE m.issuer = ?1 AND m.subject = ?2 AND (m.until IS NULL OR m.until > ?3) AND n.deleted_at IS NULL
       ORDER BY m.namespace LIMIT 1000`,
    )
    .bind(issuer, subject, now)
    .all<{ namespace: Namespace; role: Role; via_group: string | null }>();
  return results;
}

/** The grants of a user that are too many, the oldest first; their records have no effect without them. */
function trim(db: D1Database, userId: string): D1PreparedStatement[] {
  return [db.prepare(dropOldest).bind(userId)];
}

const insert = `
INSERT INTO grants (id, user_id, client_id, client_name, client_domain, audience, namespace, scopes, token_id, issuer,
  subject, granted_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`;

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
    SELECT 1 FROM tokens t WHERE t.id = g.token_id AND t.revoked_at IS NULL AND t.expires_at > ?2
      AND (t.issuer IS NULL OR EXISTS (SELECT 1 FROM members m WHERE m.namespace = t.namespace
        AND m.issuer = t.issuer AND m.subject = t.subject AND (m.until IS NULL OR m.until > ?2))))
  ELSE g.namespace IS NULL OR EXISTS (
    SELECT 1 FROM members m WHERE m.namespace = g.namespace AND m.issuer = g.issuer AND m.subject = g.subject
      AND (m.until IS NULL OR m.until > ?2))
    OR (g.audience NOT LIKE '%/me/mcp/%' AND EXISTS (
      SELECT 1 FROM namespaces n WHERE n.name = g.namespace AND n.visibility = 'public' AND n.deleted_at IS NULL))
  END AS is_alive,
  EXISTS (SELECT 1 FROM oauth_records WHERE key = ?3) AS has_token
FROM grants g WHERE g.id = ?1`;

// ?1 user, ?2 grant.

const drop = `DELETE FROM grants WHERE user_id = ?1 AND id = ?2 RETURNING audience`;

/** Its line of the audit log, as rights.ts writes them; of a person at an address of the whole registry there is none. */
const recordEnd = `
INSERT INTO audit (namespace, seq, at, principal, action, target, address, agent, before)
SELECT o.namespace, coalesce((SELECT max(seq) FROM audit WHERE namespace = o.namespace), 0) + 1, ?3, 'grant:' || o.id, ?4,
  'grants/' || o.id, ?5, ?6, json_object('client', o.client_id, 'address', o.audience)
FROM (SELECT g.id, g.client_id, g.audience, coalesce(
    (SELECT namespace FROM tokens WHERE id = g.token_id), g.namespace) AS namespace
  FROM grants g WHERE g.user_id = ?1 AND g.id = ?2) o
WHERE o.namespace IS NOT NULL`;

const dropRecord = `DELETE FROM oauth_records WHERE key = 'grant:' || ?1 || ':' || ?2`;

const dropTokens = `
DELETE FROM oauth_records WHERE key > 'token:' || ?1 || ':' || ?2 || ':' AND key < 'token:' || ?1 || ':' || ?2 || ';'`;
