import { html } from "hono/html";

import type { Role, Scope } from "../domain/principal.ts";
import { shownHost, shownText } from "./foreign-text.ts";
import { renderPage } from "./layout.ts";
import type { Markup, Page } from "./layout.ts";
import { sentenceOfScope } from "./scope-words.ts";
import { shownAddress, shownTime } from "./shown-value.ts";

/** What an application asks for, as the person who decides must see it. */
export interface Consent {
  /** `domain`: the host of its metadata document; undefined: it registered itself, and its name is unverified. */
  client: { name: string; id: string; domain: string | undefined };
  redirect: { uri: string; host: string; isLoopback: boolean };
  /** Of MCP or of the API, exactly. */
  address: string;
  /** What would be granted. */
  scopes: readonly Scope[];
  /** Of a person at the API: the namespaces in which it is granted, and what they are there. */
  roles: Readonly<Record<string, Role>> | undefined;
  /** Of a person at an address of the whole registry: it counts for namespaces that they join later, too. */
  isEverywhere: boolean;
  /** What was asked for and the account does not have. */
  refusedScopes: readonly Scope[];
  account: string;
  /** The day (2027-03-12) on which the account's rights end, where that is known. */
  until: string | undefined;
  handle: string;
  /** The page's own path with its query. */
  returnTo: string;
}

/** Longer than one is in earnest, because its end says whose it is. */
const maxAccountLength = 600;

export function consentPage(consent: Consent): Promise<Page> {
  const body = html`<div class="card">
    <h1>Allow this application access?</h1>
    ${applicationOf(consent)} ${factsOf(consent)}
    <h2>It could then</h2>
    <ul class="rights">
      ${consent.scopes.map((scope) => html`<li>${sentenceOfScope[scope]}</li>`)}
    </ul>
    ${placesOf(consent)} ${refusedOf(consent.refusedScopes)}
    <form method="post" action="/authorize" class="actions">
      <input type="hidden" name="handle" value="${consent.handle}" />
      <button name="decision" value="deny">Deny</button>
      <button name="decision" value="approve" class="solid">Allow</button>
    </form>
    <p class="small quiet">
      You are asked every time; no answer is remembered. What you allow you can withdraw at any time on
      <a href="/account">your account page</a>.
    </p>
    ${detailsOf(consent)}
  </div>`;
  return renderPage({ title: "Allow access?", body, formTargets: [targetOf(consent.redirect.uri)] });
}

/** The name never stands without its host, because anybody can choose any name. */
function applicationOf({ client: { name, domain } }: Consent): Markup {
  const shown = shownText(name);
  return html`<div class="who">
    <p class="name">${shown === "" ? "An application without a name" : html`<bdi>${shown}</bdi>`}</p>
    ${
      domain === undefined
        ? html`<p class="note warn">This application named itself; nobody has checked the name.</p>`
        : html`<p class="host"><span>of</span> <bdi>${shownHost(domain)}</bdi></p>
            <p class="small quiet">Checked: the application is described at this address. It chose its name itself.</p>`
    }
  </div>`;
}

function factsOf(consent: Consent): Markup {
  const { address, account, until, returnTo } = consent;
  return html`<dl class="facts">
    <dt>Access is sent to</dt>
    <dd>${receiverOf(consent)}</dd>
    <dt>For the address</dt>
    <dd>${shownAddress(address)}</dd>
    <dt>You are signed in as</dt>
    <dd>
      <bdi>${shownText(account, maxAccountLength)}</bdi>
      <form method="post" action="/sign-out">
        <input type="hidden" name="return" value="${returnTo}" />
        <button class="plain">Use another account</button>
      </form>
    </dd>
    ${
      until === undefined
        ? ""
        : html`<dt>It ends by itself</dt>
            <dd>${shownTime(until)}</dd>`
    }
  </dl>`;
}

function receiverOf({ client, redirect }: Consent): Markup {
  const host = html`<strong><bdi>${shownHost(redirect.host)}</bdi></strong>`;
  if (redirect.isLoopback) {
    return html`<strong>This computer</strong> (<bdi>${shownHost(redirect.host)}</bdi>)
      <p class="note warn">
        Any program on this computer could be listening there. Allow this only if you have just started it yourself.
      </p>`;
  }
  if (!isWeb(redirect.uri)) {
    return html`<strong>A program on this device</strong>, whichever opens
      <code>${shownText(new URL(redirect.uri).protocol)}</code> addresses
      <p class="note warn">
        Any program could have claimed them. Allow this only if you have just started it yourself.
      </p>`;
  }
  if (client.domain === undefined || client.domain === redirect.host) return host;
  return html`${host}
    <p class="note warn">This is another host than the application's own.</p>`;
}

function placesOf({ roles, isEverywhere }: Consent): Markup | "" {
  if (isEverywhere) {
    return html`<p>In all namespaces that you are a member of, also in those that you join later.</p>`;
  }
  if (roles === undefined) return "";
  return html`<p>In these namespaces, as far as your role there goes, and in no other that you join later:</p>
    <ul class="rights">
      ${Object.entries(roles).map(([namespace, role]) => html`<li>${namespace} (${role})</li>`)}
    </ul>`;
}

function refusedOf(scopes: readonly Scope[]): Markup | "" {
  if (scopes.length === 0) return "";
  return html`<h2>It asked for more, which you cannot give here</h2>
    <ul class="rights refused">
      ${scopes.map((scope) => html`<li>${sentenceOfScope[scope]}</li>`)}
    </ul>`;
}

function detailsOf({ client, redirect }: Consent): Markup {
  return html`<details>
    <summary>Technical details</summary>
    <dl class="facts">
      <dt>Redirect address</dt>
      <dd>${shownAddress(redirect.uri)}</dd>
      <dt>Client ID</dt>
      <dd>${shownAddress(client.id)}</dd>
    </dl>
  </details>`;
}

/** Where the browser goes with the answer: a site, or by its own scheme a program on the device. */
function targetOf(uri: string): string {
  const { origin, protocol } = new URL(uri);
  return isWeb(uri) ? origin : protocol;
}

function isWeb(uri: string): boolean {
  return /^https?:$/.test(new URL(uri).protocol);
}
