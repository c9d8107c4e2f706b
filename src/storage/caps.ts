import {
  maxCollections,
  maxLivingJobTokens,
  maxLivingLinks,
  maxLivingTokens,
  maxMembers,
  maxOpenInvitations,
  maxPublishers,
  maxServers,
} from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { Refusals } from "./change.ts";
import { commitTimeOf } from "./rights.ts";
import type { Actor } from "./rights.ts";

/**
 * How many tokens, links, invitations, collections, servers, members and publishers a namespace has at once. Whatever
 * has ended does not count. The batch that adds one asks, so that two never share the last place.
 */
interface Cap {
  limit: number;
  what: string;
  /** What makes room. */
  remedy: string;
  /** The rows that count; ?1 the namespace, ?2 now, ?3 and on what `refuseFull` was given. */
  rows: string;
}

const living = (kind: string) =>
  `FROM tokens WHERE namespace = ?1 AND kind = '${kind}' AND revoked_at IS NULL AND expires_at > ?2`;

const caps = {
  tokens_many: {
    limit: maxLivingTokens,
    what: "living tokens",
    remedy: "revoke one that nobody uses, or rotate one with an overlap of 0 hours",
    // Those of jobs come and go, and must not keep people from minting their own; nor the other way round.
    rows: `${living("token")} AND publisher IS NULL`,
  },
  job_tokens_many: {
    limit: maxLivingJobTokens,
    what: "living tokens of one trusted publisher",
    remedy: "exchange one for each job, or wait until the first have run out",
    rows: `FROM tokens WHERE publisher = ?3 AND namespace = ?1 AND revoked_at IS NULL AND expires_at > ?2`,
  },
  links_many: { limit: maxLivingLinks, what: "living read links", remedy: "end one of them", rows: living("link") },
  invitations_many: {
    limit: maxOpenInvitations,
    what: "open invitations",
    remedy: "revoke one, or wait until one is accepted or runs out",
    rows: `FROM invitations WHERE namespace = ?1 AND expires_at > ?2 AND revoked_at IS NULL AND accepted_at IS NULL`,
  },
  collections_many: {
    limit: maxCollections,
    what: "collections",
    remedy: "delete one of them",
    rows: `FROM collections WHERE namespace = ?1 AND ?2`,
  },
  publishers_many: {
    limit: maxPublishers,
    what: "trusted publishers",
    remedy: "delete one of them",
    rows: `FROM trusted_publishers WHERE namespace = ?1 AND ?2`,
  },
  servers_many: {
    limit: maxServers,
    what: "companion servers",
    remedy: "delete one of them",
    rows: `FROM servers WHERE namespace = ?1 AND ?2`,
  },
  members_many: {
    limit: maxMembers,
    what: "members",
    remedy: "remove one of them",
    rows: `FROM members WHERE namespace = ?1 AND ?2`,
  },
} as const satisfies Record<string, Cap>;

export type CapName = keyof typeof caps;

/**
 * Goes right before the statement that adds one. `unless` is SQL that is true where that adds none; its parameters
 * are ?3 and on.
 */
export function refuseFull(
  db: D1Database,
  actor: Actor,
  name: CapName,
  unless: { sql: string; parameters: readonly string[] } = { sql: "0", parameters: [] },
): D1PreparedStatement {
  const { limit, rows } = caps[name];
  const count = `SELECT count(*) FROM (SELECT 1 ${rows} LIMIT ${limit})`;
  return db
    .prepare(`INSERT INTO guards (${name}) SELECT 1 WHERE NOT (${unless.sql}) AND ${limit} <= (${count})`)
    .bind(actor.namespace, commitTimeOf(actor), ...unless.parameters);
}

/** What a batch with one of these guards says when it refuses. */
export const fullRefusals: Refusals = Object.fromEntries(
  Object.entries(caps).map(([name, { limit, what, remedy }]) => [
    name,
    () => problem("quota_exceeded", `A namespace may have ${limit.toLocaleString("en")} ${what}; ${remedy}`),
  ]),
);
