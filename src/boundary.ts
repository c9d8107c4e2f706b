import type { Context, MiddlewareHandler } from "hono";

import { isMcpPath } from "./domain/address.ts";
import { hstsSeconds } from "./domain/limits.ts";
import { problem } from "./domain/problem.ts";
import type { Env } from "./env.ts";

/**
 * What every request passes before a door: the Host must be ours (DNS rebinding), a browser's Origin must be allowed.
 * Every response leaves as something that a browser neither runs nor frames, and with a Cache-Control, because a cache
 * in front would otherwise keep what has none.
 */
const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"]);

const allowedHeaders =
  "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, " +
  "idempotency-key, if-match, if-none-match";
const exposedHeaders =
  "www-authenticate, mcp-session-id, mcp-protocol-version, location, etag, retry-after, ratelimit, " +
  "ratelimit-policy";
const preflightSeconds = 600;

/** What a browser must not make of an answer, whoever tricks it into opening one: a page, a frame, a script. */
const answersAreNoPages: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  [
    "permissions-policy",
    "camera=(), clipboard-read=(), display-capture=(), fullscreen=(), geolocation=(), microphone=(), midi=(), " +
      "payment=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()",
  ],
];
const contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'";

/** The outermost of all, so that refusals, redirects and preflights have these headers too. */
export const secureHeaders: MiddlewareHandler<{ Bindings: Env }> = async (context, next) => {
  await next();
  const { headers, status } = context.res;
  const { path } = context.req;
  // The MCP SDK says `no-cache` by itself; whatever else says how long it may be kept has said so on purpose.
  if (isMcpPath(path) || status >= 400 || !headers.has("cache-control")) {
    headers.set("cache-control", "no-store, no-transform");
  }
  // A page of the sign-in says its own of these, where a form or a window that waits for it needs that.
  for (const [name, value] of answersAreNoPages) if (!headers.has(name)) headers.set(name, value);
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", contentSecurityPolicy);
  const isEverybodys = headers.get("access-control-allow-origin") === "*";
  headers.set("cross-origin-resource-policy", isEverybodys ? "cross-origin" : "same-origin");
  if (context.env.PUBLIC_ORIGIN?.startsWith("https:")) {
    headers.set("strict-transport-security", `max-age=${hstsSeconds}`);
  }
  if (/^\/(?:r|me|api)\//.test(path)) headers.set("x-robots-tag", "noindex");
  headers.append("vary", "authorization, origin");
};

/** @throws Problem `host_refused` */
export const checkHost: MiddlewareHandler<{ Bindings: Env }> = async (context, next) => {
  const host = new URL(context.req.url).host;
  if (!isOurHost(host, context.env))
    throw problem("host_refused", `This server does not answer for the host "${host}"`);
  await next();
};

/** CORS for the MCP addresses and the API: allowed origins are echoed, never `*`, never with credentials. */
export const checkOrigin: MiddlewareHandler<{ Bindings: Env }> = async (context, next) => {
  const origin = context.req.header("origin");
  if (origin === undefined) return next();
  if (!isAllowedOrigin(origin, context.env)) {
    throw problem("origin_refused", `The origin "${origin}" is not allowed; an operator adds it to ALLOWED_ORIGINS`);
  }
  if (context.req.method === "OPTIONS" && context.req.header("access-control-request-method") !== undefined) {
    return preflight(context, origin);
  }
  await next();
  context.res.headers.set("access-control-allow-origin", origin);
  context.res.headers.set("access-control-expose-headers", exposedHeaders);
};

/** CORS for what is everybody's: public bytes and the documents that clients look for. Never with credentials. */
export const openToAll: MiddlewareHandler = async (context, next) => {
  if (context.req.method === "OPTIONS" && context.req.header("access-control-request-method") !== undefined) {
    return preflight(context, "*");
  }
  await next();
  context.res.headers.set("access-control-allow-origin", "*");
  context.res.headers.set("access-control-expose-headers", exposedHeaders);
};

function preflight(context: Context, origin: string): Response {
  return context.body(null, 204, {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": allowedHeaders,
    "access-control-max-age": String(preflightSeconds),
  });
}

function isOurHost(host: string, env: Env): boolean {
  if (env.PUBLIC_ORIGIN) return host === new URL(env.PUBLIC_ORIGIN).host;
  return loopbackHosts.has(hostnameOf(host));
}

function isAllowedOrigin(origin: string, env: Env): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url === undefined || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  if (loopbackHosts.has(url.hostname)) return true;
  if (env.PUBLIC_ORIGIN && origin === new URL(env.PUBLIC_ORIGIN).origin) return true;
  return (env.ALLOWED_ORIGINS ?? "").split(/\s+/).includes(origin);
}

function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, "");
}
