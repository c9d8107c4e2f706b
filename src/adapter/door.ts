import type { HeldFile } from "./files.ts";
import type { HeldSkill } from "./held-skill.ts";

/** A skill of the collection as a list names it: enough to know whether it is held already. */
export interface Listing {
  key: string;
  describe(signal: AbortSignal): Promise<HeldSkill>;
}

/** How the registry is asked: by its API, or through a read link. */
export interface Door {
  /** Names the collection and what was chosen of it, for the cache; holds no secret. */
  readonly name: string;
  /** What the collection holds now, in its order. */
  list(signal: AbortSignal): Promise<Listing[]>;
  /** The bytes of a file as they came; whoever asks checks them. */
  download(skill: HeldSkill, file: HeldFile, signal: AbortSignal): Promise<Uint8Array>;
}
