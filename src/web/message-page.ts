import { html } from "hono/html";

import { shownText } from "./foreign-text.ts";
import { renderPage } from "./layout.ts";
import type { Page } from "./layout.ts";

/** Something that went wrong, or that is done. */
export interface Message {
  title: string;
  text: string;
  hint?: string;
  link?: { href: string; label: string };
}

/** Texts may quote what others wrote. */
const maxTextLength = 1_000;

export function messagePage({ title, text, hint, link }: Message): Promise<Page> {
  const shownTitle = shownText(title);
  const body = html`<div class="card">
    <h1><bdi>${shownTitle}</bdi></h1>
    <p>${shownText(text, maxTextLength)}</p>
    ${hint === undefined ? "" : html`<p class="quiet">${shownText(hint, maxTextLength)}</p>`}
    ${link === undefined ? "" : html`<p><a class="button" href="${link.href}">${shownText(link.label)}</a></p>`}
  </div>`;
  return renderPage({ title: shownTitle, body });
}
