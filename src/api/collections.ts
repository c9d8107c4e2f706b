import { Hono } from "hono";
import * as z from "zod";

import { isCollectionName } from "../domain/address.ts";
import { checkItems } from "../domain/collection.ts";
import type { CollectionContent } from "../domain/collection.ts";
import { formatCursor, parseCursor } from "../domain/cursor.ts";
import type { Finding } from "../domain/finding.ts";
import type { Entry } from "../domain/entry.ts";
import { maxPageEntries } from "../domain/limits.ts";
import { may } from "../domain/policy.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { orNotFound } from "../storage/catalog.ts";
import type { Catalog, Picks } from "../storage/catalog.ts";
import { Collections } from "../storage/collections.ts";
import type { CollectionRow } from "../storage/collections.ts";
import { openCatalog, requireCaller } from "./caller.ts";
import { tellCollection } from "./news.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { collectionBody, contentOf } from "./collection-body.ts";
import { etagOf, readIfMatch } from "./etag.ts";
import { formatFit } from "./fit.ts";
import { readJson } from "./json.ts";
import { dryRun, isDryRun } from "./query.ts";
import { formatCollection, formatEdition, formatPicked } from "./shapes.ts";

/** Collections: the addresses that teams give their agents. */
export const collectionsApi = new Hono<AppEnv>();

const address = "/namespaces/:namespace/collections/:name";

collectionsApi.get("/namespaces/:namespace/collections", async (context) => {
  const look = await openCatalog(context);
  const { namespace, viewer } = look;
  const list = `collections:${namespace}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor(list, cursor);
  const isCurator = await mayCurate(look);
  const { items, hasMore } = await new Collections(context.env.DB, viewer).list(
    namespace,
    position.key,
    maxPageEntries,
  );
  const next = hasMore ? formatCursor(list, { page: position.page + 1, key: items.at(-1)!.name }) : null;
  return context.json({ collections: items.map((row) => formatCollection(row, isCurator)), next_cursor: next });
});

/** With the skills that the caller may read, in the order in which agents see them. */
collectionsApi.get(address, async (context) => {
  const look = await openCatalog(context);
  const { catalog, namespace, viewer } = look;
  const name = nameOf(context);
  const isCurator = await mayCurate(look);
  const row = orNotFound(
    await new Collections(context.env.DB, viewer).find(namespace, name),
    `The collection "${name}"`,
  );
  const picks = { namespace, collection: name, ownFirst: false };
  const skills = await catalog.listPickedSkills(picks, undefined, maxPageEntries);
  const body = { ...formatCollection(row, isCurator), skills: skills.map(formatPicked) };
  return context.json(body, 200, isCurator ? { etag: etagOf(row.edition) } : {});
});

/** Whether importers of others would take what the caller sees of it. */
collectionsApi.get(`${address}/fit`, async (context) => {
  const { catalog, namespace, viewer } = await openCatalog(context);
  const name = nameOf(context);
  orNotFound(await new Collections(context.env.DB, viewer).find(namespace, name), `The collection "${name}"`);
  return context.json(formatFit(await entriesOf(catalog, { namespace, collection: name, ownFirst: false })));
});

/** With `?dry_run=true` everything but the change, here as at the two below. */
collectionsApi.put(address, async (context) => {
  const caller = await requireCaller(context, "curate-collections", dryRun);
  const name = nameOf(context);
  if (!isCollectionName(name)) {
    const rule = "must be up to 64 lowercase letters, digits and single hyphens";
    throw problem("invalid_collection", `The name "${name}" ${rule}; choose another, e.g. "support-desk"`);
  }
  const content = contentOf(await readJson(context, collectionBody), caller.namespace);
  return replace(context, caller, name, { content, seen: readIfMatch(context) });
});

collectionsApi.delete(address, async (context) => {
  const caller = await requireCaller(context, "curate-collections", dryRun);
  const collections = collectionsOf(context, caller);
  const row = await findOwn(collections, caller, nameOf(context));
  const { namespace, name } = row;
  if (isDryRun(context)) {
    const links = await collections.countLinks(namespace, name, caller.now);
    const skills = await picksOf(caller, name);
    return context.json({ dry_run: true, ...formatCollection(row, true), skills, read_links: links });
  }
  await collections.delete(caller.actor, name);
  tellCollection(context, caller.namespace.name, name);
  return context.body(null, 204);
});

collectionsApi.get(`${address}/editions`, async (context) => {
  const caller = await requireCaller(context, "curate-collections");
  const collections = collectionsOf(context, caller);
  const { namespace, name } = await findOwn(collections, caller, nameOf(context));
  const list = `editions:${namespace}/${name}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: String(Number.MAX_SAFE_INTEGER) } : parseCursor(list, cursor);
  if (!/^\d{1,16}$/.test(position.key)) throw problem("invalid_cursor", "The cursor is not from this list");
  const page = await collections.listEditions(namespace, name, Number(position.key), maxPageEntries);
  const next = page.hasMore
    ? formatCursor(list, { page: position.page + 1, key: String(page.items.at(-1)!.edition) })
    : null;
  return context.json({ editions: page.items.map(formatEdition), next_cursor: next });
});

