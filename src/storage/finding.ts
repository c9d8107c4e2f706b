import { maxJudgedDocuments, maxPostingsRead } from "../domain/limits.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { Catalog } from "./catalog.ts";
import { listCollectionGroups, listHeldGroups, listNamespaceGroups, nearestCollections } from "./groups-sql.ts";
import type { GroupRow } from "./groups-sql.ts";
import type { Asked, Reached } from "./scoring-sql.ts";
import { findEntries as entriesOf, searchSkills, searchTools } from "./search-sql.ts";
import type { SearchRow, ToolRow } from "./search-sql.ts";

/** Finding: what a catalog's address has for a question, and in which groups. Each is one statement. */
export interface Question {
  /** Distinct terms of the query (domain/search/question.ts). */
  terms: readonly string[];
  /** The term of a name that is the whole query. */
  exact: string;
}

export interface SearchRange {
  limit: number;
  /** The row to go on behind. */
  after?: { score: number; namespace: string; path: string } | undefined;
}

/** Skills that hold any of the words, best first; see scoring-sql.ts. */
export function findSkills(catalog: Catalog, question: Question, range: SearchRange): Promise<SearchRow[]> {
  return catalog.ask<SearchRow>(searchSkills(askedOf(catalog)), ...parametersOf(catalog, question, range, ""));
}

/** The same for the tools of companion servers. */
export function findTools(catalog: Catalog, question: Question, range: SearchRange): Promise<ToolRow[]> {
  return catalog.ask<ToolRow>(searchTools(askedOf(catalog)), ...parametersOf(catalog, question, range, "/"));
}

function reachedBy({ reach }: Catalog): Reached {
  if (reach.collection !== undefined) return "collection";
  return reach.namespace === undefined ? "everything" : "namespace";
}

function askedOf(catalog: Catalog): Asked {
  return { reached: reachedBy(catalog), isStranger: catalog.isStranger };
}

function parametersOf(catalog: Catalog, question: Question, { limit, after }: SearchRange, shelf: "" | "/") {
  const asked = JSON.stringify(question.terms);
  const budget = [limit, question.exact, maxPostingsRead, maxJudgedDocuments] as const;
  const place =
    after === undefined ? ([null, null, null] as const) : ([after.score, after.namespace, after.path] as const);
  return [catalog.reach.namespace ?? null, asked, shelf, ...budget, ...place];
}

/** Finished JSON, in the order of the rows; what may not be read any more by now is left out. */
export async function findEntries(catalog: Catalog, rows: readonly SearchRow[]): Promise<string[]> {
  const wanted = rows.map(({ namespace, path, pinned }) => ({ namespace, path, version: pinned }));
  const found = await catalog.ask<{ entry: string }>(entriesOf, JSON.stringify(wanted));
  return found.map(({ entry }) => entry);
}

/** What an address is divided into: namespaces at `/mcp`, collections at a namespace, namespaces in a collection. */
export type GroupKind = "namespace" | "collection";

export function groupKindAt({ namespace, collection }: Catalog["reach"]): GroupKind {
  return namespace !== undefined && collection === undefined ? "collection" : "namespace";
}

/** Largest first; `after`: the group to go on behind. */
export function listGroups(
  catalog: Catalog,
  limit: number,
  after?: Pick<GroupRow, "name" | "skills">,
): Promise<GroupRow[]> {
  const statement = { everything: listNamespaceGroups, namespace: listCollectionGroups, collection: listHeldGroups };
  const parameters = [catalog.reach.namespace ?? null, limit, after?.skills ?? null, after?.name ?? null];
  return catalog.ask<GroupRow>(statement[reachedBy(catalog)], ...parameters);
}

/** Collections of a namespace's address that hold any of these skills. */
export function findNearestCollections(
  catalog: Catalog,
  skills: readonly { namespace: Namespace; path: SkillPath }[],
  limit: number,
): Promise<GroupRow[]> {
  const keys = JSON.stringify(skills.map(({ namespace, path }) => `${namespace}/${path}`));
  return catalog.ask<GroupRow>(nearestCollections, catalog.reach.namespace ?? null, limit, keys);
}

export type { GroupRow } from "./groups-sql.ts";
export type { Judged, SearchRow, ToolRow } from "./search-sql.ts";
