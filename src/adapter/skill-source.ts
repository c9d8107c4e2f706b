import { apiDoor } from "./api-door.ts";
import type { CollectionAddress } from "./api-door.ts";
import { memoryCache } from "./cache.ts";
import type { SkillCache } from "./cache.ts";
import { RegistryError } from "./http.ts";
import { linkDoor } from "./link-door.ts";
import type { LinkAddress } from "./link-door.ts";
import { RegistrySkills } from "./registry-skills.ts";

export { memoryCache, RegistryError };
export type { CollectionAddress, LinkAddress, RegistrySkills, SkillCache };
export type { SkillChanges } from "./held-skill.ts";

/**
 * `skill-registry/skill-source`: any TypeScript MCP server serves a collection of the registry beside its own tools.
 * It runs in other people's servers, in Node from version 20 and in Workers, and needs fetch and web crypto alone.
 */
export type RegistrySkillsOptions = (CollectionAddress | LinkAddress) & {
  /** For what is private. A read link needs none. */
  token?: string;
  /** Default: memory, which does not outlive the process. `folderCache` of `skill-registry/skill-source/node` does. */
  cache?: SkillCache;
  /** How often to look for changes. `0`: only when `refresh()` is called, as in a Worker, which has no background. */
  refreshMs?: number;
  /** Of a whole refresh. What came until then is kept, so that the next one goes on from there. */
  deadlineMs?: number;
  /** What the files of the collection may have together. */
  maxBytes?: number;
  /** Hears why a refresh failed; what was served before is served on. Default: `console.warn`. */
  onProblem?: (problem: Error) => void;
  fetch?: typeof fetch;
};

const defaults = { refreshMs: 60_000, deadlineMs: 30_000, maxBytes: 256 * 1024 * 1024 };

/**
 * Serves what the cache holds at once and looks for changes behind it. With an empty cache it waits for the registry;
 * where that is away the server starts all the same, without skills until the registry is back.
 * @throws RegistryError with an empty cache, when the registry refuses the address or the token
 */
export async function registrySkills(options: RegistrySkillsOptions): Promise<RegistrySkills> {
  const { token, cache = memoryCache() } = options;
  const onProblem = told(options.onProblem ?? warn);
  const { refreshMs, deadlineMs, maxBytes } = { ...defaults, ...withoutUndefined(options) };
  const asking = { fetch: options.fetch ?? fetch, token };
  const door = "link" in options ? await linkDoor(asking, options) : apiDoor(asking, options);
  const skills = new RegistrySkills(door, { cache, deadlineMs, maxBytes });
  const isResumed = await skills.resume();
  const first = skills.refresh().catch((problem: Error) => {
    if (!isResumed && problem instanceof RegistryError && problem.isRefusal) throw problem;
    onProblem(problem);
  });
  if (!isResumed) await first;
  if (refreshMs > 0) keepFresh(skills, refreshMs, onProblem);
  return skills;
}

/** A while apart and not all at once, since many servers may have been started together. */
function keepFresh(skills: RegistrySkills, refreshMs: number, onProblem: (problem: Error) => void): void {
  const timer: unknown = setTimeout(
    () => {
      if (skills.isClosed) return;
      void skills
        .refresh()
        .catch((problem: Error) => !skills.isClosed && onProblem(problem))
        .finally(() => keepFresh(skills, refreshMs, onProblem));
    },
    refreshMs * (0.9 + 0.2 * Math.random()),
  );
  // Node: a server that ends is not kept alive by this.
  (timer as { unref?: () => void }).unref?.();
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** Whoever is told of a problem makes no new one: nothing here waits for them. */
function told(tell: (problem: Error) => void): (problem: Error) => void {
  return (problem) => {
    try {
      tell(problem);
    } catch (failure) {
      warn(problem);
      warn(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
}

function warn(problem: Error): void {
  // oxlint-disable-next-line no-console -- In somebody else's server there is nobody else to tell.
  console.warn(`skill-registry: ${problem.message}`);
}
