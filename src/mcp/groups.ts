import { findNearestCollections, groupKindAt, listGroups } from "../storage/finding.ts";
import type { GroupRow, SearchRow } from "../storage/finding.ts";
import type { Visit } from "./visit.ts";

/** A part of what is at an address, as agents see it. */
export interface Group {
  name: string;
  title: string;
  skills: number;
}

export const groupKind = (visit: Visit) => groupKindAt(visit.catalog.reach);

/** The groups that the best rows of a search without an answer lie in; where they lie in none, the largest there are. */
export async function nearestGroups(visit: Visit, rows: readonly SearchRow[], limit: number): Promise<Group[]> {
  const near = rows.length === 0 ? [] : await groupsOf(visit, rows.slice(0, nearestRows), limit);
  return (near.length > 0 ? near : await listGroups(visit.catalog, limit)).slice(0, limit);
}

/** How many of the best rows say where one may look. */
const nearestRows = 10;

async function groupsOf(visit: Visit, rows: readonly SearchRow[], limit: number): Promise<GroupRow[]> {
  if (groupKind(visit) === "collection") return findNearestCollections(visit.catalog, rows, limit);
  const counts = new Map<string, GroupRow>();
  for (const { namespace, title } of rows) {
    const known = counts.get(namespace) ?? { name: namespace, title, skills: 0 };
    counts.set(namespace, { ...known, skills: known.skills + 1 });
  }
  return [...counts.values()];
}
