import { Hono } from "hono";
import type { JWTPayload } from "jose";

import { hashOf } from "../auth/access-token.ts";
import { discover, IssuerError } from "../auth/issuer-keys.ts";
import type { IssuerMetadata } from "../auth/issuer-keys.ts";
import { JwtRefused, verifyJwt } from "../auth/jwt.ts";
import { isEqual, randomHex } from "../auth/mac.ts";
import { fetchJson, OutboundError } from "../auth/outbound.ts";
import { requestOrigin } from "../auth/request-origin.ts";
import { mintId } from "../auth/tokens.ts";
import {
  maxGroupNameLength,
  maxGroupsOfPerson,
  maxProviderAnswerBytes,
  maxProviderReturnLength,
  providerSignInSeconds,
  providerTimeoutMs,
} from "../domain/limits.ts";
import { isSubject } from "../domain/person.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { syncGroups } from "../storage/group-roles.ts";
import { originOf, readReturn, redirect, showPage, signIn } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { messagePage } from "./message-page.ts";
import { providerOf } from "./provider-settings.ts";
import type { Provider } from "./provider-settings.ts";

/**
 * Signing in at the operator's OpenID provider (OpenID Connect Core, section 3.1, with PKCE). What goes on in between
 * is kept by the browser, in a cookie that only it can send; so nobody can be signed in as somebody else by being led
 * to an answer that another browser asked for, and nothing is written for people who never come back.
 */
export const providerPages = new Hono<AppEnv>();

interface UnderWay {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
}

const callbackPath = "/sign-in/callback";
const cookiePrefix = "__Host-skill-registry-provider-";

