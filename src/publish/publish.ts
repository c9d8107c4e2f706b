import type { Digest } from "../domain/digest.ts";
import { concurrentBlobPuts, maxVersionRetries } from "../domain/limits.ts";
import type { SkillVisibility } from "../domain/principal.ts";
import { Problem, problem } from "../domain/problem.ts";
import { isPrerelease, isVersion, nextPatch } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { Blobs } from "../storage/blobs.ts";
import type { Ledger, SkillState } from "../storage/ledger.ts";
import { entryTexts, isSameRelease, pack, searchTextOf } from "./release.ts";
import type { Draft, Packed } from "./release.ts";

/**
 * The one way in for bytes: decide → touch → upload → commit. Blobs first, then one D1 batch that makes everything
 * visible at once. A crash before the batch leaves blobs that nobody references; a retry is always safe, because
 * publishing the same bytes again is a no-op.
 */
export interface PublishOptions {
  version: Version | undefined;
  visibility: SkillVisibility | undefined;
  /** Whether the release may become current; a pre-release never does. */
  mayBecomeCurrent: boolean;
  isDryRun: boolean;
  publishedBy: string;
  /** For a skill that is new and for which the request names no visibility. */
  defaultVisibility: SkillVisibility;
  now: number;
}

export interface Published {
  version: Version;
  /** False when these bytes were there already. */
  isNew: boolean;
  /** What the request changed besides adding a release. */
  visibilityChanged: boolean;
}

export async function publish(draft: Draft, options: PublishOptions, ledger: Ledger, blobs: Blobs): Promise<Published> {
  let packed: Packed | undefined;
  for (let attempt = 0; attempt < maxVersionRetries; attempt++) {
    const state = await ledger.findState(draft.path, requestedVersion(draft, options));
    const decision = decide(draft, options, state);
    const texts = decision.isNew ? entryTexts(draft, decision.version) : undefined;
    if (options.isDryRun) return decision;
    if (texts === undefined) {
      if (decision.visibilityChanged) await ledger.setVisibility(draft.path, options.visibility!, options.now);
      return decision;
    }
    packed ??= await pack(draft);
    await upload(packed, ledger, blobs, options.now);
    if (await commit(draft, { ...packed, ...texts, version: decision.version }, options, ledger)) return decision;
  }
  throw problem("busy", "Many publishers are publishing this skill at once; try again", {
    headers: { "retry-after": "1" },
  });
}

/** The version that the author names, in the request or in the frontmatter. */
function requestedVersion(draft: Draft, options: PublishOptions): Version | undefined {
  if (options.version !== undefined) return options.version;
  const metadata = draft.entry.frontmatter["metadata"] as Record<string, string> | undefined;
  const declared = metadata?.["version"];
  return declared !== undefined && isVersion(declared) ? declared : undefined;
}

/** @throws Problem `version_exists`, `path_conflict` */
function decide(draft: Draft, options: PublishOptions, state: SkillState): Published {
  if (state.conflict !== undefined) {
    throw problem(
      "path_conflict",
      `"${draft.path}" and the skill "${state.conflict}" would lie inside each other; choose another ?path=`,
    );
  }
  const requested = requestedVersion(draft, options);
  const visibilityChanged =
    state.skill !== undefined && options.visibility !== undefined && options.visibility !== state.skill.visibility;
  const twin = requested === undefined ? state.current : state.requested;
  if (twin !== undefined && isSameRelease(draft, twin)) {
    return { version: twin.version, isNew: false, visibilityChanged };
  }
  if (requested !== undefined && state.requested !== undefined) {
    const next = nextPatch(state.highest);
    throw problem(
      "version_exists",
      `Version ${requested} of "${draft.path}" exists with other bytes, and a version is never reused. Publish as ` +
        `another version, e.g. ?version=${next}; where the frontmatter names metadata.version, raise it there`,
    );
  }
  return { version: requested ?? nextPatch(state.highest), isNew: true, visibilityChanged };
}

async function upload(packed: Packed, ledger: Ledger, blobs: Blobs, now: number): Promise<void> {
  const all = [...packed.bytes].map(([digest, bytes]) => ({ digest, size: bytes.byteLength }));
  const missing = [...(await ledger.touch(all, now))];
  await inPool(missing, concurrentBlobPuts, (digest) => blobs.put(digest, packed.bytes.get(digest)!));
  await ledger.markStored(missing);
}

/** False when another publisher took the version meanwhile: the decision has to be made again. */
async function commit(
  draft: Draft,
  stored: Packed & ReturnType<typeof entryTexts> & { version: Version },
  options: PublishOptions,
  ledger: Ledger,
): Promise<boolean> {
  try {
    await ledger.commit({
      path: draft.path,
      name: draft.entry.frontmatter.name,
      description: draft.entry.frontmatter.description,
      tree: draft.tree,
      ...stored,
      publishedBy: options.publishedBy,
      now: options.now,
      visibility: options.visibility ?? options.defaultVisibility,
      setVisibility: options.visibility !== undefined,
      becomesCurrent: options.mayBecomeCurrent && !isPrerelease(stored.version),
      searchText: searchTextOf(draft),
    });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === "version_exists") return false;
    throw error;
  }
}

/** Workers wait for six responses at once; more would only hold memory. */
async function inPool(items: readonly Digest[], width: number, work: (item: Digest) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}
