import type { Env } from "../env.ts";
import * as limits from "../domain/limits.ts";
import { numberOf } from "../domain/setting.ts";
import type { Caps, Feed } from "./feed.ts";
import { Feeds } from "./feeds.ts";
import { SessionShards } from "./sessions.ts";
import type { Sessions } from "./sessions.ts";

/** What is kept open and how, as the Worker's vars say. */
export interface LiveSettings {
  feeds: Feeds;
  clocks: Clocks;
  caps: Caps;
  /** Undefined where a session cannot be kept, or its id not be signed: 2025-era clients are then served without. */
  sessions: SessionShards | undefined;
}

/** Milliseconds; Worker vars, so that tests never wait. */
export interface Clocks {
  keepAliveMs: number;
  recheckMs: number;
  jitterMs: number;
}

/** Undefined where there are no Durable Objects: then nothing is promised. */
export function liveSettings(env: Env): LiveSettings | undefined {
  const feeds = feedsOf(env);
  if (feeds === undefined) return undefined;
  return {
    feeds,
    clocks: {
      keepAliveMs: numberOf(env.LIVE_KEEP_ALIVE_MS, limits.defaultKeepAliveMs),
      recheckMs: numberOf(env.LIVE_RECHECK_MS, limits.defaultRecheckMs),
      jitterMs: numberOf(env.LIVE_JITTER_MS, limits.defaultRedialJitterMs),
    },
    caps: {
      listeners: numberOf(env.LIVE_LISTENERS, limits.maxListenersPerFeed),
      perPrincipal: numberOf(env.LIVE_LISTENERS_PER_PRINCIPAL, limits.maxListenersPerPrincipal),
      perSession: limits.maxStreamsPerSession,
    },
    sessions: sessionsOf(env),
  };
}

export function feedsOf(env: Env): Feeds | undefined {
  if (env.FEEDS === undefined) return undefined;
  return new Feeds(env.FEEDS as unknown as DurableObjectNamespace<Feed>, {
    root: Math.max(1, numberOf(env.LIVE_ROOT_SHARDS, limits.defaultRootShards)),
    address: Math.max(1, numberOf(env.LIVE_ADDRESS_SHARDS, limits.defaultAddressShards)),
  });
}

function sessionsOf({ SESSIONS, SIGNING_KEY, SESSION_SHARDS }: Env): SessionShards | undefined {
  if (SESSIONS === undefined || SIGNING_KEY === undefined || SIGNING_KEY.length < limits.minSecretLength) {
    return undefined;
  }
  const count = Math.max(1, numberOf(SESSION_SHARDS, limits.defaultSessionShards));
  return new SessionShards(SESSIONS as unknown as DurableObjectNamespace<Sessions>, count, SIGNING_KEY);
}
