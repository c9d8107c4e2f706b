import { Hono } from "hono";
import * as z from "zod";

import { maxHoldersShown, maxServerSnapshotBytes, maxTitleLength, maxToolsPerServer } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { may } from "../domain/policy.ts";
import { echo, problem } from "../domain/problem.ts";
import { differenceOf } from "../domain/server-tools.ts";
import { checkServer } from "../domain/server.ts";
import type { ListedTool, ServerContent } from "../domain/server.ts";
import { formatToolName } from "../domain/tool-name.ts";
import type { AppEnv } from "../env.ts";
import { orNotFound } from "../storage/catalog.ts";
import { Servers, toolsDigest } from "../storage/servers.ts";
import type { NewSnapshot, ServerRow } from "../storage/servers.ts";
import { openCatalog, requireCaller } from "./caller.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { text } from "./collection-body.ts";
import { etagOf, readIfMatch } from "./etag.ts";
import { readJson } from "./json.ts";
import { readPage } from "./page.ts";
import { dryRun, isDryRun } from "./query.ts";
import { formatCard, formatServer, formatUses } from "./server-shapes.ts";

/** Companion servers: the MCP servers whose tools a namespace's skills drive. The registry calls none of them. */
export const serversApi = new Hono<AppEnv>();

const list = "/namespaces/:namespace/servers";
const address = `${list}/:server`;

serversApi.get(list, async (context) => {
  const look = await openCatalog(context);
  const isInsider = await surveys(look);
  const { namespace, viewer } = look;
  const { items, next } = await readPage(context, {
    list: `servers:${namespace}`,
    key: /^[\w-]{1,64}$/,
    load: (key, limit) => new Servers(context.env.DB, viewer).list(namespace, key ?? "", limit),
    keyOf: (row: ServerRow) => row.name,
  });
  return context.json({ servers: items.map((row) => formatServer(row, isInsider)), next_cursor: next });
});

/** With a page of its tools' cards, and with what skills name and it does not list. */
serversApi.get(address, async (context) => {
  const look = await openCatalog(context);
  const isInsider = await surveys(look);
  const { namespace, viewer } = look;
  const servers = new Servers(context.env.DB, viewer);
  const row = await findIn(servers, namespace, nameOf(context));
  const { items, next } = await readPage(context, {
    list: `tools:${namespace}/${row.name}`,
    key: /^\d{1,9}$/,
    load: (key, limit) => servers.listTools(namespace, row.name, Number(key ?? 0), limit),
    keyOf: ({ position }) => String(position),
  });
  const missing = await servers.listUses(row, undefined, maxHoldersShown);
  const body = {
    ...formatServer(row, isInsider),
    cards: items.map((tool) => formatCard(row.name, tool)),
    next_cursor: next,
    missing: formatUses(missing),
    more_missing: missing.hasMore,
  };
  return context.json(body, 200, { etag: etagOf(row.snapshot) });
});

/** A tool's name may hold slashes: it is the rest of the path. */
serversApi.get(`${address}/tools/:tool{.+}`, async (context) => {
  const { namespace, viewer } = await openCatalog(context).then(admitted);
  const servers = new Servers(context.env.DB, viewer);
  const { name, url, snapshot } = await findIn(servers, namespace, nameOf(context));
  const tool = context.req.param("tool") ?? "";
  const definition = orNotFound(await servers.findTool(namespace, name, tool), `The tool "${name}/${echo(tool)}"`);
  const named = formatToolName({ server: name, tool });
  return context.json({
    namespace,
    server: name,
    url,
    snapshot,
    named_as: named,
    tool: JSON.parse(definition) as unknown,
  });
});

const serverBody = z.strictObject({
  url: z.string(),
  title: text(maxTitleLength).min(1).optional(),
  tools: z.array(z.unknown()).describe("as tools/list shows them"),
});

