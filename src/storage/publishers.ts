import type { Digest } from "../domain/digest.ts";
import type { Namespace } from "../domain/names.ts";
import type { Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { Source, Trust } from "../domain/trust.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit } from "./change.ts";
import { nameOf } from "./rights.ts";
import type { Actor } from "./rights.ts";
import { insertToken } from "./tokens.ts";
import type { NewToken, Place } from "./tokens.ts";

/** Trusted publishers, what their jobs were given, and which tokens of jobs are spent. */
export interface PublisherRow {
  id: string;
  kind: Trust["kind"];
  issuer: string;
  /** JSON. */
  claims: string;
  /** "", or a path with its closing slash. */
  path: string;
  label: string;
  created_at: number;
  created_by: string;
  last_used_at: number | null;
}

export interface NewPublisher extends Trust {
  id: string;
  path: string;
  label: string;
}

/** A trust as an exchange looks at it. */
export interface TrustedPublisher extends Trust {
  id: string;
  path: string;
}

export interface Exchange {
  publisher: TrustedPublisher;
  source: Source;
  /** Of the issuer and the id of the job's token, and until when that could come again. */
  spent: { hash: Digest; until: number };
  token: NewToken;
}

export async function listPublishers(
  db: D1Database,
  namespace: Namespace,
  before: Place,
  limit: number,
): Promise<PublisherRow[]> {
  const { results } = await db
    .prepare(
      `SELECT ${columns} FROM trusted_publishers WHERE namespace = ?1 AND (created_at, id) < (?2, ?3)
       ORDER BY created_at DESC, id DESC LIMIT ?4`,
    )
    .bind(namespace, before.at, before.id, limit)
    .all<PublisherRow>();
  return results;
}

export async function findPublisher(
  db: D1Database,
  namespace: Namespace,
  id: string,
): Promise<PublisherRow | undefined> {
  const row = await db
    .prepare(`SELECT ${columns} FROM trusted_publishers WHERE namespace = ?1 AND id = ?2`)
    .bind(namespace, id)
    .first<PublisherRow>();
  return row ?? undefined;
}

/** @throws Problem `quota_exceeded` */
export async function addPublisher(db: D1Database, actor: Actor, publisher: NewPublisher): Promise<void> {
  const { id, kind, issuer, claims, path, label } = publisher;
  const row = [id, actor.namespace, kind, issuer, JSON.stringify(claims), path, label, actor.now, nameOf(actor)];
  await commit(db, actor, {
    event: { action: "add-publisher", target: `publishers/${id}`, after: { issuer, claims, below: path, label } },
    statements: [refuseFull(db, actor, "publishers_many"), db.prepare(insertPublisher).bind(...row)],
    refusals: fullRefusals,
  });
}

/** What it gave out ends with it, in the same batch. @throws Problem `not_found` */
export async function removePublisher(db: D1Database, actor: Actor, id: string): Promise<void> {
  await commit(db, actor, {
    event: {
      action: "remove-publisher",
      target: `publishers/${id}`,
      beforeSql: `SELECT json_object('issuer', issuer, 'claims', json(claims), 'below', path, 'label', label)
        FROM trusted_publishers WHERE namespace = ?1 AND id = ?9`,
      parameters: [id],
    },
    statements: [
      db.prepare(refuseNoPublisher).bind(actor.namespace, id),
      db.prepare(revokeTokens).bind(actor.namespace, id, actor.now),
      db.prepare(`DELETE FROM trusted_publishers WHERE namespace = ?1 AND id = ?2`).bind(actor.namespace, id),
    ],
    refusals: { target_gone: noSuchPublisher },
  });
}

export function noSuchPublisher() {
  return problem("not_found", "The namespace has no such publisher");
}

/**
 * Whom the namespace trusts at an issuer, the oldest first, and whether anybody here trusts that issuer at all: whether
 * it is asked for its keys must not tell what this namespace trusts, or whether there is one. NULL is no namespace.
 */
export async function findTrusts(
  db: D1Database,
  namespace: Namespace | null,
  issuer: string,
): Promise<{ isKnownIssuer: boolean; trusts: TrustedPublisher[] }> {
  const [known, found] = await db.batch([
    db.prepare(isTrustedAnywhere).bind(issuer),
    db.prepare(trustsOf).bind(namespace, issuer),
  ]);
  const rows = found!.results as Pick<PublisherRow, "id" | "kind" | "issuer" | "claims" | "path">[];
  const trusts = rows.map((row) => ({ ...row, claims: JSON.parse(row.claims) as Trust["claims"] }));
  return { isKnownIssuer: known!.results.length > 0, trusts };
}

/**
 * Gives a job its token, and spends the one that it came with. The trust has to be there still.
 * @throws Problem `quota_exceeded`, or what `refusals` say
 */
export async function exchange(
  db: D1Database,
  actor: Actor,
  { publisher, source, spent, token }: Exchange,
  refusals: { replayed: () => Error; gone: () => Error },
): Promise<void> {
  const job = { publisher: publisher.id, source: JSON.stringify(source) };
  const { below, explicitScopes: scopes, expiresAt } = token;
  await commit(db, actor, {
    event: {
      action: "exchange-token",
      target: `tokens/${token.id}`,
      after: { publisher: publisher.id, source, scopes, below, expires_at: new Date(expiresAt).toISOString() },
    },
    statements: [
      db.prepare(refuseNoPublisher).bind(actor.namespace, publisher.id),
      db.prepare(refuseReplay).bind(spent.hash),
      db.prepare(`INSERT INTO oidc_used (hash, expires_at) VALUES (?1, ?2)`).bind(spent.hash, spent.until),
      refuseFull(db, actor, "job_tokens_many", { sql: "0", parameters: [publisher.id] }),
      insertToken(db, actor, { ...token, job }),
      db.prepare(`UPDATE trusted_publishers SET last_used_at = ?2 WHERE id = ?1`).bind(publisher.id, actor.now),
    ],
    refusals: { ...fullRefusals, target_gone: refusals.gone, job_replayed: refusals.replayed },
  });
}

/** Where what this principal publishes comes from, as the release will keep it (ledger-sql.ts). */
export async function findSource(db: D1Database, principal: Principal): Promise<string | null> {
  if (principal.kind !== "token" || principal.publisher === undefined) return null;
  return db.prepare(`SELECT source FROM tokens WHERE id = ?1`).bind(principal.id).first<string>("source");
}

/** Forgets what has run out, at most `limit` rows of each kind. */
export async function forgetExchanges(
  db: D1Database,
  { now, tokensEndedBefore }: { now: number; tokensEndedBefore: number },
  limit: number,
): Promise<{ rows: number; hasMore: boolean }> {
  const results = await db.batch([
    db.prepare(forgetSpent).bind(now, limit),
    db.prepare(forgetTokens).bind(tokensEndedBefore, limit),
  ]);
  const counts = results.map(({ meta }) => meta.changes);
  return { rows: counts.reduce((sum, count) => sum + count, 0), hasMore: counts.some((count) => count >= limit) };
}

export const actorOf = (publisher: string) => `publisher:${publisher}`;

const columns = `id, kind, issuer, claims, path, label, created_at, created_by, last_used_at`;

const insertPublisher = `
INSERT INTO trusted_publishers (id, namespace, kind, issuer, claims, path, label, created_at, created_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`;

/** ?1 namespace, ?2 id. */
const refuseNoPublisher = `
INSERT INTO guards (target_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM trusted_publishers WHERE namespace = ?1 AND id = ?2)`;

const revokeTokens = `
UPDATE tokens SET revoked_at = ?3 WHERE publisher = ?2 AND namespace = ?1 AND revoked_at IS NULL`;

const isTrustedAnywhere = `
SELECT 1 FROM trusted_publishers p CROSS JOIN namespaces n ON n.name = p.namespace
WHERE p.issuer = ?1 AND n.deleted_at IS NULL LIMIT 1`;

const trustsOf = `
SELECT p.id, p.kind, p.issuer, p.claims, p.path FROM trusted_publishers p
CROSS JOIN namespaces n ON n.name = p.namespace
WHERE p.issuer = ?2 AND p.namespace = ?1 AND n.deleted_at IS NULL ORDER BY p.created_at, p.id`;

const refuseReplay = `INSERT INTO guards (job_replayed) SELECT 1 FROM oidc_used WHERE hash = ?1`;

const forgetSpent = `
DELETE FROM oidc_used WHERE hash IN (SELECT hash FROM oidc_used WHERE expires_at <= ?1 LIMIT ?2)`;

const forgetTokens = `
DELETE FROM tokens WHERE id IN (
  SELECT id FROM tokens WHERE publisher IS NOT NULL AND expires_at <= ?1 LIMIT ?2)`;
