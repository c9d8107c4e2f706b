import { Hono } from "hono";
import * as z from "zod";

import { requireSecret } from "../auth/credential.ts";
import { mintId, mintSecret, parseSecret } from "../auth/tokens.ts";

import { defaultInvitationHours, defaultTokenDays, maxInvitationHours } from "../domain/limits.ts";
import { isIssuer, issuerRule, isSubject, subjectRule } from "../domain/person.ts";
import { formatPrincipal, scopesOfRole } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import {
  acceptInvitation,
  createInvitation,
  findInvitation,
  findOffer,
  listInvitations,
  noSuchInvitation,
  revokeInvitation,
} from "../storage/invitations.ts";
import type { InvitationRow, Offer } from "../storage/invitations.ts";
import type { NewToken } from "../storage/tokens.ts";
import { identify, originOf, requireCaller } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { label, millisecondsPerDay, millisecondsPerHour, role, wholeNumber } from "./fields.ts";
import { readJson } from "./json.ts";
import { formatMember } from "./members.ts";
import { formatPlace, lastPlace, placeKey, readPage, readPlace } from "./page.ts";
import { requireKnown } from "./query.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";
import { requireGrantable } from "./tokens.ts";

/** Invitations: a secret link that makes whoever opens it a member, once. */
export const invitationsApi = new Hono<AppEnv>();

const newInvitation = z.strictObject({
  role,
  label,
  expires_in_hours: wholeNumber(1, maxInvitationHours, defaultInvitationHours),
});

const acceptance = z.strictObject({
  issuer: z.string().refine(isIssuer, issuerRule),
  subject: z.string().refine(isSubject, subjectRule),
});

invitationsApi.post("/namespaces/:namespace/invitations", async (context) => {
  const caller = await requireCaller(context, "manage-members");
  const input = await readJson(context, newInvitation);
  requireGrantable(caller, scopesOfRole[input.role]);
  const { id, text, secretHash } = await mintSecret("ski", signingKeyOf(context));
  const expiresAt = caller.now + input.expires_in_hours * millisecondsPerHour;
  const { role, label } = input;
  await createInvitation(context.env.DB, caller.actor, { id, secretHash, role, label, expiresAt });
  const shown = formatInvitation({
    id,
    role,
    label,
    created_at: caller.now,
    created_by: formatPrincipal(caller.principal),
    expires_at: expiresAt,
    revoked_at: null,
    accepted_at: null,
    member_id: null,
  });
  const origin = publicOriginOf(context.env, context.req.url);
  // For those who can sign in a page; for programs, and where there is no provider, the API.
  const page = context.env.OIDC_ISSUER ? { page: `${origin}/account/invitations/${text}` } : {};
  return context.json({ secret: text, link: `${origin}/api/v1/invitations/${text}`, ...page, ...shown }, 201);
});

invitationsApi.get("/namespaces/:namespace/invitations", async (context) => {
  const { namespace } = await requireCaller(context, "manage-members");
  const { items, next } = await readPage<InvitationRow>(context, {
    list: `invitations:${namespace.name}`,
    key: placeKey,
    load: (key, limit) => listInvitations(context.env.DB, namespace.name, readPlace(key, lastPlace), limit),
    keyOf: (row) => formatPlace(row.created_at, row.id),
  });
  return context.json({ invitations: items.map(formatInvitation), next_cursor: next });
});

invitationsApi.delete("/namespaces/:namespace/invitations/:id", async (context) => {
  const { actor, namespace } = await requireCaller(context, "manage-members");
  const row = await findInvitation(context.env.DB, namespace.name, context.req.param("id"));
  if (row === undefined) throw problem("not_found", "The namespace has no such invitation");
  // One that was accepted is spent: what is left to end is the membership.
  if (row.revoked_at === null && row.accepted_at === null) await revokeInvitation(context.env.DB, actor, row.id);
  return context.body(null, 204);
});

invitationsApi.get("/invitations/:secret", async (context) => {
  await identify(context, undefined);
  const { offer } = await openOffer(context);
  const { namespace, title, role } = offer;
  return context.json({ namespace, title, role, expires_at: formatTime(offer.expires_at) });
});

/**
 * Whoever holds the secret says who they are, as long as nobody could sign in as that person: of whom the operator's
 * provider names it alone is asked (web/invitation.ts), or a namespace could be pushed on somebody who never saw it.
 */
invitationsApi.post("/invitations/:secret", async (context) => {
  const { principal, now } = await identify(context, undefined);
  requireKnown(context, []);
  const { offer, secretHash } = await openOffer(context);
  const person = await readJson(context, acceptance);
  if (person.issuer === context.env.OIDC_ISSUER) throw mustSignIn(context);
  const { id, text, secretHash: tokenHash } = await mintSecret("skr", signingKeyOf(context));
  const member = { id: mintId(), person, role: offer.role };
  const token: NewToken = {
    ...firstGrant,
    id,
    secretHash: tokenHash,
    role: offer.role,
    label: "invitation",
    expiresAt: now + defaultTokenDays * millisecondsPerDay,
    member: person,
  };
  const actor = { principal, namespace: offer.namespace, now, from: originOf(context) };
  await acceptInvitation(context.env.DB, actor, { invitation: { id: offer.id, secretHash }, member, token });
  const added = { added_at: now, added_by: formatPrincipal(principal), via_group: null, until: null, is_proven: 0 };
  const shown = { ...person, ...added, id: member.id, role: offer.role };
  return context.json(
    {
      namespace: offer.namespace,
      member: formatMember(shown),
      token: text,
      token_id: id,
      expires_at: formatTime(token.expiresAt),
    },
    201,
  );
});

const firstGrant = { kind: "token", explicitScopes: undefined, below: "", collection: undefined } as const;

function mustSignIn(context: ApiContext) {
  const page = `${publicOriginOf(context.env, context.req.url)}/account/invitations/${context.req.param("secret") ?? ""}`;
  return problem("forbidden", `People of ${context.env.OIDC_ISSUER} accept by signing in: open ${page} in a browser`);
}

/** Dead, expired, revoked, unknown and forged secrets are one; the forged never reach the database. */
async function openOffer(context: ApiContext): Promise<{ offer: Offer } & Secret> {
  const secret = await parseSecret("ski", context.req.param("secret") ?? "", signingKeyOf(context));
  const offer = secret === undefined ? undefined : await findOffer(context.env.DB, secret, Date.now());
  if (secret === undefined || offer === undefined) throw noSuchInvitation();
  return { offer, ...secret };
}

type Secret = NonNullable<Awaited<ReturnType<typeof parseSecret>>>;

function signingKeyOf(context: ApiContext): string {
  return requireSecret("SIGNING_KEY", context.env.SIGNING_KEY);
}

function formatInvitation(row: InvitationRow) {
  const { id, role, label, created_by, member_id } = row;
  return {
    id,
    role,
    label,
    created_by,
    member_id,
    created_at: formatTime(row.created_at),
    expires_at: formatTime(row.expires_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    accepted_at: formatTimeOrNull(row.accepted_at),
  };
}
