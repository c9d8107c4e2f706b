import { Hono } from "hono";

import { endpoints } from "../auth/authorization-server.ts";
import { scopes } from "../domain/principal.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";

/** RFC 8414: what clients read before they sign in. The issuer is the origin, so that clients of 2025-03 find it too. */
export const serverMetadata = new Hono<AppEnv>();

serverMetadata.get("/.well-known/oauth-authorization-server", (context) => {
  const issuer = publicOriginOf(context.env, context.req.url);
  return context.json({
    issuer,
    authorization_endpoint: issuer + endpoints.authorize,
    token_endpoint: issuer + endpoints.token,
    registration_endpoint: issuer + endpoints.register,
    revocation_endpoint: issuer + endpoints.revoke,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  });
});
