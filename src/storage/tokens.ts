import type { Digest } from "../domain/digest.ts";
import type { Grant } from "../domain/grant.ts";
import type { Namespace } from "../domain/names.ts";
import type { Person, Role } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit } from "./change.ts";
import { commitTimeOf, nameOf } from "./rights.ts";
import type { Actor } from "./rights.ts";

/**
 * Bearer tokens and read links, which are readers' tokens whose secret is part of an address. Of a secret only the
 * hash is kept, so nothing here could show one.
 */
export interface TokenRow {
  id: string;
  role: Role;
  /** JSON; null: those of the role. */
  scopes: string | null;
  below: string;
  collection: string | null;
  label: string;
  created_at: number;
  expires_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  rotated_to: string | null;
  minted_by: string;
  issuer: string | null;
  subject: string | null;
}

export type TokenKind = "token" | "link";

export interface NewToken extends Grant {
  id: string;
  secretHash: Digest;
  kind: TokenKind;
  collection: string | undefined;
  label: string;
  expiresAt: number;
  /** On whose behalf; their membership bounds it. */
  member: Person | undefined;
  /** The trusted publisher that it is for, and where what it publishes comes from, as JSON; absent: none. */
  job?: { publisher: string; source: string };
}

/** A row's place in lists that show the newest first. */
export interface Place {
  at: number;
  id: string;
}

export async function listTokens(
  db: D1Database,
  from: { namespace: Namespace; kind: TokenKind },
  before: Place,
  limit: number,
): Promise<TokenRow[]> {
  const { results } = await db
    .prepare(
      `SELECT ${columns} FROM tokens WHERE namespace = ?1 AND kind = ?2 AND (created_at, id) < (?3, ?4)
       ORDER BY created_at DESC, id DESC LIMIT ?5`,
    )
    .bind(from.namespace, from.kind, before.at, before.id, limit)
    .all<TokenRow>();
  return results;
}

export async function findToken(
  db: D1Database,
  namespace: Namespace,
  kind: TokenKind,
  id: string,
): Promise<TokenRow | undefined> {
  const row = await db
    .prepare(`SELECT ${columns} FROM tokens WHERE namespace = ?1 AND kind = ?2 AND id = ?3`)
    .bind(namespace, kind, id)
    .first<TokenRow>();
  return row ?? undefined;
}

/** @throws Problem `quota_exceeded` */
export async function mintToken(db: D1Database, actor: Actor, token: NewToken): Promise<void> {
  await commit(db, actor, {
    event: { action: "mint-token", target: `tokens/${token.id}`, after: describe(token) },
    statements: [refuseFull(db, actor, "tokens_many"), insertToken(db, actor, token)],
    refusals: fullRefusals,
  });
}

/** @throws Problem `quota_exceeded`; `not_found` for a collection that is not there (any more) */
export async function makeLink(db: D1Database, actor: Actor, link: NewToken): Promise<void> {
  const { collection = null, label, expiresAt } = link;
  await commit(db, actor, {
    event: {
      action: "create-link",
      target: `links/${link.id}`,
      after: { collection, label, expires_at: new Date(expiresAt).toISOString() },
    },
    statements: [
      db.prepare(refuseNoCollection).bind(actor.namespace, collection),
      refuseFull(db, actor, "links_many"),
      insertToken(db, actor, link),
    ],
    refusals: {
      ...fullRefusals,
      collection_gone: () =>
        problem("not_found", `The namespace has no collection "${collection}"; create it first, or leave it out`),
    },
  });
}

/** Ends it at once. What has ended so already stays as it is, and nothing is written down. */
export async function revokeToken(db: D1Database, actor: Actor, kind: TokenKind, id: string): Promise<void> {
  const gone = new AlreadyGone();
  await commit(db, actor, {
    event: { action: `revoke-${kind}`, target: `${kind}s/${id}`, after: { revoked: true } },
    statements: [
      db.prepare(refuseRevoked).bind(actor.namespace, id, kind),
      db.prepare(revoke).bind(actor.namespace, id, actor.now),
    ],
    refusals: { target_gone: () => gone },
  }).catch((error: unknown) => {
    if (error !== gone) throw error;
  });
}

class AlreadyGone extends Error {}

/** The old token lives on until `endsAt` at the latest. @throws Problem `token_ended`, `quota_exceeded` */
export async function rotateToken(
  db: D1Database,
  actor: Actor,
  old: { id: string; endsAt: number },
  token: NewToken,
): Promise<void> {
  await commit(db, actor, {
    event: {
      action: "rotate-token",
      target: `tokens/${old.id}`,
      beforeSql: `SELECT json_object('expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch'))
        FROM tokens WHERE id = ?9`,
      parameters: [old.id],
      after: {
        ends_at: new Date(old.endsAt).toISOString(),
        token: token.id,
        expires_at: new Date(token.expiresAt).toISOString(),
      },
    },
    statements: [
      db.prepare(refuseEnded).bind(actor.namespace, old.id, commitTimeOf(actor)),
      db.prepare(replace).bind(actor.namespace, old.id, old.endsAt, token.id),
      refuseFull(db, actor, "tokens_many"),
      insertToken(db, actor, token),
    ],
    refusals: { ...fullRefusals, target_gone: tokenEnded },
  });
}

export function tokenEnded() {
  return problem("token_ended", "The token was revoked, ran out or was rotated already; mint a new one");
}

/** Belongs into the batch of a change, which has asked whether the actor may. */
export function insertToken(db: D1Database, actor: Actor, token: NewToken): D1PreparedStatement {
  const { id, role, label, secretHash, expiresAt, kind, below, member, job } = token;
  const scopes = token.explicitScopes === undefined ? null : JSON.stringify(token.explicitScopes);
  return db
    .prepare(
      `INSERT INTO tokens (id, namespace, role, label, secret_hash, created_at, expires_at, kind, scopes, below,
         collection, minted_by, issuer, subject, publisher, source)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`,
    )
    .bind(
      id,
      actor.namespace,
      role,
      label,
      secretHash,
      actor.now,
      expiresAt,
      kind,
      scopes,
      below,
      token.collection ?? null,
      nameOf(actor),
      member?.issuer ?? null,
      member?.subject ?? null,
      job?.publisher ?? null,
      job?.source ?? null,
    );
}

function describe({ role, explicitScopes, below, label, expiresAt }: NewToken) {
  return { role, scopes: explicitScopes, below, label, expires_at: new Date(expiresAt).toISOString() };
}

const columns = `id, role, scopes, below, collection, label, created_at, expires_at, last_used_at, revoked_at,
  rotated_to, minted_by, issuer, subject`;

const refuseNoCollection = `
INSERT INTO guards (collection_gone) SELECT 1 WHERE ?2 IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM collections WHERE namespace = ?1 AND name = ?2)`;

// ?1 namespace, ?2 id.

const refuseRevoked = `
INSERT INTO guards (target_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM tokens WHERE namespace = ?1 AND id = ?2 AND kind = ?3 AND revoked_at IS NULL)`;

const revoke = `UPDATE tokens SET revoked_at = ?3 WHERE namespace = ?1 AND id = ?2`;

const refuseEnded = `
INSERT INTO guards (target_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM tokens WHERE namespace = ?1 AND id = ?2 AND kind = 'token'
    AND revoked_at IS NULL AND rotated_to IS NULL AND expires_at > ?3)`;

const replace = `
UPDATE tokens SET expires_at = min(expires_at, ?3), rotated_to = ?4 WHERE namespace = ?1 AND id = ?2`;
