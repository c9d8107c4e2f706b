import type { Namespace, SkillPath } from "./names.ts";
import type { SkillUri } from "./uri.ts";
import { candidates, skillMd } from "./uri.ts";
import type { Version } from "./version.ts";

/**
 * What an address's listeners are told: which skills changed, and who may know of it. Pure, so that what is sent to
 * whom can be read and tested without a socket.
 */
export interface Announcement {
  /** As strangers count. */
  publicRevision: number;
  /** As people of these namespaces count: of the address's own, and of the one whose skills changed. */
  revisions: Readonly<Record<string, number>>;
  /** Of the address, undefined for /mcp: the operator counts by it. */
  home: Namespace | undefined;
  changes: readonly SkillChange[];
}

export interface SkillChange {
  namespace: Namespace;
  path: SkillPath;
  /** Strangers could see it before, or can now. */
  isPublic: boolean;
  /** Lists of the address show it otherwise than before. */
  isListed: boolean;
  /** What its moving address serves is another. */
  isMoved: boolean;
  /** Versions whose pinned addresses changed what they say; "all" when the skill was hidden, shown or deleted. */
  pinned: readonly Version[] | "all";
}

/** What a listener may read; kept with its socket. */
export interface Sight {
  everything: boolean;
  /** The namespace of its token, if it has one. */
  namespace: Namespace | null;
  /** "" or a path with its closing slash. */
  below: string;
}

/** How far along a listener is: as strangers count, and as those of its namespace do. Neither ever falls. */
export interface Progress {
  publicRevision: number;
  revision: number;
}

/** One number that grows with either: what an event is called on the wire, and what a session remembers. */
export function formatProgress({ publicRevision, revision }: Progress): number {
  return publicRevision + revision;
}

/** What one listener is told, after everything that it may not know was left out. */
export interface Told {
  publicRevision: number;
  /** For those of the namespace. */
  revision?: number;
  isListed: boolean;
  changes: readonly Pick<SkillChange, "namespace" | "path" | "isMoved" | "pinned">[];
}

/** Undefined when none of it is for this listener. */
export function toldTo(sight: Sight, announcement: Announcement): Told | undefined {
  const { publicRevision, changes } = announcement;
  const seen = changes.filter((change) => isFor(sight, change));
  if (seen.length === 0) return undefined;
  return {
    publicRevision,
    ...revisionFor(sight, announcement),
    isListed: seen.some((change) => change.isListed),
    changes: seen.map(({ namespace, path, isMoved, pinned }) => ({ namespace, path, isMoved, pinned })),
  };
}

/** Who is held to a path counts like a stranger: the count of the whole tells of what lies beside the path. */
function revisionFor(sight: Sight, { revisions, home }: Announcement): { revision?: number } {
  const namespace = sight.everything ? home : sight.namespace;
  if (sight.below !== "" || namespace === null || namespace === undefined) return {};
  const revision = revisions[namespace];
  return revision === undefined ? {} : { revision };
}

function isFor({ everything, namespace, below }: Sight, change: SkillChange): boolean {
  return everything || change.isPublic || (namespace === change.namespace && `${change.path}/`.startsWith(below));
}

/** Several tellings as one: the newest revisions, and every change in the order in which it came. */
export function merge(told: readonly Told[]): Told {
  const revisions = told.flatMap(({ revision }) => (revision === undefined ? [] : [revision]));
  return {
    publicRevision: Math.max(...told.map(({ publicRevision }) => publicRevision)),
    ...(revisions.length === 0 ? {} : { revision: Math.max(...revisions) }),
    isListed: told.some(({ isListed }) => isListed),
    changes: told.flatMap(({ changes }) => changes),
  };
}

/** Whether what is told concerns the SKILL.md at an address. */
export function concerns(told: Told, uri: SkillUri): boolean {
  const [path, version] =
    uri.kind === "pinned"
      ? [uri.path, uri.version]
      : [candidates(uri.segments).find(({ file }) => file === skillMd)?.path, undefined];
  return told.changes.some(
    (change) =>
      change.namespace === uri.namespace &&
      change.path === path &&
      (version === undefined ? change.isMoved : change.pinned === "all" || change.pinned.includes(version)),
  );
}
