import { formatCursor, parseCursor, readKey } from "../domain/cursor.ts";
import { maxSearchResults } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { parseQuery } from "../domain/search/query.ts";
import { encodeSegment, parseSkillUri } from "../domain/uri.ts";
import { findEntries } from "../storage/finding.ts";
import type { SearchRow } from "../storage/finding.ts";
import { listEntries } from "./lists.ts";
import { rankingVersion, searchSkillsHere } from "./search.ts";
import { metaPrefix } from "./tools/tool.ts";
import { freshness, listName, uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * The methods of the Skills extension (io.modelcontextprotocol/skills, SEP-2640) over the catalogue. Entries were
 * built and checked by the official SDK at publish and are served as stored: their JSON is never parsed here.
 */

/** `skills/list`: pages of entries; a pinned skill of a collection under its pinned address. */
export async function listSkills(visit: Visit, cursor: string | undefined, query?: string) {
  const wanted = query === undefined ? undefined : parseQuery(query);
  if (wanted !== undefined) return searchEntries(visit, wanted, cursor);
  const { items, nextCursor } = await listEntries(visit, cursor);
  const skills = visit.inserts.add(`[${items.map((row) => row.entry).join()}]`);
  return { skills, ...nextCursor, ...freshness(visit) };
}

/**
 * The same with a query, which is ours: only what fits it, best first, and nothing where nothing does. A cursor holds
 * the score and the address behind which to go on, so a publish in between does not end it.
 */
async function searchEntries(visit: Visit, query: string, cursor: string | undefined) {
  const list = listName(visit.address, `skills ${query}`);
  const position = cursor === undefined ? undefined : parseCursor(list, cursor);
  const after = position === undefined ? undefined : placeIn(position.key);
  const found = await searchSkillsHere(visit, query, { limit: maxSearchResults + 1, after });
  // A later page is judged as the first was: by the best of all.
  const judged = after === undefined ? found : await searchSkillsHere(visit, query, { limit: 1 });
  const rows = judged.isAnswer ? found.rows.slice(0, maxSearchResults) : [];
  const entries = rows.length === 0 ? [] : await findEntries(visit.catalog, rows);
  const last = rows.at(-1);
  const next =
    last === undefined || found.rows.length <= rows.length
      ? {}
      : { nextCursor: formatCursor(list, { page: (position?.page ?? 0) + 1, key: placeOf(last) }) };
  const scores = Object.fromEntries(rows.map((row) => [uriOf(row), row.score]));
  const meta = { [`${metaPrefix}/ranking`]: rankingVersion, [`${metaPrefix}/scores`]: scores };
  const skills = visit.inserts.add(`[${entries.join()}]`);
  return { skills, ...next, ...freshness(visit, 0), _meta: meta };
}

function placeOf({ score, namespace, path }: SearchRow): string {
  return JSON.stringify([score, namespace, path]);
}

function placeIn(key: string) {
  const [score, namespace, path] = readKey(key, ["number", "string", "string"]) as [number, string, string];
  return { score, namespace, path };
}

/** `skills/get`: the entry under exactly the address that was asked for, listed or not. */
export async function getSkill(visit: Visit, uri: string) {
  const parsed = parseSkillUri(uri);
  const found = parsed === undefined ? undefined : await visit.catalog.findEntry(parsed);
  if (parsed === undefined || found === undefined) throw problem("not_found", `No skill is served at ${uri}`);
  const { path, version, is_current } = found;
  visit.tally.read({ namespace: parsed.namespace, path, version, isCurrent: is_current === 1 });
  const meta = found.source === null ? {} : { _meta: { [`${metaPrefix}/source`]: visit.inserts.add(found.source) } };
  return { skill: visit.inserts.add(found.entry), ...freshness(visit), ...meta };
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
