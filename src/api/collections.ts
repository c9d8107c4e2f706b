import { Hono } from "hono";
import * as z from "zod";

import { isCollectionName } from "../domain/address.ts";
import { checkItems } from "../domain/collection.ts";
import type { CollectionContent } from "../domain/collection.ts";
import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { orNotFound } from "../storage/catalog.ts";
import { Collections } from "../storage/collections.ts";
import type { CollectionRow } from "../storage/collections.ts";
import { openCatalog, requireCaller } from "./caller.ts";
import { tellCollection } from "./news.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { collectionBody, contentOf } from "./collection-body.ts";
import { readJson } from "./json.ts";
import { formatCollection, formatEdition, formatPicked } from "./shapes.ts";

/** Collections: the addresses that teams give their agents. */
export const collectionsApi = new Hono<AppEnv>();

const address = "/namespaces/:namespace/collections/:name";

collectionsApi.get("/namespaces/:namespace/collections", async (context) => {
  const { catalog, namespace, viewer } = await openCatalog(context);
  const list = `collections:${namespace}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor(list, cursor);
  await catalog.gate();
  const { items, hasMore } = await new Collections(context.env.DB, viewer).list(
    namespace,
    position.key,
    maxPageEntries,
  );
  const next = hasMore ? formatCursor(list, { page: position.page + 1, key: items.at(-1)!.name }) : null;
  return context.json({ collections: items.map(formatCollection), next_cursor: next });
});

/** With the skills that the caller may read, in the order in which agents see them. */
collectionsApi.get(address, async (context) => {
  const { catalog, namespace, viewer } = await openCatalog(context);
  const name = nameOf(context);
  await catalog.gate();
  const row = orNotFound(
    await new Collections(context.env.DB, viewer).find(namespace, name),
    `The collection "${name}"`,
  );
  const picks = { namespace, collection: name, ownFirst: false };
  const skills = await catalog.listPickedSkills(picks, 0, maxPageEntries);
  return context.json({ ...formatCollection(row), skills: skills.map(formatPicked) }, 200, {
    etag: `"${row.edition}"`,
  });
});

collectionsApi.put(address, async (context) => {
  const caller = await requireCaller(context, "curate-collections");
  const name = nameOf(context);
  if (!isCollectionName(name)) {
    const rule = "must be up to 64 lowercase letters, digits and single hyphens";
    throw problem("invalid_collection", `The name "${name}" ${rule}; choose another, e.g. "support-desk"`);
  }
  const content = contentOf(await readJson(context, collectionBody), caller.namespace);
  return replace(context, caller, name, { content, seen: readIfMatch(context) });
});

collectionsApi.delete(address, async (context) => {
  const caller = await requireCaller(context, "curate-collections");
  const collections = collectionsOf(context, caller);
  const { name } = await findOwn(collections, caller, nameOf(context));
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
  const caller = await requireCaller(context, "curate-collections");
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
  const { skills } = wanted.content;
  const findings = skills === "all" ? [] : checkItems(skills, await collections.resolve(skills));
  if (findings.length > 0 && wanted.leavesOut !== true) {
    throw problem("invalid_collection", findings[0]!.message, { findings });
  }
  const wrong = new Set(findings.map((finding) => finding.file));
  const kept = skills === "all" ? skills : skills.filter((_, index) => !wrong.has(`skills[${index}]`));
  const content = { ...wanted.content, skills: kept };
  const namespace = caller.namespace.name;
  const before = await collections.find(namespace, name);
  const isSame = before !== undefined && (await isAlready(collections, before, content));
  if (!isSame) {
    await collections.put(caller.actor, name, content, wanted.seen);
    tellCollection(context, namespace, name);
  }
  const row = orNotFound(await collections.find(namespace, name), `The collection "${name}"`);
  const picked = await caller.catalog.listPickedSkills(
    { namespace, collection: name, ownFirst: false },
    0,
    maxPageEntries,
  );
  const body = { changed: !isSame, findings, ...formatCollection(row), skills: picked.map(formatPicked) };
  const location = `/api/v1/namespaces/${namespace}/collections/${name}`;
  return context.json(body, before === undefined ? 201 : 200, { location, etag: `"${row.edition}"` });
}

async function isAlready(collections: Collections, row: CollectionRow, content: CollectionContent): Promise<boolean> {
  const { items } = await collections.listEditions(row.namespace, row.name, row.edition + 1, 1);
  return items[0]?.content === JSON.stringify(content);
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

/** `If-Match: "3"`: only if edition 3 is what it replaces. */
function readIfMatch(context: ApiContext): number | undefined {
  const header = context.req.header("if-match");
  if (header === undefined) return undefined;
  const edition = /^"(\d{1,9})"$/.exec(header.trim())?.[1];
  if (edition === undefined) throw problem("invalid_request", 'If-Match must be the ETag of an edition, e.g. "3"');
  return Number(edition);
}
