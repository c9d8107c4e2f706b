import type { Progress } from "../domain/announcement.ts";
import type { Digest } from "../domain/digest.ts";
import { maxPageBytes, maxPickedSkills, rememberedPagesBytes } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { candidates, skillMd } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import * as sql from "./catalog-sql.ts";
import { memoPerBinding } from "./memo.ts";
import { listPickedEntries, listPickedSkills } from "./picks-sql.ts";
import type { PickedRow } from "./picks-sql.ts";
import { findProgress } from "./progress-sql.ts";
import type { ProgressRow } from "./progress-sql.ts";
import { gateStatement, readGate } from "./gate.ts";
import { askedBy, viewerParameters } from "./viewer.ts";
import type { Gate } from "./gate.ts";
import type { Reach, Viewer } from "./viewer.ts";

/** Pages as nobody in particular sees them, each good for one revision of its namespace. */
const remembered = memoPerBinding<D1Database, { stamp: string; page: Page<sql.EntryRow> }>(rememberedPagesBytes);

/**
 * Reading. A catalog is one request's look at what one address reaches: everything, a namespace, or a collection.
 * Each question is one D1 round trip; the first also fetches the gate and has `admit` refuse before any row is used.
 */
export class Catalog {
  readonly #db: D1Database;
  readonly #viewer: Viewer;
  readonly #reach: Reach;
  readonly #admit: (gate: Gate) => void;
  #gate: Promise<Gate> | undefined;

  constructor(db: D1Database, viewer: Viewer, reach: Reach, admit: (gate: Gate) => void) {
    this.#db = db;
    this.#viewer = viewer;
    this.#reach = reach;
    this.#admit = admit;
  }

