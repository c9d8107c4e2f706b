import { digestOfText } from "../domain/digest.ts";
import { maxToolChunkBytes } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { indexVersion, termsToIndex } from "../domain/search/terms.ts";
import { cardOf, toolDocument } from "../domain/server-tools.ts";
import type { ToolsDifference } from "../domain/server-tools.ts";
import type { ListedTool, ServerContent } from "../domain/server.ts";
import type { ToolName } from "../domain/tool-name.ts";
import type { Version } from "../domain/version.ts";
import type { Catalog, Page } from "./catalog.ts";
import { fullRefusals, refuseFull } from "./caps.ts";
import { commit, runGuarded } from "./change.ts";
import type { Refusals } from "./change.ts";
import { refuseLostRights } from "./rights.ts";
import type { Actor, AuditEvent } from "./rights.ts";
import * as sql from "./servers-sql.ts";
import { askedBy, viewerParameters } from "./viewer.ts";
import type { Viewer } from "./viewer.ts";

/** Companion servers, each replaced whole: what it listed last is what it has. */
export interface ServerRow {
  namespace: Namespace;
  name: string;
  title: string;
  url: string;
  /** Of its tools, as JSON in their order. */
  digest: string;
  snapshot: number;
  tools: number;
  created_at: number;
  updated_at: number;
  updated_by: string;
}

export interface ToolRow {
  name: string;
  title: string;
  description: string;
  position: number;
}

/** A skill that names a tool in its current release. */
export interface ToolUse {
  tool: string;
  path: SkillPath;
  version: Version;
}

/** What a put replaces. */
export interface Snapshot {
  row: ServerRow | undefined;
  tools: readonly ListedTool[];
}

/** What a put writes, beside what it replaces. */
export interface NewSnapshot {
  content: ServerContent;
  difference: ToolsDifference;
  /** The number of the snapshot that it replaces, 0 for none. */
  seen: number;
}

const everywhere = { namespace: undefined, collection: undefined };

export class Servers {
  readonly #db: D1Database;
  readonly #viewer: Viewer;

  constructor(db: D1Database, viewer: Viewer) {
    this.#db = db;
    this.#viewer = viewer;
  }

  async list(namespace: Namespace, after: string, limit: number): Promise<ServerRow[]> {
    return this.#ask<ServerRow>(sql.listServers, namespace, after, limit);
  }

