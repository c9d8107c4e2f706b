import { Hono } from "hono";

import { requestOrigin } from "../auth/request-origin.ts";
import { accountPageSize } from "../domain/limits.ts";
import type { Scope } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { listGrants, listMemberships, revokeGrant } from "../storage/grants.ts";
import type { GrantRow } from "../storage/grants.ts";
import type { SignIn } from "../storage/sign-ins.ts";
import { accountPage } from "./account-page.ts";
import { findVisitor, readForm, redirect, showPage } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { tellListeners } from "./listeners.ts";

/** What a person has allowed, where and when it was used, and how they take it back. */
export const accountPages = new Hono<AppEnv>();

accountPages.get("/account", async (context) => {
  const visitor = await findVisitor(context);
  if (visitor === undefined) return redirect("/sign-in?return=%2Faccount");
  const now = Date.now();
  const { DB: db } = context.env;
  const before = readPlace(context.req.query("before"));
  const rows = await listGrants(db, { userId: visitor.userId, now }, before, accountPageSize + 1);
  const shown = rows.slice(0, accountPageSize);
  const last = rows.length > accountPageSize ? shown.at(-1) : undefined;
  const page = await accountPage({
    account: visitor.name,
    grants: shown.map(formatGrant),
    next: last === undefined ? undefined : `/account?before=${last.granted_at}-${last.id}`,
    memberships: await membershipsOf(db, visitor, now),
  });
  return showPage(page);
});

accountPages.post("/account/grants/:id/revoke", async (context) => {
  await readForm(context);
  const visitor = await requireVisitor(context);
  const place = { userId: visitor.userId, id: context.req.param("id") };
  const why = { action: "withdraw-grant", now: Date.now(), from: requestOrigin(context.req.raw.headers) };
  // One that has ended already is what was wanted.
  const audience = await revokeGrant(context.env.DB, place, why);
  if (audience !== undefined) tellListeners(context, audience);
  return redirect("/account");
});

/** @throws Problem `unauthorized` */
async function requireVisitor(context: WebContext): Promise<SignIn> {
  const visitor = await findVisitor(context);
  if (visitor === undefined) throw problem("unauthorized", "You are not signed in any more; open /account again");
  return visitor;
}

async function membershipsOf(db: D1Database, { person }: SignIn, now: number) {
  if (person === undefined) return [];
  const memberships = await listMemberships(db, person, now);
  return memberships.map(({ namespace, role, via_group }) => ({ namespace, role, via: via_group ?? undefined }));
}

function formatGrant(row: GrantRow) {
  return {
    id: row.id,
    client: row.client_name || row.client_id,
    clientDomain: row.client_domain ?? undefined,
    address: row.audience,
    scopes: JSON.parse(row.scopes) as Scope[],
    createdAt: new Date(row.granted_at).toISOString(),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at).toISOString(),
    lastUsedFrom: row.last_used_from,
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  };
}

function readPlace(text: string | undefined): { at: number; id: string } {
  const match = /^(\d{1,15})-([A-Za-z0-9_-]{16})$/.exec(text ?? "");
  return match === null ? { at: Number.MAX_SAFE_INTEGER, id: "" } : { at: Number(match[1]), id: match[2]! };
}