providerPages.get("/sign-in/provider", async (context) => {
  const provider = requireProvider(context);
  const asked = readReturn(context, context.req.query("return"));
  const returnTo = asked.length <= maxProviderReturnLength ? asked : "/account";
  const underWay = { state: randomHex(16), nonce: randomHex(16), verifier: randomHex(32), returnTo };
  return answered(async () => {
    const { authorization_endpoint: endpoint } = await discover(provider.issuer, askingOf(context));
    if (endpoint === undefined) throw new IssuerError(`${provider.issuer} names no authorization_endpoint`);
    const url = new URL(endpoint);
    const parameters = {
      response_type: "code",
      client_id: provider.clientId,
      redirect_uri: originOf(context) + callbackPath,
      scope: provider.scope,
      state: underWay.state,
      nonce: underWay.nonce,
      code_challenge: base64Url(await hashOf(underWay.verifier)),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return redirect(url.href, new Headers({ "set-cookie": cookie(underWay.state, JSON.stringify(underWay)) }));
  });
});

providerPages.get(callbackPath, async (context) => {
  const provider = requireProvider(context);
  const parameters = new URL(context.req.url).searchParams;
  return answered(async () => {
    const underWay = readCookie(context, parameters.get("state") ?? "");
    if (underWay === undefined) throw new IssuerError("This sign-in was not begun in this browser, or too long ago");
    const metadata = await discover(provider.issuer, askingOf(context));
    requireIssuer(metadata, parameters.get("iss"));
    const code = parameters.get("code");
    if (code === null)
      throw new IssuerError(`${provider.name} did not sign you in: ${parameters.get("error") ?? "no code"}`);
    const claims = await redeem(context, { provider, metadata, underWay }, code);
    const headers = new Headers({ "set-cookie": cookie(underWay.state, "") });
    headers.append("set-cookie", await signInAs(context, provider, claims));
    return redirect(readReturn(context, underWay.returnTo), headers);
  });
});

/** RFC 9207: an answer that another provider sent must not make this one's code go there. */
function requireIssuer({ issuer, document }: IssuerMetadata, iss: string | null): void {
  const isMissing = iss === null && document["authorization_response_iss_parameter_supported"] === true;
  if (isMissing || (iss !== null && iss !== issuer)) throw new IssuerError("The answer came from another provider");
}

interface Exchange {
  provider: Provider;
  metadata: IssuerMetadata;
  underWay: UnderWay;
}

async function redeem(
  context: WebContext,
  { provider, metadata, underWay }: Exchange,
  code: string,
): Promise<JWTPayload> {
  const { token_endpoint: endpoint, document } = metadata;
  if (endpoint === undefined) throw new IssuerError(`${provider.issuer} names no token_endpoint`);
  const { clientId, clientSecret, issuer } = provider;
  const methods = document["token_endpoint_auth_methods_supported"];
  const isPost = Array.isArray(methods) && !methods.includes("client_secret_basic");
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: originOf(context) + callbackPath,
    code_verifier: underWay.verifier,
    ...(isPost ? { client_id: clientId, client_secret: clientSecret } : {}),
  });
  // RFC 6749, section 2.3.1: both are encoded as in a form before they are joined.
  const basic = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`);
  const { status, body } = await fetchJson(endpoint, {
    ownOrigin: originOf(context),
    maxBytes: maxProviderAnswerBytes,
    timeoutMs: providerTimeoutMs,
    form,
    ...(isPost ? {} : { authorization: `Basic ${basic}` }),
  });
  const token = (body as { id_token?: unknown } | null)?.id_token;
  if (status !== 200 || typeof token !== "string")
    throw new IssuerError(`${provider.name} did not confirm the sign-in (${status})`);
  const claims = await verifyJwt(token, { ...askingOf(context), issuer, audience: clientId });
  const { nonce, sub } = claims;
  if (typeof nonce !== "string" || !isEqual(await hashOf(nonce), await hashOf(underWay.nonce))) {
    throw new IssuerError(`${provider.name} answered another sign-in`);
  }
  if (typeof sub !== "string" || !isSubject(sub))
    throw new IssuerError(`${provider.name} names nobody that can be a member`);
  return claims;
}

/** Their groups first, so that what they come for is theirs already. */
async function signInAs(context: WebContext, provider: Provider, claims: JWTPayload): Promise<string> {
  const person = { issuer: provider.issuer, subject: claims.sub! };
  const from = requestOrigin(context.req.raw.headers);
  const groups = groupsIn(claims, provider.groupsClaim);
  await syncGroups(context.env.DB, { person, groups, now: Date.now(), from, mintId });
  return signIn(context, { person }, { name: nameOf(claims, provider), expiresAt: Number.POSITIVE_INFINITY });
}

function groupsIn(claims: JWTPayload, claim: string): string[] {
  const value = claims[claim];
  const groups = (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === "string");
  return groups.filter((one) => one !== "" && one.length <= maxGroupNameLength).slice(0, maxGroupsOfPerson);
}

/** For the pages only: nothing is decided by what somebody calls themselves. */
function nameOf(claims: JWTPayload, { issuer }: Provider): string {
  const { email, preferred_username: username, name } = claims as Record<string, unknown>;
  const called = [email, username, name, claims.sub].find((one) => typeof one === "string" && one !== "") as string;
  return `${called.slice(0, 200)} at ${issuer}`;
}

/** @throws Problem `not_found` where the operator has set up no provider. */
function requireProvider(context: WebContext): Provider {
  const provider = providerOf(context.env);
  if (provider === undefined) throw problem("not_found", "This registry has no OpenID provider; sign in with a token");
  return provider;
}

function askingOf(context: WebContext) {
  return { ownOrigin: originOf(context), now: Date.now() };
}

/** Each sign-in has a cookie of its own, so that two windows do not end each other's. */
function cookie(state: string, value: string): string {
  const age = value === "" ? 0 : providerSignInSeconds;
  return `${cookiePrefix}${state.slice(0, 8)}=${encodeURIComponent(value)}; Path=/; Max-Age=${age}; Secure; HttpOnly; SameSite=Lax`;
}

function readCookie(context: WebContext, state: string): UnderWay | undefined {
  if (!/^[0-9a-f]{32}$/.test(state)) return undefined;
  const name = `${cookiePrefix}${state.slice(0, 8)}=`;
  const parts = (context.req.header("cookie") ?? "").split(/;\s*/);
  const value = parts.find((part) => part.startsWith(name))?.slice(name.length);
  if (value === undefined) return undefined;
  try {
    const underWay = JSON.parse(decodeURIComponent(value)) as UnderWay;
    return isEqual(String(underWay.state).padEnd(32).slice(0, 32), state) ? underWay : undefined;
  } catch {
    return undefined;
  }
}

function base64Url(hex: string): string {
  const bytes = hex.match(/../g)!.map((byte) => Number.parseInt(byte, 16));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof IssuerError || error instanceof OutboundError || error instanceof JwtRefused;
    if (!isKnown) throw error;
    const link = { href: "/sign-in", label: "Sign in again" };
    return showPage(await messagePage({ title: "You are not signed in", text: error.message, link }), 400);
  }
}
