import type { Context } from "hono";

import { askerOf } from "../auth/asker.ts";
import { principalOf, resourceOf, viewerOf } from "../auth/credential.ts";
import type { Credential } from "../auth/credential.ts";
import { requestOrigin } from "../auth/request-origin.ts";
import { apiAddress } from "../domain/address.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { may, scopesFor } from "../domain/policy.ts";
import type { Action, Resource } from "../domain/policy.ts";
import { scopesOfRole } from "../domain/principal.ts";
import type { Principal, Scope } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import { Catalog } from "../storage/catalog.ts";
import type { Actor, Origin } from "../storage/rights.ts";
import type { Gate } from "../storage/gate.ts";
import type { Reach, Viewer } from "../storage/viewer.ts";
import { requireKnown } from "./query.ts";
import { noteUse } from "./token-use.ts";

/** Who calls the API, and what they may do in the namespace of the address. */
export type ApiContext = Context<AppEnv>;

export interface Caller {
  /** What a change is made and recorded under. */
  actor: Actor;
  principal: Principal;
  namespace: NonNullable<Gate["namespace"]>;
  catalog: Catalog;
  viewer: Viewer;
  now: number;
}

/** A look at a namespace for reading. Absent, malformed and private names have one answer. */
export async function openCatalog(
  context: ApiContext,
): Promise<{ namespace: Namespace; catalog: Catalog; viewer: Viewer; principal: () => Promise<Principal> }> {
  const credential = await credentialOf(context);
  const namespace = namespaceOf(context);
  const now = Date.now();
  const reach = { namespace, collection: undefined };
  const viewer = viewerOf(credential, now, audienceOf(context));
  const catalog = new Catalog(context.env.DB, viewer, reach, (gate) => {
    const principal = principalOf(credential, gate);
    noteUse(context, gate, now);
    if (!may(principal, "read", resourceOf(gate, reach))) throw notFound(principal);
  });
  // A name that none can have costs the same question as one that nobody took.
  if (namespace === undefined) await catalog.gate();
  const principal = async () => principalOf(credential, await catalog.gate());
  return { namespace: namespace!, catalog, viewer, principal };
}

/** A look at everything public. A token that is sent has to be good, as everywhere. */
export async function openRegistry(context: ApiContext): Promise<{ catalog: Catalog }> {
  const credential = await credentialOf(context);
  const now = Date.now();
  const reach = { namespace: undefined, collection: undefined };
  const catalog = new Catalog(context.env.DB, viewerOf(credential, now, audienceOf(context)), reach, (gate) => {
    principalOf(credential, gate);
    noteUse(context, gate, now);
  });
  return { catalog };
}

/** A look at what a read link opens, or at what a stranger sees of an address; nobody is refused here. */
export function openAs(context: ApiContext, credential: Credential, reach: Reach): Catalog {
  const now = Date.now();
  return new Catalog(context.env.DB, viewerOf(credential, now, audienceOf(context)), reach, (gate) => {
    noteUse(context, gate, now);
    if (credential.kind !== "none" && !may(principalOf(credential, gate), "read", resourceOf(gate, reach))) {
      throw problem("not_found", "There is nothing at this address");
    }
  });
}

/**
 * The caller of a change. A token decides before the namespace is looked at, so that a stranger's token learns
 * nothing about which namespaces exist. `parameters`: those that a change takes; lists read their own.
 * @throws Problem `unauthorized`, `invalid_token`, `forbidden`, `invalid_request`, and (operator only) `not_found`
 */
export async function requireCaller(
  context: ApiContext,
  action: Action,
  parameters: readonly string[] = [],
): Promise<Caller> {
  const { principal, gate, catalog, viewer, now } = await identify(context, namespaceOf(context));
  if (principal.kind === "anonymous") {
    throw problem("unauthorized", "Send a token: `Authorization: Bearer <token>`", { scopes: scopesFor(action) });
  }
  if (principal.kind === "operator" && gate.namespace === undefined) throw notFound(principal);
  const resource = resourceOf(gate, { namespace: gate.namespace?.name, collection: undefined });
  if (gate.namespace === undefined || !may(principal, action, resource)) throw forbidden(context, action, principal);
  if (!/^(?:GET|HEAD)$/.test(context.req.method)) requireKnown(context, parameters);
  const actor = { principal, namespace: gate.namespace.name, now, from: originOf(context) };
  return { actor, principal, namespace: gate.namespace, catalog, viewer, now };
}

