import type { SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import { problem } from "../domain/problem.ts";
import { isVersion, nextPatch } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { KnownRelease, SkillState } from "../storage/publish-state.ts";
import { isSameRelease } from "./release.ts";
import type { Draft } from "./release.ts";

/** What a publish of one skill will do, from what is known of it. Pure, so that a lost race just decides again. */
export interface Decision {
  version: Version;
  /** False when these bytes were there already. */
  isNew: boolean;
  /** Whether the request gives a skill that exists another visibility. */
  visibilityChanges: boolean;
  /** The release that holds these bytes, when there is one. */
  twin: KnownRelease | undefined;
}

/** The version that the author names, in the request or in the frontmatter. */
export function requestedVersion(draft: Draft, inRequest: Version | undefined): Version | undefined {
  if (inRequest !== undefined) return inRequest;
  const metadata = draft.entry.frontmatter["metadata"] as Record<string, string> | undefined;
  const declared = metadata?.["version"];
  return declared !== undefined && isVersion(declared) ? declared : undefined;
}

export interface DecideOptions {
  version: Version | undefined;
  visibility: SkillVisibility | undefined;
  mayBecomeCurrent: boolean;
  mayKnow?: (path: SkillPath) => boolean;
}

/** @throws Problem `version_exists`, `path_conflict` */
export function decide(draft: Draft, options: DecideOptions, state: SkillState): Decision {
  if (state.conflict !== undefined) {
    const known = options.mayKnow?.(state.conflict) === true;
    const other = known
      ? `the skill "${state.conflict}"`
      : `a skill ${draft.path.startsWith(`${state.conflict}/`) ? "above" : "below"} it`;
    throw problem("path_conflict", `"${draft.path}" and ${other} would lie inside each other; choose another ?path=`);
  }
  const requested = requestedVersion(draft, options.version);
  const visibilityChanges =
    state.skill !== undefined && options.visibility !== undefined && options.visibility !== state.skill.visibility;
  // A release that was not to become current is repeated by a retry, which must not publish it again.
  const last = options.mayBecomeCurrent ? state.current : (state.newest ?? state.current);
  const twin = requested === undefined ? last : state.requested;
  if (twin !== undefined && isSameRelease(draft, twin)) {
    return { version: twin.version, isNew: false, visibilityChanges, twin };
  }
  if (requested !== undefined && (state.requested !== undefined || state.isSpent)) {
    throw versionExists(draft, requested, state);
  }
  return { version: requested ?? nextPatch(state.highest), isNew: true, visibilityChanges, twin: undefined };
}

function versionExists(draft: Draft, version: Version, state: SkillState) {
  const how = state.isSpent ? "belonged to a release that was deleted" : "exists with other bytes";
  return problem(
    "version_exists",
    `Version ${version} of "${draft.path}" ${how}, and a version is never reused. Publish as another version, e.g. ` +
      `?version=${nextPatch(state.highest)}; where the frontmatter names metadata.version, raise it there`,
  );
}