  async find(namespace: Namespace, name: string): Promise<ServerRow | undefined> {
    return (await this.#ask<ServerRow>(sql.findServer, namespace, name))[0];
  }

  /** In the order in which the server lists them, behind a position. */
  async listTools(namespace: Namespace, server: string, after: number, limit: number): Promise<ToolRow[]> {
    return this.#ask<ToolRow>(sql.listTools, namespace, server, after, limit);
  }

  /** The tool as the server listed it, as JSON. */
  async findTool(namespace: Namespace, server: string, tool: string): Promise<string | undefined> {
    return (await this.#ask<{ definition: string }>(sql.findTool, namespace, server, tool))[0]?.definition;
  }

  /**
   * The skills whose current releases name these tools of a server, or (`tools` undefined) tools that it does not list;
   * as far as lists show the skills to the viewer.
   */
  async listUses(
    { namespace, name }: Pick<ServerRow, "namespace" | "name">,
    tools: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<ToolUse>> {
    const only = tools === undefined ? null : JSON.stringify(tools);
    const rows = await this.#ask<ToolUse>(sql.listUses, namespace, name, only, limit + 1);
    return { items: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  /** Only for those who may register it. */
  async findSnapshot(namespace: Namespace, name: string): Promise<Snapshot> {
    const row = await this.find(namespace, name);
    if (row === undefined) return { row, tools: [] };
    const statement = this.#db.prepare(sql.listDefinitions).bind(namespace, name);
    const { results } = await statement.all<{ definition: string }>();
    return { row, tools: results.map(({ definition }) => JSON.parse(definition) as ListedTool) };
  }

  /**
   * All of it at once, as one snapshot.
   * @throws Problem `snapshot_moved`, `quota_exceeded`, `invalid_token`, `not_found`
   */
  async put(actor: Actor, name: string, { content, difference, seen }: NewSnapshot): Promise<void> {
    const { title, url, tools } = content;
    const digest = await toolsDigest(tools);
    const bind = (statement: string, ...parameters: (string | number)[]) =>
      this.#db.prepare(statement).bind(actor.namespace, name, ...parameters);
    const moved = new Set([...difference.added, ...difference.changed.map((one) => one.name)]);
    const rows = tools.filter((tool) => moved.has(tool.name)).map((tool) => toolRow(name, tool));
    const names = JSON.stringify(tools.map((tool) => tool.name));
    const after = { title, url, tools: tools.length, digest, snapshot: seen + 1 };
    await this.#change(actor, name, { action: "put-server", after }, [
      ...this.#putGuards(actor, name, seen),
      bind(sql.putServer, title, url, digest, actor.now, formatPrincipal(actor.principal)),
      bind(sql.dropTools, names),
      ...inChunks(rows).map((chunk) => bind(sql.putTools, chunk, indexVersion)),
      bind(sql.orderTools, names),
    ]);
  }

  /** The guards of a put without the put: what it would throw, and nothing is written. */
  async rehearsePut(actor: Actor, name: string, seen: number): Promise<void> {
    const guards = [...refuseLostRights(this.#db, actor), ...this.#putGuards(actor, name, seen)];
    await runGuarded(this.#db, guards, refusalsOf(name));
  }

  #putGuards(actor: Actor, name: string, seen: number): D1PreparedStatement[] {
    return [
      refuseFull(this.#db, actor, "servers_many", { sql: sql.isThere, parameters: [name] }),
      this.#db.prepare(sql.refuseMoved).bind(actor.namespace, name, seen),
    ];
  }

  async delete(actor: Actor, name: string): Promise<void> {
    const statements = sql.deleteServer.map((statement) => this.#db.prepare(statement).bind(actor.namespace, name));
    await this.#change(actor, name, { action: "delete-server" }, statements);
  }

  async #change(
    actor: Actor,
    name: string,
    event: Pick<AuditEvent, "action" | "after">,
    statements: D1PreparedStatement[],
  ): Promise<void> {
    await commit(this.#db, actor, {
      event: { ...event, target: `servers/${name}`, beforeSql: sql.serverBefore, parameters: [name] },
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

/** A release that the caller's address serves to them: whoever asks below has found it there. */
export interface NamedRelease {
  namespace: Namespace;
  path: SkillPath;
  version: Version;
}

/** A tool that a release names, as its server listed it. */
export interface ToolCard extends ToolName {
  /** "" where the server said none, or does not list the tool. */
  title: string;
  description: string;
  /** Null where no server of this name is registered. */
  url: string | null;
  isListed: boolean;
}

export interface ToolDefinition extends ToolName {
  title: string;
  url: string;
  /** The tool as its server listed it, as JSON. */
  definition: string;
}

/** In the order in which the release names them. Who may read it may know what it drives. */
export async function findToolCards(catalog: Catalog, { namespace, path, version }: NamedRelease): Promise<ToolCard[]> {
  type Row = Omit<ToolCard, "isListed"> & { is_listed: number };
  const rows = await catalog.ask<Row>(sql.findToolCards, namespace, path, version);
  return rows.map(({ is_listed, ...card }) => ({ ...card, isListed: is_listed === 1 }));
}

/** Undefined for a tool that the release does not name, and for one that no registered server lists. */
export async function findToolDefinition(
  catalog: Catalog,
  { namespace, path, version }: NamedRelease,
  { server, tool }: ToolName,
): Promise<ToolDefinition | undefined> {
  return (await catalog.ask<ToolDefinition>(sql.findToolDefinition, namespace, path, version, server, tool))[0];
}

/** Names a snapshot of tools, so that whoever has the list of today can tell whether it is still the same. */
export function toolsDigest(tools: readonly ListedTool[]): Promise<string> {
  return digestOfText(JSON.stringify(tools));
}

function toolRow(server: string, tool: ListedTool): string {
  const { title, description } = cardOf(tool);
  const terms = JSON.stringify(termsToIndex(toolDocument(server, tool)));
  return JSON.stringify([tool.name, title, description, JSON.stringify(tool), terms]);
}

/** JSON arrays of rows, each of a size that D1 takes as one parameter. */
function inChunks(rows: readonly string[]): string[] {
  const chunks: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const size = new TextEncoder().encode(row).byteLength + 1;
    if (bytes + size > maxToolChunkBytes) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)!.push(row);
    bytes += size;
  }
  return chunks.map((chunk) => `[${chunk.join()}]`);
}

function refusalsOf(name: string): Refusals {
  const moved = `"${name}" was changed meanwhile; read it again, and send what should be there now`;
  return { ...fullRefusals, server_moved: () => problem("snapshot_moved", moved) };
}
