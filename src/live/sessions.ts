import { DurableObject } from "cloudflare:workers";

import {
  maxSessionsPerObject,
  maxSessionsPerOwner,
  maxSubscriptionsPerSession,
  sessionIdleMs,
  sessionUseStepMs,
} from "../domain/limits.ts";

/**
 * The handshakes of 2025-era clients, a row each; one object keeps those of many clients. A row is all that a session
 * is: an object that was evicted goes on with it, and without a row an id is dead everywhere at once. What has run out
 * is removed by one alarm, set for the next that will.
 */
export interface SessionRow {
  /** Negotiated, e.g. "2025-06-18". */
  version: string;
  clientName: string;
  clientVersion: string;
  /** The path of the address, of a read link with its id instead of its secret. */
  path: string;
  /** As `formatPrincipal` writes it. */
  principal: string;
  /** How far the client has been told (domain/announcement.ts, `formatProgress`). */
  sent: number;
  /** Addresses of SKILL.md files whose changes the client wants to hear of. */
  subscriptions: string[];
  /** Milliseconds since 1970. */
  expiresAt: number;
}

export interface NewSession extends Omit<SessionRow, "subscriptions" | "expiresAt"> {
  random: string;
  /** Against whose cap it counts: a token, a link, or an address prefix; as a MAC. */
  owner: string;
  now: number;
}

/** The principal of all strangers. */
export const stranger = "anonymous";

const schema = `
CREATE TABLE IF NOT EXISTS sessions (
  random TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  client_name TEXT NOT NULL,
  client_version TEXT NOT NULL,
  path TEXT NOT NULL,
  principal TEXT NOT NULL,
  owner TEXT NOT NULL,
  sent INTEGER NOT NULL,
  subscriptions TEXT NOT NULL DEFAULT '[]',
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_expiry ON sessions (expires_at);
CREATE INDEX IF NOT EXISTS sessions_by_owner ON sessions (owner, expires_at);
CREATE INDEX IF NOT EXISTS sessions_by_principal ON sessions (principal, expires_at);`;

const find = `
SELECT version, client_name AS clientName, client_version AS clientVersion, path, principal, sent, subscriptions,
  expires_at AS expiresAt
FROM sessions WHERE random = ?1 AND expires_at > ?2`;

type Stored = Omit<SessionRow, "subscriptions"> & { subscriptions: string };

