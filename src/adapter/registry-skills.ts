import type { Skill, SkillSource } from "@modelcontextprotocol/server/ext/skills";

import { decodeLossless } from "../domain/media-type.ts";
import type { SkillCache } from "./cache.ts";
import type { Door } from "./door.ts";
import { Files } from "./files.ts";
import type { HeldFile } from "./files.ts";
import { checkFrontmatter } from "./frontmatter.ts";
import { changesBetween, checkHeld } from "./held-skill.ts";
import type { HeldSkill, SkillChanges } from "./held-skill.ts";
import { RegistryError } from "./http.ts";
import { cutPage } from "./pages.ts";
import { mapPooled } from "./pool.ts";
import { Shelf } from "./shelf.ts";
import type { Listed } from "./shelf.ts";
import { SavedState } from "./state.ts";

export interface Keeping {
  cache: SkillCache;
  deadlineMs: number;
  maxBytes: number;
}

const width = 4;

/**
 * A collection of the registry as the skills of another MCP server. Every answer is made from one state, all of whose
 * bytes are in the cache, and a new state takes its place only when all of its bytes are there and are right.
 */
export class RegistrySkills implements SkillSource {
  readonly #door: Door;
  readonly #keeping: Keeping;
  readonly #files: Files;
  readonly #saved: SavedState;
  readonly #listeners = new Set<(changes: SkillChanges) => void>();
  readonly #closed = new AbortController();
  #shelf = new Shelf([]);
  #refreshing: Promise<SkillChanges> | undefined;

  constructor(door: Door, keeping: Keeping) {
    this.#door = door;
    this.#keeping = keeping;
    this.#files = new Files(keeping.cache);
    this.#saved = new SavedState(keeping.cache, door.name);
  }

  /** The entries that are served now. */
  get entries(): readonly Skill[] {
    return this.#shelf.skills.map(({ entry }) => entry);
  }

  /** Whether the cache held a state to begin with. */
  async resume(): Promise<boolean> {
    const shelf = await this.#saved.load();
    if (shelf !== undefined) this.#shelf = shelf;
    return shelf !== undefined;
  }

  /**
   * Asks the registry what the collection holds now. Calls at the same time are one.
   * @throws RegistryError when it is away or sends what is not right; what was served before is served on
   */
  refresh(): Promise<SkillChanges> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  /** Called after each refresh that changed anything. Returns how to stop it. */
  onChange(listener: (changes: SkillChanges) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends what is under way. What is held stays readable. */
  close(): void {
    this.#closed.abort();
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  async #refresh(): Promise<SkillChanges> {
    const signal = this.#deadline();
    const before = this.#shelf.skills;
    const known = new Map(before.map((skill) => [skill.key, skill]));
    const listings = await this.#door.list(signal);
    const after = await mapPooled(
      listings,
      width,
      async ({ key, describe }) => known.get(key) ?? checkHeld({ ...(await asItMayPass(describe(signal))), key }),
    );
    await this.#fetchAll(after, signal);
    for (const skill of after) if (!known.has(skill.key)) await this.#checkFrontmatter(skill, signal);
    const changes = changesBetween(before, after);
    const isSame = before.length === after.length && before.every(({ key }, index) => key === after[index]!.key);
    // An empty collection is a state too, and has to be found again after a restart.
    if (isSame && before.length > 0) return changes;
    await this.#saved.save(after);
    this.#shelf = new Shelf(after);
    const digests = after.flatMap(({ files }) => files.map(({ digest }) => digest));
    await this.#files.retain(await this.#saved.key(), digests);
    if (!isSame) for (const listener of this.#listeners) listener(changes);
    return changes;
  }

  async #fetchAll(skills: readonly HeldSkill[], signal: AbortSignal): Promise<void> {
    const wanted = new Map<string, { skill: HeldSkill; file: HeldFile }>();
    for (const skill of skills) for (const file of skill.files) wanted.set(file.digest, { skill, file });
    let bytes = 0;
    for (const { file } of wanted.values()) bytes += file.size;
    const { maxBytes } = this.#keeping;
    if (bytes > maxBytes) throw new RegistryError(`The collection has ${bytes} bytes; maxBytes allows ${maxBytes}`);
    await mapPooled([...wanted.values()], width, ({ skill, file }) =>
      asItMayPass(this.#files.ensure(file, (within) => this.#door.download(skill, file, within), signal)),
    );
  }

  async #checkFrontmatter(skill: HeldSkill, signal: AbortSignal): Promise<void> {
    const file = skill.files.find((one) => one.file === "SKILL.md")!;
    await checkFrontmatter(
      skill,
      await this.#files.get(file, (within) => this.#door.download(skill, file, within), signal),
    );
  }

  #deadline(): AbortSignal {
    return AbortSignal.any([this.#closed.signal, AbortSignal.timeout(this.#keeping.deadlineMs)]);
  }

  async list({ cursor }: { cursor?: string }): Promise<{ skills: Skill[]; nextCursor?: string }> {
    return cutPage(this.entries, cursor);
  }

  async get(uri: string): Promise<Skill | undefined> {
    return this.#shelf.entry(uri);
  }

  async read(
    uri: string,
  ): Promise<{ text: string; mimeType: string } | { bytes: Uint8Array; mimeType: string } | undefined> {
    const found = this.#shelf.file(uri);
    if (found === undefined) return undefined;
    const { skill, file } = found;
    const bytes = await this.#files.get(file, (signal) => this.#door.download(skill, file, signal), this.#deadline());
    const text = decodeLossless(bytes);
    if (text === undefined) return { bytes, mimeType: file.mediaType ?? "application/octet-stream" };
    return { text, mimeType: file.mediaType ?? "text/plain" };
  }

  /** A skill's files fit one page. */
  async readDirectory(uri: string): Promise<{ resources: Listed[] } | undefined> {
    const resources = this.#shelf.folder(uri);
    return resources && { resources };
  }

  async listResources(): Promise<Listed[]> {
    return this.#shelf.resources();
  }
}

/** What is wrong with one skill is no refusal of the whole: the next refresh may find it mended, or gone. */
async function asItMayPass<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof RegistryError) || !error.isRefusal) throw error;
    throw new RegistryError(error.message, { cause: error });
  }
}
