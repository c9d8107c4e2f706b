import { env } from "cloudflare:workers";

import { hashOf, userIdOf } from "../../src/auth/access-token.ts";
import { createSignIn } from "../../src/storage/sign-ins.ts";
import { origin, send } from "../harness.ts";

/** A person's browser as far as these pages need one: it keeps cookies, follows links of its own site and sends forms. */
export class Person {
  readonly #cookies = new Map<string, string>();
  readonly #ask: typeof send;

  /** `ask`: how the registry is reached, where it is not the one that all tests share. */
  constructor(ask: typeof send = send) {
    this.#ask = ask;
  }

  get cookies(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async open(path: string, headers: Record<string, string> = {}): Promise<Shown> {
    return this.#send(path, { headers: { ...headers, "sec-fetch-site": "cross-site" } });
  }

  async submit(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Shown> {
    const body = new URLSearchParams(fields);
    return this.#send(path, { method: "POST", body, headers: { origin, "sec-fetch-site": "same-origin", ...headers } });
  }

  /** Opens, and goes on as long as it is led on within the site. */
  async follow(path: string): Promise<Shown> {
    let shown = await this.open(path);
    while (shown.location?.startsWith("/")) shown = await this.open(shown.location);
    return shown;
  }

  async signIn(token: string, returnTo = "/account"): Promise<Shown> {
    return this.submit("/sign-in", { token, return: returnTo });
  }

  /** Whom the OpenID provider would have named, without asking one; what they are by now they joined at its page. */
  async become(who: { issuer: string; subject: string }): Promise<void> {
    const secret = [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0"));
    const [hash, userId] = [await hashOf(secret.join("")), await userIdOf({ person: who }, env.SIGNING_KEY!)];
    const now = Date.now();
    const proven = `UPDATE members SET is_proven = 1 WHERE issuer = ?1 AND subject = ?2`;
    await env.DB.prepare(proven).bind(who.issuer, who.subject).run();
    const signIn = { hash, userId, name: who.subject, account: { person: who }, expiresAt: now + 3_600_000 };
    await createSignIn(env.DB, signIn, now);
    this.#cookies.set("__Host-skill-registry", secret.join(""));
  }

  async #send(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Shown> {
    const headers = new Headers(init.headers);
    if (this.cookies !== "") headers.set("cookie", this.cookies);
    const response = await this.#ask(path, { ...init, redirect: "manual", headers });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const html = await response.text();
    return { status: response.status, headers: response.headers, html, location: response.headers.get("location") };
  }

  #keep(line: string): void {
    const [pair, ...attributes] = line.split(/;\s*/);
    const [name, value] = [pair!.slice(0, pair!.indexOf("=")), pair!.slice(pair!.indexOf("=") + 1)];
    const isGone = attributes.some((one) => one.toLowerCase() === "max-age=0");
    if (isGone) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

export interface Shown {
  status: number;
  headers: Headers;
  html: string;
  location: string | null;
}

/** The value of a hidden field. */
export function fieldIn(html: string, name: string): string {
  const tag = [...html.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag).find((tag) => tag.includes(`name="${name}"`));
  const value = /\bvalue="([^"]*)"/.exec(tag ?? "")?.[1];
  if (value === undefined) throw new Error(`no field ${name} in ${html.slice(0, 2_000)}`);
  return value.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'");
}