export class Sessions extends DurableObject {
  readonly #sql: SqlStorage;
  /** How many rows there are, once somebody asked. */
  #size: number | undefined;

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(schema);
  }

  /** False when there is no room: the client is then served without a session. */
  async open(session: NewSession, caps = { perOwner: maxSessionsPerOwner, all: maxSessionsPerObject }) {
    if (!this.#makeRoom(session.owner, caps)) return false;
    this.#size = this.#count() + 1;
    this.#sql.exec(
      `INSERT INTO sessions (random, version, client_name, client_version, path, principal, owner, sent, expires_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
      session.random,
      session.version,
      session.clientName,
      session.clientVersion,
      session.path,
      session.principal,
      session.owner,
      session.sent,
      expiryAfter(session.now),
    );
    if ((await this.ctx.storage.getAlarm()) === null) await this.#setAlarm(session.now);
    return true;
  }

  /** The session as it is, which this counts as a use of; undefined when it ended, ran out or never was. */
  check(random: string, now: number): SessionRow | undefined {
    const [row] = this.#sql.exec(find, random, now).toArray() as unknown as Stored[];
    if (row === undefined) return undefined;
    const expiresAt = Math.max(row.expiresAt, expiryAfter(now));
    // A busy session is written down once in a while: it lives so much longer than it has to.
    if (expiresAt - row.expiresAt >= sessionUseStepMs) {
      this.#sql.exec("UPDATE sessions SET expires_at = ?2 WHERE random = ?1", random, expiresAt);
      row.expiresAt = expiresAt;
    }
    return { ...row, subscriptions: JSON.parse(row.subscriptions) as string[] };
  }

  /** Whether there was a session to end. */
  end(random: string): boolean {
    return this.#remove("random = ?1", random) > 0;
  }

  /** What the session is subscribed to by now. Once or several times is the same. */
  subscribe(random: string, uri: string, now: number): string[] | "full" | "gone" {
    return this.#resubscribe(random, now, (uris) => {
      if (uris.includes(uri)) return uris;
      return uris.length < maxSubscriptionsPerSession ? [...uris, uri] : undefined;
    });
  }

  unsubscribe(random: string, uri: string, now: number): string[] | "full" | "gone" {
    return this.#resubscribe(random, now, (uris) => uris.filter((other) => other !== uri));
  }

  /** How far the client has been told by now; never less than before. False when the session is gone. */
  noteSent(random: string, sent: number, now: number): boolean {
    const row = this.check(random, now);
    if (row === undefined) return false;
    if (sent > row.sent) this.#sql.exec("UPDATE sessions SET sent = ?2 WHERE random = ?1", random, sent);
    return true;
  }

  override async alarm(): Promise<void> {
    const now = Date.now();
    this.#remove("expires_at <= ?1", now);
    await this.#setAlarm(now);
  }

  #resubscribe(random: string, now: number, change: (uris: string[]) => string[] | undefined) {
    const row = this.check(random, now);
    if (row === undefined) return "gone";
    const uris = change(row.subscriptions);
    if (uris === undefined) return "full";
    if (uris.length !== row.subscriptions.length) {
      this.#sql.exec("UPDATE sessions SET subscriptions = ?2 WHERE random = ?1", random, JSON.stringify(uris));
    }
    return uris;
  }

  /**
   * Whoever has too many loses the one that was unused for longest. In a full object so does whoever comes, or else
   * some stranger: those who come without a token never cost anybody else a session.
   */
  #makeRoom(owner: string, caps: { perOwner: number; all: number }): boolean {
    const own = this.#sql
      .exec<{ own: number }>("SELECT count(*) AS own FROM sessions WHERE owner = ?1", owner)
      .one().own;
    if (own >= caps.perOwner) return this.#removeLongestUnused("owner", owner);
    if (this.#count() < caps.all) return true;
    return own > 0 ? this.#removeLongestUnused("owner", owner) : this.#removeLongestUnused("principal", stranger);
  }

  #removeLongestUnused(column: "owner" | "principal", value: string): boolean {
    const longest = `random = (SELECT random FROM sessions WHERE ${column} = ?1 ORDER BY expires_at LIMIT 1)`;
    return this.#remove(longest, value) > 0;
  }

  #remove(where: string, value: string | number): number {
    const { length } = this.#sql.exec(`DELETE FROM sessions WHERE ${where} RETURNING random`, value).toArray();
    if (this.#size !== undefined) this.#size -= length;
    return length;
  }

  #count(): number {
    this.#size ??= this.#sql.exec<{ all: number }>('SELECT count(*) AS "all" FROM sessions').one().all;
    return this.#size;
  }

  /** For the next that runs out; many that do so one after the other are removed together. */
  async #setAlarm(now: number): Promise<void> {
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(expires_at) AS next FROM sessions").one();
    if (next !== null) await this.ctx.storage.setAlarm(Math.max(next, now + sessionUseStepMs));
  }
}

function expiryAfter(now: number): number {
  return now + sessionIdleMs + sessionUseStepMs;
}

/** The objects, and what their ids are signed with. */
export class SessionShards {
  readonly count: number;
  readonly signingKey: string;
  readonly #objects: DurableObjectNamespace<Sessions>;

  constructor(objects: DurableObjectNamespace<Sessions>, count: number, signingKey: string) {
    this.#objects = objects;
    this.count = count;
    this.signingKey = signingKey;
  }

  /** Nothing is asked of the object yet. */
  at(shard: number): DurableObjectStub<Sessions> {
    return this.#objects.getByName(`sessions:${shard}`);
  }
}
