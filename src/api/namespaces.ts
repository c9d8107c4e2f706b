import { Hono } from "hono";
import * as z from "zod";

import { requireSecret } from "../auth/credential.ts";
import { macOf } from "../auth/mac.ts";
import { mintId, mintSecret } from "../auth/tokens.ts";
import { clientPrefixOf } from "../domain/client-address.ts";
import { defaultTokenDays, maxHoldersShown, maxNamespaceDescriptionLength, maxTitleLength } from "../domain/limits.ts";
import { parseNewNamespace } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { may, namespaceCreators } from "../domain/policy.ts";
import type { NamespaceCreators } from "../domain/policy.ts";
import { isPerson, memberOf } from "../domain/principal.ts";
import type { Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { orNotFound } from "../storage/catalog.ts";
import { Collections } from "../storage/collections.ts";
import { listMemberships } from "../storage/grants.ts";
import {
  changeNamespace,
  createNamespace,
  deleteNamespace,
  findNamespace,
  listNamespaces,
} from "../storage/namespaces.ts";
import type { FirstAdmin, NamespaceFields, NamespaceRow } from "../storage/namespaces.ts";
import { identify, openCatalog, originOf, requireCaller } from "./caller.ts";
import { tellNamespace } from "./news.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { millisecondsPerDay, textOf } from "./fields.ts";
import { readJson } from "./json.ts";
import { readPage } from "./page.ts";
import { dryRun, isDryRun, requireKnown } from "./query.ts";
import { moveShelf } from "./search-index.ts";
import { formatHolders, formatTime } from "./shapes.ts";

/** Namespaces, the tenants of the registry. */
export const namespacesApi = new Hono<AppEnv>();

const visibility = z.enum(["public", "private"]);
const defaultVisibility = z.enum(["public", "unlisted", "private"]).nullable();
const title = textOf(maxTitleLength).min(1);
const description = textOf(maxNamespaceDescriptionLength);

const newNamespace = z.strictObject({
  name: z.string(),
  title: title.optional(),
  description: description.default(""),
  visibility: visibility.default("public"),
  default_visibility: defaultVisibility.default(null),
});

const namespaceChange = z
  .strictObject({
    title: title.optional(),
    description: description.optional(),
    visibility: visibility.optional(),
    default_visibility: defaultVisibility.optional(),
  })
  .refine(
    (change) => Object.keys(change).length > 0,
    "name title, description, visibility, default_visibility, or several of them",
  );

namespacesApi.post("/namespaces", async (context) => {
  const { principal, now } = await identify(context, undefined);
  requireCreator(principal, creatorsOf(context));
  requireKnown(context, []);
  const input = await readJson(context, newNamespace);
  const name = parseNewNamespace(input.name);
  const { description, visibility, default_visibility } = input;
  const fields: NamespaceFields = { title: input.title ?? name, description, visibility, default_visibility };
  const actor = { principal, namespace: name, now, from: originOf(context) };
  const admin = principal.kind === "operator" ? undefined : await firstAdmin(context, principal, now);
  const creator = principal.kind === "operator" ? principal.kind : await strangerOf(context);
  await createNamespace(context.env.DB, actor, { fields, creator, admin: admin?.row });
  const shown = formatNamespace({ name, ...fields, revision: 0, created_at: now }, true);
  const body = admin === undefined ? shown : { ...shown, token: admin.token };
  return context.json(body, 201, { location: `/api/v1/namespaces/${name}` });
});

namespacesApi.get("/namespaces", async (context) => {
  const { principal, now } = await identify(context, undefined);
  const people = await membershipsOf(context, principal, now);
  const own = people ?? ownOf(principal);
  const { items, next } = await readPage<NamespaceRow>(context, {
    list: "namespaces",
    key: /^[a-z0-9-]+$/,
    load: (key, limit) => listNamespaces(context.env.DB, own, key ?? "", limit),
    keyOf: (row) => row.name,
  });
  const namespaces = items.map((row) => formatNamespace(row, people?.includes(row.name) ?? seesAll(principal, row)));
  return context.json({ namespaces, next_cursor: next });
});

namespacesApi.get("/namespaces/:namespace", async (context) => {
  const { namespace, principal } = await openCatalog(context);
  const reader = await principal();
  const row = orNotFound(await findNamespace(context.env.DB, namespace), namespace);
  return context.json(formatNamespace(row, seesAll(reader, row)));
});

namespacesApi.patch("/namespaces/:namespace", async (context) => {
  const caller = await requireCaller(context, "manage-namespace", dryRun);
  const { actor, namespace } = caller;
  const change = await readJson(context, namespaceChange);
  const find = async () => orNotFound(await findNamespace(context.env.DB, actor.namespace), actor.namespace);
  const before = await find();
  if (isDryRun(context)) return context.json(await foretell(context, caller, { ...before, ...change }));
  const changes = Object.entries(change).filter(([name, value]) => before[name as keyof NamespaceFields] !== value);
  if (changes.length > 0) {
    await changeNamespace(context.env.DB, actor, Object.fromEntries(changes) as Partial<NamespaceFields>);
    if (changes.some(([field]) => field === "visibility")) {
      await moveShelf(context);
      await tellNamespace(context, namespace);
    }
  }
  return context.json(formatNamespace(await find(), true));
});

namespacesApi.delete("/namespaces/:namespace", async (context) => {
  const caller = await requireCaller(context, "manage-namespace", dryRun);
  const { actor, namespace } = caller;
  if (isDryRun(context)) {
    const row = orNotFound(await findNamespace(context.env.DB, actor.namespace), actor.namespace);
    return context.json(await foretell(context, caller, row));
  }
  await deleteNamespace(context.env.DB, actor);
  await moveShelf(context);
  await tellNamespace(context, namespace);
  return context.body(null, 204);
});

/** Where a person who signed in is a member; undefined: the caller is none. */
async function membershipsOf(context: ApiContext, principal: Principal, now: number) {
  if (!isPerson(principal)) return undefined;
  const memberships = await listMemberships(context.env.DB, principal.member, now, principal.grant);
  return memberships.map(({ namespace }) => namespace);
}

function ownOf(principal: Principal): readonly Namespace[] | "all" {
  if (principal.kind === "operator") return "all";
  return principal.kind === "token" && principal.namespace !== undefined ? [principal.namespace] : [];
}

/** What a change would touch: the namespace as it would be, and the collections that hold skills of it. */
async function foretell(context: ApiContext, caller: Caller, row: NamespaceRow) {
  const holders = await new Collections(context.env.DB, caller.viewer).listHoldersOfAny(row.name, maxHoldersShown);
  return { dry_run: true, ...formatNamespace(row, true), ...formatHolders(holders) };
}

/** What the operator's variable says; whatever it does not say leaves it to the operator. */
function creatorsOf(context: ApiContext): NamespaceCreators {
  return namespaceCreators.find((creators) => creators === context.env.NAMESPACE_CREATORS) ?? "operator";
}

function requireCreator(principal: Principal, creators: NamespaceCreators): void {
  if (may(principal, "create-namespace", { kind: "registry", creators })) return;
  if (principal.kind === "anonymous") {
    const whose = creators === "tokens" ? "a publisher's token of any namespace" : "ADMIN_TOKEN";
    throw problem("unauthorized", `Send ${whose} to create a namespace: \`Authorization: Bearer <token>\``);
  }
  const rule =
    creators === "tokens"
      ? "Creating a namespace takes a token with scope skills:publish and without a path"
      : "Only the operator of this registry creates namespaces";
  throw problem("forbidden", `${rule}; ask the operator for one`);
}

/** Whoever asks from the same address prefix. A limit needs no more than to know them again, so no address is kept. */
async function strangerOf(context: ApiContext): Promise<string> {
  const prefix = clientPrefixOf(context.req.header("cf-connecting-ip"));
  return `address:${await macOf("creators", prefix, requireSecret("SIGNING_KEY", context.env.SIGNING_KEY))}`;
}

/** Whoever is not the operator could do nothing in the new namespace without a token of it. */
async function firstAdmin(
  context: ApiContext,
  principal: Principal,
  now: number,
): Promise<{ token: string; row: FirstAdmin }> {
  const minted = await mintSecret("skr", requireSecret("SIGNING_KEY", context.env.SIGNING_KEY));
  const person = memberOf(principal);
  const token: FirstAdmin["token"] = {
    id: minted.id,
    secretHash: minted.secretHash,
    kind: "token",
    role: "admin",
    explicitScopes: undefined,
    below: "",
    collection: undefined,
    label: "first admin",
    expiresAt: now + defaultTokenDays * millisecondsPerDay,
    member: person,
  };
  const member = person === undefined ? undefined : { id: mintId(), person };
  return { token: minted.text, row: { token, member } };
}

/** The revision grows with every change, also of what is private, so only those who see all of it see this. */
function seesAll(principal: Principal, { name, visibility }: NamespaceRow): boolean {
  return may(principal, "survey", { kind: "namespace", namespace: { name, visibility } });
}

function formatNamespace(row: NamespaceRow, withRevision: boolean) {
  const { name, title, description, visibility, default_visibility, revision } = row;
  const shown = { name, title, description, visibility, default_visibility, created_at: formatTime(row.created_at) };
  return withRevision ? { ...shown, revision } : shown;
}