  /** The namespace of the address and the caller's token. @throws Problem when `admit` refuses. */
  gate(): Promise<Gate> {
    this.#gate ??= this.#db
      .batch([gateStatement(this.#db, this.#viewer, this.#reach)])
      .then(([result]) => this.#admitted(result!));
    return this.#gate;
  }

  /**
   * Entries in path order, as finished JSON. A page ends at `limit` entries or `maxPageBytes`. An anonymous caller may
   * get a page from memory, but only where the gate, asked in the same batch, admits it and names the same revision.
   */
  async listEntries(namespace: Namespace, after: string, limit: number): Promise<Page<sql.EntryRow>> {
    const memo =
      this.isStranger && this.#isNamespace(namespace) && this.#gate === undefined ? remembered(this.#db) : undefined;
    const key = `${namespace} ${limit} ${after}`;
    const known = memo?.get(key);
    const range = [namespace, after, limit + 1, maxPageBytes, limit, known?.stamp ?? null];
    const rows = await this.#ask<sql.EntryRow & { found: number }>(sql.listEntries, ...range);
    const stamp = (await this.gate()).namespace?.stamp ?? "";
    if (known !== undefined && known.stamp === stamp) return known.page;
    const page = { items: rows, hasMore: rows.length > 0 && rows[0]!.found > rows.length };
    if (stamp !== "") memo?.set(key, { stamp, page }, sizeOf(rows));
    return page;
  }

  /** Current releases in path order without their entries: what resource lists, prompts and the API show. */
  async listSkills(namespace: Namespace, after: string, limit: number): Promise<Page<sql.SkillRow>> {
    const rows = await this.#ask<sql.SkillRow>(sql.listSkills, namespace, after, limit + 1);
    return { items: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  /** What somebody picked, as entries; pages as above. @throws Problem `invalid_cursor` where `after` is not listed */
  async listPickedEntries(picks: Picks, after: string | undefined, limit: number): Promise<Page<sql.EntryRow>> {
    const rows = await this.#askPicked<sql.EntryRow & { found: number }>(listPickedEntries, picks, after, limit);
    return { items: rows, hasMore: rows.length > 0 && rows[0]!.found > rows.length };
  }

  /** The same without entries. */
  listPickedSkills(picks: Picks, after: string | undefined, limit: number): Promise<PickedRow[]> {
    return this.#askPicked<PickedRow>(listPickedSkills, picks, after, limit);
  }

  /** For those who see all of the namespace every skill, also without a current release; for others what lists show. */
  async listAllSkills(namespace: Namespace, after: string, limit: number): Promise<Page<sql.AnySkillRow>> {
    const rows = await this.#ask<sql.AnySkillRow>(sql.listAllSkills, namespace, after, limit + 1);
    return { items: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  /** The entry of the skill whose SKILL.md has this address, in the spelling of the address. */
  async findEntry(uri: SkillUri): Promise<sql.FoundEntryRow | undefined> {
    const key = skillKey(uri);
    if (key === undefined || !this.#covers(uri.namespace)) return this.#nothing();
    const [row] = await this.#ask<sql.FoundEntryRow>(sql.findEntry, uri.namespace, key.path, key.version);
    return row;
  }

  /** One file of a readable release. */
  async findFile(uri: SkillUri): Promise<sql.ReadableFileRow | undefined> {
    if (!this.#covers(uri.namespace)) return this.#nothing();
    const rows = await this.#ask<sql.ReadableFileRow>(sql.findFile, uri.namespace, fileKeys(uri));
    return rows[0];
  }

  /** The files below a directory of a readable release; empty when there is no such directory. */
  async listDirectory(uri: SkillUri): Promise<sql.DirectoryRow[]> {
    if (!this.#covers(uri.namespace)) return (await this.#nothing()) ?? [];
    return this.#ask<sql.DirectoryRow>(sql.listDirectory, uri.namespace, fileKeys(uri));
  }

  /** A release with its whole manifest. `version` undefined: the current one. */
  async findRelease(
    namespace: Namespace,
    path: SkillPath,
    version: Version | undefined,
  ): Promise<{ release: sql.ReleaseRow & { entry: string }; files: sql.FileRow[] } | undefined> {
    if (!this.#covers(namespace)) return this.#nothing();
    const [releases, files] = await this.#askAll([sql.findRelease, sql.listFiles], [namespace, path, version ?? null]);
    const release = releases![0] as (sql.ReleaseRow & { entry: string }) | undefined;
    return release === undefined ? undefined : { release, files: files as sql.FileRow[] };
  }

  /** How far the address has come, for this viewer; a stream asks again and again, with a catalog of its own each time. */
  async findProgress(): Promise<Progress> {
    const [row] = await this.#ask<ProgressRow>(findProgress, this.#reach.namespace ?? null);
    return { publicRevision: row?.public_revision ?? 0, revision: row?.revision ?? 0 };
  }

  /** Bytes that anybody may have by their digest; undefined for all others, whoever asks. */
  async findPublicBlob(digest: Digest): Promise<sql.BlobRow | undefined> {
    const [row] = await this.#ask<sql.BlobRow>(sql.findPublicBlob, digest);
    return row;
  }

  /** A skill whether or not it has a current release. */
  async findSkill(namespace: Namespace, path: SkillPath): Promise<sql.SkillStateRow | undefined> {
    const [row] = await this.#ask<sql.SkillStateRow>(sql.findSkill, namespace, path);
    return row;
  }

  /** Releases of a skill, newest first, behind the version `before`. @throws Problem `invalid_cursor` without it */
  async listReleases(
    namespace: Namespace,
    path: SkillPath,
    before: string | undefined,
    limit: number,
  ): Promise<Page<sql.ReleaseRow>> {
    const found = await this.#ask<sql.ReleaseRow>(sql.listReleases, namespace, path, before ?? null, limit + 1);
    const rows = before === undefined ? found : behind(found);
    return { items: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  /** What the address reaches: the questions of finding (finding.ts) are asked of the same tables in other ways. */
  get reach(): Reach {
    return this.#reach;
  }

  /** Whether whoever looks brought no credential. */
  get isStranger(): boolean {
    const { everything, tokenId, access } = this.#viewer;
    return !everything && tokenId === null && access === null;
  }

  /** A question of finding.ts, in the same round trip as the gate: its statement begins with the viewer's parameters. */
  ask<Row>(statement: string, ...parameters: sql.Parameter[]): Promise<Row[]> {
    return this.#ask<Row>(statement, ...parameters);
  }

  async #askPicked<Row>(statement: string, picks: Picks, after: string | undefined, limit: number): Promise<Row[]> {
    const { namespace, collection, ownFirst } = picks;
    const range = [after ?? null, limit + 1, maxPageBytes, maxPickedSkills];
    const rows = await this.#ask<Row>(statement, namespace, collection, ownFirst ? 1 : 0, ...range);
    return after === undefined ? rows : behind(rows);
  }

  /** A namespace's address serves that namespace; what a collection holds may be of any. */
  #covers(namespace: Namespace): boolean {
    const within = this.#within();
    return within === null || within === namespace;
  }

  #within(): Namespace | null {
    return this.#reach.collection === undefined ? (this.#reach.namespace ?? null) : null;
  }

  #isNamespace(namespace: Namespace): boolean {
    return this.#reach.namespace === namespace && this.#reach.collection === undefined;
  }

  /** What is outside the address costs the same round trip as what is inside and absent. */
  async #nothing(): Promise<undefined> {
    await this.gate();
    return undefined;
  }

  async #ask<Row>(statement: string, ...parameters: sql.Parameter[]): Promise<Row[]> {
    const [rows] = await this.#askAll([statement], parameters);
    return rows as Row[];
  }

  async #askAll(statements: readonly string[], parameters: sql.Parameter[]): Promise<unknown[][]> {
    const bound = [...viewerParameters(this.#viewer, this.#reach), ...parameters];
    const questions = statements.map((statement) => this.#db.prepare(askedBy(statement, this.#viewer)).bind(...bound));
    if (this.#gate !== undefined) {
      await this.#gate;
      return (await this.#db.batch(questions)).map((result) => result.results);
    }
    const answers = this.#db.batch([gateStatement(this.#db, this.#viewer, this.#reach), ...questions]);
    this.#gate = answers.then(([result]) => this.#admitted(result!));
    await this.#gate;
    return (await answers).slice(1).map((result) => result.results);
  }

  #admitted(result: D1Result<unknown>): Gate {
    const gate = readGate(result);
    this.#admit(gate);
    return gate;
  }
}

/** A collection, and whether the skills of the caller's own namespace come before it. */
export interface Picks {
  namespace: Namespace;
  collection: string;
  ownFirst: boolean;
}

/** Rows that begin with the one after which the page begins; none, where that has left the list. */
function behind<Row>([start, ...rows]: Row[]): Row[] {
  if (start !== undefined) return rows;
  throw problem("invalid_cursor", "What the page before ended with is not in this list; start again without a cursor");
}

export interface Page<Item> {
  items: Item[];
  hasMore: boolean;
}

export type {
  AnySkillRow,
  DirectoryRow,
  EntryRow,
  FileRow,
  ReadableFileRow,
  ReleaseRow,
  SkillRow,
  SkillStateRow,
} from "./catalog-sql.ts";
export type { PickedRow } from "./picks-sql.ts";

/** What a page takes in memory, at two bytes a character. */
function sizeOf(rows: readonly sql.EntryRow[]): number {
  return rows.reduce((sum, row) => sum + 2 * (row.entry.length + row.path.length + row.name.length), 0);
}

/** A SKILL.md address names its skill exactly; any other file or directory is none. */
function skillKey(uri: SkillUri): { path: SkillPath; version: Version | null } | undefined {
  if (uri.kind === "pinned") return uri.file === skillMd ? { path: uri.path, version: uri.version } : undefined;
  const match = candidates(uri.segments).find((candidate) => candidate.file === skillMd);
  return match === undefined ? undefined : { path: match.path, version: null };
}

/** Every (path, version, file) that the address could mean, as JSON for one query. */
function fileKeys(uri: SkillUri): string {
  if (uri.kind === "pinned") return JSON.stringify([{ path: uri.path, version: uri.version, file: uri.file }]);
  return JSON.stringify(candidates(uri.segments).map((candidate) => ({ ...candidate, version: null })));
}

/** @throws Problem `not_found`, the one answer for what is absent and for what may not be read. */
export function orNotFound<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw problem("not_found", `${what} is not here`);
  return value;
}
