import { problem } from "../domain/problem.ts";

/**
 * A token is checked when a request begins; reading its body may take minutes. So the batch of the change asks again:
 * a token that was revoked or ran out meanwhile changes nothing.
 */
export function refuseDeadToken(db: D1Database, tokenId: string, now: number): D1PreparedStatement {
  return db
    .prepare(
      `INSERT INTO guards (token_dead) SELECT 1 WHERE NOT EXISTS (
         SELECT 1 FROM tokens WHERE id = ?1 AND revoked_at IS NULL AND expires_at > ?2)`,
    )
    .bind(tokenId, now);
}

export function deadToken() {
  return problem("invalid_token", "The token was revoked or ran out while the request was under way");
}
