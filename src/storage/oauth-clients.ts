import {
  maxRegistrationsPerHour,
  maxUnusedRegistrations,
  spentTokenMs,
  staleClientDocumentMs,
  unusedRegistrationMs,
} from "../domain/limits.ts";

/** Clients: those that registered themselves, and what the others' metadata documents said when we last read them. */

/** Seconds until the address may register again; 0: now. */
export async function registrationPause(db: D1Database, originKey: string, now: number): Promise<number> {
  const { count, oldest } = (await db
    .prepare(`SELECT count(*) AS count, min(registered_at) AS oldest FROM (${registrationsOfHour})`)
    .bind(originKey, now - hourMs)
    .first<{ count: number; oldest: number }>())!;
  return count < maxRegistrationsPerHour ? 0 : Math.max(1, Math.ceil((oldest + hourMs - now) / 1_000));
}

export interface Registration {
  clientId: string;
  /** JSON as the OAuth library keeps a client. */
  record: string;
  expiresAt: number | null;
  originKey: string;
}

/**
 * Whether the client was added; false: its address has registered as many as it may, and nothing was written. The
 * statement that adds one counts the others, so that no flood gets in between. Where too many wait for their first use,
 * the oldest of them go.
 */
export async function addRegistration(
  db: D1Database,
  { clientId, record, expiresAt, originKey }: Registration,
  now: number,
): Promise<boolean> {
  const [added] = (await db.batch([
    db.prepare(register).bind(originKey, now - hourMs, clientId, now),
    db.prepare(keepRegistered).bind(clientId, record, expiresAt),
    db.prepare(crowdOut),
  ])) as [D1Result, D1Result, D1Result];
  return added.meta.changes === 1;
}

const hourMs = 3_600_000;

// ?1 the key of the address, ?2 an hour ago.
const registrationsOfHour = `
SELECT registered_at FROM oauth_registrations WHERE origin_key = ?1 AND registered_at > ?2
ORDER BY registered_at DESC LIMIT ${maxRegistrationsPerHour}`;

const register = `
INSERT INTO oauth_registrations (client_id, origin_key, registered_at)
SELECT ?3, ?1, ?4 WHERE (SELECT count(*) FROM (${registrationsOfHour})) < ${maxRegistrationsPerHour}`;

const keepRegistered = `
INSERT INTO oauth_records (key, value, expires_at)
SELECT 'client:' || ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM oauth_registrations WHERE client_id = ?1)`;

// The registrations go with their records (migrations/0008_sign_in.sql).
const crowdOut = `
DELETE FROM oauth_records WHERE key IN (
  SELECT 'client:' || client_id FROM oauth_registrations WHERE used_at IS NULL
  ORDER BY registered_at DESC LIMIT -1 OFFSET ${maxUnusedRegistrations})`;

export interface ClientDocument {
  /** JSON as the OAuth library keeps a client. */
  client: string;
  fetchedAt: number;
  freshUntil: number;
}

export async function findDocument(db: D1Database, clientId: string): Promise<ClientDocument | undefined> {
  const row = await db
    .prepare(`SELECT client, fetched_at, fresh_until FROM oauth_documents WHERE client_id = ?1`)
    .bind(clientId)
    .first<{ client: string; fetched_at: number; fresh_until: number }>();
  return row === null ? undefined : { client: row.client, fetchedAt: row.fetched_at, freshUntil: row.fresh_until };
}

export async function keepDocument(db: D1Database, clientId: string, document: ClientDocument): Promise<void> {
  await db
    .prepare(
      `INSERT INTO oauth_documents (client_id, client, fetched_at, fresh_until) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (client_id) DO UPDATE SET client = excluded.client, fetched_at = excluded.fetched_at,
         fresh_until = excluded.fresh_until`,
    )
    .bind(clientId, document.client, document.fetchedAt, document.freshUntil)
    .run();
}

export async function dropDocument(db: D1Database, clientId: string): Promise<void> {
  await db.prepare(`DELETE FROM oauth_documents WHERE client_id = ?1`).bind(clientId).run();
}

/**
 * What has run out of all that signing in leaves behind, at most `limit` rows of each kind. Grants and registrations go
 * with the library's records of them.
 */
export async function forgetSignIns(
  db: D1Database,
  now: number,
  limit: number,
): Promise<{ rows: number; hasMore: boolean }> {
  const results = await db.batch([
    db.prepare(forgetUnused).bind(now - unusedRegistrationMs, limit),
    db.prepare(forgetRecords).bind(now, limit),
    db.prepare(forgetSpent).bind(now - spentTokenMs, limit),
    db.prepare(forgetBrowsers).bind(now, limit),
  ]);
  const counts = results.map(({ meta }) => meta.changes);
  return { rows: counts.reduce((sum, count) => sum + count, 0), hasMore: counts.some((count) => count >= limit) };
}

// ?1 the latest time that is old enough, ?2 rows.

const forgetUnused = `
DELETE FROM oauth_records WHERE key IN (
  SELECT 'client:' || client_id FROM oauth_registrations WHERE used_at IS NULL AND registered_at <= ?1
  ORDER BY registered_at LIMIT ?2)`;

const forgetRecords = `
DELETE FROM oauth_records WHERE key IN (
  SELECT key FROM oauth_records WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;

const forgetSpent = `
DELETE FROM oauth_spent WHERE hash IN (SELECT hash FROM oauth_spent WHERE spent_at <= ?1 ORDER BY spent_at LIMIT ?2)`;

const forgetBrowsers = `
DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;

/** Documents that count for nobody any more. */
export async function forgetClientDocuments(db: D1Database, now: number, limit: number): Promise<number> {
  const { meta } = await db
    .prepare(forgetDocuments)
    .bind(now - staleClientDocumentMs, limit)
    .run();
  return meta.changes;
}

const forgetDocuments = `
DELETE FROM oauth_documents WHERE client_id IN (
  SELECT client_id FROM oauth_documents WHERE fetched_at <= ?1 ORDER BY fetched_at LIMIT ?2)`;
