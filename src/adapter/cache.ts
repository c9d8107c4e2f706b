/**
 * Where an adapter keeps what it has: files by their digest, for ever, and the last good state of a collection. Values
 * are checked again whenever they are read, so a cache need not be trusted; only its owner should write into it.
 */
export interface SkillCache {
  /** `key`: up to 80 letters, digits and hyphens. Undefined when there is no such value. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Whole or not at all: nobody may ever get half a value. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** All that `owner`, one collection, still needs; what no owner does may go. A cache that may grow leaves this out. */
  retain?(owner: string, keys: ReadonlySet<string>): Promise<void>;
}

/** Lives as long as the process, and holds no more than what is served. */
export function memoryCache(): SkillCache {
  const values = new Map<string, Uint8Array>();
  const needed = new Map<string, ReadonlySet<string>>();
  return {
    get: async (key) => values.get(key),
    put: async (key, bytes) => {
      values.set(key, bytes);
    },
    retain: async (owner, keys) => {
      const before = needed.get(owner) ?? new Set();
      needed.set(owner, keys);
      const isNeeded = (key: string) => [...needed.values()].some((all) => all.has(key));
      // Only what this owner had may go: another may be in the middle of getting its own.
      for (const key of before) if (!isNeeded(key)) values.delete(key);
    },
  };
}
