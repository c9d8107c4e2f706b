import type { Namespace } from "../domain/names.ts";
import { movingUri, pinnedUri } from "../domain/uri.ts";
import type { AnySkillRow, FileRow, Page, PickedRow, ReleaseRow, SkillStateRow } from "../storage/catalog.ts";
import type { CollectionRow, EditionRow, Holder } from "../storage/collections.ts";

/** Rows as the API shows them: snake_case, times in ISO 8601, sizes in bytes. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function formatTimeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : formatTime(milliseconds);
}

/** A skill without a current release has no version, name or description to show. */
export function formatSkill(row: AnySkillRow) {
  return {
    namespace: row.namespace,
    path: row.path,
    name: row.name,
    description: row.description,
    visibility: row.visibility,
    uri: movingUri(row.namespace, row.path),
    version: row.version,
    files: row.file_count,
    bytes: row.total_bytes,
    published_at: row.version === null ? null : formatTime(row.published_at),
  };
}

export function formatSkillState(row: SkillStateRow) {
  return {
    namespace: row.namespace,
    path: row.path,
    visibility: row.visibility,
    current: row.current,
    created_at: formatTime(row.created_at),
    updated_at: formatTime(row.updated_at),
  };
}

/** Who published is shown to those who have rights in the namespace: it names people and tokens. */
export function formatRelease(namespace: Namespace, row: Omit<ReleaseRow, "id">, isInsider: boolean) {
  return {
    namespace,
    path: row.path,
    name: row.name,
    description: row.description,
    version: row.version,
    is_current: row.is_current === 1,
    uri: movingUri(namespace, row.path),
    pinned_uri: pinnedUri(namespace, row.path, row.version),
    /** SHA-256 over the manifest's lines `<digest>  <file>\n`, sorted: one name for all bytes of the release. */
    digest: row.tree,
    files: row.file_count,
    bytes: row.total_bytes,
    archives: {
      zip: { digest: row.zip_digest, size: row.zip_bytes },
      tar_gz: { digest: row.tar_digest, size: row.tar_bytes },
    },
    published_at: formatTime(row.published_at),
    ...(isInsider ? { published_by: row.published_by } : {}),
    /** What the issuer of a CI said of the job that published it; null: it was published otherwise. */
    source: row.source === null ? null : (JSON.parse(row.source) as unknown),
    yanked_at: row.yanked_at === null ? null : formatTime(row.yanked_at),
  };
}

export function formatManifest(release: ReleaseRow, files: readonly FileRow[]) {
  return {
    version: release.version,
    digest: release.tree,
    files: files.map((row) => ({
      file: row.file,
      digest: row.digest,
      size: row.size,
      media_type: row.media_type,
      executable: row.executable === 1,
    })),
  };
}

/**
 * Edition and time of change move with every change, also with those of what strangers do not see of it, so only those
 * who curate see these.
 */
export function formatCollection(row: CollectionRow, mayCurate: boolean) {
  const shown = {
    namespace: row.namespace,
    name: row.name,
    title: row.title,
    instructions: row.instructions,
    visibility: row.visibility,
    /** Every listed skill of the namespace, instead of a list. */
    all: row.is_all === 1,
    /** per-skill: each skill is a tool as well. */
    tools: row.tools,
    address: `/mcp/${row.namespace}/${row.name}`,
    created_at: formatTime(row.created_at),
  };
  return mayCurate ? { ...shown, edition: row.edition, updated_at: formatTime(row.updated_at) } : shown;
}

/** A skill of a collection as agents see it there. */
export function formatPicked(row: PickedRow) {
  const isPinned = row.is_pinned === 1;
  return {
    namespace: row.namespace,
    path: row.path,
    name: row.name,
    description: row.description,
    version: row.version,
    pinned: isPinned,
    uri: isPinned ? pinnedUri(row.namespace, row.path, row.version) : movingUri(row.namespace, row.path),
  };
}

export function formatEdition(row: EditionRow) {
  return {
    edition: row.edition,
    made_at: formatTime(row.made_at),
    made_by: row.made_by,
    content: JSON.parse(row.content) as unknown,
  };
}

/** The collections that an answer to a dry run names, as far as there is room for them. */
export function formatHolders({ items, hasMore }: Page<Holder>) {
  return { collections: items.map(formatHolder), more_collections: hasMore };
}

/** A collection that holds a skill. `version` null: it follows current, or the question was not about one skill. */
function formatHolder(row: Holder) {
  return {
    namespace: row.namespace,
    name: row.name,
    title: row.title,
    address: `/mcp/${row.namespace}/${row.name}`,
    version: row.version,
  };
}
