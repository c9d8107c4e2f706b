import { tokenUseStepMs } from "../domain/limits.ts";
import type { GateToken } from "./viewer.ts";

/**
 * When a token was last used, to the hour: written after the answer, and only where the gate shows an older time, so
 * that a busy token costs one write an hour. Depends on the token alone, never on what it was used for.
 */
export function useOf(db: D1Database, token: GateToken | undefined, now: number): Promise<unknown> | undefined {
  if (token === undefined || now - (token.lastUsedAt ?? 0) < tokenUseStepMs) return undefined;
  return db.prepare(`UPDATE tokens SET last_used_at = ?2 WHERE id = ?1`).bind(token.id, now).run();
}