/** With `?dry_run=true` everything but the change, here as below. */
serversApi.put(address, async (context) => {
  const caller = await requireCaller(context, "register-servers", dryRun);
  const name = nameOf(context);
  const content = contentOf(name, await readJson(context, serverBody, maxServerSnapshotBytes));
  const servers = new Servers(context.env.DB, caller.viewer);
  const before = await servers.findSnapshot(caller.namespace.name, name);
  const difference = differenceOf(before.tools, content.tools);
  const seen = readIfMatch(context) ?? before.row?.snapshot ?? 0;
  return replace({ context, caller, servers, name }, before.row, { content, difference, seen });
});

serversApi.delete(address, async (context) => {
  const caller = await requireCaller(context, "register-servers", dryRun);
  const servers = new Servers(context.env.DB, caller.viewer);
  const row = await findIn(servers, caller.namespace.name, nameOf(context));
  if (isDryRun(context)) {
    const tools = await servers.listTools(row.namespace, row.name, 0, maxToolsPerServer);
    const vanished = await vanishedOf(
      servers,
      row,
      tools.map((tool) => tool.name),
    );
    return context.json({ dry_run: true, ...formatServer(row, true), ...vanished });
  }
  await servers.delete(caller.actor, row.name);
  return context.body(null, 204);
});

interface Request {
  context: ApiContext;
  caller: Caller;
  servers: Servers;
  name: string;
}

async function replace(
  { context, caller, servers, name }: Request,
  before: ServerRow | undefined,
  wanted: NewSnapshot,
): Promise<Response> {
  const { content, difference, seen } = wanted;
  const namespace = caller.namespace.name;
  const { title, url, tools } = content;
  const digest = await toolsDigest(tools);
  const changed = before?.title !== title || before.url !== url || before.digest !== digest;
  const told = { difference, ...(await vanishedOf(servers, { namespace, name }, difference.removed)) };
  if (isDryRun(context)) {
    if (changed) await servers.rehearsePut(caller.actor, name, seen);
    const snapshot = (before?.snapshot ?? 0) + (changed ? 1 : 0);
    const would = { namespace, name, title, url, tools: tools.length, digest, snapshot };
    return context.json({ dry_run: true, changed, ...would, ...told });
  }
  if (changed) await servers.put(caller.actor, name, wanted);
  const row = await findIn(servers, namespace, name);
  const location = `/api/v1/namespaces/${namespace}/servers/${name}`;
  const body = { changed, ...formatServer(row, true), ...told };
  return context.json(body, before === undefined ? 201 : 200, { location, etag: etagOf(row.snapshot) });
}

/** @throws Problem `invalid_server` with everything that is wrong */
function contentOf(name: string, { url, title, tools }: z.infer<typeof serverBody>): ServerContent {
  const findings = checkServer(name, url, tools);
  if (findings.length > 0) throw problem("invalid_server", findings[0]!.message, { findings });
  return { url: new URL(url).href, title: title ?? name, tools: tools as ListedTool[] };
}

/** The skills that are left with tools which nobody lists any more. */
async function vanishedOf(servers: Servers, server: Pick<ServerRow, "namespace" | "name">, removed: readonly string[]) {
  const none = { items: [], hasMore: false };
  const uses = removed.length === 0 ? none : await servers.listUses(server, removed, maxHoldersShown);
  return { vanished: formatUses(uses), more_vanished: uses.hasMore };
}

type Look = Awaited<ReturnType<typeof openCatalog>>;

/** Refuses whoever may not read the namespace before anything else is asked. */
async function admitted(look: Look): Promise<Look> {
  await look.catalog.gate();
  return look;
}

async function surveys({ catalog, principal }: Look): Promise<boolean> {
  const { namespace } = await catalog.gate();
  if (namespace === undefined) return false;
  return may(await principal(), "survey", { kind: "namespace", namespace });
}

async function findIn(servers: Servers, namespace: Namespace, name: string): Promise<ServerRow> {
  return orNotFound(await servers.find(namespace, name), `The server "${echo(name)}"`);
}

function nameOf(context: ApiContext): string {
  return context.req.param("server") ?? "";
}
