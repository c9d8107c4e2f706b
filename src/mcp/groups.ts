import { nearestRows } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { findNearestCollections, groupKindAt, listGroups } from "../storage/finding.ts";
import type { Visit } from "./visit.ts";

/** A part of what is at an address, as agents see it. */
export interface Group {
  name: string;
  title: string;
}

/** Where something lies that a search looked at; the title is that of its namespace. */
export interface Near {
  namespace: Namespace;
  path: SkillPath;
  title: string;
}

export const groupKind = (visit: Visit) => groupKindAt(visit.catalog.reach);

/** The groups that the best rows of a search without an answer lie in; where they lie in none, the largest there are. */
export async function nearestGroups(visit: Visit, rows: readonly Near[], limit: number): Promise<Group[]> {
  const near = rows.length === 0 ? [] : await groupsOf(visit, rows.slice(0, nearestRows), limit);
  const groups = near.length > 0 ? near : await listGroups(visit.catalog, limit);
  return groups.slice(0, limit).map(({ name, title }) => ({ name, title }));
}

async function groupsOf(visit: Visit, rows: readonly Near[], limit: number): Promise<Group[]> {
  if (groupKind(visit) === "collection") return findNearestCollections(visit.catalog, rows, limit);
  return [...new Map(rows.map(({ namespace, title }) => [namespace, { name: namespace, title }])).values()];
}
