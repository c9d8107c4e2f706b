import { html, raw } from "hono/html";

import { shownText } from "./foreign-text.ts";
import type { Markup } from "./layout.ts";

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" });

/** Longer than any address is in earnest. */
const maxAddressLength = 1_000;

/** An address whole, with places where a narrow screen may break it, which copying it does not bring along. */
export function shownAddress(address: string): Markup {
  const parts = shownText(address, maxAddressLength).split(/(?<=[/?&])(?!\/)/);
  return html`<code>${parts.map((part, place) => (place === 0 ? part : [raw("<wbr>"), part]))}</code>`;
}

/** A day (2027-03-12) or a moment (2027-03-12T14:05:00.000Z) in words; anything else as it is. */
export function shownTime(text: string): Markup {
  if (!/^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(text) || Number.isNaN(Date.parse(text))) return html`${shownText(text)}`;
  const at = new Date(text);
  const words = text.includes("T") ? `${day.format(at)}, ${clock.format(at)} UTC` : day.format(at);
  return html`<time datetime="${text}">${words}</time>`;
}
