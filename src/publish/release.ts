import { digestOf, digestOfText } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import { pinEntry } from "../domain/entry.ts";
import type { Entry, SkillFile } from "../domain/entry.ts";
import { fileFinding } from "../domain/finding.ts";
import { maxEntryBytes } from "../domain/limits.ts";
import { isText, mediaTypeOf } from "../domain/media-type.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { movingUri } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import type { Blob, NewFile } from "../storage/ledger.ts";
import type { KnownRelease } from "../storage/publish-state.ts";
import { packTarGz, packZip } from "./pack.ts";

/** A described upload: what is to be published, before a version is chosen. */
export interface Draft {
  namespace: Namespace;
  path: SkillPath;
  entry: Entry;
  files: readonly SkillFile[];
  /** Digests by file, as the entry lists them. */
  digests: ReadonlyMap<string, Digest>;
  /** Names the whole manifest: equal trees are equal bytes under equal names. */
  tree: Digest;
}

export async function draftOf(
  namespace: Namespace,
  path: SkillPath,
  entry: Entry,
  files: readonly SkillFile[],
): Promise<Draft> {
  const byUri = new Map(entry.resources.map((resource) => [resource.uri, resource.digest]));
  const digests = new Map(files.map((file) => [file.path, byUri.get(movingUri(namespace, path, file.path))!]));
  return { namespace, path, entry, files, digests, tree: await treeOf(digests) };
}

/** SHA-256 over the lines `<digest>  <file>\n` in code-unit order of the files: `sha256sum` users can remake it. */
async function treeOf(digests: ReadonlyMap<string, Digest>): Promise<Digest> {
  const lines = [...digests].sort(([a], [b]) => (a < b ? -1 : 1)).map(([file, digest]) => `${digest}  ${file}\n`);
  return digestOfText(lines.join(""));
}

/** Whether a known release holds these very bytes; the executable bits count where the upload could carry them. */
export function isSameRelease(draft: Draft, known: KnownRelease): boolean {
  if (draft.tree !== known.tree) return false;
  const executables = new Set(JSON.parse(known.executables) as string[]);
  return draft.files.every((file) => file.executable === undefined || file.executable === executables.has(file.path));
}

/** Everything of a release that is stored, in the forms in which it is stored. */
export interface Packed {
  files: NewFile[];
  executables: string[];
  zip: Blob;
  tar: Blob;
  /** Each distinct blob once. */
  bytes: ReadonlyMap<Digest, Uint8Array>;
}

export async function pack(draft: Draft): Promise<Packed> {
  const bytes = new Map<Digest, Uint8Array>();
  const files = draft.files.map((file) => {
    const digest = draft.digests.get(file.path)!;
    bytes.set(digest, file.bytes);
    return {
      file: file.path,
      digest,
      size: file.bytes.byteLength,
      mediaType: mediaTypeOf(file.path, file.bytes),
      isText: isText(file.bytes),
      executable: file.executable === true,
    };
  });
  const zip = await store(bytes, packZip(draft.files));
  const tar = await store(bytes, await packTarGz(draft.files));
  const executables = files.filter((file) => file.executable).map((file) => file.file);
  return { files, executables: executables.sort(), zip, tar, bytes };
}

async function store(into: Map<Digest, Uint8Array>, archive: Uint8Array): Promise<Blob> {
  const digest = await digestOf(archive);
  into.set(digest, archive);
  return { digest, size: archive.byteLength };
}

/**
 * Both spellings of the entry as finished JSON.
 * @throws Problem `invalid_release` when one would not fit a row: the frontmatter is then far larger than any needs.
 */
export function entryTexts(draft: Draft, version: Version) {
  const entry = JSON.stringify(draft.entry);
  const pinnedEntry = JSON.stringify(pinEntry(draft.entry, draft.namespace, draft.path, version));
  const entryBytes = new TextEncoder().encode(pinnedEntry).byteLength;
  if (entryBytes > maxEntryBytes) {
    const finding = fileFinding("error", "entry_too_large", "SKILL.md", {
      message: `The entry (frontmatter and manifest as JSON) has ${entryBytes} bytes; at most ${maxEntryBytes} are stored`,
      fix: "Move long text from the frontmatter into the body, or shorten file names.",
    });
    throw problem("invalid_release", finding.message, { findings: [finding] });
  }
  return { entry, pinnedEntry, entryBytes };
}
