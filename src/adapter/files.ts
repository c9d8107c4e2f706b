import { digestOf } from "../domain/digest.ts";
import type { SkillCache } from "./cache.ts";
import { RegistryError } from "./http.ts";

/** One file of a skill, as the manifest of its release names it. */
export interface HeldFile {
  /** Relative to the skill's folder. */
  file: string;
  digest: string;
  size: number;
  /** Undefined where the registry did not say and the name does not tell. */
  mediaType?: string;
}

export type Download = (signal: AbortSignal) => Promise<Uint8Array>;

/**
 * Bytes by digest. Nothing leaves here that was not measured and hashed right before: not what the registry sent, and
 * not what the cache kept.
 */
export class Files {
  readonly #cache: SkillCache;
  readonly #known = new Set<string>();
  readonly #underWay = new Map<string, Promise<Uint8Array>>();

  constructor(cache: SkillCache) {
    this.#cache = cache;
  }

  /** Sees to it that the cache has the file, and looks at each only once. */
  async ensure(file: HeldFile, download: Download, signal: AbortSignal): Promise<void> {
    if (!this.#known.has(file.digest)) await this.get(file, download, signal);
  }

  /** @throws RegistryError when neither the cache nor the registry has the bytes of this digest */
  async get(file: HeldFile, download: Download, signal: AbortSignal): Promise<Uint8Array> {
    // One look and one download for a digest, whoever needs it and however many of them at once.
    const underWay = this.#underWay.get(file.digest);
    if (underWay !== undefined) return underWay;
    const found = this.#find(file, download, signal).finally(() => this.#underWay.delete(file.digest));
    this.#underWay.set(file.digest, found);
    return found;
  }

  async #find(file: HeldFile, download: Download, signal: AbortSignal): Promise<Uint8Array> {
    const key = keyOf(file.digest);
    const kept = await this.#cache.get(key);
    const bytes = kept !== undefined && (await isWhole(file, kept)) ? kept : await download(signal);
    if (bytes !== kept) {
      if (!(await isWhole(file, bytes))) {
        throw new RegistryError(`${file.file}: ${bytes.byteLength} bytes came that are not those of ${file.digest}`);
      }
      await this.#cache.put(key, bytes);
    }
    this.#known.add(file.digest);
    return bytes;
  }

  /** Lets the cache forget the rest of what this owner had; its own key is that of its state. */
  async retain(owner: string, digests: Iterable<string>): Promise<void> {
    const keep = new Set(digests);
    for (const digest of this.#known) if (!keep.has(digest)) this.#known.delete(digest);
    await this.#cache.retain?.(owner, new Set([...[...keep].map(keyOf), owner]));
  }
}

function keyOf(digest: string): string {
  return digest.replace(":", "-");
}

async function isWhole({ digest, size }: HeldFile, bytes: Uint8Array): Promise<boolean> {
  return bytes.byteLength === size && (await digestOf(bytes)) === digest;
}
