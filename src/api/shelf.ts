import { requireSecret } from "../auth/credential.ts";
import type { Credential } from "../auth/credential.ts";
import { parseSecret } from "../auth/tokens.ts";
import { featured } from "../domain/address.ts";
import { maxPickedSkills } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import type { Catalog, EntryRow, SkillRow } from "../storage/catalog.ts";
import { findLink } from "../storage/links.ts";
import { identify, openAs, openCatalog, openRegistry } from "./caller.ts";
import type { ApiContext } from "./caller.ts";

/**
 * What tools that install skills over plain HTTPS see at one place: the featured skills at the root, a namespace below
 * its name, and what a read link opens below the link. One skill of a name, since they install by name.
 */
export interface Shelf {
  catalog: Catalog;
  skills(): Promise<SkillRow[]>;
  /** The same with their manifests. */
  entries(): Promise<EntryRow[]>;
}

/** The places, as the router writes them. */
export const shelves = {
  "": openRoot,
  "/:namespace": openNamespace,
  "/r/:secret": async (context: ApiContext) => shelfOf(await openLink(context)),
} as const;

async function openRoot(context: ApiContext): Promise<Shelf> {
  const { catalog } = await openRegistry(context);
  return shelfOf({ catalog, ...featured });
}

async function openNamespace(context: ApiContext): Promise<Shelf> {
  const { catalog, namespace } = await openCatalog(context);
  return shelfOf({ catalog, namespace, collection: undefined });
}

interface Opened {
  catalog: Catalog;
  namespace: Namespace;
  collection: string | undefined;
}

function shelfOf({ catalog, namespace, collection }: Opened): Shelf {
  if (collection !== undefined) {
    const picks = { namespace, collection, ownFirst: false };
    return {
      catalog,
      skills: () => catalog.listPickedSkills(picks, undefined, maxPickedSkills),
      entries: () => readAll((after) => catalog.listPickedEntries(picks, after, maxPickedSkills)),
    };
  }
  return {
    catalog,
    skills: async () => withUniqueNames((await catalog.listSkills(namespace, "", maxPickedSkills)).items),
    entries: async () =>
      withUniqueNames(await readAll((after) => catalog.listEntries(namespace, after ?? "", maxPickedSkills))),
  };
}

/** A page ends at a size as well; a shelf, at a number only. */
async function readAll(
  read: (after: string | undefined) => Promise<{ items: EntryRow[]; hasMore: boolean }>,
): Promise<EntryRow[]> {
  const found: EntryRow[] = [];
  for (;;) {
    const { items, hasMore } = await read(found.at(-1)?.key);
    found.push(...items);
    if (!hasMore || items.length === 0 || found.length >= maxPickedSkills) return found.slice(0, maxPickedSkills);
  }
}

function withUniqueNames<Row extends { name: string }>(rows: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.name) && seen.add(row.name));
}

/**
 * A link needs no token; but a bad one that is sent along is refused, as everywhere.
 * @throws Problem `invalid_token`; `not_found`, the same for a link that ended and one that never was
 */
export async function openLink(context: ApiContext): Promise<Opened> {
  await identify(context, undefined);
  const key = requireSecret("SIGNING_KEY", context.env.SIGNING_KEY);
  const parsed = await parseSecret("skl", context.req.param("secret") ?? "", key);
  const link = parsed === undefined ? undefined : await findLink(context.env.DB, parsed, Date.now());
  if (parsed === undefined || link === undefined) throw nothingHere();
  const credential: Credential = { kind: "link", ...parsed };
  return { catalog: openAs(context, credential, link), ...link };
}

export function nothingHere() {
  return problem("not_found", "There is nothing at this address");
}

/** Anonymous answers may be kept for a moment, like lists over MCP; what a token or a link opened, not at all. */
export function isForAnybody(context: ApiContext): boolean {
  return context.req.header("authorization") === undefined && !context.req.path.startsWith("/r/");
}
