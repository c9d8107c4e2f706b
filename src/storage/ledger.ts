import type { Digest } from "../domain/digest.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import { formatPrincipal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { Impacts } from "../domain/search/impacts.ts";
import { indexVersion } from "../domain/search/terms.ts";
import type { ToolName } from "../domain/tool-name.ts";
import { splitVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import * as sql from "./ledger-sql.ts";
import { ancestorsOf, findStates } from "./publish-state.ts";
import type { PublishState, Wanted } from "./publish-state.ts";
import { defaultQuotas, guardQuotas } from "./quotas.ts";
import type { Quotas } from "./quotas.ts";
import { insertReceipt } from "./receipts.ts";
import type { Receipt } from "./receipts.ts";
import { newsOf, readNews } from "./news.ts";
import type { News } from "./news.ts";
import { lostRights, record, refuseLostRights } from "./rights.ts";
import type { Actor } from "./rights.ts";

/**
 * Writing. Blobs are touched, sent to R2, marked as stored; then one batch commits a change and makes everything
 * visible at once. Whatever fails before that batch leaves nothing that a reader can see.
 */
export interface Blob {
  digest: Digest;
  size: number;
}

export interface NewFile extends Blob {
  file: string;
  mediaType: string;
  /** Whether the bytes are lossless UTF-8. */
  isText: boolean;
  executable: boolean;
}

export interface NewRelease {
  path: SkillPath;
  version: Version;
  name: string;
  description: string;
  tree: Digest;
  executables: readonly string[];
  files: readonly NewFile[];
  zip: Blob;
  tar: Blob;
  entry: string;
  pinnedEntry: string;
  entryBytes: number;
  /** What it weighs in a search, by term (domain/search). */
  terms: Impacts;
  /** Companion tools that it names. */
  tools: readonly ToolName[];
  /** For a skill that is new, or was deleted. Undefined: what the namespace says when it is committed. */
  visibility: SkillVisibility | undefined;
  becomesCurrent: boolean;
}

/** Everything that one request changes: visible together or not at all, in one revision of the namespace. */
export interface Change {
  releases: readonly NewRelease[];
  visibilities: readonly { path: SkillPath; visibility: SkillVisibility }[];
  /** Skills whose releases are all yanked. */
  withdrawn: readonly SkillPath[];
  /** Skills that must still have a current release: those that a prune spared because they were unchanged. */
  spared: readonly SkillPath[];
  receipt: Receipt | undefined;
  actor: Actor;
}

export class Ledger {
  readonly #db: D1Database;
  readonly #namespace: Namespace;
  readonly #quotas: Quotas;
  /** Which row of a digest this publisher touched: a sweep may have put another in its place (publish/sweep.ts, E). */
  readonly #births = new Map<Digest, string>();

  /** The quotas are those of a namespace that has none of its own. */
  constructor(db: D1Database, namespace: Namespace, quotas: Quotas = defaultQuotas) {
    this.#db = db;
    this.#namespace = namespace;
    this.#quotas = quotas;
  }

  findStates(wanted: readonly Wanted[], now: number): Promise<PublishState> {
    return findStates(this.#db, this.#namespace, { wanted, defaults: this.#quotas, now });
  }

  /** Paths below a prefix that lists still show. */
  async listCurrentBelow(prefix: SkillPath): Promise<SkillPath[]> {
    const { results } = await this.#db
      .prepare(sql.listCurrentBelow)
      .bind(this.#namespace, prefix)
      .all<{ path: SkillPath }>();
    return results.map((row) => row.path);
  }

  /**
   * Reserves the blobs of an upload and returns those whose bytes have to be sent: what this namespace does not hold,
   * whether or not another does.
   * @throws Problem `busy` when a sweep is removing one of them right now.
   */
  async touch(blobs: readonly Blob[], now: number): Promise<Set<Digest>> {
    const { results } = await this.#db
      .prepare(sql.touchBlobs)
      .bind(JSON.stringify(blobs), now, crypto.randomUUID(), this.#namespace)
      .all<{ digest: Digest; state: string; birth: string; is_held: number }>();
    if (results.length < new Set(blobs.map((blob) => blob.digest)).size) throw busy();
    for (const { digest, birth } of results) this.#births.set(digest, birth);
    return new Set(results.filter((row) => row.is_held === 0).map((row) => row.digest));
  }

  /** Marks blobs whose bytes R2 has taken and checked, in the rows that were touched for them and in no others. */
  async markStored(digests: readonly Digest[]): Promise<void> {
    if (digests.length === 0) return;
    const mine = Object.fromEntries(digests.map((digest) => [digest, this.#births.get(digest)]));
    await this.#db.prepare(sql.markStored).bind(JSON.stringify(mine)).run();
  }

  /**
   * The moment a change becomes visible; all of it or none.
   * @throws Problem `version_exists` (also when a spared skill moved on: decide again), `path_conflict`,
   * `quota_exceeded` (without the numbers: decide again), `receipt_exists`, `invalid_token`, or `busy` when a blob went missing meanwhile.
   */
  async commit(change: Change): Promise<News | undefined> {
    const { releases, visibilities, withdrawn, receipt, actor } = change;
    const { now } = actor;
    const bind = (statement: string, ...parameters: (string | number | null)[]) =>
      this.#db.prepare(statement).bind(this.#namespace, ...parameters);
    const statements = [
      ...releases.flatMap((release) => this.#release(release, change)),
      ...visibilities.map(({ path, visibility }) => bind(sql.setVisibility, path, visibility, now)),
      ...(withdrawn.length === 0
        ? []
        : sql.withdraw.map((statement) => bind(statement, JSON.stringify(withdrawn), now))),
    ];
    if (change.spared.length > 0) statements.unshift(bind(sql.refuseMovedOn, JSON.stringify(change.spared)));
    if (statements.length > 0) statements.push(bind(sql.raiseRevision));
    const paths = [...releases, ...visibilities].map(({ path }) => path).concat(withdrawn);
    const news = newsOf(this.#db, this.#namespace, paths);
    statements.unshift(...refuseLostRights(this.#db, actor), ...this.#guardQuotas(change), ...this.#events(change));
    if (receipt !== undefined) statements.push(...insertReceipt(this.#db, this.#namespace, receipt, now));
    if (releases.length + visibilities.length + withdrawn.length === 0 && receipt === undefined) return undefined;
    try {
      const results = await this.#db.batch([...news.before, ...statements, ...news.after]);
      return paths.length === 0 ? undefined : readNews(results);
    } catch (error) {
      throw refusalOf(error) ?? error;
    }
  }

  /** Whoever adds no release may do what they do above any quota. */
  #guardQuotas({ releases, actor }: Change): D1PreparedStatement[] {
    if (releases.length === 0) return [];
    const adds = releases.map(({ path, files }) => ({ path, bytes: bytesOf(files) }));
    return [guardQuotas(this.#db, actor, { defaults: this.#quotas, releases: adds })];
  }

  /** One line of the audit log for each thing that changes. */
  #events({ releases, visibilities, withdrawn, actor }: Change): D1PreparedStatement[] {
    const about = (path: SkillPath) => ({ beforeSql: sql.stateOfSkill, parameters: [path] });
    return [
      ...releases.map(({ path, version, tree, visibility, becomesCurrent }) =>
        record(this.#db, actor, {
          action: "publish",
          target: `skills/${path}@${version}`,
          ...about(path),
          after: { digest: tree, ...(becomesCurrent ? { current: version } : {}) },
          afterSql: sql.visibilityOfNew,
          parameters: [path, visibility ?? null],
        }),
      ),
      ...visibilities.map(({ path, visibility }) =>
        record(this.#db, actor, {
          action: "change-skill",
          target: `skills/${path}`,
          ...about(path),
          after: { visibility },
        }),
      ),
      ...withdrawn.map((path) =>
        record(this.#db, actor, {
          action: "prune",
          target: `skills/${path}`,
          ...about(path),
          after: { current: null, yanked: true },
        }),
      ),
    ];
  }

  #release(release: NewRelease, { actor }: Change): D1PreparedStatement[] {
    const { now } = actor;
    const { path, version } = release;
    const bind = (statement: string, ...parameters: (string | number | null)[]) =>
      this.#db.prepare(statement).bind(this.#namespace, ...parameters);
    const wanted = JSON.stringify([{ path, version, above: ancestorsOf(path) }]);
    const terms = JSON.stringify(release.terms);
    const token = actor.principal.kind === "token" ? actor.principal.id : null;
    const columns = JSON.stringify({ ...columnsOf(release), now, by: formatPrincipal(actor.principal), token });
    return [
      bind(sql.refusePathConflict, wanted),
      bind(sql.refuseSpentVersion, path, version),
      bind(sql.insertSkill, path, release.visibility ?? null, now),
      bind(sql.insertRelease, path, version, columns, release.entry, release.pinnedEntry, terms),
      bind(sql.insertFiles, path, version, JSON.stringify(release.files)),
      ...(release.tools.length === 0 ? [] : [bind(sql.insertTools, path, version, JSON.stringify(release.tools))]),
      ...(release.becomesCurrent ? [bind(sql.setCurrent, path, version, now)] : []),
    ];
  }
}

export function busy() {
  return problem("busy", "The same bytes are being removed right now; try again", { headers: { "retry-after": "2" } });
}

/** The scalar columns travel as one JSON parameter; only the long texts are parameters of their own. */
function columnsOf(release: NewRelease): Record<string, string | number> {
  return {
    ...splitVersion(release.version),
    name: release.name,
    description: release.description,
    tree: release.tree,
    executables: JSON.stringify(release.executables),
    file_count: release.files.length,
    total_bytes: bytesOf(release.files),
    skill_md_bytes: release.files.find((file) => file.file === "SKILL.md")!.size,
    zip: release.zip.digest,
    tar: release.tar.digest,
    indexed: indexVersion,
    entry_bytes: release.entryBytes,
  };
}

function bytesOf(files: readonly NewFile[]): number {
  return files.reduce((sum, file) => sum + file.size, 0);
}

/** A batch refuses itself by a constraint, whose name is the reason. */
function refusalOf(error: unknown): Error | undefined {
  const lost = lostRights(error);
  if (lost !== undefined) return lost;
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes("path_conflict")) {
    return problem("path_conflict", "Another skill lies above or below this path; no skill lies inside another");
  }
  if (/failed: quota_(?:skills|bytes|publishes)/.test(message)) return problem("quota_exceeded");
  if (message.includes("UNIQUE constraint failed: receipts")) return problem("receipt_exists");
  const isTaken = /UNIQUE constraint failed: releases|version_spent|moved_on/.test(message);
  if (isTaken) return problem("version_exists", "The version was taken meanwhile");
  return message.includes("blob_missing") || message.includes("FOREIGN KEY") ? busy() : undefined;
}
