import { Hono } from "hono";
import * as z from "zod";

import { mintId } from "../auth/tokens.ts";
import { parseSkillPath } from "../domain/names.ts";
import { outsideFault } from "../domain/outside.ts";
import { isIssuer, issuerRule } from "../domain/person.ts";
import { problem } from "../domain/problem.ts";
import { githubClaims, githubIssuer, isClaimName, isClaimValue, refuseVague } from "../domain/trust.ts";
import type { Trust } from "../domain/trust.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import {
  addPublisher,
  findPublisher,
  listPublishers,
  noSuchPublisher,
  removePublisher,
} from "../storage/publishers.ts";
import type { PublisherRow } from "../storage/publishers.ts";
import { requireCaller } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { label } from "./fields.ts";
import { readJson } from "./json.ts";
import { tellRights } from "./news.ts";
import { formatPlace, lastPlace, placeKey, readPage, readPlace } from "./page.ts";
import { formatTime, formatTimeOrNull } from "./shapes.ts";
import { requireGrantable } from "./tokens.ts";

/** Trusted publishers: CI jobs that may publish without a stored secret. What they send is in exchange.ts. */
export const publishersApi = new Hono<AppEnv>();

/** What the token of a job may do, within the path of its trust. */
export const jobScopes = ["skills:read", "skills:publish"] as const;

const text = (name: keyof typeof githubClaims) => z.string().regex(githubClaims[name]);

const github = z.strictObject({
  repository: text("repository"),
  repository_id: text("repository_id").optional(),
  repository_owner_id: text("repository_owner_id").optional(),
  workflow: text("workflow").optional(),
  environment: text("environment").optional(),
  ref: text("ref").optional(),
});

const newPublisher = z.strictObject({
  github: github.optional(),
  issuer: z.string().refine(isIssuer, issuerRule).optional(),
  claims: z.record(z.string().refine(isClaimName), z.string().refine(isClaimValue)).optional(),
  path: z.string().optional(),
  label,
});

publishersApi.post("/namespaces/:namespace/publishers", async (context) => {
  const caller = await requireCaller(context, "manage-tokens");
  const input = await readJson(context, newPublisher);
  requireGrantable(caller, jobScopes);
  const trust = readTrust(input, publicOriginOf(context.env, context.req.url));
  const path = input.path === undefined ? "" : `${parseSkillPath(input.path)}/`;
  const id = mintId();
  await addPublisher(context.env.DB, caller.actor, { ...trust, id, path, label: input.label });
  const row = await findPublisher(context.env.DB, caller.namespace.name, id);
  const location = `/api/v1/namespaces/${caller.namespace.name}/publishers/${id}`;
  return context.json(formatPublisher(context, row!), 201, { location });
});

publishersApi.get("/namespaces/:namespace/publishers", async (context) => {
  const { namespace } = await requireCaller(context, "manage-tokens");
  const { items, next } = await readPage<PublisherRow>(context, {
    list: `publishers:${namespace.name}`,
    key: placeKey,
    load: (key, limit) => listPublishers(context.env.DB, namespace.name, readPlace(key, lastPlace), limit),
    keyOf: (row) => formatPlace(row.created_at, row.id),
  });
  return context.json({ publishers: items.map((row) => formatPublisher(context, row)), next_cursor: next });
});

publishersApi.get("/namespaces/:namespace/publishers/:id", async (context) => {
  const { namespace } = await requireCaller(context, "manage-tokens");
  const row = await findPublisher(context.env.DB, namespace.name, context.req.param("id"));
  if (row === undefined) throw noSuchPublisher();
  return context.json(formatPublisher(context, row));
});

publishersApi.delete("/namespaces/:namespace/publishers/:id", async (context) => {
  const { actor } = await requireCaller(context, "manage-tokens");
  await removePublisher(context.env.DB, actor, context.req.param("id"));
  await tellRights(context, actor.namespace);
  return context.body(null, 204);
});

/** @throws Problem `invalid_request` */
function readTrust(input: z.infer<typeof newPublisher>, ownOrigin: string): Trust {
  const trust = trustIn(input);
  refuseVague(trust);
  // It is not asked yet: that it answers today says nothing of the day of the exchange.
  const fault = outsideFault(trust.issuer, ownOrigin);
  if (fault !== undefined) throw problem("invalid_request", `issuer: the address ${fault}`);
  return trust;
}

function trustIn({ github, issuer, claims }: z.infer<typeof newPublisher>): Trust {
  if (github !== undefined && claims === undefined) {
    return { kind: "github", issuer: issuer ?? githubIssuer, claims: withoutUndefined(github) };
  }
  if (github === undefined && claims !== undefined && issuer !== undefined) return { kind: "claims", issuer, claims };
  throw problem(
    "invalid_request",
    "A publisher has either github (with an issuer where that is not github.com), or an issuer and its claims",
  );
}

function withoutUndefined(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const set = Object.entries(members).filter((one): one is [string, string] => one[1] !== undefined);
  return Object.fromEntries(set);
}

function formatPublisher(context: ApiContext, row: PublisherRow) {
  const claims = JSON.parse(row.claims) as Trust["claims"];
  return {
    id: row.id,
    issuer: row.issuer,
    ...(row.kind === "github" ? { github: claims } : { claims }),
    path: row.path === "" ? null : row.path.slice(0, -1),
    label: row.label,
    /** What a job has to name when it asks its issuer for a token. */
    audience: publicOriginOf(context.env, context.req.url),
    created_at: formatTime(row.created_at),
    created_by: row.created_by,
    last_used_at: formatTimeOrNull(row.last_used_at),
  };
}
