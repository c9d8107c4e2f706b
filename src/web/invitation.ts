import { Hono } from "hono";

import { requestOrigin } from "../auth/request-origin.ts";
import { mintId, parseSecret } from "../auth/tokens.ts";
import { Problem } from "../domain/problem.ts";
import type { TokenPrincipal } from "../domain/principal.ts";
import type { AppEnv } from "../env.ts";
import { acceptInvitation, findOffer, noSuchInvitation } from "../storage/invitations.ts";
import type { Offer } from "../storage/invitations.ts";
import { findVisitor, readForm, redirect, showPage, signingKeyOf } from "./browser.ts";
import type { WebContext } from "./browser.ts";
import { invitationPage } from "./invitation-page.ts";
import { messagePage } from "./message-page.ts";
import { providerOf } from "./provider-settings.ts";

/**
 * Accepting an invitation as somebody whom the OpenID provider has named. Nobody becomes a member by being led to this
 * page: it says whose namespace it is, and only a form of its own accepts.
 */
export const invitationPages = new Hono<AppEnv>();

const path = "/account/invitations/:secret";

invitationPages.get(path, (context) =>
  answered(async () => {
    const { offer } = await openOffer(context);
    const visitor = await findVisitor(context);
    const own = context.req.path;
    const canSignIn = providerOf(context.env) !== undefined;
    return showPage(
      await invitationPage({
        namespace: offer.namespace,
        title: offer.title,
        role: offer.role,
        account: visitor?.person === undefined ? undefined : visitor.name,
        path: own,
        signInHref: canSignIn ? `/sign-in/provider?return=${encodeURIComponent(own)}` : undefined,
        expiresAt: new Date(offer.expires_at).toISOString(),
      }),
    );
  }),
);

invitationPages.post(path, (context) =>
  answered(async () => {
    await readForm(context);
    const { offer, secretHash } = await openOffer(context);
    const person = (await findVisitor(context))?.person;
    if (person === undefined) return redirect(context.req.path);
    const principal: TokenPrincipal = { ...nobodyYet, member: person };
    const from = requestOrigin(context.req.raw.headers);
    const actor = { principal, namespace: offer.namespace, now: Date.now(), from };
    const member = { id: mintId(), person, role: offer.role };
    await acceptInvitation(context.env.DB, actor, { invitation: { id: offer.id, secretHash }, member });
    return redirect("/account");
  }),
);

/** Whoever accepts has no right in the namespace before. */
const nobodyYet = { kind: "token", id: "", namespace: undefined, role: "reader", scopes: [], below: "" } as const;

async function openOffer(context: WebContext): Promise<{ offer: Offer; secretHash: Secret["secretHash"] }> {
  const secret = await parseSecret("ski", context.req.param("secret") ?? "", signingKeyOf(context));
  const offer = secret === undefined ? undefined : await findOffer(context.env.DB, secret, Date.now());
  if (secret === undefined || offer === undefined) throw noSuchInvitation();
  return { offer, secretHash: secret.secretHash };
}

type Secret = NonNullable<Awaited<ReturnType<typeof parseSecret>>>;

async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return showPage(await messagePage({ title: error.title, text: error.message }), error.status);
  }
}
