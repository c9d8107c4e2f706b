import { parseCursor } from "../domain/cursor.ts";
import { problem } from "../domain/problem.ts";
import { encodeSegment, parseSkillUri } from "../domain/uri.ts";
import { listEntries } from "./lists.ts";
import { freshness, listName } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * The methods of the Skills extension (io.modelcontextprotocol/skills, SEP-2640) over the catalogue. Entries were
 * built and checked by the official SDK at publish and are served as stored: their JSON is never parsed here.
 */

/** `skills/list`: pages of entries; a pinned skill of a collection under its pinned address. */
export async function listSkills(visit: Visit, cursor: string | undefined) {
  const { items, nextCursor } = await listEntries(visit, cursor);
  const skills = visit.inserts.add(`[${items.map((row) => row.entry).join()}]`);
  return { skills, ...nextCursor, ...freshness(visit) };
}

/** `skills/get`: the entry under exactly the address that was asked for, listed or not. */
export async function getSkill(visit: Visit, uri: string) {
  const parsed = parseSkillUri(uri);
  const found = parsed === undefined ? undefined : await visit.catalog.findEntry(parsed);
  if (parsed === undefined || found === undefined) throw problem("not_found", `No skill is served at ${uri}`);
  const { path, version, is_current } = found;
  visit.tally.read({ namespace: parsed.namespace, path, version, isCurrent: is_current === 1 });
  return { skill: visit.inserts.add(found.entry), ...freshness(visit) };
}

/** `resources/directory/read`: the direct children of a skill's directory. A skill's files fit one page. */
export async function readDirectory(visit: Visit, uri: string, cursor: string | undefined) {
  if (cursor !== undefined) parseCursor(listName(visit.address, `directory ${uri}`), cursor);
  const parsed = parseSkillUri(uri);
  const files = parsed === undefined ? [] : await visit.catalog.listDirectory(parsed);
  if (parsed === undefined || files.length === 0) throw problem("not_found", `${uri} is not a directory of a skill`);
  const below = depthBelowSkill(parsed, files[0]!.path);
  const children = new Map<string, Record<string, unknown>>();
  for (const file of files) {
    const rest = file.file.split("/").slice(below);
    const child = `${uri}/${encodeSegment(rest[0]!)}`;
    const isFile = rest.length === 1;
    const kind = isFile ? { mimeType: file.media_type, size: file.size } : { mimeType: "inode/directory" };
    children.set(child, { uri: child, name: rest[0]!, ...kind });
  }
  const resources = [...children.values()].sort((a, b) => ((a["uri"] as string) < (b["uri"] as string) ? -1 : 1));
  return { resources, ...freshness(visit) };
}

/** How many segments of a file's path the directory itself takes. */
function depthBelowSkill(uri: NonNullable<ReturnType<typeof parseSkillUri>>, path: string): number {
  if (uri.kind === "pinned") return uri.file === "" ? 0 : uri.file.split("/").length;
  return uri.segments.length - path.split("/").length;
}
