import { groupMembershipMs, maxGroupRoles } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { roles } from "../domain/principal.ts";
import type { Person, Role, TokenPrincipal } from "../domain/principal.ts";
import { Problem } from "../domain/problem.ts";
import { logEvent } from "../log.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit } from "./change.ts";
import type { Actor, Origin } from "./rights.ts";

/**
 * Which groups of the operator's OpenID provider are what in a namespace. Whoever signs in and is in one of them is a
 * member for a time, which each sign-in extends; somebody who was invited stays what they were made.
 */
export interface GroupRole {
  group: string;
  role: Role;
}

export async function listGroupRoles(db: D1Database, namespace: Namespace): Promise<GroupRole[]> {
  const { results } = await db
    .prepare(
      `SELECT group_name AS "group", role FROM group_roles WHERE namespace = ?1 ORDER BY group_name LIMIT ${maxGroupRoles}`,
    )
    .bind(namespace)
    .all<GroupRole>();
  return results;
}

/** In place of all there were. Members by a group that is none any more are none either; others have its new role. */
export async function putGroupRoles(db: D1Database, actor: Actor, groups: readonly GroupRole[]): Promise<void> {
  const { namespace, now } = actor;
  const wanted = JSON.stringify(groups);
  await commit(db, actor, {
    event: { action: "change-groups", target: "groups", beforeSql: stateOfGroups, after: { groups } },
    statements: [
      db.prepare(revokeLost("tokens", "")).bind(namespace, wanted, now),
      db.prepare(revokeLost("invitations", "AND accepted_at IS NULL")).bind(namespace, wanted, now),
      db.prepare(`DELETE FROM members WHERE namespace = ?1 AND ${isLost}`).bind(namespace, wanted),
      db.prepare(`DELETE FROM group_roles WHERE namespace = ?1`).bind(namespace),
      db.prepare(insertGroups).bind(namespace, wanted),
      db.prepare(updateMembers).bind(namespace),
    ],
  });
}

export interface Confirmed {
  person: Person;
  /** What the provider says now. */
  groups: readonly string[];
  now: number;
  from: Origin;
  mintId: () => string;
}

/** What a sign-in changes: each namespace by itself, so that a full one keeps nobody from the others. */
export async function syncGroups(db: D1Database, confirmed: Confirmed): Promise<void> {
  const { person, groups, now } = confirmed;
  const [wanted, present] = (await db.batch([
    db.prepare(findWanted).bind(JSON.stringify(groups)),
    db.prepare(findPresent).bind(person.issuer, person.subject),
  ])) as [D1Result<Wanted>, D1Result<Present>];
  const best = bestOf(wanted.results);
  const known = new Map(present.results.map((row) => [row.namespace, row]));
  for (const [namespace, { role, group_name: group }] of best) {
    const member = known.get(namespace);
    if (member !== undefined && member.via_group === null) {
      if (member.is_proven === 0) await prove(db, actorOf(confirmed, namespace), member.id);
      continue;
    }
    const isSame = member?.role === role && member.via_group === group;
    if (isSame) await extend(db, member.id, now);
    else await join(db, actorOf(confirmed, namespace), { id: member?.id ?? confirmed.mintId(), person, role, group });
  }
  for (const { namespace, via_group, id } of present.results) {
    if (via_group !== null && !best.has(namespace)) await leave(db, actorOf(confirmed, namespace), id, person);
  }
}

/** Members by group whose time is over, with what was minted in their name; at most `limit`. */
export async function endGroupMembers(db: D1Database, now: number, limit: number): Promise<number> {
  const ended = `SELECT namespace, issuer, subject FROM members WHERE until <= ?1 ORDER BY until, id LIMIT ?2`;
  const end = (table: string, and: string) =>
    `UPDATE ${table} SET revoked_at = ?1 WHERE +revoked_at IS NULL AND issuer IS NOT NULL ${and}
     AND (namespace, issuer, subject) IN (${ended})`;
  const results = await db.batch([
    db.prepare(end("tokens", "")).bind(now, limit),
    db.prepare(end("invitations", "AND accepted_at IS NULL")).bind(now, limit),
    db.prepare(`DELETE FROM members WHERE (namespace, issuer, subject) IN (${ended}) RETURNING id`).bind(now, limit),
  ]);
  // Not the number of changes, to which those of the trigger count.
  return results[2]!.results.length;
}

interface Wanted {
  namespace: Namespace;
  group_name: string;
  role: Role;
}

interface Present {
  id: string;
  namespace: Namespace;
  role: Role;
  via_group: string | null;
  is_proven: number;
}

