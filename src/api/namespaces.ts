import { Hono } from "hono";
import * as z from "zod";

import type { AppEnv } from "../env.ts";
import { requireSecret } from "../auth/credential.ts";
import { mintSecret } from "../auth/tokens.ts";
import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { defaultTokenDays, maxPageEntries, maxTitleLength, maxTokenDays } from "../domain/limits.ts";
import { parseNamespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { Access } from "../storage/access.ts";
import type { NamespaceRow, TokenRow } from "../storage/access.ts";
import { orNotFound } from "../storage/catalog.ts";
import { openCatalog, requireCaller, requireOperator } from "./caller.ts";
import { readJson } from "./json.ts";
import { formatTime } from "./shapes.ts";

/** Namespaces and the tokens minted for them. */
export const namespacesApi = new Hono<AppEnv>();

const millisecondsPerDay = 86_400_000;

/** Half a character (a lone surrogate) would come back as another one. */
const label = z
  .string()
  .max(maxTitleLength)
  .refine((text) => text.isWellFormed(), "must be whole Unicode characters");

const newNamespace = z.strictObject({
  name: z.string(),
  title: label.min(1).optional(),
  visibility: z.enum(["public", "private"]).default("public"),
});

const newToken = z.strictObject({
  role: z.enum(["reader", "publisher", "admin"]).default("publisher"),
  label: label.default(""),
  expires_in_days: z.int().min(1).max(maxTokenDays).default(defaultTokenDays),
});

namespacesApi.post("/namespaces", async (context) => {
  await requireOperator(context);
  const input = await readJson(context, newNamespace);
  const name = parseNamespace(input.name);
  const row = { name, title: input.title ?? name, visibility: input.visibility, created_at: Date.now() };
  const created = await new Access(context.env.DB).createNamespace(row);
  return context.json(formatNamespace(created), 201, { location: `/api/v1/namespaces/${name}` });
});

namespacesApi.get("/namespaces", async (context) => {
  await requireOperator(context);
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor("namespaces", cursor);
  const { items, hasMore } = await new Access(context.env.DB).listNamespaces(position.key, maxPageEntries);
  const next = hasMore ? formatCursor("namespaces", { page: position.page + 1, key: items.at(-1)!.name }) : null;
  return context.json({ namespaces: items.map(formatNamespace), next_cursor: next });
});

namespacesApi.get("/namespaces/:namespace", async (context) => {
  const { catalog, namespace } = await openCatalog(context);
  await catalog.gate();
  const row = await new Access(context.env.DB).findNamespace(namespace);
  return context.json(formatNamespace(orNotFound(row, namespace)));
});

/** The only time that the token itself is shown. */
namespacesApi.post("/namespaces/:namespace/tokens", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const input = await readJson(context, newToken);
  const minted = await mintSecret("skr", requireSecret("SIGNING_KEY", context.env.SIGNING_KEY));
  const row = {
    id: minted.id,
    role: input.role,
    label: input.label,
    created_at: caller.now,
    expires_at: caller.now + input.expires_in_days * millisecondsPerDay,
  };
  await new Access(context.env.DB).insertToken(caller.namespace.name, minted.secretHash, row);
  return context.json({ token: minted.text, ...formatToken({ ...row, revoked_at: null }) }, 201);
});

namespacesApi.get("/namespaces/:namespace/tokens", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const rows = await new Access(context.env.DB).listTokens(caller.namespace.name);
  return context.json({ tokens: rows.map(formatToken) });
});

namespacesApi.delete("/namespaces/:namespace/tokens/:id", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const isRevoked = await new Access(context.env.DB).revokeToken(
    caller.namespace.name,
    context.req.param("id"),
    caller.now,
  );
  if (!isRevoked) throw problem("not_found", "The namespace has no such token");
  return context.body(null, 204);
});

function formatNamespace(row: NamespaceRow) {
  return { ...row, created_at: formatTime(row.created_at) };
}

function formatToken(row: TokenRow) {
  return {
    id: row.id,
    role: row.role,
    label: row.label,
    created_at: formatTime(row.created_at),
    expires_at: formatTime(row.expires_at),
    revoked_at: row.revoked_at === null ? null : formatTime(row.revoked_at),
  };
}
