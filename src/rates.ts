import type { Context, MiddlewareHandler } from "hono";

import { askerOf } from "./auth/asker.ts";
import type { AskerSettings } from "./auth/asker.ts";
import type { RateSettings } from "./auth/rate-limits.ts";
import { isMcpPath } from "./domain/address.ts";
import * as limits from "./domain/limits.ts";
import type { Problem } from "./domain/problem.ts";
import { numberOf } from "./domain/setting.ts";
import type { AppEnv, Env } from "./env.ts";

/**
 * Every request is counted before a door looks at it: as a write where it may change something, else as a read. An
 * MCP request is a read whatever its method; what its message asks besides is counted in mcp/toll.ts.
 */
export const countRequest: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { meter } = await askerOf(context.req.raw, askerSettings(context.env));
  if (meter === undefined) return next();
  await meter.spend(isWrite(context.req) ? "writes" : "reads");
  await next();
  for (const [name, value] of Object.entries(meter.headers)) context.res.headers.set(name, value);
};

/**
 * What proves itself bad is refused wherever it is sent, also where nothing is and where no token is needed; only a
 * preflight, which browsers send without one, is answered before. The MCP door does it itself, in its own words.
 */
export const refuseBadCredential: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { path } = context.req;
  // Clients prove themselves to the token endpoint in their own way (RFC 6749, section 2.3).
  const isOAuth = path === "/token" || path === "/revoke" || path === "/register";
  if (!isOAuth && !isMcpPath(path)) (await askerOf(context.req.raw, askerSettings(context.env))).credential();
  await next();
};

/** What a refusal is answered with: once too many credentials of an address were refused, another refusal. */
export async function countRefusal(context: Context<AppEnv>, refusal: Problem): Promise<Problem> {
  if (refusal.code !== "invalid_token") return refusal;
  const { meter } = await askerOf(context.req.raw, askerSettings(context.env));
  return meter === undefined ? refusal : meter.refusalOf(refusal);
}

export function askerSettings(env: Env): AskerSettings {
  return { adminToken: env.ADMIN_TOKEN, signingKey: env.SIGNING_KEY, rates: rateSettings(env) };
}

function rateSettings(env: Env): RateSettings {
  return {
    limits: {
      reads: numberOf(env.RATE_READS, limits.defaultReadsPerWindow),
      searches: numberOf(env.RATE_SEARCHES, limits.defaultSearchesPerWindow),
      writes: numberOf(env.RATE_WRITES, limits.defaultWritesPerWindow),
      "failed-credentials": numberOf(env.RATE_FAILED_CREDENTIALS, limits.defaultFailedCredentialsPerWindow),
    },
    shields: {
      reads: env.SHIELD_READS,
      searches: env.SHIELD_SEARCHES,
      writes: env.SHIELD_WRITES,
      "failed-credentials": env.SHIELD_FAILED_CREDENTIALS,
    },
  };
}

function isWrite({ method, path }: { method: string; path: string }): boolean {
  return !isMcpPath(path) && !/^(?:GET|HEAD|OPTIONS)$/.test(method);
}
