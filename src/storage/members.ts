import type { Namespace } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import type { Person, Role } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { commit } from "./change.ts";
import { rankOf } from "./rights.ts";
import type { Actor } from "./rights.ts";
import type { Place } from "./tokens.ts";

/** The people of a namespace. What was minted in a member's name ends with the membership, in the same batch. */
export interface MemberRow {
  id: string;
  issuer: string;
  subject: string;
  role: Role;
  added_at: number;
  added_by: string;
  /** The group of the OpenID provider that made them one, until then; null: an invitation. */
  via_group: string | null;
  until: number | null;
  /** 1: they signed in as whom they say they are; 0: they only said it. */
  is_proven: number;
}

/** In the order in which they came. */
export async function listMembers(
  db: D1Database,
  namespace: Namespace,
  after: Place,
  limit: number,
): Promise<MemberRow[]> {
  const { results } = await db
    .prepare(
      `SELECT ${columns} FROM members WHERE namespace = ?1 AND (added_at, id) > (?2, ?3)
       ORDER BY added_at, id LIMIT ?4`,
    )
    .bind(namespace, after.at, after.id, limit)
    .all<MemberRow>();
  return results;
}

export async function findMember(db: D1Database, namespace: Namespace, id: string): Promise<MemberRow | undefined> {
  const row = await db
    .prepare(`SELECT ${columns} FROM members WHERE namespace = ?1 AND id = ?2`)
    .bind(namespace, id)
    .first<MemberRow>();
  return row ?? undefined;
}

/**
 * Their tokens have less at once (viewer.ts). Whoever is no admin any more has no open invitations either.
 * @throws Problem `last_admin`, `not_found`
 */
export async function changeRole(db: D1Database, actor: Actor, id: string, role: Role): Promise<void> {
  const { namespace, now } = actor;
  const isDemotion = role !== "admin";
  await commit(db, actor, {
    event: { ...aboutMember(id), action: "change-member", after: { role } },
    statements: [
      db.prepare(refuseNoMember).bind(namespace, id),
      ...(isDemotion ? [db.prepare(refuseLastAdmin).bind(namespace, id)] : []),
      ...(isDemotion ? [db.prepare(revokeInvitations).bind(namespace, id, now)] : []),
      db.prepare(updateRole).bind(namespace, id, role),
    ],
    refusals,
  });
}

/** @throws Problem `last_admin`, `not_found` */
export async function removeMember(db: D1Database, actor: Actor, id: string): Promise<void> {
  const { namespace, now } = actor;
  await commit(db, actor, {
    event: { ...aboutMember(id), action: "remove-member" },
    statements: [
      db.prepare(refuseNoMember).bind(namespace, id),
      db.prepare(refuseLastAdmin).bind(namespace, id),
      db.prepare(revokeTokens).bind(namespace, id, now),
      db.prepare(revokeInvitations).bind(namespace, id, now),
      db.prepare(`DELETE FROM members WHERE namespace = ?1 AND id = ?2`).bind(namespace, id),
    ],
    refusals,
  });
}

/**
 * Belongs into the batch of a change, which has asked whether the actor may. Who signed in as somebody proves by it a
 * membership that was only said to be theirs, with the higher of the two roles.
 */
export function insertMember(
  db: D1Database,
  { principal, namespace, now }: Actor,
  member: { id: string; person: Person; role: Role },
): D1PreparedStatement {
  const { issuer, subject } = member.person;
  const isToken = principal.kind === "token";
  const home = isToken ? (principal.namespace ?? null) : null;
  const row = [member.id, namespace, issuer, subject, member.role, now, formatPrincipal(principal)];
  return db.prepare(insert).bind(...row, isToken && principal.id === "" ? 1 : 0, home);
}

export function noSuchMember() {
  return problem("not_found", "The namespace has no such member");
}

const refusals = {
  target_gone: noSuchMember,
  last_admin: () =>
    problem("last_admin", "This is the last admin of the namespace; make another member admin first, or delete it"),
};

function aboutMember(id: string) {
  return {
    target: `members/${id}`,
    beforeSql: `SELECT json_object('issuer', issuer, 'subject', subject, 'role', role) FROM members
      WHERE namespace = ?1 AND id = ?9`,
    parameters: [id],
  };
}

const columns = `id, issuer, subject, role, added_at, added_by, via_group, until, is_proven`;

/** ?8: whether they signed in; ?9: else the namespace of their token, in which they may have. */
const insert = `
INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by, is_proven)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 OR EXISTS (
  SELECT 1 FROM members WHERE namespace = ?9 AND issuer = ?3 AND subject = ?4 AND is_proven))
ON CONFLICT (namespace, issuer, subject) DO UPDATE SET id = excluded.id, is_proven = 1,
  role = iif(${rankOf("excluded.role")} > ${rankOf("members.role")}, excluded.role, members.role)
  WHERE excluded.is_proven AND NOT members.is_proven`;

// ?1 namespace, ?2 id, ?3 now.

const refuseNoMember = `
INSERT INTO guards (target_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM members WHERE namespace = ?1 AND id = ?2)`;

/** What an admin makes of somebody stays, also of whom a group had made something else. */
const updateRole = `
UPDATE members SET role = ?3, via_group = NULL, until = NULL WHERE namespace = ?1 AND id = ?2`;

/** Whom only a group makes an admin, and for a time, is none that a namespace could count on. */
const refuseLastAdmin = `
INSERT INTO guards (last_admin) SELECT 1 FROM members WHERE namespace = ?1 AND id = ?2 AND role = 'admin' AND until IS NULL
  AND NOT EXISTS (SELECT 1 FROM members WHERE namespace = ?1 AND id <> ?2 AND role = 'admin' AND until IS NULL)`;

const isTheirs = `(issuer, subject) = (SELECT issuer, subject FROM members WHERE namespace = ?1 AND id = ?2)`;

const revokeTokens = `
UPDATE tokens SET revoked_at = ?3 WHERE namespace = ?1 AND ${isTheirs} AND revoked_at IS NULL`;

const revokeInvitations = `
UPDATE invitations SET revoked_at = ?3
WHERE namespace = ?1 AND ${isTheirs} AND revoked_at IS NULL AND accepted_at IS NULL`;
