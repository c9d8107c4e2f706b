import { Hono } from "hono";

import { hashOf, parseAccessToken } from "../auth/access-token.ts";
import type { AccessToken } from "../auth/access-token.ts";
import { authorizationServer, endpoints, serverEnv } from "../auth/authorization-server.ts";
import { ClientDocumentError } from "../auth/client-document.ts";
import { requestOrigin } from "../auth/request-origin.ts";
import { maxFormBytes, maxTokenAttempts, refreshGraceMs } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { documentOrigin } from "../domain/redirect.ts";
import type { AppEnv } from "../env.ts";
import { logEvent } from "../log.ts";
import { readBounded } from "../publish/bounded-body.ts";
import { findSpent, findStanding, revokeGrant } from "../storage/grants.ts";
import type { Standing } from "../storage/grants.ts";
import { RecordMoved } from "../storage/oauth-records.ts";
import { isAudience } from "./allowance.ts";
import { originOf, signingKeyOf } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { tellListeners } from "./listeners.ts";
import { asOAuthError, oauthError } from "./oauth-error.ts";
import { redirectsOf } from "./registration.ts";

/**
 * The token endpoint and revocation (OAuth 2.1, section 3.2; RFC 7009), by the library, around which stands what it
 * leaves open: a code or refresh token that two requests send at once is spent once, and a refresh token that comes
 * again after its time ends the whole sign-in (RFC 9700, section 4.14.2), because one of two holders stole it.
 */
export const tokenEndpoint = new Hono<AppEnv>();
tokenEndpoint.onError(asOAuthError);

tokenEndpoint.post(endpoints.token, async (context) => {
  const form = await readTokenForm(context);
  // Without a grant type the library would take it for a revocation, which has an address of its own.
  if (!form.has("grant_type")) return oauthError(context, "invalid_request", "The parameter grant_type is missing");
  const presented = await parseAccessToken(presentedIn(form), signingKeyOf(context));
  const standing = presented === undefined ? undefined : await findStandingOf(context, presented);
  // A client that hears `invalid_grant` lets go of its tokens and asks the person; any other word leaves it stuck.
  if (standing === undefined && hasDocument(form)) return oauthError(context, "invalid_grant", ended);
  if (presented !== undefined && form.get("grant_type") === "refresh_token") {
    await endIfStolen(context, form.get("refresh_token")!, presented);
  }
  const answer = await serve(context, form, standing);
  // The library ends what a code gave that comes again.
  if (!answer.ok) await tellOfEnd(context, presented, standing);
  return answer;
});

tokenEndpoint.post(endpoints.revoke, async (context) => {
  const form = await readTokenForm(context);
  form.delete("grant_type");
  if (!form.get("token")) return oauthError(context, "invalid_request", "The parameter token is missing");
  const presented = await parseAccessToken(form.get("token")!, signingKeyOf(context));
  const standing = presented === undefined ? undefined : await findStandingOf(context, presented);
  // What has ended already is what was wanted (RFC 7009, section 2.2).
  if (standing === undefined && hasDocument(form)) return context.body(null, 200);
  const answer = await serve(context, form, standing);
  await tellOfEnd(context, presented, standing);
  return answer;
});

const ended = "What was allowed has ended; sign in again";

/** Of such a client nothing is looked up where there is nothing that it was allowed, and it has no secret to be checked. */
function hasDocument(form: URLSearchParams): boolean {
  return documentOrigin(form.get("client_id") ?? "") !== undefined;
}

/** Begins again where another request changed the records in between: then it sees what that one did. */
async function serve(context: WebContext, form: URLSearchParams, standing: Standing | undefined): Promise<Response> {
  const origin = originOf(context);
  const settings = {
    db: context.env.DB,
    origin,
    // Where nothing stands any more, that has to be the answer, and not that the address is another.
    audience: standing?.audience ?? namedResource(form, origin) ?? `${origin}/mcp`,
    now: Date.now(),
    listed: redirectsOf(context.env),
    mayBeStale: true,
    // Nobody makes us ask a host by naming it here: only one whose client is allowed something already.
    mayAsk: (clientId: string) => clientId === standing?.clientId,
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const request = new Request(origin + endpoints.token, {
        method: "POST",
        headers: headersOf(context),
        body: form,
      });
      const server = authorizationServer(settings);
      return withoutCors(await server.fetch(request, serverEnv(settings), context.executionCtx as ExecutionContext));
    } catch (error) {
      if (error instanceof ClientDocumentError) return oauthError(context, "invalid_client", error.message, 401);
      if (!(error instanceof RecordMoved)) throw error;
      if (attempt === maxTokenAttempts) throw problem("busy");
    }
  }
}

function namedResource(form: URLSearchParams, origin: string): string | undefined {
  const resource = form.get("resource");
  return resource !== null && isAudience(origin, resource) ? resource : undefined;
}

async function findStandingOf(
  context: WebContext,
  { userId, grantId, key }: AccessToken,
): Promise<Standing | undefined> {
  const standing = await findStanding(context.env.DB, grantId, Date.now(), key);
  return standing?.userId === userId ? standing : undefined;
}

/** A client whose answer got lost may send the old token again, for a moment. */
async function endIfStolen(context: WebContext, refreshToken: string, { userId, grantId }: AccessToken): Promise<void> {
  const now = Date.now();
  const spentAt = await findSpent(context.env.DB, await hashOf(refreshToken));
  if (spentAt === undefined || now - spentAt <= refreshGraceMs) return;
  const why = { action: "refresh-token-reused", now, from: requestOrigin(context.req.raw.headers) };
  const audience = await revokeGrant(context.env.DB, { userId, id: grantId }, why);
  if (audience === undefined) return;
  logEvent("refresh token used again", { grant: grantId });
  tellListeners(context, audience);
}

/** Only where something has ended: whoever listens is not looked at because of a request that changed nothing. */
async function tellOfEnd(
  context: WebContext,
  presented: AccessToken | undefined,
  before: Standing | undefined,
): Promise<void> {
  if (presented === undefined || before === undefined) return;
  const after = await findStandingOf(context, presented);
  if (after === undefined || (before.hasToken && !after.hasToken)) tellListeners(context, before.audience);
}

function presentedIn(form: URLSearchParams): string {
  return form.get(form.get("grant_type") === "refresh_token" ? "refresh_token" : "code") ?? "";
}

async function readTokenForm(context: WebContext): Promise<URLSearchParams> {
  const type = context.req.header("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw problem("unsupported_media_type", "Content-Type must be application/x-www-form-urlencoded");
  }
  const body = await readBounded(context.req.raw.body, maxFormBytes, () =>
    problem("too_large", `A form may have at most ${maxFormBytes} bytes`),
  );
  const form = new URLSearchParams(new TextDecoder().decode(body));
  if (form.get("client_id") === basicClientOf(context)) form.delete("client_id");
  return form;
}

/**
 * The official Python client says in the form, too, who authenticates in the header (RFC 6749, section 2.3.1). The
 * library takes that for a second way to authenticate, which it is only with a secret, or with another name.
 */
function basicClientOf(context: WebContext): string | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(context.req.header("authorization") ?? "")?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined;
  return atob(encoded).split(":")[0];
}

function headersOf(context: WebContext): Headers {
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  const authorization = context.req.header("authorization");
  if (authorization !== undefined) headers.set("authorization", authorization);
  return headers;
}

/** Which origins may read answers is decided in one place for all doors (boundary.ts). */
export function withoutCors(response: Response): Response {
  const headers = new Headers([...response.headers].filter(([name]) => !name.startsWith("access-control-")));
  return new Response(response.body, { status: response.status, headers });
}
