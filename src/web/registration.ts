import { Hono } from "hono";

import { authorizationServer, endpoints, serverEnv } from "../auth/authorization-server.ts";
import type { NewClient } from "../auth/authorization-server.ts";
import { macOf } from "../auth/mac.ts";
import { clientPrefixOf } from "../domain/client-address.ts";
import { maxClientNameLength, maxRedirectUris, maxRegistrationBytes } from "../domain/limits.ts";
import { isAcceptedRedirect } from "../domain/redirect.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv, Env } from "../env.ts";
import { readBounded } from "../publish/bounded-body.ts";
import { addRegistration, registrationPause } from "../storage/oauth-clients.ts";
import { originOf, signingKeyOf } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { asOAuthError } from "./oauth-error.ts";

/**
 * Dynamic client registration (RFC 7591), for clients without a metadata document. Anybody may register, so a
 * registration is worth little: it gets codes only at known callbacks and on the user's machine, is held to a rate by
 * address, and goes by itself when nobody has allowed it anything.
 */
export const registrationEndpoint = new Hono<AppEnv>();
registrationEndpoint.onError(asOAuthError);

const grantTypes: ReadonlySet<unknown> = new Set(["authorization_code", "refresh_token"]);

registrationEndpoint.post(endpoints.register, async (context) => {
  const now = Date.now();
  const { DB: db } = context.env;
  const prefix = clientPrefixOf(context.req.header("cf-connecting-ip"));
  const originKey = await macOf("registrations", prefix, signingKeyOf(context));
  // Most of a flood costs one look; the registration itself is counted where it is written.
  await refuseMany(db, originKey, now);
  const wanted = await readRegistration(context);
  if (wanted instanceof Response) return wanted;
  const settings = {
    db,
    origin: originOf(context),
    audience: `${originOf(context)}/mcp`,
    now,
    addClient: async (client: NewClient) => {
      if (!(await addRegistration(db, { ...client, originKey }, now))) await refuseMany(db, originKey, now, 1);
    },
  };
  const headers = { "content-type": "application/json" };
  const request = new Request(settings.origin + endpoints.register, {
    method: "POST",
    headers,
    body: JSON.stringify(wanted),
  });
  const execution = context.executionCtx as ExecutionContext;
  const answer = await authorizationServer(settings).fetch(request, serverEnv(settings), execution);
  return context.json(await answer.json<object>(), answer.status as 201);
});

/**
 * `least`: seconds to wait of one whose registration was refused, even if there is room again by now.
 *
 * @throws Problem `rate_limited`
 */
async function refuseMany(db: D1Database, originKey: string, now: number, least = 0): Promise<void> {
  const pause = Math.max(least, await registrationPause(db, originKey, now));
  if (pause === 0) return;
  throw problem("rate_limited", `Too many clients were registered from your address; try again in ${pause} s`, {
    headers: { "retry-after": String(pause) },
  });
}

/** The redirect addresses that the operator allows besides those of domain/redirect.ts. */
export function redirectsOf(env: Env): string[] {
  return (env.OAUTH_REDIRECTS ?? "").split(/\s+/).filter(Boolean);
}

/** What is registered: of what was sent, the redirect addresses and grant types of use here (RFC 7591, section 3.2.1). */
async function readRegistration(context: WebContext): Promise<object | Response> {
  const body = await readBounded(context.req.raw.body, maxRegistrationBytes, () =>
    problem("too_large", `A registration may have at most ${maxRegistrationBytes} bytes`),
  );
  const sent = parse(body);
  const refused = (error: string, error_description: string) => context.json({ error, error_description }, 400);
  if (sent === undefined) return refused("invalid_client_metadata", "The body is not a JSON object");
  const { redirect_uris: uris, client_name: name } = sent;
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > maxRedirectUris) {
    return refused("invalid_redirect_uri", `redirect_uris must be a list of 1 to ${maxRedirectUris} addresses`);
  }
  if (name !== undefined && (typeof name !== "string" || name.length > maxClientNameLength)) {
    return refused(
      "invalid_client_metadata",
      `client_name must be a text of at most ${maxClientNameLength} characters`,
    );
  }
  const listed = redirectsOf(context.env);
  const usable = uris.filter((uri) => typeof uri === "string" && isAcceptedRedirect(uri, "", listed));
  if (usable.length > 0) return { ...sent, ...knownGrantTypes(sent), redirect_uris: usable };
  return refused(
    "invalid_redirect_uri",
    "None of the redirect_uris can be used here: they must be on loopback (http://127.0.0.1/…), the callback of a " +
      "host that this registry knows, or listed by its operator (OAUTH_REDIRECTS); or publish a client metadata document",
  );
}

/** Clients list all that they know, VS Code the one of devices without a browser too. */
function knownGrantTypes({ grant_types: types }: Record<string, unknown>): { grant_types?: unknown[] } {
  const known = Array.isArray(types) ? types.filter((type) => grantTypes.has(type)) : [];
  // Where there is none that is known, the library says so.
  return known.length > 0 ? { grant_types: known } : {};
}

function parse(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(body)) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
