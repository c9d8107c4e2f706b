import { html } from "hono/html";

import type { Role, Scope } from "../domain/principal.ts";
import { shownHost, shownText } from "./foreign-text.ts";
import { renderPage } from "./layout.ts";
import type { Markup, Page } from "./layout.ts";
import { labelOfScope } from "./scope-words.ts";
import { shownAddress, shownTime } from "./shown-value.ts";

/** What a person has allowed, and where they are a member. */
export interface Account {
  account: string;
  grants: readonly AllowedAccess[];
  /** The address of the next page. */
  next: string | undefined;
  memberships: readonly Membership[];
}

export interface AllowedAccess {
  id: string;
  client: string;
  /** The host of the client's metadata document; undefined: it registered itself, and its name is unverified. */
  clientDomain: string | undefined;
  address: string;
  scopes: readonly Scope[];
  createdAt: string;
  lastUsedAt: string | null;
  lastUsedFrom: string | null;
  expiresAt: string | null;
}

export interface Membership {
  namespace: string;
  role: Role;
  /** The group of the OpenID provider that brings it. */
  via: string | undefined;
}

const maxAccountLength = 600;

export function accountPage({ account, grants, next, memberships }: Account): Promise<Page> {
  const body = html`<div class="top">
      <div>
        <h1>Your account</h1>
        <p class="quiet">Signed in as <bdi>${shownText(account, maxAccountLength)}</bdi></p>
      </div>
      <form method="post" action="/sign-out"><button class="inline">Sign out</button></form>
    </div>
    <section class="card" aria-labelledby="access">
      <h2 id="access">Applications with access</h2>
      ${
        grants.length === 0
          ? html`<p class="quiet">
              None. An application that you allow access when it connects is listed here until you withdraw it.
            </p>`
          : html`<ul class="list">
                ${grants.map(grantOf)}
              </ul>
              <p class="small quiet">
                Withdrawing ends it at once, with the tokens, links and invitations that the application made.
              </p>`
      }
      ${next === undefined ? "" : html`<p class="aside"><a href="${next}">Show earlier ones</a></p>`}
    </section>
    ${membershipsOf(memberships)}`;
  return renderPage({ title: "Your account", body });
}

function grantOf(grant: AllowedAccess): Markup {
  const { id, client, clientDomain, address, scopes, createdAt, expiresAt } = grant;
  const name = shownText(client) || "An application without a name";
  return html`<li>
    <div class="head">
      <div>
        <h3><bdi>${name}</bdi></h3>
        <p class="small quiet">
          ${clientDomain === undefined ? "Its name was not checked" : html`of <bdi>${shownHost(clientDomain)}</bdi>`}
        </p>
      </div>
      <form method="post" action="/account/grants/${encodeURIComponent(id)}/revoke">
        <button class="inline">
          Withdraw<span class="unseen"> access of <bdi>${name}</bdi></span>
        </button>
      </form>
    </div>
    <dl class="pairs">
      <dt>Address</dt>
      <dd>${shownAddress(address)}</dd>
      <dt>May</dt>
      <dd>${scopes.map((scope) => html`<span class="tag">${labelOfScope[scope]}</span> `)}</dd>
      <dt>Allowed</dt>
      <dd>${shownTime(createdAt)}</dd>
      <dt>Last used</dt>
      <dd>${lastUseOf(grant)}</dd>
      ${
        expiresAt === null
          ? ""
          : html`<dt>Ends</dt>
              <dd>${shownTime(expiresAt)}</dd>`
      }
    </dl>
  </li>`;
}

function lastUseOf({ lastUsedAt, lastUsedFrom }: AllowedAccess): Markup {
  if (lastUsedAt === null) return html`Never`;
  if (lastUsedFrom === null || lastUsedFrom === "") return shownTime(lastUsedAt);
  return html`${shownTime(lastUsedAt)} from <bdi>${shownText(lastUsedFrom)}</bdi>`;
}

function membershipsOf(memberships: readonly Membership[]): Markup | "" {
  if (memberships.length === 0) return "";
  return html`<section class="card" aria-labelledby="memberships">
    <h2 id="memberships">Namespaces</h2>
    <ul class="list">
      ${memberships.map(
        ({ namespace, role, via }) =>
          html`<li>
            <h3>${shownText(namespace)}</h3>
            <p class="small quiet">
              ${role}${via === undefined ? "" : html`, by the group <bdi>${shownText(via)}</bdi>`}
            </p>
          </li>`,
      )}
    </ul>
  </section>`;
}
