import { formatCursor, isLastMcpPage, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { Version } from "../domain/version.ts";
import type { EntryRow, Page, Picks } from "../storage/catalog.ts";
import { listedAt, listName } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * Pages of what an address lists. The last page that clients read carries no cursor although more may exist: a partial
 * list is legal, an error in the client is not.
 */
export interface ListPage<Row> {
  items: Row[];
  nextCursor: { nextCursor?: string };
}

/** A listed skill without its entry. `pinned`: the version that somebody pinned it to. */
export interface ListedSkill {
  key: string;
  namespace: Namespace;
  path: SkillPath;
  name: string;
  description: string;
  pinned: Version | null;
  version: Version;
  skill_md_bytes: number;
}

export function listEntries(visit: Visit, cursor: string | undefined): Promise<ListPage<EntryRow>> {
  return pageOf(visit, "skills", cursor, {
    inNamespace: (namespace, after) => visit.catalog.listEntries(namespace, after, maxPageEntries),
    picked: (picks, after) => visit.catalog.listPickedEntries(picks, after, maxPageEntries),
  });
}

export function listListed(
  visit: Visit,
  list: string,
  cursor: string | undefined,
  limit: number = maxPageEntries,
): Promise<ListPage<ListedSkill>> {
  return pageOf<ListedSkill>(visit, list, cursor, {
    inNamespace: async (namespace, after) => {
      const { items, hasMore } = await visit.catalog.listSkills(namespace, after, limit);
      return { items: items.map((row) => ({ ...row, key: row.path, pinned: null })), hasMore };
    },
    picked: async (picks, after) => {
      const rows = await visit.catalog.listPickedSkills(picks, after, limit);
      return {
        items: rows.map((row) => ({ ...row, pinned: row.is_pinned === 1 ? row.version : null })),
        hasMore: false,
      };
    },
  });
}

interface Source<Row> {
  inNamespace: (namespace: Namespace, after: string) => Promise<Page<Row>>;
  picked: (picks: Picks, after: string | undefined) => Promise<Page<Row>>;
}

async function pageOf<Row extends { key: string }>(
  visit: Visit,
  list: string,
  cursor: string | undefined,
  source: Source<Row>,
): Promise<ListPage<Row>> {
  const name = listName(visit.address, list);
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor(name, cursor);
  const listed = listedAt(visit.address);
  const page =
    "namespace" in listed
      ? await source.inNamespace(listed.namespace, position.key)
      : await source.picked(listed.picks, cursor === undefined ? undefined : position.key);
  if (!page.hasMore || isLastMcpPage(position.page)) return { items: page.items, nextCursor: {} };
  const next = formatCursor(name, { page: position.page + 1, key: page.items.at(-1)!.key });
  return { items: page.items, nextCursor: { nextCursor: next } };
}
