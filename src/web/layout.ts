import { html, raw } from "hono/html";

import { styleSheet } from "./style-sheet.ts";

/** The frame that all pages for people share. None has a script, an image or anything from elsewhere. */
export interface Page {
  html: string;
  /** The whole Content-Security-Policy. */
  csp: string;
}

export type Markup = ReturnType<typeof html>;

interface Parts {
  title: string;
  body: Markup;
  /** Where the answer to a form of the page may redirect besides here: Chrome applies form-action to that as well. */
  formTargets?: readonly string[];
}

/** @throws Error for a form target that is not an origin as browsers write it, or the scheme of an installed program. */
export async function renderPage({ title, body, formTargets = [] }: Parts): Promise<Page> {
  const csp = policyOf(await hashOfStyle(), formTargets.map(sourceOf));
  const document = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Skill Registry</title>
        ${styleElement}
      </head>
      <body>
        <header class="brand">${mark}Skill Registry</header>
        <main>${body}</main>
      </body>
    </html>`;
  return { html: document.toString(), csp };
}

// Put together apart from the document, whose formatting must not move the bytes that are hashed.
const styleElement = raw(`<style>${styleSheet}</style>`);

const mark = html`<svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
  <rect x="2" y="3" width="16" height="4" rx="1.5" fill="currentColor" />
  <rect x="2" y="8.5" width="11" height="4" rx="1.5" fill="currentColor" opacity="0.7" />
  <rect x="2" y="14" width="6" height="4" rx="1.5" fill="currentColor" opacity="0.45" />
</svg>`;

let styleHash: string | undefined;

async function hashOfStyle(): Promise<string> {
  if (styleHash !== undefined) return styleHash;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(styleSheet));
  styleHash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return styleHash;
}

function policyOf(hash: string, formSources: readonly string[]): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ["form-action 'self'", ...formSources].join(" "),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
}

/** What browsers and not installed programs answer to: as a form target, each of them would allow every site. */
const broadSchemes = /^(?:https?|wss?|ftp|file|filesystem|blob|data|about|javascript|view-source):$/;

/** Hosts as browsers write them, without what a policy would read as a wildcard or as its next part. */
const plainOrigin = /^https?:\/\/(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(?::\d+)?$/;

/** How the policy writes a form target. */
function sourceOf(target: string): string {
  if (/^[a-z][a-z0-9+.-]*:$/.test(target) && !broadSchemes.test(target)) return target;
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined || url.origin !== target || !plainOrigin.test(target)) {
    throw new Error(`"${target}" is no origin that a form may lead to`);
  }
  // A policy cannot write an IPv6 address, and browsers ignore one that does: any host at that port is the closest.
  return url.hostname.startsWith("[") ? `${url.protocol}//*${url.port === "" ? "" : `:${url.port}`}` : target;
}
