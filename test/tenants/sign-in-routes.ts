import { origin } from "../harness.ts";
import type { Attempt } from "./answers.ts";
import { at, get, sent } from "./attempts.ts";
import type { Table } from "./attempts.ts";

/** A form as a page of ours would send it, which is what a stranger can make it look like. */
function form(path: string, fields: Record<string, string>): Attempt {
  const headers = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", origin };
  return { method: "POST", path, headers, body: new URLSearchParams(fields).toString() };
}

const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const client = { client_id: "https://alpha.example/client.json", redirect_uri: "https://alpha.example/callback" };
const pkce = { response_type: "code", code_challenge: challenge, code_challenge_method: "S256" };

/** Signing in, what was allowed, and whom a group makes a member. */
export const signIn: Table = {
  "GET /api/v1/namespaces/:namespace/groups": (t) => [get(`${at(t.namespace)}/groups`)],
  "PUT /api/v1/namespaces/:namespace/groups": (t) => [
    sent("PUT", `${at(t.namespace)}/groups`, { groups: [{ group: "bravo", role: "admin" }] }),
    sent("PUT", `${at(t.namespace)}/groups`, { groups: [{ group: "bravo", role: "owner" }] }),
  ],
  "GET /.well-known/oauth-authorization-server": () => [get("/.well-known/oauth-authorization-server")],
  "GET /authorize": (t) =>
    [`/me/mcp/${t.namespace}`, `/mcp/${t.namespace}/${t.collection}`, "/api/v1", `/r/${t.link}/mcp`].map((path) =>
      get(`/authorize?${query({ ...client, ...pkce, resource: origin + path, scope: "skills:read" })}`),
    ),
  "POST /authorize": (t) => [
    form("/authorize", { handle: t.tokenId, decision: "approve" }),
    form("/authorize", { handle: t.tokenId, decision: "deny" }),
  ],
  "POST /token": (t) => [
    form("/token", { grant_type: "authorization_code", code: `${t.tokenId}:${t.linkId}:x`, ...client }),
    form("/token", { grant_type: "refresh_token", refresh_token: t.link, client_id: t.tokenId }),
    form("/token", {}),
  ],
  "POST /revoke": (t) => [form("/revoke", { token: t.link, client_id: t.tokenId })],
  "POST /register": (t) => [
    sent("POST", "/register", { redirect_uris: [`https://${t.namespace}.example/callback`] }),
    sent("POST", "/register", { client_name: t.namespace }),
  ],
  "GET /sign-in": (t) => [get(`/sign-in?${query({ return: `/authorize?resource=${origin}/me/mcp/${t.namespace}` })}`)],
  "POST /sign-in": (t) =>
    [t.link, t.invitation, t.tokenId].map((token) => form("/sign-in", { token, return: "/account" })),
  "POST /sign-out": (t) => [form("/sign-out", { return: `/account/invitations/${t.invitation}` })],
  "GET /sign-in/provider": (t) => [get(`/sign-in/provider?return=/account/invitations/${t.invitation}`)],
  "GET /sign-in/callback": (t) => [get(`/sign-in/callback?code=${t.tokenId}&state=${"0".repeat(32)}`)],
  "GET /account": () => [get("/account")],
  "POST /account/grants/:id/revoke": (t) => [form(`/account/grants/${t.tokenId}/revoke`, {})],
  "GET /account/invitations/:secret": (t) => [get(`/account/invitations/${t.invitation}`)],
  "POST /account/invitations/:secret": (t) => [form(`/account/invitations/${t.invitation}`, {})],
};
