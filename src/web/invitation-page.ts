import { html } from "hono/html";

import type { Role } from "../domain/principal.ts";
import { shownText } from "./foreign-text.ts";
import { renderPage } from "./layout.ts";
import type { Markup, Page } from "./layout.ts";
import { shownTime } from "./shown-value.ts";

export interface InvitationOffer {
  namespace: string;
  title: string;
  role: Role;
  /** Undefined: nobody is signed in as a person. */
  account: string | undefined;
  /** Of the page itself, where its form goes. */
  path: string;
  /** Undefined where there is nowhere to sign in as a person. */
  signInHref: string | undefined;
  expiresAt: string;
}

const abilitiesOf: Readonly<Record<Role, string>> = {
  reader: "A reader reads its skills, also the private ones.",
  publisher: "A publisher reads its skills, also the private ones, publishes skills and changes collections.",
  admin: "An admin reads and publishes its skills, and manages its members, tokens, links and settings.",
};
const maxAccountLength = 600;

export function invitationPage(offer: InvitationOffer): Promise<Page> {
  const { namespace, title, role, expiresAt } = offer;
  const shownTitle = shownText(title);
  const body = html`<div class="card">
    <h1>Join the namespace ${shownText(namespace)}?</h1>
    <dl class="facts">
      <dt>Namespace</dt>
      <dd>
        <strong>${shownText(namespace)}</strong>${shownTitle === "" ? "" : html`, titled <bdi>${shownTitle}</bdi>`}
      </dd>
      <dt>Your role</dt>
      <dd><strong>${role}</strong><br />${abilitiesOf[role]}</dd>
      <dt>The invitation ends</dt>
      <dd>${shownTime(expiresAt)}</dd>
      ${accountOf(offer)}
    </dl>
    <p>
      Once you accept, agents that you connect to <code>/me/mcp</code> are shown the skills of this namespace. Accept
      only if you know who invited you: what its publishers write is what your agents read.
    </p>
    ${answerOf(offer)}
  </div>`;
  return renderPage({ title: "Invitation", body });
}

function accountOf({ account }: InvitationOffer): Markup | "" {
  if (account === undefined) return "";
  return html`<dt>You are signed in as</dt>
    <dd><bdi>${shownText(account, maxAccountLength)}</bdi></dd>`;
}

function answerOf({ account, path, signInHref }: InvitationOffer): Markup {
  if (account !== undefined) {
    return html`<form method="post" action="${path}">
        <button name="decision" value="accept" class="solid">Accept the invitation</button>
      </form>
      <p class="small quiet aside">To decline it, close this page.</p>`;
  }
  if (signInHref !== undefined) {
    return html`<p><a class="button solid" href="${signInHref}">Sign in to accept</a></p>
      <p class="small quiet">To decline it, close this page.</p>`;
  }
  return html`<p class="note warn">
    Here nobody can sign in as a person, so it cannot be accepted on this page. Ask whoever invited you how to go on.
  </p>`;
}
