import { Hono } from "hono";

import { isChallenging } from "../auth/credential.ts";
import { apiAddress, parseMcpAddress } from "../domain/address.ts";
import { problem } from "../domain/problem.ts";
import type { Scope } from "../domain/principal.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import { identify, openAs } from "./caller.ts";
import type { ApiContext } from "./caller.ts";

/**
 * RFC 9728 documents for exactly the addresses that ask for a token, the API among them: some hosts demand a login wherever they find
 * one. A private and an unknown address have the same document, but for the address itself, as it was typed.
 */
export const resourceMetadata = new Hono<AppEnv>();

const base = "/.well-known/oauth-protected-resource";
const scope: Scope = "skills:read";

resourceMetadata.get(`${base}/*`, async (context) => {
  await identify(context, undefined);
  const path = new URL(context.req.url).pathname.slice(base.length);
  if (!(await asksForToken(context, path))) throw problem("not_found", "Nothing at this address asks for a token");
  const origin = publicOriginOf(context.env, context.req.url);
  return context.json({
    resource: origin + path,
    authorization_servers: [origin],
    bearer_methods_supported: ["header"],
    scopes_supported: [scope],
  });
});

async function asksForToken(context: ApiContext, path: string): Promise<boolean> {
  const address = parseMcpAddress(path);
  if (path === apiAddress) return true;
  if (address === undefined) return false;
  if (address.door === "me") return true;
  if (address.namespace === undefined && !address.isAbsent) return false;
  const reach = { namespace: address.namespace, collection: address.collection };
  return isChallenging(await openAs(context, { kind: "none" }, reach).gate(), reach);
}
