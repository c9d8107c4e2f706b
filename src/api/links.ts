import { Hono } from "hono";
import * as z from "zod";

import { requireSecret } from "../auth/credential.ts";
import { mintSecret } from "../auth/tokens.ts";

import { isCollectionName } from "../domain/address.ts";
import { defaultTokenDays, maxTokenDays } from "../domain/limits.ts";
import { memberOf } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import { findToken, listTokens, makeLink, revokeToken } from "../storage/tokens.ts";
import type { TokenRow } from "../storage/tokens.ts";
import { requireCaller } from "./caller.ts";
import { tellRights } from "./news.ts";
import { label, millisecondsPerDay, wholeNumber } from "./fields.ts";
import { readJson } from "./json.ts";
import { formatPlace, lastPlace, placeKey, readPage, readPlace } from "./page.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";

/** Read links: addresses whose secret opens a namespace or one of its collections to clients that send no token. */
export const linksApi = new Hono<AppEnv>();

const newLink = z.strictObject({
  collection: z.string().refine(isCollectionName, "is no name of a collection").optional(),
  label,
  expires_in_days: wholeNumber(1, maxTokenDays, defaultTokenDays),
});

/** The only time that the addresses are shown. */
linksApi.post("/namespaces/:namespace/links", async (context) => {
  const { actor, namespace, now, principal } = await requireCaller(context, "manage-links");
  const { collection, label, expires_in_days } = await readJson(context, newLink);
  const { id, text, secretHash } = await mintSecret("skl", requireSecret("SIGNING_KEY", context.env.SIGNING_KEY));
  await makeLink(context.env.DB, actor, {
    id,
    secretHash,
    kind: "link",
    role: "reader",
    explicitScopes: undefined,
    below: "",
    collection,
    label,
    expiresAt: now + expires_in_days * millisecondsPerDay,
    member: memberOf(principal),
  });
  const row = await findToken(context.env.DB, namespace.name, "link", id);
  const base = `${publicOriginOf(context.env, context.req.url)}/r/${text}`;
  const addresses = { url: `${base}/mcp`, index: `${base}/.well-known/agent-skills/index.json` };
  return context.json({ ...addresses, ...formatLink(row!) }, 201);
});

linksApi.get("/namespaces/:namespace/links", async (context) => {
  const { namespace } = await requireCaller(context, "manage-links");
  const from = { namespace: namespace.name, kind: "link" } as const;
  const { items, next } = await readPage<TokenRow>(context, {
    list: `links:${namespace.name}`,
    key: placeKey,
    load: (key, limit) => listTokens(context.env.DB, from, readPlace(key, lastPlace), limit),
    keyOf: (row) => formatPlace(row.created_at, row.id),
  });
  return context.json({ links: items.map(formatLink), next_cursor: next });
});

linksApi.delete("/namespaces/:namespace/links/:id", async (context) => {
  const { actor, namespace } = await requireCaller(context, "manage-links");
  const row = await findToken(context.env.DB, namespace.name, "link", context.req.param("id"));
  if (row === undefined) throw problem("not_found", "The namespace has no such link");
  if (row.revoked_at === null) {
    await revokeToken(context.env.DB, actor, "link", row.id);
    await tellRights(context, actor.namespace);
  }
  return context.body(null, 204);
});

function formatLink(row: TokenRow) {
  return {
    id: row.id,
    collection: row.collection,
    label: row.label,
    created_at: formatTime(row.created_at),
    expires_at: formatTime(row.expires_at),
    last_used_at: formatTimeOrNull(row.last_used_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    minted_by: row.minted_by,
  };
}
