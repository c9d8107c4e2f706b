import type { Digest } from "../domain/digest.ts";
import type { Namespace } from "../domain/names.ts";
import { formatPrincipal, memberOf } from "../domain/principal.ts";
import type { Person, Role } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit } from "./change.ts";
import { insertMember } from "./members.ts";
import { commitTimeOf } from "./rights.ts";
import type { Actor } from "./rights.ts";
import { insertToken } from "./tokens.ts";
import type { NewToken, Place } from "./tokens.ts";

/** Links that make whoever accepts them a member, once. */
export interface InvitationRow {
  id: string;
  role: Role;
  label: string;
  created_at: number;
  created_by: string;
  expires_at: number;
  revoked_at: number | null;
  accepted_at: number | null;
  member_id: string | null;
}

export interface NewInvitation {
  id: string;
  secretHash: Digest;
  role: Role;
  label: string;
  expiresAt: number;
}

/** What a living invitation offers. */
export interface Offer {
  id: string;
  namespace: Namespace;
  title: string;
  role: Role;
  expires_at: number;
}

export interface Acceptance {
  invitation: { id: string; secretHash: Digest };
  member: { id: string; person: Person; role: Role };
  /** For who cannot sign in; absent for who has. */
  token?: NewToken;
}

export async function listInvitations(
  db: D1Database,
  namespace: Namespace,
  before: Place,
  limit: number,
): Promise<InvitationRow[]> {
  const { results } = await db
    .prepare(
      `SELECT ${columns} FROM invitations WHERE namespace = ?1 AND (created_at, id) < (?2, ?3)
       ORDER BY created_at DESC, id DESC LIMIT ?4`,
    )
    .bind(namespace, before.at, before.id, limit)
    .all<InvitationRow>();
  return results;
}

export async function findInvitation(
  db: D1Database,
  namespace: Namespace,
  id: string,
): Promise<InvitationRow | undefined> {
  const row = await db
    .prepare(`SELECT ${columns} FROM invitations WHERE namespace = ?1 AND id = ?2`)
    .bind(namespace, id)
    .first<InvitationRow>();
  return row ?? undefined;
}

/** @throws Problem `quota_exceeded` */
export async function createInvitation(db: D1Database, actor: Actor, invitation: NewInvitation): Promise<void> {
  const { id, role, label, expiresAt, secretHash } = invitation;
  const { principal, namespace, now } = actor;
  const inviter = memberOf(principal);
  await commit(db, actor, {
    event: {
      action: "create-invitation",
      target: `invitations/${id}`,
      after: { role, label, expires_at: new Date(expiresAt).toISOString() },
    },
    statements: [
      refuseFull(db, actor, "invitations_many"),
      db
        .prepare(insertInvitation)
        .bind(
          id,
          namespace,
          role,
          label,
          secretHash,
          now,
          formatPrincipal(principal),
          inviter?.issuer ?? null,
          inviter?.subject ?? null,
          expiresAt,
        ),
    ],
    refusals: fullRefusals,
  });
}

/** @throws Problem `not_found` when it is not open any more */
export async function revokeInvitation(db: D1Database, actor: Actor, id: string): Promise<void> {
  await commit(db, actor, {
    event: { action: "revoke-invitation", target: `invitations/${id}`, after: { revoked: true } },
    statements: [
      db.prepare(refuseClosed).bind(actor.namespace, id),
      db.prepare(revoke).bind(actor.namespace, id, actor.now),
    ],
    refusals: { target_gone: () => problem("not_found", "The invitation was accepted or revoked meanwhile") },
  });
}

/** What the secret invites to, if the invitation is open and its namespace lives. */
export async function findOffer(
  db: D1Database,
  secret: { id: string; secretHash: Digest },
  now: number,
): Promise<Offer | undefined> {
  const row = await db
    .prepare(
      `SELECT i.id, i.namespace, n.title, i.role, i.expires_at FROM invitations i JOIN namespaces n ON n.name = i.namespace
       WHERE i.id = ?1 AND ${isOpen} AND n.deleted_at IS NULL`,
    )
    .bind(secret.id, secret.secretHash, now)
    .first<Offer>();
  return row ?? undefined;
}

/** @throws Problem `member_exists`, `quota_exceeded`, or `not_found` when somebody else was faster */
export async function acceptInvitation(db: D1Database, actor: Actor, acceptance: Acceptance): Promise<void> {
  const { invitation, member, token } = acceptance;
  const { namespace, now } = actor;
  const { issuer, subject } = member.person;
  await commit(db, actor, {
    event: {
      action: "accept-invitation",
      target: `invitations/${invitation.id}`,
      after: { member: member.id, issuer, subject, role: member.role, token: token?.id },
    },
    statements: [
      db.prepare(refuseDead).bind(invitation.id, invitation.secretHash, commitTimeOf(actor)),
      db.prepare(refuseMember).bind(namespace, issuer, subject, token === undefined ? 1 : 0),
      refuseFull(db, actor, "members_many"),
      insertMember(db, actor, member),
      db.prepare(accept).bind(invitation.id, now, member.id),
      ...(token === undefined ? [] : [refuseFull(db, actor, "tokens_many"), insertToken(db, actor, token)]),
    ],
    refusals: {
      ...fullRefusals,
      invitation_dead: noSuchInvitation,
      member_exists: () =>
        problem("member_exists", `This person is a member of "${namespace}" already; an admin may change their role`),
    },
  });
}

/** The one answer to whatever opens nothing, whyever. */
export function noSuchInvitation() {
  return problem("not_found", "There is no open invitation at this address; ask for a new one");
}

const columns = `id, role, label, created_at, created_by, expires_at, revoked_at, accepted_at, member_id`;

const insertInvitation = `
INSERT INTO invitations (id, namespace, role, label, secret_hash, created_at, created_by, issuer, subject, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`;

/** ?2 hash, ?3 now. */
const isOpen = `i.secret_hash = ?2 AND i.revoked_at IS NULL AND i.accepted_at IS NULL AND i.expires_at > ?3`;

const refuseDead = `
INSERT INTO guards (invitation_dead) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM invitations i WHERE i.id = ?1 AND ${isOpen})`;

const refuseMember = `
INSERT INTO guards (member_exists) SELECT 1 FROM members WHERE namespace = ?1 AND issuer = ?2 AND subject = ?3
  AND is_proven >= ?4`;

const accept = `UPDATE invitations SET accepted_at = ?2, member_id = ?3 WHERE id = ?1`;

const refuseClosed = `
INSERT INTO guards (target_gone) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM invitations WHERE namespace = ?1 AND id = ?2 AND revoked_at IS NULL AND accepted_at IS NULL)`;

const revoke = `UPDATE invitations SET revoked_at = ?3 WHERE namespace = ?1 AND id = ?2`;
