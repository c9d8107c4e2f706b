import { featured } from "../domain/address.ts";
import { movingTtlMs, privateTtlMs } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { movingUri, pinnedUri } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import type { Blobs } from "../storage/blobs.ts";
import type { Catalog, Picks } from "../storage/catalog.ts";
import type { Reach } from "../storage/viewer.ts";
import type { Inserts } from "./inserts.ts";
import type { Live } from "./live.ts";
import type { Session } from "./sessions.ts";
import type { Tally } from "./tally.ts";

/** An MCP address: the whole registry, one namespace, or one collection of it. */
export interface Address extends Reach {
  /** `/me/mcp…`: as the caller sees it. */
  isPersonal: boolean;
  /** `localhost:8787/mcp/acme`: unique per address, because clients share cached reads between equal server names. */
  serverName: string;
  /** `/mcp/acme`; of a read link with its id instead of its secret. */
  path: string;
}

/** One request at one address: what every handler of this door works with. */
export interface Visit {
  address: Address;
  catalog: Catalog;
  blobs: Blobs;
  /** Finished JSON that the answer to this request will hold. */
  inserts: Inserts;
  /** What is counted of this request. */
  tally: Tally;
  /** 2026-07-28 results carry freshness; 2025-era results must not. */
  isModern: boolean;
  /** Protocols before 2025-06-18 know no links to resources in the answer of a tool. */
  knowsLinks: boolean;
  /** One of several requests that came in one array (2025-03-26). */
  isBatched: boolean;
  /** What a stream needs; absent where nothing can be kept open. */
  live: Live | undefined;
  /** Of a 2025-era client: the one that the request names, or that its `initialize` is about to open. */
  session: Session | "opening" | undefined;
  /** Whether the request came without a token, so that its answer is the same for everybody. */
  isAnonymous: boolean;
}

export interface Freshness {
  ttlMs?: number;
  cacheScope?: "public" | "private";
}

/** How long and by whom an answer may be kept (base spec, "Caching"); nothing behind a token is ever public. */
export function freshness(visit: Visit, ttlMs: number = movingTtlMs): Freshness {
  if (!visit.isModern) return {};
  return visit.isAnonymous
    ? { ttlMs, cacheScope: "public" }
    : { ttlMs: Math.min(ttlMs, privateTtlMs), cacheScope: "private" };
}

/** What lists at this address show: a namespace in path order, or what somebody picked. */
export function listedAt({ namespace, collection, isPersonal }: Address): { namespace: Namespace } | { picks: Picks } {
  if (namespace === undefined) return { picks: { ...featured, ownFirst: isPersonal } };
  return collection === undefined ? { namespace } : { picks: { namespace, collection, ownFirst: false } };
}

/** What a cursor of this list is bound to, so that it is refused at any other list or address. */
export function listName({ namespace, collection, isPersonal }: Address, list: string): string {
  return `${list}:${isPersonal ? "me/" : ""}${namespace ?? ""}${collection === undefined ? "" : `/${collection}`}`;
}

/** The address under which a list shows a skill: pinned where somebody pinned it. */
export function uriOf(skill: { namespace: Namespace; path: SkillPath; pinned: Version | null }): string {
  const { namespace, path, pinned } = skill;
  return pinned === null ? movingUri(namespace, path) : pinnedUri(namespace, path, pinned);
}
