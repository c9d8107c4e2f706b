import { maxUsedFromLength, tokenUseStepMs } from "../domain/limits.ts";
import { withoutSecrets } from "../domain/redact.ts";
import type { GateToken } from "./gate.ts";

export interface Use {
  now: number;
  /** `address:` and a prefix. */
  address: string;
  /** The User-Agent. */
  agent: string | null;
}

/**
 * When a token or a sign-in was last used, to the hour, and of a sign-in from where: written after the answer, and only
 * where the gate shows an older time, so that a busy one costs one write an hour. Depends on itself alone, never on
 * what it was used for.
 */
export function useOf(db: D1Database, token: GateToken | undefined, use: Use): Promise<unknown> | undefined {
  const { now } = use;
  if (token === undefined || now - (token.lastUsedAt ?? 0) < tokenUseStepMs) return undefined;
  if (token.grant === undefined) {
    return db.prepare(`UPDATE tokens SET last_used_at = ?2 WHERE id = ?1`).bind(token.id, now).run();
  }
  const from = `${use.agent ?? "no name"}, ${use.address.replace("address:", "")}`;
  return db
    .prepare(`UPDATE grants SET last_used_at = ?2, last_used_from = ?3 WHERE id = ?1`)
    .bind(token.grant, now, withoutSecrets(from).slice(0, maxUsedFromLength))
    .run();
}
