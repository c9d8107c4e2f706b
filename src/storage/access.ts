import type { Digest } from "../domain/digest.ts";
import type { Namespace } from "../domain/names.ts";
import type { NamespaceVisibility } from "../domain/policy.ts";
import type { Role } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";

/** Namespaces and their tokens. */
export interface NamespaceRow {
  name: Namespace;
  title: string;
  visibility: NamespaceVisibility;
  revision: number;
  created_at: number;
}

export interface TokenRow {
  id: string;
  role: Role;
  label: string;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
}

export class Access {
  readonly #db: D1Database;

  constructor(db: D1Database) {
    this.#db = db;
  }

  /** @throws Problem `namespace_exists` */
  async createNamespace(row: Omit<NamespaceRow, "revision">): Promise<NamespaceRow> {
    const created = await this.#db
      .prepare(
        `INSERT INTO namespaces (name, title, visibility, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (name) DO NOTHING RETURNING name, title, visibility, revision, created_at`,
      )
      .bind(row.name, row.title, row.visibility, row.created_at)
      .first<NamespaceRow>();
    if (created === null)
      throw problem("namespace_exists", `The namespace "${row.name}" is taken; choose another name`);
    return created;
  }

  async findNamespace(name: Namespace): Promise<NamespaceRow | undefined> {
    const row = await this.#db
      .prepare(`SELECT name, title, visibility, revision, created_at FROM namespaces WHERE name = ?1`)
      .bind(name)
      .first<NamespaceRow>();
    return row ?? undefined;
  }

  /** All namespaces by name, for the operator. */
  async listNamespaces(after: string, limit: number): Promise<{ items: NamespaceRow[]; hasMore: boolean }> {
    const { results } = await this.#db
      .prepare(
        `SELECT name, title, visibility, revision, created_at FROM namespaces WHERE name > ?1 ORDER BY name LIMIT ?2`,
      )
      .bind(after, limit + 1)
      .all<NamespaceRow>();
    return { items: results.slice(0, limit), hasMore: results.length > limit };
  }

  async insertToken(namespace: Namespace, secretHash: Digest, token: Omit<TokenRow, "revoked_at">): Promise<void> {
    await this.#db
      .prepare(
        `INSERT INTO tokens (id, namespace, role, label, secret_hash, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
      )
      .bind(token.id, namespace, token.role, token.label, secretHash, token.created_at, token.expires_at)
      .run();
  }

  /** The newest tokens of a namespace; never their secrets, which are not kept. */
  async listTokens(namespace: Namespace): Promise<TokenRow[]> {
    const { results } = await this.#db
      .prepare(
        `SELECT id, role, label, created_at, expires_at, revoked_at FROM tokens WHERE namespace = ?1
         ORDER BY created_at DESC, id LIMIT ?2`,
      )
      .bind(namespace, 100)
      .all<TokenRow>();
    return results;
  }

  /** False when the namespace has no such token. Revoking twice is the same as once. */
  async revokeToken(namespace: Namespace, id: string, now: number): Promise<boolean> {
    const row = await this.#db
      .prepare(`UPDATE tokens SET revoked_at = coalesce(revoked_at, ?3) WHERE namespace = ?1 AND id = ?2 RETURNING id`)
      .bind(namespace, id, now)
      .first();
    return row !== null;
  }
}
