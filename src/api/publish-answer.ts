import type { Finding } from "../domain/finding.ts";
import type { Namespace } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import type { Published, PublishedSkill } from "../publish/publish.ts";
import type { ReleaseRow } from "../storage/catalog.ts";
import type { Caller } from "./caller.ts";
import { formatRelease } from "./shapes.ts";

/** The answer to a publish. It is made before the commit, so that it can be kept with it for a retry. */
export interface AnswerShape {
  namespace: Namespace;
  isSingle: boolean;
  isDryRun: boolean;
  findings: Finding[];
  caller: Caller;
  /** Of what is new; JSON. */
  source: string | null;
}

/** 201 when a release is new, else 200; for one skill the skill itself, for several a list of them. */
export function answerOf(published: Published, shape: AnswerShape) {
  const skills = published.skills.map((skill) => formatSkill(skill, shape));
  const status: 200 | 201 = published.hasNewRelease && !shape.isDryRun ? 201 : 200;
  const common = {
    ...(shape.isDryRun ? { dry_run: true } : {}),
    changed: published.isChanged,
    findings: shape.findings,
  };
  if (!shape.isSingle) return { status, body: { ...common, skills, pruned: published.pruned }, location: undefined };
  const location = locationOf(shape.namespace, skills[0]!.release);
  return {
    status,
    body: { ...common, release: skills[0]!.release, entry: skills[0]!.entry },
    location: shape.isDryRun ? undefined : location,
  };
}

export function locationOf(namespace: Namespace, { path, version }: { path: string; version: string }): string {
  return `/api/v1/namespaces/${namespace}/skills/${path}/-/releases/${version}`;
}

function formatSkill({ draft, decision, release }: PublishedSkill, shape: AnswerShape) {
  const changed = decision.isNew || decision.visibilityChanges;
  if (decision.twin !== undefined) {
    return { changed, release: formatRelease(shape.namespace, decision.twin, true), entry: draft.entry };
  }
  if (release === undefined) {
    // A dry run packs no archives, so it can name the release but not its downloads.
    return {
      changed,
      release: { path: draft.path, version: decision.version, digest: draft.tree },
      entry: draft.entry,
    };
  }
  const row: Omit<ReleaseRow, "id"> = {
    path: draft.path,
    version: decision.version,
    is_current: release.becomesCurrent ? 1 : 0,
    name: release.name,
    description: release.description,
    tree: draft.tree,
    executables: JSON.stringify(release.executables),
    file_count: release.files.length,
    total_bytes: release.files.reduce((sum, file) => sum + file.size, 0),
    zip_digest: release.zip.digest,
    zip_bytes: release.zip.size,
    tar_digest: release.tar.digest,
    tar_bytes: release.tar.size,
    published_at: shape.caller.now,
    published_by: formatPrincipal(shape.caller.principal),
    source: shape.source,
    yanked_at: null,
  };
  return { changed, release: formatRelease(shape.namespace, row, true), entry: draft.entry };
}