function bestOf(wanted: readonly Wanted[]): Map<Namespace, Wanted> {
  const best = new Map<Namespace, Wanted>();
  for (const one of wanted) {
    const other = best.get(one.namespace);
    if (other === undefined || roles.indexOf(one.role) > roles.indexOf(other.role)) best.set(one.namespace, one);
  }
  return best;
}

async function extend(db: D1Database, id: string, now: number): Promise<void> {
  await db
    .prepare(`UPDATE members SET until = ?2 WHERE id = ?1`)
    .bind(id, now + groupMembershipMs)
    .run();
}

interface Joining {
  id: string;
  person: Person;
  role: Role;
  group: string;
}

async function join(db: D1Database, actor: Actor, { id, person, role, group }: Joining): Promise<void> {
  const { namespace, now } = actor;
  const { issuer, subject } = person;
  const isThere = `EXISTS (SELECT 1 FROM members WHERE namespace = ?1 AND issuer = ?3 AND subject = ?4)`;
  const statements = [
    refuseFull(db, actor, "members_many", { sql: isThere, parameters: [issuer, subject] }),
    db
      .prepare(upsertMember)
      .bind(id, namespace, issuer, subject, role, now, `group:${group}`, group, now + groupMembershipMs),
  ];
  const event = { action: "join-by-group", target: `members/${id}`, after: { issuer, subject, role, group } };
  await commit(db, actor, { event, statements, refusals: fullRefusals }).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    logEvent("no room for a member by group", { namespace, code: error.code });
  });
}

/** Who was invited, and so far had only said who they are, stays what they were made; now it is they. */
async function prove(db: D1Database, actor: Actor, id: string): Promise<void> {
  await commit(db, actor, {
    event: { action: "prove-member", target: `members/${id}`, after: { proven: true } },
    statements: [db.prepare(`UPDATE members SET is_proven = 1 WHERE id = ?1`).bind(id)],
  }).catch(ignoreGone);
}

/** A namespace that was deleted meanwhile has no members either. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof Problem)) throw error;
}

async function leave(db: D1Database, actor: Actor, id: string, { issuer, subject }: Person): Promise<void> {
  const { namespace, now } = actor;
  const end = (table: string, and: string) =>
    db
      .prepare(
        `UPDATE ${table} SET revoked_at = ?4 WHERE namespace = ?1 AND issuer = ?2 AND subject = ?3 AND revoked_at IS NULL ${and}`,
      )
      .bind(namespace, issuer, subject, now);
  await commit(db, actor, {
    event: { action: "leave-by-group", target: `members/${id}` },
    statements: [
      end("tokens", ""),
      end("invitations", "AND accepted_at IS NULL"),
      db.prepare(`DELETE FROM members WHERE namespace = ?1 AND id = ?2`).bind(namespace, id),
    ],
  }).catch(ignoreGone);
}

/** The person themselves, with no right of their own: what the provider says of them decides. */
function actorOf({ person, now, from }: Confirmed, namespace: Namespace): Actor {
  const principal: TokenPrincipal = {
    kind: "token",
    id: "",
    namespace: undefined,
    role: "reader",
    scopes: [],
    below: "",
    member: person,
  };
  return { principal, namespace, now, from };
}

const stateOfGroups = `
SELECT json_object('groups', json_group_array(json_object('group', group_name, 'role', role))) FROM group_roles
WHERE namespace = ?1`;

// ?1 namespace, ?2 JSON array of {group, role}.

const isLost = `via_group IS NOT NULL AND via_group NOT IN (SELECT value ->> 'group' FROM json_each(?2))`;

const revokeLost = (table: string, and: string) => `
UPDATE ${table} SET revoked_at = ?3 WHERE namespace = ?1 AND revoked_at IS NULL ${and}
  AND (issuer, subject) IN (SELECT issuer, subject FROM members WHERE namespace = ?1 AND ${isLost})`;

const insertGroups = `
INSERT INTO group_roles (namespace, group_name, role) SELECT ?1, value ->> 'group', value ->> 'role' FROM json_each(?2)`;

const updateMembers = `
UPDATE members SET role = (SELECT role FROM group_roles g WHERE g.namespace = ?1 AND g.group_name = via_group)
WHERE namespace = ?1 AND via_group IS NOT NULL`;

const findWanted = `
SELECT g.namespace, g.group_name, g.role FROM json_each(?1) j CROSS JOIN group_roles g ON g.group_name = j.value
JOIN namespaces n ON n.name = g.namespace WHERE n.deleted_at IS NULL`;

const findPresent = `
SELECT id, namespace, role, via_group, is_proven FROM members WHERE issuer = ?1 AND subject = ?2`;

const upsertMember = `
INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by, via_group, until, is_proven)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)
ON CONFLICT (namespace, issuer, subject) DO UPDATE SET role = excluded.role, via_group = excluded.via_group,
  until = excluded.until WHERE members.via_group IS NOT NULL`;
