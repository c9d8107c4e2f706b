import { decodeLossless } from "../domain/media-type.ts";
import { maxWholeReadBytes, pinnedReadTtlMs } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { parseSkillUri, skillMd, skillScheme } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import type { FileRow, ReadableFileRow } from "../storage/catalog.ts";
import { isTextStream, toBase64 } from "./file-stream.ts";
import { listListed } from "./lists.ts";
import { freshness, uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/** The ordinary resources: what hosts without the Skills extension see of the same catalogue. */

/** `resources/list`: the SKILL.md of each listed skill. Other files are found through it, not listed. */
export async function listResources(visit: Visit, cursor: string | undefined) {
  const { items, nextCursor } = await listListed(visit, "resources", cursor);
  const resources = items.map((row) => ({
    uri: uriOf(row),
    name: row.name,
    description: row.description,
    mimeType: "text/markdown",
    size: row.skill_md_bytes,
    annotations: { audience: ["assistant" as const] },
  }));
  return { resources, ...nextCursor, ...freshness(visit) };
}

/** `resources/templates/list`: `{+path}`, since `{path}` would not match a file in a folder. */
export function listTemplates(visit: Visit) {
  return { resourceTemplates: [templateAt(visit)], ...freshness(visit) };
}

export function templateAt(visit: Visit) {
  // A collection holds skills of any namespace.
  const namespace = visit.address.collection === undefined ? visit.address.namespace : undefined;
  return {
    uriTemplate: namespace === undefined ? `${skillScheme}{+path}` : `${skillScheme}${namespace}/{+path}`,
    name: "skill-file",
    title: "A file of a skill",
    description:
      namespace === undefined
        ? "Path: {namespace}/{skill}/{file}, or {namespace}/@{version}/{skill}/{file} for bytes that never change"
        : "Path: {skill}/{file}, or @{version}/{skill}/{file} for bytes that never change",
  };
}

/** `resources/read`: one file, exactly one content, bytes as they were published. */
export async function readResource(visit: Visit, uri: string) {
  const parsed = parseSkillUri(uri);
  const file = parsed === undefined ? undefined : await visit.catalog.findFile(parsed);
  if (parsed === undefined || file === undefined) throw problem("not_found", `No resource is served at ${uri}`);
  const contents = file.size <= maxWholeReadBytes ? readContents(visit, uri, file) : streamContents(visit, uri, file);
  countRead(visit, parsed.namespace, file);
  return { contents: [await contents], ...freshness(visit, readTtlMs(parsed)) };
}

/** A skill is read where its SKILL.md is; its other files follow from that. */
export function countRead(visit: Visit, namespace: Namespace, file: ReadableFileRow): void {
  if (file.file !== skillMd) return;
  visit.tally.read({ namespace, path: file.path, version: file.version, isCurrent: file.is_current === 1 });
}

/** Text where the bytes survive the way to text and back, standard base64 otherwise. */
export async function readContents(visit: Visit, uri: string, file: FileRow) {
  const bytes = await visit.blobs.read(file.digest, parseSkillUri(uri)!.namespace);
  const text = decodeLossless(bytes);
  const facts = { uri, mimeType: file.media_type };
  return text === undefined ? { ...facts, blob: toBase64(bytes) } : { ...facts, text };
}

/**
 * The same for a file that is too large to be in memory several times over, for each of many requests. It is opened
 * before the answer begins, so that a failure is still an answer; in an array of requests only when its turn comes,
 * because a Worker waits for few open bodies at once.
 */
async function streamContents(visit: Visit, uri: string, file: ReadableFileRow) {
  const open = async () => (await visit.blobs.open(file.digest)).body;
  const isText = file.is_text === null ? await isTextStream(await open()) : file.is_text === 1;
  const body = visit.isBatched ? undefined : await open();
  const insert = visit.inserts.add({ isText, open: async () => body ?? open() });
  const facts = { uri, mimeType: file.media_type };
  return isText ? { ...facts, text: insert } : { ...facts, blob: insert };
}

/** The bytes behind a pinned address never change, so a client may keep them for a day. */
function readTtlMs(uri: SkillUri): number | undefined {
  return uri.kind === "pinned" ? pinnedReadTtlMs : undefined;
}