const back = z.strictObject({ edition: z.int().min(1).optional() });

/** One step back, or to any edition: what it held becomes a new edition, without what is gone meanwhile. */
collectionsApi.post(`${address}/return`, async (context) => {
  const caller = await requireCaller(context, "curate-collections", dryRun);
  const collections = collectionsOf(context, caller);
  const row = await findOwn(collections, caller, nameOf(context));
  const { edition = row.edition - 1 } = await readJson(context, back);
  const { items } = await collections.listEditions(row.namespace, row.name, edition + 1, 1);
  const wanted = items.find((item) => item.edition === edition);
  if (wanted === undefined) {
    throw problem("not_found", `"${row.name}" has no edition ${edition}; it is at edition ${row.edition}`);
  }
  const content = JSON.parse(wanted.content) as CollectionContent;
  return replace(context, caller, row.name, { content, seen: row.edition, leavesOut: true });
});

interface Replacement {
  content: CollectionContent;
  seen: number | undefined;
  /** Skills that are gone are left out and named, instead of refusing everything. */
  leavesOut?: boolean;
}

async function replace(context: ApiContext, caller: Caller, name: string, wanted: Replacement): Promise<Response> {
  const collections = collectionsOf(context, caller);
  const { content, findings } = await check(collections, wanted);
  const namespace = caller.namespace.name;
  const before = await collections.find(namespace, name);
  const changed = before === undefined || !(await isAlready(collections, before, content));
  if (isDryRun(context)) {
    if (changed) await collections.rehearsePut(caller.actor, name, wanted.seen);
    // What it would leave behind, in the words of an edition.
    const edition = (before?.edition ?? 0) + (changed ? 1 : 0);
    return context.json({ dry_run: true, changed, findings, content, edition });
  }
  if (changed) {
    await collections.put(caller.actor, name, content, wanted.seen);
    tellCollection(context, namespace, name);
  }
  const row = orNotFound(await collections.find(namespace, name), `The collection "${name}"`);
  const body = { changed, findings, ...formatCollection(row, true), skills: await picksOf(caller, name) };
  const location = `/api/v1/namespaces/${namespace}/collections/${name}`;
  return context.json(body, before === undefined ? 201 : 200, { location, etag: etagOf(row.edition) });
}

/** @throws Problem `invalid_collection` with everything that is wrong, unless that is to be left out */
async function check(
  collections: Collections,
  { content, leavesOut }: Replacement,
): Promise<{ content: CollectionContent; findings: Finding[] }> {
  const { skills } = content;
  if (skills === "all") return { content, findings: [] };
  const findings = checkItems(skills, await collections.resolve(skills));
  if (findings.length > 0 && leavesOut !== true) {
    throw problem("invalid_collection", findings[0]!.message, { findings });
  }
  const wrong = new Set(findings.map((finding) => finding.file));
  return { content: { ...content, skills: skills.filter((_, index) => !wrong.has(`skills[${index}]`)) }, findings };
}

/** Compared with what it holds now, so that what went with a deleted skill can be put back under the same words. */
async function isAlready(collections: Collections, row: CollectionRow, content: CollectionContent): Promise<boolean> {
  const { namespace, name, title, instructions, visibility, tools } = row;
  const skills = row.is_all === 1 ? "all" : await collections.listItems(namespace, name);
  const now: CollectionContent = {
    title,
    instructions,
    visibility,
    skills,
    ...(tools === "per-skill" ? { tools } : {}),
  };
  return textOf(now) === textOf(content);
}

function textOf({ title, instructions, visibility, skills, tools }: CollectionContent): string {
  const items = skills === "all" ? skills : skills.map(({ namespace, path, version }) => [namespace, path, version]);
  return JSON.stringify([title, instructions, visibility, items, tools ?? "registry"]);
}

/** All of them: a page ends early where entries are long. */
async function entriesOf(catalog: Catalog, picks: Picks): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let after: string | undefined; ;) {
    const { items, hasMore } = await catalog.listPickedEntries(picks, after, maxPageEntries);
    entries.push(...items.map(({ entry }) => JSON.parse(entry) as Entry));
    after = items.at(-1)?.key;
    if (!hasMore || after === undefined) return entries;
  }
}

/** What agents see of it through the caller's eyes. */
async function picksOf({ catalog, namespace }: Caller, name: string) {
  const picks = { namespace: namespace.name, collection: name, ownFirst: false };
  return (await catalog.listPickedSkills(picks, undefined, maxPageEntries)).map(formatPicked);
}

async function mayCurate({ catalog, principal }: Awaited<ReturnType<typeof openCatalog>>): Promise<boolean> {
  const { namespace } = await catalog.gate();
  if (namespace === undefined) return false;
  return may(await principal(), "curate-collections", { kind: "namespace", namespace });
}

function collectionsOf(context: ApiContext, caller: Caller): Collections {
  return new Collections(context.env.DB, caller.viewer);
}

async function findOwn(collections: Collections, caller: Caller, name: string): Promise<CollectionRow> {
  return orNotFound(await collections.find(caller.namespace.name, name), `The collection "${name}"`);
}

function nameOf(context: ApiContext): string {
  return context.req.param("name") ?? "";
}
