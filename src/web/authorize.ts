import { authorizationErrorRedirect, AuthorizationError } from "@cloudflare/workers-oauth-provider";
import type { AuthRequest } from "@cloudflare/workers-oauth-provider";
import { Hono } from "hono";

import { askerOf } from "../auth/asker.ts";
import { authorizationServer, endpoints, serverEnv } from "../auth/authorization-server.ts";
import type { ServerSettings } from "../auth/authorization-server.ts";
import { ClientDocumentError } from "../auth/client-document.ts";
import { requestOrigin } from "../auth/request-origin.ts";
import { maxAuthorizeQueryLength } from "../domain/limits.ts";
import { documentOrigin, isAcceptedRedirect, isListed } from "../domain/redirect.ts";
import { Problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { createGrant } from "../storage/grants.ts";
import { RecordMoved } from "../storage/oauth-records.ts";
import type { SignIn } from "../storage/sign-ins.ts";
import { findAllowance, isAudience } from "./allowance.ts";
import type { Allowance } from "./allowance.ts";
import { findVisitor, originOf, readForm, redirect, showPage } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { consentPage } from "./consent-page.ts";
import { messagePage } from "./message-page.ts";
import { redirectsOf } from "./registration.ts";

/**
 * The authorization endpoint (OAuth 2.1, section 4.1; RFC 8707; RFC 9207): who asks for what at which address, and
 * whether whoever is signed in allows it. Asked every time, nothing is remembered. An error goes back to the client
 * only once its redirect address has been found to be its own; until then the person reads it here.
 */
export const authorizePage = new Hono<AppEnv>();

/** What a client asks for, who was shown it, and what the page said: nobody else allows it, and nothing more. */
type Asked = AuthRequest & { shownTo: string; shown: Pick<Allowance, "granted" | "roles"> };

authorizePage.get(endpoints.authorize, (context) =>
  answered(context, async () => {
    const { searchParams } = readQuery(context);
    const audience = readResource(context, searchParams);
    const visitor = await findVisitor(context);
    // Signed in first: only for people whom it knows does the registry read what a client's host says.
    if (visitor === undefined) return redirect(`/sign-in?return=${encodeURIComponent(returnTo(context))}`);
    const settings = settingsOf(context, audience);
    const oauth = authorizationServer(settings).getOAuthApi(serverEnv(settings));
    requireRedirect(context, searchParams.get("redirect_uri") ?? "", searchParams.get("client_id") ?? "");
    const request = await oauth.parseAuthRequest(new Request(settings.origin + returnTo(context)));
    const client = await oauth.lookupClient(request.clientId);
    requireGood(context, request);
    const allowance = await requireAllowance(context, visitor, request);
    const { granted, roles } = allowance;
    const asked: Asked = { ...request, shownTo: visitor.userId, shown: { granted, roles } };
    const { handle, headers } = await oauth.beginConsent(asked);
    const page = await consentPage({
      client: { name: client?.clientName ?? "", id: request.clientId, domain: domainOf(request.clientId) },
      redirect: redirectOf(request.redirectUri),
      address: audience,
      scopes: granted,
      roles,
      isEverywhere: visitor.person !== undefined && allowance.namespace === undefined && roles === undefined,
      refusedScopes: allowance.refused,
      account: visitor.name,
      until: untilOf(visitor),
      handle,
      returnTo: returnTo(context),
    });
    return showPage(page, 200, headers);
  }),
);

authorizePage.post(endpoints.authorize, (context) =>
  answered(context, async () => {
    const form = await readForm(context);
    const visitor = await findVisitor(context);
    const handle = form.get("handle") ?? "";
    const decision = form.get("decision");
    // What the handle opens names the address; until it is open, any address does.
    const settings = settingsOf(context, `${originOf(context)}/mcp`);
    const oauth = authorizationServer(settings).getOAuthApi(serverEnv(settings));
    if (decision !== "approve") {
      const { redirectTo, headers } = await oauth.denyConsent(context.req.raw, handle);
      return redirect(redirectTo, headers);
    }
    const { request, headers } = await oauth.approveConsent(context.req.raw, handle);
    const asked = request as Asked;
    if (visitor === undefined || visitor.userId !== asked.shownTo)
      throw new AuthorizationError("invalid_request", {
        description: "You are no longer signed in as whom this page was shown to; start again from your application",
      });
    requireGood(context, asked);
    return redirect(await allow(context, visitor, asked), headers);
  }),
);

/** Makes the grant, and gives back where the browser goes with the code. */
async function allow(context: WebContext, visitor: SignIn, { shown, ...request }: Asked): Promise<string> {
  const { granted: possible, principal, namespace } = await requireAllowance(context, visitor, request);
  const granted = possible.filter((scope) => shown.granted.includes(scope));
  // What they are no more counts for nothing by itself (storage/gate.ts).
  const { roles } = shown;
  const settings = settingsOf(context, request.resource!);
  const oauth = authorizationServer(settings).getOAuthApi(serverEnv(settings));
  const client = await oauth.lookupClient(request.clientId);
  if (client === null || !isListed(request.redirectUri, client.redirectUris)) {
    throw new AuthorizationError("invalid_request", {
      description: "The application has withdrawn what it asked with; start again from it",
    });
  }
  const { redirectTo } = await oauth.completeAuthorization({
    request,
    userId: visitor.userId,
    scope: [...granted],
    metadata: null,
    props: null,
    // Two machines of one person may run the same client.
    revokeExistingGrants: false,
  });
  const [, id] = new URL(redirectTo).searchParams.get("code")!.split(":");
  const by = { principal, now: settings.now, from: requestOrigin(context.req.raw.headers) };
  const { userId, token, person } = visitor;
  const about = { id: request.clientId, name: client.clientName ?? "", domain: domainOf(request.clientId) };
  const account = person === undefined ? { tokenId: token!.id } : { person };
  const what = { audience: request.resource!, namespace, scopes: granted, roles };
  await createGrant(context.env.DB, by, { id: id!, userId, client: about, ...what, account });
  return redirectTo;
}

async function requireAllowance(context: WebContext, visitor: SignIn, request: AuthRequest): Promise<Allowance> {
  const { resource, scope } = request;
  const wanted = { origin: originOf(context), audience: resource!, asked: scope };
  const allowance = await findAllowance(context.env.DB, visitor, wanted);
  if (allowance !== undefined && allowance.granted.length > 0) return allowance;
  throw new Refusal({
    title: "You have no rights at this address",
    text: `${visitor.name} may see nothing at ${resource}, so there is nothing to allow.`,
    hint: "Check the address, or sign in with a token of its namespace, or as one of its members.",
    link: { href: `/sign-in?return=${encodeURIComponent(returnTo(context))}`, label: "Sign in as somebody else" },
  });
}

/**
 * Before the library looks: it would send errors wherever a client was registered with, also where it no longer may be.
 * @throws AuthorizationError
 */
function requireRedirect(context: WebContext, redirectUri: string, clientId: string): void {
  if (isAcceptedRedirect(redirectUri, clientId, redirectsOf(context.env))) return;
  throw new AuthorizationError("invalid_request", {
    description: "Codes are not sent to this redirect_uri; an operator adds it to OAUTH_REDIRECTS",
  });
}

/** @throws AuthorizationError for what the library lets pass and this server does not. */
function requireGood(
  context: WebContext,
  { clientId, redirectUri, codeChallenge, codeChallengeMethod, ...request }: AuthRequest,
): void {
  requireRedirect(context, redirectUri, clientId);
  if (codeChallengeMethod === "S256" && /^[A-Za-z0-9_-]{43}$/.test(codeChallenge ?? "")) return;
  const { state, issuer } = request;
  throw new AuthorizationError("invalid_request", {
    description: "PKCE is needed: code_challenge_method S256 and its code_challenge of 43 characters",
    redirectUri,
    state,
    ...(issuer === undefined ? {} : { issuer }),
  });
}

/** @throws AuthorizationError */
function readQuery(context: WebContext): URL {
  const url = new URL(context.req.url);
  const names = [...url.searchParams.keys()];
  const repeated = names.find((name, place) => names.indexOf(name) !== place);
  if (repeated !== undefined) {
    throw new AuthorizationError("invalid_request", {
      description: `The parameter ${repeated.slice(0, 40)} must be sent once`,
    });
  }
  if (url.search.length > maxAuthorizeQueryLength) {
    throw new AuthorizationError("invalid_request", {
      description: `A request may have at most ${maxAuthorizeQueryLength} characters`,
    });
  }
  return url;
}

/** The address that the tokens shall be for. Clients that name none cannot mean one: there are as many as namespaces. */
function readResource(context: WebContext, parameters: URLSearchParams): string {
  const resource = parameters.get("resource");
  if (resource !== null && isAudience(originOf(context), resource)) return resource;
  throw new AuthorizationError("invalid_target", {
    description: `The parameter resource must be the address that you connect to, as in ${originOf(context)}/me/mcp`,
  });
}

function settingsOf(context: WebContext, audience: string): ServerSettings {
  const listed = redirectsOf(context.env);
  const beforeAsking = () => countQuestion(context);
  return { db: context.env.DB, origin: originOf(context), audience, now: Date.now(), listed, beforeAsking };
}

/**
 * Whoever is signed in has us ask the host of a client that they name, so it is counted like a write: else they could
 * send our requests to somebody without end. @throws Problem `rate_limited`
 */
async function countQuestion(context: WebContext): Promise<void> {
  const { meter } = await askerOf(context.req.raw, { adminToken: undefined, signingKey: context.env.SIGNING_KEY });
  await meter?.spend("writes");
}

function returnTo(context: WebContext): string {
  const url = new URL(context.req.url);
  return url.pathname + url.search;
}

function domainOf(clientId: string): string | undefined {
  const origin = documentOrigin(clientId);
  return origin === undefined ? undefined : new URL(origin).hostname;
}

function redirectOf(uri: string) {
  const { hostname } = new URL(uri);
  return { uri, host: hostname, isLoopback: ["localhost", "127.0.0.1", "[::1]"].includes(hostname) };
}

function untilOf({ token }: SignIn): string | undefined {
  if (token === undefined) return undefined;
  return new Date(token.expiresAt).toISOString().slice(0, 10);
}

/** A refusal that the person reads. */
class Refusal extends Error {
  readonly page: Parameters<typeof messagePage>[0];

  constructor(page: Parameters<typeof messagePage>[0]) {
    super(page.title);
    this.page = page;
  }
}

async function answered(context: WebContext, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuthorizationError && error.redirectUri !== undefined) {
      const { redirectUri, state = "", issuer } = error;
      const request = { redirectUri, state, ...(issuer === undefined ? {} : { issuer }) };
      return leadBack(context, authorizationErrorRedirect(request, error.code, error.description), error.description);
    }
    const page = pageOf(error);
    if (page === undefined) throw error;
    const { status, details } = error instanceof Problem ? error : { status: 400, details: {} };
    return showPage(await messagePage(page), status, new Headers(details.headers));
  }
}

/**
 * A browser that comes straight from the form of the sign-in page would not follow a redirect to another origin (CSP,
 * form-action), and whoever sits before it would see nothing at all.
 */
async function leadBack(context: WebContext, location: string, text: string): Promise<Response> {
  if (context.req.header("sec-fetch-site") !== "same-origin") return redirect(location);
  const link = { href: location, label: "Go back to the application" };
  return showPage(await messagePage({ title: "The application asked for something that cannot be", text, link }), 400);
}

function pageOf(error: unknown): Parameters<typeof messagePage>[0] | undefined {
  if (error instanceof Refusal) return error.page;
  const title = "This sign-in cannot go on";
  if (error instanceof AuthorizationError) return { title, text: error.description };
  if (error instanceof ClientDocumentError) return { title, text: error.message };
  if (error instanceof Problem) return { title, text: error.message };
  if (error instanceof RecordMoved)
    return { title, text: "This form was sent already; start again from your application" };
  return undefined;
}
