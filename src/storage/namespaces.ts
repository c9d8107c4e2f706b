import { maxNamespacesPerCreator, namespaceTombstoneMs } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import type { NamespaceVisibility, SkillVisibility } from "../domain/policy.ts";
import type { Person, Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { commit, runGuarded } from "./change.ts";
import { raiseRevision } from "./ledger-sql.ts";
import { insertMember } from "./members.ts";
import { record, refuseLostToken } from "./rights.ts";
import type { Actor } from "./rights.ts";
import { insertToken } from "./tokens.ts";
import type { NewToken } from "./tokens.ts";

/**
 * The tenants. A name is taken by a batch that looks and takes at once. A deleted namespace stays as a tombstone until
 * its name is free again: `namespaceTombstoneMs` after the delete, and once its rows are gone (purge.ts).
 */
export interface NamespaceRow {
  name: Namespace;
  title: string;
  description: string;
  visibility: NamespaceVisibility;
  /** Null: as the namespace. */
  default_visibility: SkillVisibility | null;
  revision: number;
  created_at: number;
}

export type NamespaceFields = Pick<NamespaceRow, "title" | "description" | "visibility" | "default_visibility">;

/** What a creator that is not the operator gets. */
export interface FirstAdmin {
  token: NewToken;
  /** The person whose token asked, who becomes the first member under this id. */
  member: { id: string; person: Person } | undefined;
}

export interface NewNamespace {
  fields: NamespaceFields;
  /** Whom it is counted for, unless a token asks, which counts for its namespace; "operator": for nobody. */
  creator: string;
  admin: FirstAdmin | undefined;
}

/** @throws Problem `namespace_exists`, `namespace_similar`, `quota_exceeded`, `invalid_token` */
export async function createNamespace(
  db: D1Database,
  actor: Actor,
  { fields, creator, admin }: NewNamespace,
): Promise<void> {
  const { principal, namespace: name, now } = actor;
  const member = admin?.member;
  const created = { ...fields, ...(admin === undefined ? {} : { token: admin.token.id }) };
  const event = { action: "create-namespace", target: "namespace", after: { ...created, member: member?.id } };
  const place = [name, now, namespaceTombstoneMs];
  const all = [...place, JSON.stringify(fields), creator, ownOf(principal)];
  await runGuarded(
    db,
    [
      ...refuseLostToken(db, actor),
      db.prepare(refuseTaken).bind(...place),
      db.prepare(refuseMany).bind(...all),
      record(db, actor, event),
      db.prepare(insertNamespace).bind(...all),
      db.prepare(refuseSimilar).bind(...place),
      ...(member === undefined ? [] : [insertMember(db, actor, { ...member, role: "admin" })]),
      ...(admin === undefined ? [] : [insertToken(db, actor, admin.token)]),
    ],
    {
      namespace_exists: () => problem("namespace_exists", `The namespace "${name}" is taken; choose another name`),
      namespace_similar: () =>
        problem(
          "namespace_similar",
          `"${name}" looks like a name that is taken; choose one that nobody mistakes for it`,
        ),
      namespaces_many: () =>
        problem(
          "quota_exceeded",
          `The tokens of a namespace, or one address, may create at most ${maxNamespacesPerCreator} namespaces, ` +
            `counting what those created, and a deleted one until its name is free; ask the operator for more`,
        ),
    },
  );
}

export async function findNamespace(db: D1Database, name: Namespace): Promise<NamespaceRow | undefined> {
  const row = await db
    .prepare(`SELECT ${columns} FROM namespaces WHERE name = ?1 AND deleted_at IS NULL`)
    .bind(name)
    .first<NamespaceRow>();
  return row ?? undefined;
}

/** By name: those that are public, and `own`; "all": every one. */
export async function listNamespaces(
  db: D1Database,
  own: readonly Namespace[] | "all",
  after: string,
  limit: number,
): Promise<NamespaceRow[]> {
  const { results } =
    own === "all"
      ? await db.prepare(listAll).bind(after, limit).all<NamespaceRow>()
      : await db.prepare(listReadable).bind(after, limit, JSON.stringify(own)).all<NamespaceRow>();
  return results;
}

function ownOf(principal: Principal): Namespace | null {
  return principal.kind === "token" ? (principal.namespace ?? null) : null;
}

export async function changeNamespace(db: D1Database, actor: Actor, change: Partial<NamespaceFields>): Promise<void> {
  await commit(db, actor, {
    event: { action: "change-namespace", target: "namespace", beforeSql: stateOfNamespace, after: change },
    statements: [
      db.prepare(updateNamespace).bind(actor.namespace, JSON.stringify(change)),
      db.prepare(raiseRevision).bind(actor.namespace),
    ],
  });
}

/** Unknown at once, with everything that opened it; the rows go later. */
export async function deleteNamespace(db: D1Database, actor: Actor): Promise<void> {
  const { namespace, now } = actor;
  await commit(db, actor, {
    event: { action: "delete-namespace", target: "namespace", beforeSql: stateOfNamespace },
    statements: [
      ...[revokeTokens, revokeInvitations, bury].map((statement) => db.prepare(statement).bind(namespace, now)),
      db.prepare(raiseRevision).bind(namespace),
    ],
  });
}

const columns = `name, title, description, visibility, default_visibility, revision, created_at`;

const listAll = `
SELECT ${columns} FROM namespaces WHERE deleted_at IS NULL AND name > ?1 ORDER BY name LIMIT ?2`;

/** Two short ranges instead of a scan that would read every private name in between. */
const listReadable = `
SELECT * FROM (
  SELECT ${columns} FROM namespaces INDEXED BY namespaces_public
  WHERE visibility = 'public' AND deleted_at IS NULL AND name > ?1 ORDER BY name LIMIT ?2)
UNION
SELECT ${columns} FROM namespaces WHERE name IN (SELECT value FROM json_each(?3)) AND deleted_at IS NULL AND name > ?1
ORDER BY name LIMIT ?2`;

// ?1 name, ?2 now, ?3 how long a tombstone stands, ?4 JSON of the fields, ?5 a creator by name, ?6 or by namespace.

/** Tokens count for their namespace, and for whoever created that, so that no chain gets around it. */
const creatorSql = `iif(?6 IS NULL, ?5, coalesce(
  (SELECT created_by FROM namespaces WHERE name = ?6 AND created_by <> 'operator'), 'namespace:' || ?6))`;

const isTaken = (row: string) =>
  `(${row}.deleted_at IS NULL OR ${row}.purged_at IS NULL OR ${row}.deleted_at > ?2 - ?3)`;

const refuseTaken = `
INSERT INTO guards (namespace_exists) SELECT 1 FROM namespaces n WHERE n.name = ?1 AND ${isTaken("n")}`;

/** Goes after the insert: the skeleton is a column, so that there is one rule for it. */
const refuseSimilar = `
INSERT INTO guards (namespace_similar)
SELECT 1 FROM namespaces mine JOIN namespaces n ON n.skeleton = mine.skeleton
WHERE mine.name = ?1 AND n.name <> ?1 AND ${isTaken("n")}`;

const refuseMany = `
INSERT INTO guards (namespaces_many) SELECT 1 WHERE ${maxNamespacesPerCreator} <= (
  SELECT count(*) FROM namespaces n
  WHERE n.created_by = ${creatorSql} AND n.created_by <> 'operator' AND ${isTaken("n")})`;

/** The row of a purged namespace is taken over: nothing of what it said is left, and the counts are those of nothing. */
const insertNamespace = `
INSERT INTO namespaces (name, title, description, visibility, default_visibility, created_at, created_by)
SELECT ?1, ?4 ->> 'title', ?4 ->> 'description', ?4 ->> 'visibility', ?4 ->> 'default_visibility', ?2, ${creatorSql}
WHERE true
ON CONFLICT (name) DO UPDATE SET
  title = excluded.title, description = excluded.description, visibility = excluded.visibility,
  default_visibility = excluded.default_visibility, created_at = excluded.created_at, created_by = excluded.created_by,
  deleted_at = NULL, purged_at = NULL, revision = 0, stamp = lower(hex(randomblob(8))),
  max_skills = NULL, max_bytes = NULL, max_publishes_per_day = NULL, publish_day = 0, publish_count = 0`;

const stateOfNamespace = `
SELECT json_object('title', title, 'description', description, 'visibility', visibility,
  'default_visibility', default_visibility) FROM namespaces WHERE name = ?1`;

/** ?2 JSON of what changes; only default_visibility may be null. */
const updateNamespace = `
UPDATE namespaces SET
  title = coalesce(?2 ->> 'title', title),
  description = coalesce(?2 ->> 'description', description),
  visibility = coalesce(?2 ->> 'visibility', visibility),
  default_visibility = iif(json_type(?2, '$.default_visibility') IS NULL, default_visibility, ?2 ->> 'default_visibility')
WHERE name = ?1`;

const revokeTokens = `UPDATE tokens SET revoked_at = ?2 WHERE namespace = ?1 AND revoked_at IS NULL`;

const revokeInvitations = `
UPDATE invitations SET revoked_at = ?2 WHERE namespace = ?1 AND revoked_at IS NULL AND accepted_at IS NULL`;

const bury = `UPDATE namespaces SET deleted_at = ?2 WHERE name = ?1`;
