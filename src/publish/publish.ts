import type { Digest } from "../domain/digest.ts";
import { concurrentBlobPuts, maxVersionRetries } from "../domain/limits.ts";
import type { SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import { Problem, problem } from "../domain/problem.ts";
import { skillMd } from "../domain/uri.ts";
import { isPrerelease } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import { documentOf } from "../domain/search/document.ts";
import { termsToIndex } from "../domain/search/terms.ts";
import { toolsNamedIn } from "../domain/tool-name.ts";
import type { Blobs } from "../storage/blobs.ts";
import type { Change, Ledger, NewRelease } from "../storage/ledger.ts";
import { refuseOverQuota } from "../storage/quotas.ts";
import type { News } from "../storage/news.ts";
import type { Receipt } from "../storage/receipts.ts";
import type { Actor } from "../storage/rights.ts";
import { decide, requestedVersion } from "./decide.ts";
import type { Decision } from "./decide.ts";
import { entryTexts, pack } from "./release.ts";
import type { Draft, Packed } from "./release.ts";

/**
 * The one way in for bytes: decide → touch → upload → commit. Blobs first, then one D1 batch that makes everything
 * visible at once, for all skills of the upload. A crash before the batch leaves blobs that nobody references; a
 * retry is always safe, because publishing the same bytes again is a no-op.
 */
export interface PublishOptions {
  version: Version | undefined;
  visibility: SkillVisibility | undefined;
  /** Whether a release may become current; a pre-release never does. */
  mayBecomeCurrent: boolean;
  isDryRun: boolean;
  /** Below which path skills that the upload lacks are reported, or (`isDry` false) withdrawn. */
  prune: { below: SkillPath; isDry: boolean } | undefined;
  actor: Actor;
  /** Whether the caller may know of a skill at a path that is in the way; absent: of none. */
  mayKnow?: (path: SkillPath) => boolean;
  /** Called with what listeners have to be told, once it is committed. */
  onCommit?: (news: News | undefined) => void;
  /** Called with the outcome right before it is committed, for an answer to be kept with it. */
  receiptOf?: (published: Published) => Receipt;
}

/** One skill of the upload, as it stands after the publish. */
export interface PublishedSkill {
  draft: Draft;
  decision: Decision;
  /** Undefined when nothing was added, or only would be. */
  release: NewRelease | undefined;
}

export interface Published {
  skills: PublishedSkill[];
  pruned: SkillPath[];
  isChanged: boolean;
  hasNewRelease: boolean;
}

/** Where the bytes and the rows go. */
export interface Stores {
  ledger: Ledger;
  blobs: Blobs;
}

export async function publish(drafts: readonly Draft[], options: PublishOptions, stores: Stores): Promise<Published> {
  const packed = new Map<Draft, Packed>();
  for (let attempt = 0; attempt < maxVersionRetries; attempt++) {
    const decisions = await decideAll(drafts, options, stores.ledger);
    const fresh = drafts.filter((_, index) => decisions[index]!.isNew);
    if (!options.isDryRun) {
      for (const draft of fresh) if (!packed.has(draft)) packed.set(draft, await pack(draft));
      await upload(
        fresh.map((draft) => packed.get(draft)!),
        stores,
        options.actor.now,
      );
    }
    const skills = drafts.map((draft, index) => skillOf(draft, decisions[index]!, packed.get(draft), options));
    const published = outcome(skills, await findVanished(drafts, options, stores.ledger), options);
    if (options.isDryRun || (await commit(published, options, stores.ledger))) return published;
  }
  throw problem("busy", "Others published to the same skill at the same moment, each time we tried; try again", {
    headers: { "retry-after": "2" },
  });
}

/** Every draft has one: without it there is no entry. */
function skillMdIn({ files }: Draft): Uint8Array {
  return files.find((file) => file.path === skillMd)!.bytes;
}

async function decideAll(drafts: readonly Draft[], options: PublishOptions, ledger: Ledger): Promise<Decision[]> {
  const wanted = drafts.map((draft) => ({ path: draft.path, version: requestedVersion(draft, options.version) }));
  const { skills, quotas } = await ledger.findStates(wanted, options.actor.now);
  const decisions = drafts.map((draft, index) => decide(draft, options, skills[index]!));
  const fresh = drafts.filter((_, index) => decisions[index]!.isNew);
  const adds = {
    skills: fresh.filter((draft) => skills[drafts.indexOf(draft)]!.skill === undefined).length,
    bytes: fresh.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    publishesADay: fresh.length,
  };
  refuseOverQuota(quotas, adds, options.actor);
  return decisions;
}

function skillOf(
  draft: Draft,
  decision: Decision,
  packed: Packed | undefined,
  options: PublishOptions,
): PublishedSkill {
  if (!decision.isNew) return { draft, decision, release: undefined };
  const texts = entryTexts(draft, decision.version);
  if (packed === undefined) return { draft, decision, release: undefined };
  const release: NewRelease = {
    path: draft.path,
    version: decision.version,
    name: draft.entry.frontmatter.name,
    description: draft.entry.frontmatter.description,
    tree: draft.tree,
    ...packed,
    ...texts,
    terms: termsToIndex(documentOf(draft.path, draft.entry.frontmatter, skillMdIn(draft))),
    tools: toolsNamedIn(draft.entry.frontmatter),
    visibility: options.visibility,
    becomesCurrent: options.mayBecomeCurrent && !isPrerelease(decision.version),
  };
  return { draft, decision, release };
}

/** Skills below the pruned path that lists show and the upload lacks. */
async function findVanished(drafts: readonly Draft[], { prune }: PublishOptions, ledger: Ledger): Promise<SkillPath[]> {
  if (prune === undefined) return [];
  const kept = new Set<string>(drafts.map((draft) => draft.path));
  return (await ledger.listCurrentBelow(prune.below)).filter((path) => !kept.has(path));
}

function outcome(skills: PublishedSkill[], pruned: SkillPath[], options: PublishOptions): Published {
  const hasNewRelease = skills.some(({ decision }) => decision.isNew);
  const prunes = options.prune?.isDry === false && pruned.length > 0;
  const isChanged = hasNewRelease || prunes || skills.some(({ decision }) => decision.visibilityChanges);
  return { skills, pruned, isChanged, hasNewRelease };
}

async function upload(packed: readonly Packed[], { ledger, blobs }: Stores, now: number): Promise<void> {
  const bytes = new Map<Digest, Uint8Array>(packed.flatMap((one) => [...one.bytes]));
  if (bytes.size === 0) return;
  const all = [...bytes].map(([digest, content]) => ({ digest, size: content.byteLength }));
  const missing = [...(await ledger.touch(all, now))];
  await inPool(missing, concurrentBlobPuts, (digest) => blobs.put(digest, bytes.get(digest)!));
  await ledger.markStored(missing);
}

/** False when another publisher took a version, or the last place, meanwhile: the decision has to be made again. */
async function commit(published: Published, options: PublishOptions, ledger: Ledger): Promise<boolean> {
  const change: Change = {
    releases: published.skills.flatMap(({ release }) => (release === undefined ? [] : [release])),
    // A skill that was new when this was decided may exist by now, with the visibility of whoever made it.
    visibilities: published.skills
      .filter(({ decision }) => decision.visibilityChanges || (decision.isNew && options.visibility !== undefined))
      .map(({ draft }) => ({ path: draft.path, visibility: options.visibility! })),
    withdrawn: options.prune?.isDry === false ? published.pruned : [],
    spared: published.skills
      .filter(({ decision }) => options.prune?.isDry === false && !decision.isNew)
      .map(({ draft }) => draft.path),
    receipt: options.receiptOf?.(published),
    actor: options.actor,
  };
  try {
    const news = await ledger.commit(change);
    options.onCommit?.(news);
    return true;
  } catch (error) {
    if (error instanceof Problem && ["version_exists", "quota_exceeded"].includes(error.code)) return false;
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
