import type { Namespace } from "../domain/names.ts";
import { lostRights, refuseLostRights } from "./rights.ts";
import type { Actor } from "./rights.ts";

/** Reading the record of changes; rights.ts writes it. Whoever took over a name sees nothing from before. */
export interface AuditRow {
  id: number;
  namespace: Namespace;
  at: number;
  principal: string;
  action: string;
  target: string;
  address: string;
  agent: string;
  /** JSON, or null. */
  before: string | null;
  after: string | null;
}

export interface AuditFilter {
  action: string | undefined;
  /** Times in milliseconds since 1970, exclusive and inclusive. */
  before: number | undefined;
  after: number | undefined;
}

/** Newest first, below an id. `namespace` undefined: of all, also of those that are gone. */
export async function listAudit(
  db: D1Database,
  from: { namespace: Namespace | undefined; filter: AuditFilter; sinceCreated: boolean },
  before: number,
  limit: number,
): Promise<AuditRow[]> {
  const { namespace, filter } = from;
  const conditions = [
    "id < ?1",
    ...(namespace === undefined ? [] : ["namespace = ?3"]),
    ...(from.sinceCreated ? [sinceCreated] : []),
    ...(filter.action === undefined ? [] : ["action = ?4"]),
    "(?5 IS NULL OR at < ?5)",
    "(?6 IS NULL OR at >= ?6)",
  ];
  const { results } = await db
    .prepare(`SELECT ${columns} FROM audit WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?2`)
    .bind(before, limit, namespace ?? null, filter.action ?? null, filter.before ?? null, filter.after ?? null)
    .all<AuditRow>();
  return results;
}

/** Oldest first, above an id; asks again whether the reader still may. @throws Problem `invalid_token`, `not_found` */
export async function readAudit(db: D1Database, actor: Actor, after: number, limit: number): Promise<AuditRow[]> {
  try {
    const answers = await db.batch<AuditRow>([
      ...refuseLostRights(db, actor),
      db
        .prepare(
          `SELECT ${columns} FROM audit WHERE namespace = ?3 AND id > ?1 AND ${sinceCreated} ORDER BY id LIMIT ?2`,
        )
        .bind(after, limit, actor.namespace),
    ]);
    return answers.at(-1)!.results;
  } catch (error) {
    throw lostRights(error) ?? error;
  }
}

const columns = `id, namespace, at, principal, action, target, address, agent, before, after`;

const sinceCreated = `at >= (SELECT created_at FROM namespaces WHERE name = ?3)`;
