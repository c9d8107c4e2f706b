import { html } from "hono/html";

import { shownText } from "./foreign-text.ts";
import { renderPage } from "./layout.ts";
import type { Markup, Page } from "./layout.ts";

export interface SignIn {
  /** Where to go on: a path of our own, with its query. */
  returnTo: string;
  /** Why the last try did not succeed. */
  problem?: string;
  /** The operator's OpenID provider. */
  provider?: { name: string; href: string };
  /** What it is needed for, as in "to connect an application to https://…". */
  purpose?: string;
}

const maxSentenceLength = 500;

export function signInPage({ returnTo, problem, provider, purpose }: SignIn): Promise<Page> {
  const body = html`<div class="card">
    <h1>Sign in</h1>
    ${purpose === undefined ? "" : html`<p class="quiet">${shownText(purpose, maxSentenceLength)}</p>`}
    ${
      provider === undefined
        ? ""
        : html`<p><a class="button solid" href="${provider.href}">Sign in with ${shownText(provider.name)}</a></p>
            <p class="or">or with a token</p>`
    }
    ${tokenForm({ returnTo, problem, isFirst: provider === undefined })}
  </div>`;
  return renderPage({ title: "Sign in", body });
}

interface TokenForm {
  returnTo: string;
  problem: string | undefined;
  isFirst: boolean;
}

function tokenForm({ returnTo, problem, isFirst }: TokenForm): Markup {
  const isRefused = problem !== undefined;
  return html`<form method="post" action="/sign-in" autocomplete="off">
    <input type="hidden" name="return" value="${returnTo}" />
    ${isRefused ? html`<p class="note bad" role="alert" id="token-problem">${shownText(problem, maxSentenceLength)}</p>` : ""}
    <div class="field">
      <label for="token">Registry token</label>
      <input
        id="token"
        name="token"
        type="password"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        required
        aria-describedby="${isRefused ? "token-problem token-help" : "token-help"}"
        ${isRefused ? html`aria-invalid="true"` : ""}
      />
      <p class="small quiet" id="token-help">
        It begins with <code>skr_</code> and was shown once, when it was made. An administrator of your namespace makes
        one. You can then allow what the token allows, and no more.
      </p>
    </div>
    <button class="${isFirst ? "solid" : ""}">Sign in with this token</button>
  </form>`;
}
