import type { Namespace } from "../domain/names.ts";

/** What a read link opens, if it lives; its rights are asked for again with every question (viewer.ts). */
export async function findLink(
  db: D1Database,
  secret: { id: string; secretHash: string },
  now: number,
): Promise<{ namespace: Namespace; collection: string | undefined } | undefined> {
  const row = await db
    .prepare(
      `SELECT namespace, collection FROM tokens
       WHERE id = ?1 AND secret_hash = ?2 AND kind = 'link' AND revoked_at IS NULL AND expires_at > ?3`,
    )
    .bind(secret.id, secret.secretHash, now)
    .first<{ namespace: Namespace; collection: string | null }>();
  return row === null ? undefined : { namespace: row.namespace, collection: row.collection ?? undefined };
}
