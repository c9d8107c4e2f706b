import type { CollectionContent, CollectionItem, CollectionTools, KnownSkill } from "../domain/collection.ts";
import { digestOfText } from "../domain/digest.ts";
import { maxCollectionEditions } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { CollectionVisibility, SkillVisibility } from "../domain/policy.ts";
import { formatPrincipal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { Version } from "../domain/version.ts";
import type { Page } from "./catalog.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit, runGuarded } from "./change.ts";
import type { Refusals } from "./change.ts";
import * as sql from "./collections-sql.ts";
import { refuseLostRights } from "./rights.ts";
import type { Actor, AuditEvent } from "./rights.ts";
import { askedBy, viewerParameters } from "./viewer.ts";
import type { Viewer } from "./viewer.ts";

/** Collections: curated lists, replaced whole, with the newest editions kept. */
export interface CollectionRow {
  namespace: Namespace;
  name: string;
  title: string;
  instructions: string;
  visibility: CollectionVisibility;
  is_all: number;
  tools: CollectionTools;
  edition: number;
  created_at: number;
  updated_at: number;
}

export interface EditionRow {
  edition: number;
  /** JSON of a CollectionContent. */
  content: string;
  made_at: number;
  made_by: string;
}

export interface Holder {
  namespace: Namespace;
  name: string;
  title: string;
  version: Version | null;
}

const everywhere = { namespace: undefined, collection: undefined };

export class Collections {
  readonly #db: D1Database;
  readonly #viewer: Viewer;

  constructor(db: D1Database, viewer: Viewer) {
    this.#db = db;
    this.#viewer = viewer;
  }

  async list(namespace: Namespace, after: string, limit: number): Promise<Page<CollectionRow>> {
    return pageOf(await this.#ask<CollectionRow>(sql.listCollections, namespace, after, limit + 1), limit);
  }

  async find(namespace: Namespace, name: string): Promise<CollectionRow | undefined> {
    return (await this.#ask<CollectionRow>(sql.findCollection, namespace, name))[0];
  }

  /** In the order of the items. */
  async resolve(items: readonly CollectionItem[]): Promise<(KnownSkill | undefined)[]> {
    const rows = await this.#ask<ResolvedRow>(sql.resolveItems, JSON.stringify(items));
    const known = new Map(rows.map((row) => [row.place, row]));
    return items.map((_, index) => {
      const row = known.get(index);
      if (row === undefined) return undefined;
      const { visibility, current } = row;
      return { visibility, current, isPublished: row.is_published === 1, isYanked: row.is_yanked === 1 };
    });
  }

  /** The collections that hold a skill, as far as the viewer may know of them. */
  async listHolders(namespace: Namespace, path: SkillPath, limit: number): Promise<Page<Holder>> {
    return pageOf(await this.#ask<Holder>(sql.listHolders, namespace, path, limit + 1), limit);
  }

  /** The same for whatever skill of a namespace. */
  async listHoldersOfAny(namespace: Namespace, limit: number): Promise<Page<Holder>> {
    return pageOf(await this.#ask<Holder>(sql.listHoldersOfAny, namespace, limit + 1), limit);
  }

  /** Newest first. Only for those who may curate. */
  async listEditions(namespace: Namespace, name: string, before: number, limit: number): Promise<Page<EditionRow>> {
    const statement = this.#db.prepare(sql.listEditions).bind(namespace, name, before, limit + 1);
    return pageOf((await statement.all<EditionRow>()).results, limit);
  }

  /** What it holds now, in order. Its last edition may say more: what was deleted since is gone from it. */
  async listItems(namespace: Namespace, name: string): Promise<CollectionItem[]> {
    const { results } = await this.#db.prepare(sql.listItems).bind(namespace, name).all<CollectionItem>();
    return results;
  }

  /** The living read links that open it. */
  async countLinks(namespace: Namespace, name: string, now: number): Promise<number> {
    const row = await this.#db.prepare(sql.countLinks).bind(namespace, name, now).first<{ links: number }>();
    return row?.links ?? 0;
  }

  /**
   * All of it at once, in one edition. `seen`: the edition that it replaces, 0 for none, undefined for whichever.
   * @throws Problem `edition_moved`, `quota_exceeded`, `invalid_token`, `not_found`
   */
  async put(actor: Actor, name: string, content: CollectionContent, seen: number | undefined): Promise<void> {
    const text = JSON.stringify(content);
    const digest = await digestOfText(text);
    const { title, visibility, skills } = content;
    const after = { title, visibility, skills: skills === "all" ? skills : skills.length, digest };
    await this.#change(actor, name, { action: "put-collection", after, afterSql: sql.editionAfter }, [
      ...this.#putGuards(actor, name, seen),
      this.#db.prepare(sql.putCollection).bind(actor.namespace, name, text, actor.now),
      this.#db.prepare(sql.dropItems).bind(actor.namespace, name),
      this.#db.prepare(sql.insertItems).bind(actor.namespace, name, text),
      this.#db
        .prepare(sql.insertEdition)
        .bind(actor.namespace, name, text, actor.now, formatPrincipal(actor.principal), digest),
      this.#db.prepare(sql.dropOldEditions).bind(actor.namespace, name, maxCollectionEditions),
    ]);
  }

  /** The guards of a put without the put: what it would throw, and nothing is written. */
  async rehearsePut(actor: Actor, name: string, seen: number | undefined): Promise<void> {
    const guards = [...refuseLostRights(this.#db, actor), ...this.#putGuards(actor, name, seen)];
    await runGuarded(this.#db, guards, refusalsOf(name));
  }

  #putGuards(actor: Actor, name: string, seen: number | undefined): D1PreparedStatement[] {
    return [
      refuseFull(this.#db, actor, "collections_many", { sql: sql.isThere, parameters: [name] }),
      this.#db.prepare(sql.refuseMoved).bind(actor.namespace, name, seen ?? null),
    ];
  }

  /** With its history; its read links end. */
  async delete(actor: Actor, name: string): Promise<void> {
    await this.#change(actor, name, { action: "delete-collection" }, [
      this.#db.prepare(sql.revokeLinks).bind(actor.namespace, name, actor.now),
      ...sql.deleteCollection.map((statement) => this.#db.prepare(statement).bind(actor.namespace, name)),
    ]);
  }

  async #change(
    actor: Actor,
    name: string,
    event: Pick<AuditEvent, "action" | "after" | "afterSql">,
    statements: D1PreparedStatement[],
  ): Promise<void> {
    await commit(this.#db, actor, {
      event: { ...event, target: `collections/${name}`, beforeSql: sql.collectionBefore, parameters: [name] },
      statements,
      refusals: refusalsOf(name),
    });
  }

  async #ask<Row>(statement: string, ...parameters: (string | number | null)[]): Promise<Row[]> {
    const bound = [...viewerParameters(this.#viewer, everywhere), ...parameters];
    const { results } = await this.#db
      .prepare(askedBy(statement, this.#viewer))
      .bind(...bound)
      .all<Row>();
    return results;
  }
}

function refusalsOf(name: string): Refusals {
  const moved = `"${name}" was changed since the edition that If-Match names; read it again`;
  return { ...fullRefusals, edition_moved: () => problem("edition_moved", moved) };
}

function pageOf<Row>(rows: Row[], limit: number): Page<Row> {
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}

interface ResolvedRow {
  place: number;
  visibility: SkillVisibility;
  current: Version | null;
  is_published: number;
  is_yanked: number;
}
