import { Hono } from "hono";

import { isPerson, scopesOfRole } from "../domain/principal.ts";
import type { TokenPrincipal } from "../domain/principal.ts";
import type { AppEnv } from "../env.ts";
import type { Gate } from "../storage/gate.ts";
import { findGrant, listMemberships } from "../storage/grants.ts";
import { findToken } from "../storage/tokens.ts";
import { identify } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";
import { pathOf } from "./tokens.ts";

/** Whose the credential of the request is, for scripts that were handed one: what counts by now, and until when. */
export const meApi = new Hono<AppEnv>();

meApi.get("/me", async (context) => {
  const { principal, gate, now } = await identify(context, undefined);
  if (principal.kind !== "token") return context.json({ kind: principal.kind });
  const { grant } = principal;
  return context.json(
    grant === undefined
      ? await aboutToken(context, principal)
      : await aboutSignIn(context, { ...principal, grant }, { gate, now }),
  );
});

async function aboutToken(context: ApiContext, principal: TokenPrincipal) {
  const { id, namespace = null } = principal;
  const row = namespace === null ? undefined : await findToken(context.env.DB, namespace, "token", id);
  const expires_at = formatTimeOrNull(row?.expires_at ?? null);
  return { kind: "token", id, ...rightsOf(principal), label: row?.label ?? null, expires_at };
}

/** `expires_at` is that of the access token; a person has the roles of their `memberships`, and none besides. */
async function aboutSignIn(
  context: ApiContext,
  principal: TokenPrincipal & { grant: string },
  { gate, now }: { gate: Gate; now: number },
) {
  const { DB: db } = context.env;
  const { grant: id } = principal;
  const grant = await findGrant(db, id);
  const about = {
    kind: "grant",
    id,
    ...rightsOf(principal),
    label: grant?.client_name ?? null,
    expires_at: formatTime(gate.token!.expiresAt),
  };
  if (!isPerson(principal)) return about;
  const all = await listMemberships(db, principal.member, now, id);
  const memberships = all.map(({ namespace, role }) => ({ namespace, role }));
  const scopes = (grant?.scopes ?? []).filter((one) => all.some(({ role }) => scopesOfRole[role].includes(one)));
  return { ...about, role: null, scopes, memberships };
}

/** A member's token has no more than the member. */
function rightsOf({ namespace, role, scopes, below, member }: TokenPrincipal) {
  return { namespace: namespace ?? null, role, scopes, path: pathOf(below), member: member ?? null };
}
