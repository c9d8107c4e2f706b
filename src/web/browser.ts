import type { Context } from "hono";

import { requireSecret } from "../auth/credential.ts";
import { hashOf, userIdOf } from "../auth/access-token.ts";
import type { Account } from "../auth/access-token.ts";
import { randomHex } from "../auth/mac.ts";
import { maxAuthorizeQueryLength, maxFormBytes, signInMs } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import { readBounded } from "../publish/bounded-body.ts";
import { createSignIn, endSignIn, findSignIn } from "../storage/sign-ins.ts";
import type { SignIn } from "../storage/sign-ins.ts";
import type { Page } from "./layout.ts";

/**
 * A person's browser: its cookie, its forms, and how pages are sent to it. The cookie is a random text whose hash is
 * kept; it is never sent along with what another site makes the browser post, and forms say where they come from.
 */
export type WebContext = Context<AppEnv>;

/** `__Host-`: this origin only, https only (browsers count loopback as such), and no subdomain can set it. */
const cookieName = "__Host-skill-registry";
const secretBytes = 32;

export function originOf(context: WebContext): string {
  return publicOriginOf(context.env, context.req.url);
}

export function signingKeyOf(context: WebContext): string {
  return requireSecret("SIGNING_KEY", context.env.SIGNING_KEY);
}

export async function findVisitor(context: WebContext): Promise<SignIn | undefined> {
  const secret = cookieOf(context);
  if (secret === undefined) return undefined;
  return findSignIn(context.env.DB, await hashOf(secret), Date.now());
}

/** Begins anew, whoever was signed in before; the Set-Cookie header of the answer. */
export async function signIn(
  context: WebContext,
  account: Account,
  { name, expiresAt }: { name: string; expiresAt: number },
): Promise<string> {
  await signOut(context);
  const [now, secret] = [Date.now(), randomHex(secretBytes)];
  const ends = Math.min(now + signInMs, expiresAt);
  const [hash, userId] = [await hashOf(secret), await userIdOf(account, signingKeyOf(context))];
  await createSignIn(context.env.DB, { hash, userId, name, account, expiresAt: ends }, now);
  return cookie(secret, Math.max(1, Math.floor((ends - now) / 1_000)));
}

/** The Set-Cookie header that makes the browser forget. */
export async function signOut(context: WebContext): Promise<string> {
  const secret = cookieOf(context);
  if (secret !== undefined) await endSignIn(context.env.DB, await hashOf(secret));
  return cookie("", 0);
}

export function showPage(page: Page, status = 200, headers = new Headers()): Response {
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("content-security-policy", page.csp);
  // With `no-referrer` a browser would not say where its forms come from.
  headers.set("referrer-policy", "same-origin");
  // A client that opened this as a window waits for it to come back to one of its own pages.
  headers.set("cross-origin-opener-policy", "unsafe-none");
  headers.set("cache-control", "no-store");
  return new Response(page.html, { status, headers });
}

export function redirect(location: string, headers = new Headers()): Response {
  headers.set("location", location);
  headers.set("cache-control", "no-store");
  return new Response(null, { status: 303, headers });
}

/**
 * The fields of a form that one of our own pages sent.
 * @throws Problem `forbidden` for what another site sent; `too_large`, `unsupported_media_type`
 */
export async function readForm(context: WebContext): Promise<URLSearchParams> {
  const site = context.req.header("sec-fetch-site");
  const isOwn = site === undefined ? context.req.header("origin") === originOf(context) : site === "same-origin";
  if (!isOwn)
    throw problem("forbidden", "This form was not sent by a page of this registry; open the page and try again");
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(context.req.header("content-type") ?? "")) {
    throw problem("unsupported_media_type", "Content-Type must be application/x-www-form-urlencoded");
  }
  const body = await readBounded(context.req.raw.body, maxFormBytes, () =>
    problem("too_large", `A form may have at most ${maxFormBytes} bytes`),
  );
  return new URLSearchParams(new TextDecoder().decode(body));
}

/** Where a page may lead on to: the pages of this door, never another origin. Anything else: the account page. */
export function readReturn(context: WebContext, text: string | null | undefined): string {
  if (text === null || text === undefined || text.length > maxAuthorizeQueryLength) return "/account";
  if (!/^\/(?:authorize\?|account(?:$|[?/]))/.test(text) || /[\\\s\p{Cc}]/u.test(text)) return "/account";
  const origin = originOf(context);
  const url = new URL(text, origin);
  return url.origin === origin && /^\/(?:authorize$|account(?:$|\/))/.test(url.pathname) ? text : "/account";
}

function cookieOf(context: WebContext): string | undefined {
  const header = context.req.header("cookie") ?? "";
  return new RegExp(`(?:^|;\\s*)${cookieName}=([0-9a-f]{${secretBytes * 2}})(?:;|$)`).exec(header)?.[1];
}

function cookie(value: string, maxAge: number): string {
  // Lax: a client sends the browser to the consent page from its own site, and it has to be known there.
  return `${cookieName}=${value}; Path=/; Max-Age=${maxAge}; Secure; HttpOnly; SameSite=Lax`;
}
