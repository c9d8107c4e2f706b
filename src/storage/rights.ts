import type { Namespace } from "../domain/names.ts";
import { formatPrincipal, roles } from "../domain/principal.ts";
import type { Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";

/**
 * Who makes a change, and the two statements that belong into the batch of every change: the guard that asks again
 * whether they still may, and the line in the audit log.
 */
export interface Actor {
  principal: Principal;
  namespace: Namespace;
  /** Milliseconds since 1970: when the request came. */
  now: number;
  from: Origin;
  /** Written down in place of the principal, for whoever is none: a trusted publisher. */
  writtenAs?: string;
}

/** Where a request came from, as the audit log keeps it. */
export interface Origin {
  /** The client's IP address; "" where the platform names none. */
  address: string;
  /** The User-Agent, cut. */
  agent: string;
}

/**
 * Rights are checked when a request begins; reading its body may take minutes. So the batch of the change asks again:
 * a token that was revoked or ran out meanwhile, whose member lost their role, or a namespace that was deleted,
 * changes nothing.
 */
export function refuseLostRights(db: D1Database, actor: Actor): D1PreparedStatement[] {
  return [db.prepare(refuseGone).bind(actor.namespace), ...refuseLostToken(db, actor)];
}

/** The same without the namespace, for changes that do not happen in one that exists. */
export function refuseLostToken(db: D1Database, actor: Actor): D1PreparedStatement[] {
  const { principal } = actor;
  if (principal.kind !== "token") return [];
  const now = commitTimeOf(actor);
  const rank = roles.indexOf(principal.role);
  const { grant, member, namespace, id } = principal;
  const ofToken = id === "" ? [] : [db.prepare(refuseDeadToken).bind(id, now, rank)];
  const ofGrant = grant === undefined ? [] : [db.prepare(refuseDeadGrant).bind(grant)];
  const isMember = id === "" && member !== undefined && namespace !== undefined;
  const ofPerson = isMember
    ? [db.prepare(refuseNoMember).bind(namespace, member.issuer, member.subject, now, rank)]
    : [];
  return [...ofToken, ...ofGrant, ...ofPerson];
}

/** How whoever makes the change is written down beside it. */
export function nameOf({ principal, writtenAs }: Actor): string {
  return writtenAs ?? formatPrincipal(principal);
}

/** When the batch that is being built will be there; what ran out since the request came has run out. */
export function commitTimeOf({ now }: Actor): number {
  return Math.max(now, Date.now());
}

/** SQL to compare roles by. */
export function rankOf(role: string): string {
  return `CASE ${role} WHEN 'admin' THEN 2 WHEN 'publisher' THEN 1 ELSE 0 END`;
}

const refuseGone = `
INSERT INTO guards (namespace_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM namespaces WHERE name = ?1 AND deleted_at IS NULL)`;

const refuseDeadToken = `
INSERT INTO guards (token_dead) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM tokens t WHERE t.id = ?1 AND t.revoked_at IS NULL AND t.expires_at > ?2
    AND (t.issuer IS NULL OR EXISTS (
      SELECT 1 FROM members m WHERE m.namespace = t.namespace AND m.issuer = t.issuer AND m.subject = t.subject
        AND (m.until IS NULL OR m.until > ?2) AND ${rankOf("m.role")} >= ?3)))`;

/** A sign-in that was withdrawn, by its person or its client, writes nothing more, whatever its access token says. */
const refuseDeadGrant = `
INSERT INTO guards (token_dead) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM grants g JOIN oauth_records r ON r.key = 'grant:' || g.user_id || ':' || g.id WHERE g.id = ?1)`;

/** A person who signed in acts as the member that they are. */
const refuseNoMember = `
INSERT INTO guards (token_dead) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM members m WHERE m.namespace = ?1 AND m.issuer = ?2 AND m.subject = ?3 AND m.is_proven
    AND (m.until IS NULL OR m.until > ?4) AND ${rankOf("m.role")} >= ?5)`;

/** The Problem behind a batch that one of these guards refused; undefined when it failed for another reason. */
export function lostRights(error: unknown) {
  const message = String(error);
  if (message.includes("token_dead")) {
    return problem("invalid_token", "The token was revoked or ran out while the request was under way");
  }
  if (message.includes("namespace_gone")) return problem("not_found", "There is nothing at this address");
  return undefined;
}

export interface AuditEvent {
  /** e.g. "publish", "revoke-token": a verb of the API. */
  action: string;
  /** e.g. "skills/billing/refunds@1.2.0", "tokens/0123456789abcdef". */
  target: string;
  /** SQL for a JSON value or NULL, evaluated before the change; ?1 is the namespace, ?9 and on are `parameters`. */
  beforeSql?: string;
  parameters?: readonly (string | number | null)[];
  /** Never a secret. */
  after?: object;
  /** SQL for a JSON object whose members `after` has besides; like `beforeSql`. */
  afterSql?: string;
}

/** Goes before the statements of the change in its batch, so that `beforeSql` sees what they will replace. */
export function record(db: D1Database, actor: Actor, event: AuditEvent): D1PreparedStatement {
  const { namespace, from } = actor;
  const after = event.after === undefined ? null : withoutSecrets(JSON.stringify(event.after));
  const afterSql = event.afterSql === undefined ? "?8" : `json_patch(?8, (${event.afterSql}))`;
  return db
    .prepare(
      `INSERT INTO audit (namespace, seq, at, principal, action, target, address, agent, after, before)
       SELECT ?1, coalesce((SELECT max(seq) FROM audit WHERE namespace = ?1), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7,
         ${afterSql}, (${event.beforeSql ?? "NULL"})`,
    )
    .bind(
      namespace,
      commitTimeOf(actor),
      nameOf(actor),
      event.action,
      event.target,
      from.address,
      from.agent,
      after,
      ...(event.parameters ?? []),
    );
}
