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
      try {
        return new Uint8Array(await readFile(join(folder, key)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    put: async (key, bytes) => {
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
