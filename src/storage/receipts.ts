import type { Digest } from "../domain/digest.ts";
import { receiptLifetimeMs } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";

/**
 * Answers to requests that carried an Idempotency-Key. A receipt is written in the batch of the change it tells of;
 * only successes are kept, so that a refused request may be mended and sent again under its key.
 */
export interface ReceiptKey {
  principal: string;
  key: string;
  /** Covers the parameters and every (path, digest) of the upload. */
  requestHash: Digest;
}

export interface Receipt extends ReceiptKey {
  status: number;
  body: string;
}

export async function findReceipt(
  db: D1Database,
  namespace: Namespace,
  { principal, key }: ReceiptKey,
  now: number,
): Promise<{ requestHash: Digest; status: number; body: string } | undefined> {
  const row = await db
    .prepare(
      `SELECT request_hash AS requestHash, status, body FROM receipts
       WHERE namespace = ?1 AND principal = ?2 AND key = ?3 AND created_at > ?4`,
    )
    .bind(namespace, principal, key, now - receiptLifetimeMs)
    .first<{ requestHash: Digest; status: number; body: string }>();
  return row ?? undefined;
}

/** Takes the place of an outlived receipt; a living one fails the batch by its primary key. */
export function insertReceipt(
  db: D1Database,
  namespace: Namespace,
  receipt: Receipt,
  now: number,
): D1PreparedStatement[] {
  const { principal, key, requestHash, status, body } = receipt;
  return [
    db
      .prepare(`DELETE FROM receipts WHERE namespace = ?1 AND principal = ?2 AND key = ?3 AND created_at <= ?4`)
      .bind(namespace, principal, key, now - receiptLifetimeMs),
    db
      .prepare(
        `INSERT INTO receipts (namespace, principal, key, request_hash, status, body, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
      )
      .bind(namespace, principal, key, requestHash, status, body, now),
  ];
}

/** Forgets receipts past their lifetime, at most `limit` of them; returns how many. */
export async function forgetReceipts(db: D1Database, now: number, limit: number): Promise<number> {
  const { meta } = await db
    .prepare(
      `DELETE FROM receipts WHERE (namespace, principal, key) IN
       (SELECT namespace, principal, key FROM receipts WHERE created_at <= ?1 LIMIT ?2)`,
    )
    .bind(now - receiptLifetimeMs, limit)
    .run();
  return meta.changes;
}
