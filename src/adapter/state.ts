import { digestOfText } from "../domain/digest.ts";
import type { SkillCache } from "./cache.ts";
import { checkHeld } from "./held-skill.ts";
import type { HeldSkill } from "./held-skill.ts";
import { Shelf } from "./shelf.ts";

/** The last good state of one collection in a cache, which may be shared with other collections. */
export class SavedState {
  readonly #cache: SkillCache;
  readonly #key: Promise<string>;

  constructor(cache: SkillCache, door: string) {
    this.#cache = cache;
    this.#key = digestOfText(door).then((digest) => digest.replace("sha256:", "state-"));
  }

  key(): Promise<string> {
    return this.#key;
  }

  /** Undefined also for what another version of this package wrote or what was altered: as good as nothing. */
  async load(): Promise<Shelf | undefined> {
    const bytes = await this.#cache.get(await this.#key);
    if (bytes === undefined) return undefined;
    try {
      const state = JSON.parse(new TextDecoder().decode(bytes)) as { format?: unknown; skills: HeldSkill[] };
      return state.format === format ? new Shelf(state.skills.map(checkHeld)) : undefined;
    } catch {
      return undefined;
    }
  }

  async save(skills: readonly HeldSkill[]): Promise<void> {
    await this.#cache.put(await this.#key, new TextEncoder().encode(JSON.stringify({ format, skills })));
  }
}

/** Raised when `HeldSkill` changes. */
const format = 1;
