import type { Namespace } from "../domain/names.ts";
import { lostRights, refuseLostRights } from "./rights.ts";
import type { Actor } from "./rights.ts";

/** Reading the record of changes; rights.ts writes it. Whoever took over a name sees nothing from before. */
export interface AuditRow {
  /** Of a namespace the count of its own lines, from 1; in the operator's lists that of all. */
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

export interface AuditRange {
  /** Undefined: of all, also of those that are gone. */
  namespace: Namespace | undefined;
  filter: AuditFilter;
  /** Only what happened to whoever holds the name now, numbered for them. */
  sinceCreated: boolean;
}

/** Newest first, below an id. */
export async function listAudit(
  db: D1Database,
  { namespace, filter, sinceCreated }: AuditRange,
  before: number,
  limit: number,
): Promise<AuditRow[]> {
  const below = sinceCreated ? "seq < ?1 + base AND seq > base" : namespace === undefined ? "id < ?1" : belowId;
  const conditions = [
    below,
    ...(namespace === undefined ? [] : ["namespace = ?3"]),
    ...(filter.action === undefined ? [] : ["action = ?4"]),
    "(?5 IS NULL OR at < ?5)",
    "(?6 IS NULL OR at >= ?6)",
  ];
  const columns = sinceCreated ? ownColumns : `id, ${otherColumns}`;
  const from = sinceCreated ? `${baseSql} CROSS JOIN audit` : "audit";
  const order = namespace === undefined ? "id" : "seq";
  const { results } = await db
    .prepare(`SELECT ${columns} FROM ${from} WHERE ${conditions.join(" AND ")} ORDER BY ${order} DESC LIMIT ?2`)
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
          `SELECT ${ownColumns} FROM ${baseSql} CROSS JOIN audit
           WHERE namespace = ?3 AND seq > ?1 + base ORDER BY seq LIMIT ?2`,
        )
        .bind(after, limit, actor.namespace),
    ]);
    return answers.at(-1)!.results;
  } catch (error) {
    throw lostRights(error) ?? error;
  }
}

const otherColumns = `namespace, at, principal, action, target, address, agent, before, after`;

const ownColumns = `seq - base AS id, ${otherColumns}`;

/** How many lines an earlier owner of the name left; every namespace begins with the line of its creation. */
const baseSql = `(SELECT coalesce(max(seq), 1) - 1 AS base FROM audit
  WHERE namespace = ?3 AND action = 'create-namespace')`;

/** A namespace's lines have one order by both numbers, and an index by the other. */
const belowId = `seq < coalesce((SELECT seq FROM audit WHERE id = ?1), ${Number.MAX_SAFE_INTEGER})`;
