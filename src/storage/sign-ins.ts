import type { Namespace } from "../domain/names.ts";
import type { Person } from "../domain/principal.ts";

/** Who is at the pages: a browser whose cookie has this hash. */
export interface SignIn {
  userId: string;
  /** What the pages call them. */
  name: string;
  /** With the hash by which a viewer proves it; ended tokens end what signed in with them. */
  token: { id: string; secretHash: string; namespace: Namespace; expiresAt: number } | undefined;
  person: Person | undefined;
}

export interface NewSignIn {
  hash: string;
  userId: string;
  name: string;
  account: { tokenId: string } | { person: Person };
  expiresAt: number;
}

export async function createSignIn(db: D1Database, signIn: NewSignIn, now: number): Promise<void> {
  const { hash, userId, name, account, expiresAt } = signIn;
  const { issuer = null, subject = null } = "person" in account ? account.person : {};
  const tokenId = "tokenId" in account ? account.tokenId : null;
  await db
    .prepare(
      `INSERT INTO sign_ins (hash, user_id, token_id, issuer, subject, name, signed_in_at, expires_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
    )
    .bind(hash, userId, tokenId, issuer, subject, name, now, expiresAt)
    .run();
}

export async function findSignIn(db: D1Database, hash: string, now: number): Promise<SignIn | undefined> {
  const row = await db.prepare(find).bind(hash, now).first<SignInRow>();
  if (row === null) return undefined;
  const { user_id: userId, name } = row;
  if (row.issuer !== null) {
    return { userId, name, token: undefined, person: { issuer: row.issuer, subject: row.subject! } };
  }
  const { id, secret_hash, namespace, expires_at } = row;
  return { userId, name, token: { id, secretHash: secret_hash, namespace, expiresAt: expires_at }, person: undefined };
}

export async function endSignIn(db: D1Database, hash: string): Promise<void> {
  await db.prepare(`DELETE FROM sign_ins WHERE hash = ?1`).bind(hash).run();
}

interface SignInRow {
  user_id: string;
  name: string;
  issuer: string | null;
  subject: string | null;
  id: string;
  secret_hash: string;
  namespace: Namespace;
  expires_at: number;
}

const find = `
SELECT s.user_id, s.name, s.issuer, s.subject, t.id, t.secret_hash, t.namespace, t.expires_at FROM sign_ins s
LEFT JOIN tokens t ON t.id = s.token_id AND t.revoked_at IS NULL AND t.expires_at > ?2
WHERE s.hash = ?1 AND s.expires_at > ?2 AND (s.issuer IS NOT NULL OR t.id IS NOT NULL)`;
