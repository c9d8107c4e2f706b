import { Hono } from "hono";
import * as z from "zod";

import { maxGroupNameLength, maxGroupRoles } from "../domain/limits.ts";
import { may } from "../domain/policy.ts";
import { scopesOfRole } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { listGroupRoles, putGroupRoles } from "../storage/group-roles.ts";
import { changeRole, findMember, listMembers, noSuchMember, removeMember } from "../storage/members.ts";
import type { MemberRow } from "../storage/members.ts";
import { requireCaller } from "./caller.ts";
import { tellRights } from "./news.ts";
import { role } from "./fields.ts";
import { readJson } from "./json.ts";
import { firstPlace, formatPlace, placeKey, readPage, readPlace } from "./page.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";
import { requireGrantable } from "./tokens.ts";

/** The people of a namespace. They come by invitation (invitations.ts), or by a group of the OpenID provider. */
export const membersApi = new Hono<AppEnv>();

const memberChange = z.strictObject({ role });

const groupRoles = z.strictObject({
  groups: z
    .array(z.strictObject({ group: z.string().min(1).max(maxGroupNameLength), role }))
    .max(maxGroupRoles)
    .refine((all) => new Set(all.map(({ group }) => group)).size === all.length, "names a group twice"),
});

membersApi.get("/namespaces/:namespace/members", async (context) => {
  const { namespace } = await requireCaller(context, "manage-members");
  const { items, next } = await readPage<MemberRow>(context, {
    list: `members:${namespace.name}`,
    key: placeKey,
    load: (key, limit) => listMembers(context.env.DB, namespace.name, readPlace(key, firstPlace), limit),
    keyOf: (row) => formatPlace(row.added_at, row.id),
  });
  return context.json({ members: items.map(formatMember), next_cursor: next });
});

membersApi.patch("/namespaces/:namespace/members/:id", async (context) => {
  const caller = await requireCaller(context, "manage-members");
  const { role } = await readJson(context, memberChange);
  requireGrantable(caller, scopesOfRole[role]);
  const member = await findMember(context.env.DB, caller.namespace.name, context.req.param("id"));
  if (member === undefined) throw noSuchMember();
  if (member.role !== role) {
    await changeRole(context.env.DB, caller.actor, member.id, role);
    await tellRights(context, caller.actor.namespace);
  }
  const isMoved = member.role !== role;
  return context.json(formatMember(isMoved ? { ...member, role, via_group: null, until: null } : member));
});

membersApi.get("/namespaces/:namespace/groups", async (context) => {
  const { namespace } = await requireCaller(context, "manage-members");
  return context.json({ groups: await listGroupRoles(context.env.DB, namespace.name) });
});

/**
 * The operator says it, whose provider it is: an admin who could would have the skills of their namespace listed before
 * everybody who signs in.
 */
membersApi.put("/namespaces/:namespace/groups", async (context) => {
  const caller = await requireCaller(context, "map-groups");
  const { groups } = await readJson(context, groupRoles);
  await putGroupRoles(context.env.DB, caller.actor, groups);
  await tellRights(context, caller.actor.namespace);
  return context.json({ groups: await listGroupRoles(context.env.DB, caller.namespace.name) });
});

/** An admin removes anybody, everybody themselves. Who may do neither does not learn who is a member. */
membersApi.delete("/namespaces/:namespace/members/:id", async (context) => {
  const { actor, principal, namespace } = await requireCaller(context, "read");
  const id = context.req.param("id");
  const member = await findMember(context.env.DB, namespace.name, id);
  const { name, visibility } = namespace;
  const facts = { name, visibility };
  const whom = { kind: "member", namespace: facts, person: member ?? nobody } as const;
  if (!may(principal, "remove-member", whom)) {
    throw problem("forbidden", `This token may not remove that member of the namespace "${name}"`);
  }
  if (member === undefined) throw noSuchMember();
  await removeMember(context.env.DB, actor, id);
  await tellRights(context, actor.namespace);
  return context.body(null, 204);
});

/** Whom no token was minted for: an issuer is a URL. */
const nobody = { issuer: "", subject: "" };

export function formatMember(row: MemberRow) {
  const { id, issuer, subject, role, added_by, via_group } = row;
  const added_at = formatTime(row.added_at);
  const until = formatTimeOrNull(row.until);
  return { id, issuer, subject, role, added_at, added_by, via_group, until, proven: row.is_proven === 1 };
}
