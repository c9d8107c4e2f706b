import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { SkillCache } from "./cache.ts";

/**
 * A folder of Node's, which outlives the process and may be shared by several. It is an entry of its own, so that a
 * Worker's bundle does not meet `node:fs`.
 */
export function folderCache(folder: string): SkillCache {
  return {
    get: async (key) => {
      if (!isKey(key)) return undefined;
      try {
        return new Uint8Array(await readFile(join(folder, key)));
      } catch {
        // What cannot be read is not there: the registry has it.
        return undefined;
      }
    },
    put: async (key, bytes) => {
      if (!isKey(key)) throw new Error(`"${key}" is no key of a cache`);
      await mkdir(folder, { recursive: true });
      // Renaming is atomic, so whoever reads meanwhile gets the old value or the new one.
      const draft = join(folder, `${key}.${crypto.randomUUID()}`);
      try {
        await writeFile(draft, bytes);
        await rename(draft, join(folder, key));
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
  };
}

/** No key may lead out of the folder. */
function isKey(key: string): boolean {
  return /^[A-Za-z0-9-]{1,80}$/.test(key);
}
