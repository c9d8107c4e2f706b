import { Hono } from "hono";

import { askerOf } from "../auth/asker.ts";
import { principalOf } from "../auth/credential.ts";
import { parseSecret } from "../auth/tokens.ts";
import { Problem, problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { Catalog } from "../storage/catalog.ts";
import { findToken } from "../storage/tokens.ts";
import { isNameable } from "./allowance.ts";
import { originOf, readForm, readReturn, redirect, showPage, signIn, signingKeyOf, signOut } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { providerOf } from "./provider-settings.ts";
import { signInPage } from "./sign-in-page.ts";

/** Signing in at the pages with a registry token, and signing out. What the token may, and no more, can be allowed. */
export const signInPages = new Hono<AppEnv>();

signInPages.get("/sign-in", async (context) => {
  return showPage(await signInPage(formOf(context, readReturn(context, context.req.query("return")))));
});

signInPages.post("/sign-in", async (context) => {
  const form = await readForm(context);
  const returnTo = readReturn(context, form.get("return"));
  try {
    const { account, shown } = await readAccount(context, (form.get("token") ?? "").trim());
    return redirect(returnTo, new Headers({ "set-cookie": await signIn(context, account, shown) }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { meter } = await askerOf(context.req.raw, { adminToken: undefined, signingKey: context.env.SIGNING_KEY });
    const refusal = meter === undefined ? error : await meter.refusalOf(error);
    const page = await signInPage({ ...formOf(context, returnTo), problem: refusal.message });
    return showPage(page, refusal.status, new Headers(refusal.details.headers));
  }
});

signInPages.post("/sign-out", async (context) => {
  const form = await readForm(context);
  const headers = new Headers({ "set-cookie": await signOut(context) });
  return redirect(`/sign-in?return=${encodeURIComponent(readReturn(context, form.get("return")))}`, headers);
});

/** @throws Problem `invalid_token`: the operator's token signs nobody in, since no client should have its rights. */
async function readAccount(context: WebContext, text: string) {
  const token = await parseSecret("skr", text, signingKeyOf(context));
  if (token === undefined) throw problem("invalid_token", "This is no token of this registry; they begin with skr_");
  const now = Date.now();
  const viewer = { everything: false, tokenId: token.id, tokenHash: token.secretHash, access: null, person: null, now };
  const { DB: db } = context.env;
  const gate = await new Catalog(db, viewer, { namespace: undefined, collection: undefined }, () => {}).gate();
  const principal = principalOf({ kind: "token", ...token }, gate);
  const namespace = principal.kind === "token" ? principal.namespace : undefined;
  const row = namespace === undefined ? undefined : await findToken(db, namespace, "token", token.id);
  if (row === undefined) throw problem("invalid_token", "The token is unknown, expired or revoked");
  const name = `token ${row.label === "" ? row.id : `"${row.label}"`} of the namespace ${namespace}`;
  return { account: { tokenId: token.id }, shown: { name, expiresAt: row.expires_at } };
}

function formOf(context: WebContext, returnTo: string) {
  const provider = providerOf(context.env);
  const href = `/sign-in/provider?return=${encodeURIComponent(returnTo)}`;
  const purpose = purposeOf(context, returnTo);
  return {
    returnTo,
    ...(provider === undefined ? {} : { provider: { name: provider.name, href } }),
    ...(purpose === undefined ? {} : { purpose }),
  };
}

/**
 * What the client has named is shown on the consent page, once it is known to be so. Anybody may write the link that
 * leads here, so that only an address of ours, spelled as we spell it, is shown of it.
 */
function purposeOf(context: WebContext, returnTo: string): string | undefined {
  const origin = originOf(context);
  const url = new URL(returnTo, origin);
  const resource = url.searchParams.get("resource");
  if (url.pathname !== "/authorize" || resource === null || !isNameable(origin, resource)) return undefined;
  return `to connect an application to ${resource}`;
}
