import { origin, send } from "../harness.ts";
import { fieldIn, Person } from "./person.ts";
import type { Shown } from "./person.ts";

/** An application that signs in, by hand, so that every step can be bent. */
export const redirectUri = "http://127.0.0.1:33418/callback";

export async function register(fields: Record<string, unknown> = {}): Promise<{ status: number; body: Registered }> {
  const response = await send("/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "A test client",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...fields,
    }),
  });
  return { status: response.status, body: await response.json<Registered>() };
}

export interface Registered {
  client_id: string;
  redirect_uris: string[];
  error?: string;
  error_description?: string;
}

export interface Pkce {
  verifier: string;
  challenge: string;
}

export async function pkce(): Promise<Pkce> {
  const verifier = base64Url(crypto.getRandomValues(new Uint8Array(32)));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return { verifier, challenge: base64Url(new Uint8Array(digest)) };
}

/** Undefined members leave a parameter out. */
export function authorizePath(parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ response_type: "code", code_challenge_method: "S256", ...parameters })) {
    if (value !== undefined) query.set(name, value);
  }
  return `/authorize?${query.toString()}`;
}

export interface Flow {
  person: Person;
  clientId: string;
  resource: string;
  verifier: string;
  code: string;
  answer: URL;
}

/** A registry token, or whom the OpenID provider names. */
export type Who = string | { issuer: string; subject: string };

/** From a token to a code: signs in, sees the consent page, allows. */
export async function obtainCode(who: Who, path: string, more: Record<string, string> = {}): Promise<Flow> {
  const clientId = more["client_id"] ?? (await register()).body.client_id;
  const { verifier, challenge } = await pkce();
  const resource = origin + path;
  const person = new Person();
  const asked = authorizePath({
    client_id: clientId,
    redirect_uri: redirectUri,
    resource,
    scope: "skills:read",
    state: "state-of-the-client",
    code_challenge: challenge,
    ...more,
  });
  if (typeof who === "string") await person.signIn(who);
  else await person.become(who);
  const shown = await person.follow(asked);
  if (shown.status !== 200) throw new Error(`${shown.status} ${shown.location} ${shown.html.slice(0, 3_000)}`);
  const allowed = await allow(person, shown);
  const answer = new URL(allowed.location ?? "");
  return { person, clientId, resource, verifier, code: answer.searchParams.get("code") ?? "", answer };
}

export async function allow(person: Person, { html }: Shown, decision = "approve"): Promise<Shown> {
  return person.submit("/authorize", { handle: fieldIn(html, "handle"), decision });
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  scope: string;
  error?: string;
  error_description?: string;
}

export async function askToken(fields: Record<string, string>): Promise<{ status: number; body: Tokens }> {
  const response = await send("/token", { method: "POST", body: new URLSearchParams(fields) });
  return { status: response.status, body: await response.json<Tokens>() };
}

export function redeem({ clientId, resource, verifier, code }: Flow, more: Record<string, string> = {}) {
  const form = { client_id: clientId, code, code_verifier: verifier, redirect_uri: redirectUri, resource };
  return askToken({ grant_type: "authorization_code", ...form, ...more });
}

export function refresh(clientId: string, refresh_token: string, more: Record<string, string> = {}) {
  return askToken({ grant_type: "refresh_token", client_id: clientId, refresh_token, ...more });
}

/** All of it: an access token for the address. */
export async function signInAt(who: Who, path: string, more: Record<string, string> = {}) {
  const flow = await obtainCode(who, path, more);
  const { status, body } = await redeem(flow);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return { ...flow, tokens: body };
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
