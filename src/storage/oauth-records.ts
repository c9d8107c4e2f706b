/**
 * What the OAuth library keeps, in the shape of the KV namespace that it expects. Of a KV it has less: only what the
 * library asks. And more: of two requests that read one record and both want to replace or delete it, one does.
 */
export interface RecordOptions {
  /** Seconds since 1970. */
  expiration?: number;
  /** Seconds from now. */
  expirationTtl?: number;
  metadata?: unknown;
}

/** Milliseconds since 1970; null: never. */
export function expiryOf({ expiration, expirationTtl }: RecordOptions, now: number): number | null {
  const seconds = expiration ?? (expirationTtl === undefined ? undefined : now / 1_000 + expirationTtl);
  return seconds === undefined ? null : Math.floor(seconds * 1_000);
}

/** Another request changed the record after this one had read it. */
export class RecordMoved extends Error {}

export class OAuthRecords {
  readonly #db: D1Database;
  readonly #now: number;
  /** What this request has read, as it was. */
  readonly #read = new Map<string, string>();

  constructor(db: D1Database, now: number) {
    this.#db = db;
    this.#now = now;
  }

  async get(key: string, options?: { type?: string }): Promise<unknown> {
    const row = await this.#db
      .prepare(`SELECT value FROM oauth_records WHERE key = ?1 AND (expires_at IS NULL OR expires_at > ?2)`)
      .bind(key, this.#now)
      .first<{ value: string }>();
    if (row === null) return null;
    this.#read.set(key, row.value);
    return options?.type === "json" ? (JSON.parse(row.value) as unknown) : row.value;
  }

  /** @throws RecordMoved */
  async put(key: string, value: string, options: RecordOptions = {}): Promise<void> {
    const { metadata } = options;
    const about = metadata === undefined ? null : JSON.stringify(metadata);
    const before = this.#read.get(key);
    const bound = [key, value, about, expiryOf(options, this.#now)];
    const written =
      before === undefined ? this.#db.prepare(insert).bind(...bound) : this.#db.prepare(replace).bind(...bound, before);
    const [{ meta }] = (await this.#db.batch([written, ...this.#spend(key, value, before)])) as [D1Result];
    if (before !== undefined && meta.changes === 0) throw new RecordMoved(key);
    this.#read.set(key, value);
  }

  /** @throws RecordMoved when somebody else deleted what this request has read */
  async delete(key: string): Promise<void> {
    const { meta } = await this.#db.prepare(`DELETE FROM oauth_records WHERE key = ?1`).bind(key).run();
    if (this.#read.delete(key) && meta.changes === 0) throw new RecordMoved(key);
  }

  async list({ prefix = "", limit = 1_000, cursor = "" }: { prefix?: string; limit?: number; cursor?: string }) {
    const { results } = await this.#db
      .prepare(
        `SELECT key AS name, metadata FROM oauth_records
         WHERE key > max(?1, ?2) AND key < ?1 || char(1114111) AND (expires_at IS NULL OR expires_at > ?3)
         ORDER BY key LIMIT ?4`,
      )
      .bind(prefix, cursor, this.#now, limit)
      .all<{ name: string; metadata: string | null }>();
    const keys = results.map(({ name, metadata }) => ({
      name,
      ...(metadata === null ? {} : { metadata: JSON.parse(metadata) as unknown }),
    }));
    return results.length < limit
      ? { keys, list_complete: true as const, cacheStatus: null }
      : { keys, list_complete: false as const, cursor: results.at(-1)!.name, cacheStatus: null };
  }

  /**
   * A grant that names a refresh token as the one before has taken it; if the grant was written, that is kept. So is
   * the token that it had until then, where the one before was taken again: its holder and whoever came with that one
   * are two, and one of them may be a thief.
   */
  #spend(key: string, value: string, before: string | undefined): D1PreparedStatement[] {
    const [kind, , grantId] = key.split(":");
    if (kind !== "grant") return [];
    const taken = (JSON.parse(value) as RefreshTokens).previousRefreshTokenId;
    if (taken === undefined) return [];
    const overtaken = before === undefined ? undefined : (JSON.parse(before) as RefreshTokens).refreshTokenId;
    const hashes = new Set([taken, overtaken].filter((hash) => hash !== undefined));
    return [...hashes].map((hash) => this.#db.prepare(spend).bind(key, value, hash, grantId, this.#now));
  }
}

/** Of a grant as the library writes it: hashes. */
interface RefreshTokens {
  refreshTokenId?: string;
  previousRefreshTokenId?: string;
}

const insert = `
INSERT INTO oauth_records (key, value, metadata, expires_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, metadata = excluded.metadata, expires_at = excluded.expires_at`;

const replace = `
UPDATE oauth_records SET value = ?2, metadata = ?3, expires_at = ?4 WHERE key = ?1 AND value = ?5`;

const spend = `
INSERT INTO oauth_spent (hash, grant_id, spent_at)
SELECT ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM oauth_records WHERE key = ?1 AND value = ?2)
ON CONFLICT (hash) DO NOTHING`;