/** Who calls, whatever they may do; the gate names the namespace, if there is one. @throws Problem `invalid_token` */
export async function identify(
  context: ApiContext,
  namespace: Namespace | undefined,
): Promise<{ principal: Principal; gate: Gate; catalog: Catalog; viewer: Viewer; now: number }> {
  const credential = await credentialOf(context);
  const now = Date.now();
  const viewer = viewerOf(credential, now, audienceOf(context));
  const reach = { namespace, collection: undefined };
  const catalog = new Catalog(context.env.DB, viewer, reach, () => {});
  // Without a credential there is nothing to find out that an answer could depend on.
  const gate =
    credential.kind === "none"
      ? { namespace: undefined, collection: undefined, token: undefined }
      : await catalog.gate();
  const principal = principalOf(credential, gate);
  noteUse(context, gate, now);
  return { principal, gate, catalog, viewer, now };
}

/** @throws Problem unless the caller is the operator. */
export async function requireOperator(context: ApiContext): Promise<Principal> {
  const { principal } = await identify(context, undefined);
  if (principal.kind === "operator") return principal;
  throw principal.kind === "anonymous"
    ? problem("unauthorized", "Only the operator may do this: send ADMIN_TOKEN")
    : problem("forbidden", "Only the operator may do this");
}

/** For tokens that are held to the skills below a path. @throws Problem `forbidden` */
export function requireSkill(caller: Caller, action: Action, path: SkillPath): void {
  if (mayAt(caller, action, path)) return;
  const below = caller.principal.kind === "token" ? caller.principal.below : "";
  throw problem("forbidden", `This token is held to the skills below "${below}", and "${path}" is not one of them`);
}

/** Whether the caller may do it to a skill at the path, whatever its visibility. */
export function mayAt(caller: Caller, action: Action, path: SkillPath): boolean {
  const { name, visibility } = caller.namespace;
  const resource: Resource = { kind: "skill", namespace: { name, visibility }, path, visibility: "private" };
  return may(caller.principal, action, resource);
}

/** For the audit log. */
export function originOf(context: ApiContext): Origin {
  return requestOrigin(context.req.raw.headers);
}

function namespaceOf(context: ApiContext): Namespace | undefined {
  const name = context.req.param("namespace") ?? "";
  return isNamespace(name) ? name : undefined;
}

/** The API is one address to those who sign in for it; what lies beside it is none. */
function audienceOf(context: ApiContext): string {
  const isOfApi = context.req.path.startsWith(`${apiAddress}/`);
  return isOfApi ? publicOriginOf(context.env, context.req.url) + apiAddress : "";
}

async function credentialOf(context: ApiContext): Promise<Credential> {
  const { ADMIN_TOKEN: adminToken, SIGNING_KEY: signingKey } = context.env;
  return (await askerOf(context.req.raw, { adminToken, signingKey })).credential();
}

function forbidden(context: ApiContext, action: Action, principal: Principal) {
  const name = context.req.param("namespace") ?? "";
  const rule = `This token may not ${action.replace("-", " ")} in the namespace "${name}"`;
  const scopes = scopesFor(action);
  return problem("forbidden", rule, couldBeAllowed(principal, name, scopes) ? { scopes } : {});
}

/** Whether a sign-in lacks only what its person could allow: who is sent to ask for more must be able to get it. */
function couldBeAllowed(principal: Principal, namespace: string, scopes: readonly Scope[]): boolean {
  if (principal.kind !== "token" || principal.grant === undefined || principal.namespace !== namespace) return false;
  const { role, scopes: present } = principal;
  return scopes.some((one) => !present.includes(one)) && scopes.every((one) => scopesOfRole[role].includes(one));
}

function notFound(principal: Principal) {
  const hint = principal.kind === "operator" ? "" : ", or it needs a token of its namespace";
  return problem("not_found", `There is nothing at this address${hint}`);
}
