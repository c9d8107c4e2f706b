import { apiAddress } from "../domain/address.ts";
import { problem } from "../domain/problem.ts";
import type { Problem } from "../domain/problem.ts";
import { publicOriginOf } from "../env.ts";
import type { ApiContext } from "./caller.ts";

/**
 * What the API says to a client that could sign in (RFC 6750, section 3; RFC 9728, section 5.1): where it learns how,
 * and which scopes the operation takes, all of them, since clients ask for what they are told and nothing else.
 */
export function withChallenge(context: ApiContext, refusal: Problem): Problem {
  const { code, details } = refusal;
  if (!context.req.path.startsWith(`${apiAddress}/`)) return refusal;
  const isScope = code === "forbidden" && details.scopes !== undefined;
  if (code !== "unauthorized" && code !== "invalid_token" && !isScope) return refusal;
  const error = {
    unauthorized: "",
    invalid_token: 'error="invalid_token", ',
    forbidden: 'error="insufficient_scope", ',
  }[code as "unauthorized"];
  const origin = publicOriginOf(context.env, context.req.url);
  const scope = (details.scopes ?? ["skills:read"]).join(" ");
  const metadata = `${origin}/.well-known/oauth-protected-resource${apiAddress}`;
  const challenge = `Bearer ${error}resource_metadata="${metadata}", scope="${scope}"`;
  return problem(code, refusal.message, { ...details, headers: { ...details.headers, "www-authenticate": challenge } });
}
