import type { Env } from "../env.ts";

/** The OpenID provider of the operator, at which people sign in. */
export interface Provider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** "Sign in with …" */
  name: string;
  scope: string;
  groupsClaim: string;
}

/** Undefined unless issuer, client id and secret are all there: a half of it would only fail later, before people. */
export function providerOf(env: Env): Provider | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (!issuer || !clientId || !clientSecret || !URL.canParse(issuer)) return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    name: env.OIDC_NAME || new URL(issuer).host,
    scope: env.OIDC_SCOPES || "openid profile email",
    groupsClaim: env.OIDC_GROUPS_CLAIM || "groups",
  };
}
