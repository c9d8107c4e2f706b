import { maxTallyPauseMs } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { cleanClient, clientOfUserAgent, dayOf, formatWords, isPickId, unknownClient } from "../domain/tally.ts";
import type { Client } from "../domain/tally.ts";
import type { Version } from "../domain/version.ts";
import { writeTally } from "../storage/tally.ts";
import type { Reach } from "../storage/viewer.ts";
import type { TallyBuffer } from "./tally-buffer.ts";

/** What is needed for counting, beside the request. */
export interface TallySettings {
  buffer: TallyBuffer;
  /** How long an isolate collects before it writes. */
  pauseMs: number;
  userAgent: string | null;
}

export interface Search {
  pickId: string;
  /** '' for the whole registry, as is `collection` for a namespace. */
  namespace: string;
  collection: string;
  /** The query's stems; those that would tell whose it was are left out. */
  words: readonly string[];
  /** Best first; none where nothing was close. */
  shown: readonly SkillKey[];
}

export interface SkillKey {
  namespace: Namespace;
  path: SkillPath;
}

export interface Read extends SkillKey {
  version: Version;
  isCurrent?: boolean;
}

/** What one request found and read. It counts once the caller was let in and their answer is ready, and not before. */
export class Tally {
  readonly #place: { namespace: string; collection: string };
  readonly #settings: TallySettings;
  readonly #db: D1Database;
  readonly #waitUntil: (work: Promise<unknown>) => void;
  #notes: ((buffer: TallyBuffer) => void)[] = [];
  #isSettled = false;
  #isModern = false;
  #client: Client | undefined;

  constructor(
    { namespace, collection }: Reach,
    settings: TallySettings,
    { db, waitUntil }: { db: D1Database; waitUntil: (work: Promise<unknown>) => void },
  ) {
    this.#place = { namespace: namespace ?? "", collection: collection ?? "" };
    this.#settings = settings;
    this.#db = db;
    this.#waitUntil = waitUntil;
  }

  /** What the client says of itself; where it says nothing, its User-Agent does. */
  introduce(isModern: boolean, info: unknown): void {
    const { name, version } = (info ?? {}) as { name?: unknown; version?: unknown };
    this.#isModern = isModern;
    this.#client = cleanClient(name, version) ?? this.#client;
  }

  /** The id of a search's answer: 16 random bytes, so that nobody guesses another's. */
  newPickId(): string {
    const text = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
    return `pick_${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  }

  searched({ pickId, namespace, collection, words, shown }: Search): void {
    const day = dayOf(Date.now());
    const keys = shown.map(keyOf);
    this.#note((buffer) =>
      buffer.addPick({ pickId, namespace, collection, day, words: formatWords(words), shown: keys }),
    );
  }

  /** Counts where that pick, of this address, showed the skill and nothing of it was chosen yet; whatever is sent. */
  chosen(pickId: string, skill: SkillKey): void {
    if (!isPickId(pickId)) return;
    this.#note((buffer) => buffer.addChoice({ pickId, ...this.#place, skill: keyOf(skill) }));
  }

  /** That a SKILL.md went out. */
  read({ namespace, path, version, isCurrent }: Read): void {
    const day = dayOf(Date.now());
    this.#note((buffer) => {
      const client = this.#client ?? clientOfUserAgent(this.#settings.userAgent) ?? unknownClient;
      buffer.addRead({ namespace, path, version, day, client, era: this.#isModern ? "2026" : "2025", isCurrent });
    });
  }

  /** The caller gets the answer. */
  settle(): void {
    this.#isSettled = true;
    const notes = this.#notes;
    this.#notes = [];
    if (notes.length > 0) this.#hand(notes);
  }

  /** The answer is replaced by a refusal. */
  forget(): void {
    this.#notes = [];
  }

  #note(note: (buffer: TallyBuffer) => void): void {
    if (this.#isSettled) this.#hand([note]);
    else this.#notes.push(note);
  }

  #hand(notes: readonly ((buffer: TallyBuffer) => void)[]): void {
    const { buffer, pauseMs } = this.#settings;
    for (const note of notes) note(buffer);
    buffer.wake({
      write: (batch) => writeTally(this.#db, batch),
      pauseMs: Math.min(pauseMs, maxTallyPauseMs),
      waitUntil: this.#waitUntil,
    });
  }
}

function keyOf({ namespace, path }: SkillKey): string {
  return `${namespace}/${path}`;
}
