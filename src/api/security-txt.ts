import { Hono } from "hono";

import { securityTxtLifetimeMs, securityTxtMaxAgeSeconds } from "../domain/limits.ts";
import type { AppEnv } from "../env.ts";
import { publicOriginOf } from "../env.ts";

/** `/.well-known/security.txt` (RFC 9116): where somebody who found a weakness reports it. */
export const securityTxt = new Hono<AppEnv>();

const address = "/.well-known/security.txt";
const dayMs = 86_400_000;

securityTxt.get(address, (context) => {
  const origin = publicOriginOf(context.env, context.req.url);
  const lines = [
    ...contactsOf(context.env.SECURITY_CONTACT, origin).map((contact) => `Contact: ${contact}`),
    `Expires: ${expiryOf(Date.now())}`,
    "Preferred-Languages: en",
    `Canonical: ${origin}${address}`,
  ];
  return context.text(`${lines.join("\n")}\n`, 200, {
    "cache-control": `public, max-age=${securityTxtMaxAgeSeconds}`,
  });
});

/** The mailbox that RFC 2142 wants every domain to have, where the operator names none. */
function contactsOf(configured: string | undefined, origin: string): string[] {
  const contacts = (configured ?? "").split(/\s+/).filter((contact) => contact !== "");
  return contacts.length > 0 ? contacts : [`mailto:security@${new URL(origin).hostname}`];
}

/** A whole day far enough ahead, so that the file says the same all day and never runs out. */
function expiryOf(now: number): string {
  const expiry = Math.floor(now / dayMs) * dayMs + securityTxtLifetimeMs;
  return new Date(expiry).toISOString().replace(".000Z", "Z");
}
