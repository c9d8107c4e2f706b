import { Hono } from "hono";
import * as z from "zod";

import { requireSecret } from "../auth/credential.ts";
import { mintSecret } from "../auth/tokens.ts";
import { readGrant, scopesOf } from "../domain/grant.ts";
import { defaultOverlapHours, defaultTokenDays, maxOverlapHours, maxTokenDays } from "../domain/limits.ts";
import { parseSkillPath } from "../domain/names.ts";
import { mayGrant } from "../domain/policy.ts";
import { memberOf, scopes } from "../domain/principal.ts";
import type { Role, Scope } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { findToken, listTokens, mintToken, revokeToken, rotateToken, tokenEnded } from "../storage/tokens.ts";
import type { NewToken, TokenRow } from "../storage/tokens.ts";
import { requireCaller } from "./caller.ts";
import { tellRights } from "./news.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { label, millisecondsPerDay, millisecondsPerHour, role, wholeNumber } from "./fields.ts";
import { readJson, readJsonIfSent } from "./json.ts";
import { formatPlace, lastPlace, placeKey, readPage, readPlace } from "./page.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";

/** Bearer tokens of a namespace. A token is shown by the answer that mints it, and never again. */
export const tokensApi = new Hono<AppEnv>();

const newToken = z.strictObject({
  role: role.optional(),
  scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).optional(),
  label,
  path: z.string().optional(),
  expires_in_days: wholeNumber(1, maxTokenDays, defaultTokenDays),
});

const rotation = z.strictObject({ overlap_hours: wholeNumber(0, maxOverlapHours, defaultOverlapHours) });

tokensApi.post("/namespaces/:namespace/tokens", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const { role, scopes, label, path, expires_in_days } = await readJson(context, newToken);
  const grant = readGrant({ role, scopes, path: path === undefined ? undefined : parseSkillPath(path) });
  requireGrantable(caller, scopesOf(grant));
  const expiresAt = caller.now + expires_in_days * millisecondsPerDay;
  return mint(context, caller, { ...grant, label, expiresAt, member: memberOf(caller.principal) });
});

tokensApi.get("/namespaces/:namespace/tokens", async (context) => {
  const { namespace } = await requireCaller(context, "manage-tokens");
  const from = { namespace: namespace.name, kind: "token" } as const;
  const { items, next } = await readPage<TokenRow>(context, {
    list: `tokens:${namespace.name}`,
    key: placeKey,
    load: (key, limit) => listTokens(context.env.DB, from, readPlace(key, lastPlace), limit),
    keyOf: (row) => formatPlace(row.created_at, row.id),
  });
  return context.json({ tokens: items.map(formatToken), next_cursor: next });
});

tokensApi.get("/namespaces/:namespace/tokens/:id", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  return context.json(formatToken(await tokenOf(context, caller)));
});

tokensApi.delete("/namespaces/:namespace/tokens/:id", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const { id, revoked_at } = await tokenOf(context, caller);
  if (revoked_at === null) {
    await revokeToken(context.env.DB, caller.actor, "token", id);
    await tellRights(context, caller.actor.namespace);
  }
  return context.body(null, 204);
});

/** A successor with the same rights, whose holder the caller is: so nobody rotates what they could not mint. */
tokensApi.post("/namespaces/:namespace/tokens/:id/rotate", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const { overlap_hours } = await readJsonIfSent(context, rotation);
  const { now, principal } = caller;
  const old = await tokenOf(context, caller);
  requireGrantable(caller, scopesIn(old));
  if (old.revoked_at !== null || old.rotated_to !== null || old.expires_at <= now) throw tokenEnded();
  const endsAt = Math.min(old.expires_at, now + overlap_hours * millisecondsPerHour);
  const owner = old.issuer === null ? undefined : { issuer: old.issuer, subject: old.subject! };
  const wanted = {
    role: old.role,
    explicitScopes: old.scopes === null ? undefined : scopesIn(old),
    below: old.below,
    label: old.label,
    expiresAt: now + old.expires_at - old.created_at,
    // A member who rotates another's token holds the new one, which has to end with their own membership.
    member: memberOf(principal) ?? owner,
  };
  return mint(context, caller, wanted, { id: old.id, endsAt });
});

/** @throws Problem `forbidden` for rights that the caller does not have */
export function requireGrantable(caller: Caller, wanted: readonly Scope[]): void {
  if (mayGrant(caller.principal, wanted)) return;
  throw problem("forbidden", `Nobody hands on more than they have, and this token has not all of ${wanted.join(", ")}`);
}

export function formatToken(row: TokenRow) {
  return {
    id: row.id,
    role: row.role,
    scopes: scopesIn(row),
    path: pathOf(row.below),
    label: row.label,
    created_at: formatTime(row.created_at),
    expires_at: formatTime(row.expires_at),
    last_used_at: formatTimeOrNull(row.last_used_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    rotated_to: row.rotated_to,
    minted_by: row.minted_by,
    member: row.issuer === null ? null : { issuer: row.issuer, subject: row.subject },
  };
}

type Wanted = Pick<NewToken, "role" | "explicitScopes" | "below" | "label" | "expiresAt" | "member">;

/** Mints, in place of another token or beside all. */
async function mint(
  context: ApiContext,
  caller: Caller,
  wanted: Wanted,
  replaced?: { id: string; endsAt: number },
): Promise<Response> {
  const { actor, namespace } = caller;
  const { DB: db, SIGNING_KEY: key } = context.env;
  const { id, text, secretHash } = await mintSecret("skr", requireSecret("SIGNING_KEY", key));
  const token: NewToken = { ...wanted, id, secretHash, kind: "token", collection: undefined };
  if (replaced === undefined) await mintToken(db, actor, token);
  else {
    await rotateToken(db, actor, replaced, token);
    await tellRights(context, actor.namespace);
  }
  const row = await findToken(db, namespace.name, "token", id);
  const location = `/api/v1/namespaces/${namespace.name}/tokens/${id}`;
  return context.json({ token: text, ...formatToken(row!) }, 201, { location });
}

async function tokenOf(context: ApiContext, caller: Caller): Promise<TokenRow> {
  const row = await findToken(context.env.DB, caller.namespace.name, "token", context.req.param("id") ?? "");
  if (row === undefined) throw problem("not_found", "The namespace has no such token");
  return row;
}

export function scopesIn({ role, scopes }: { role: Role; scopes: string | null }): readonly Scope[] {
  return scopesOf({ role, explicitScopes: scopes === null ? undefined : (JSON.parse(scopes) as Scope[]) });
}

export function pathOf(below: string): string | null {
  return below === "" ? null : below.slice(0, -1);
}
