import { lostRights, record, refuseLostRights } from "./rights.ts";
import type { Actor, AuditEvent } from "./rights.ts";

/**
 * A change of what a namespace is or of who may do what in it: one batch, all of it or none. The guards ask again what
 * was true when the request was looked at; one that no longer holds refuses the batch under its own name.
 */
export interface Change {
  event: AuditEvent;
  statements: readonly D1PreparedStatement[];
  /** What to say when a guard of this change refuses it, by the name of its column. */
  refusals?: Refusals;
}

export type Refusals = Readonly<Record<string, () => Error>>;

/** @throws Problem `invalid_token`, `not_found`, or that of the guard which refused */
export async function commit(db: D1Database, actor: Actor, { event, statements, refusals }: Change): Promise<void> {
  await runGuarded(db, [...refuseLostRights(db, actor), record(db, actor, event), ...statements], refusals);
}

/** The same for a batch that brings its own guards of rights and its own line of the audit log. */
export async function runGuarded(
  db: D1Database,
  statements: readonly D1PreparedStatement[],
  refusals: Refusals = {},
): Promise<void> {
  try {
    await db.batch([...statements]);
  } catch (error) {
    const guard = Object.keys(refusals).find((name) => String(error).includes(`failed: ${name}`));
    throw guard === undefined ? (lostRights(error) ?? error) : refusals[guard]!();
  }
}
