import type { Context } from "hono";

import type { AppEnv } from "../env.ts";
import { principalOf, readCredential, viewerOf } from "../auth/credential.ts";
import type { Credential } from "../auth/credential.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { may } from "../domain/principal.ts";
import type { Action, Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { Catalog } from "../storage/catalog.ts";
import type { Gate } from "../storage/viewer.ts";

/** Who calls the API, and what they may do in the namespace of the address. */
export type ApiContext = Context<AppEnv>;

export interface Caller {
  principal: Principal;
  namespace: NonNullable<Gate["namespace"]>;
  catalog: Catalog;
  now: number;
}

/** A look at a namespace for reading. Absent, malformed and private names have one answer. */
export async function openCatalog(context: ApiContext): Promise<{ namespace: Namespace; catalog: Catalog }> {
  const credential = await credentialOf(context);
  const name = context.req.param("namespace") ?? "";
  const namespace = isNamespace(name) ? name : undefined;
  const catalog = new Catalog(context.env.DB, viewerOf(credential, Date.now()), namespace, (gate) => {
    const principal = principalOf(credential, gate);
    if (gate.namespace === undefined || !may(principal, "read", gate.namespace)) throw notFound(principal);
  });
  // A name that none can have costs the same question as one that nobody took.
  if (namespace === undefined) await catalog.gate();
  return { namespace: namespace!, catalog };
}

/**
 * The caller of a change. A token decides before the namespace is looked at, so that a stranger's token learns
 * nothing about which namespaces exist.
 * @throws Problem `unauthorized`, `invalid_token`, `forbidden`, and (operator only) `not_found`
 */
export async function requireCaller(context: ApiContext, action: Action): Promise<Caller> {
  const credential = await credentialOf(context);
  if (credential.kind === "none") throw problem("unauthorized", "Send a token: `Authorization: Bearer <token>`");
  const name = context.req.param("namespace") ?? "";
  const namespace = isNamespace(name) ? name : undefined;
  const now = Date.now();
  const catalog = new Catalog(context.env.DB, viewerOf(credential, now), namespace, () => {});
  const gate = await catalog.gate();
  const principal = principalOf(credential, gate);
  if (principal.kind === "operator" && gate.namespace === undefined) throw notFound(principal);
  if (gate.namespace === undefined || !may(principal, action, gate.namespace)) {
    throw problem("forbidden", `This token may not ${action} in the namespace "${name}"`);
  }
  return { principal, namespace: gate.namespace, catalog, now };
}

/** @throws Problem unless the caller is the operator. */
export async function requireOperator(context: ApiContext): Promise<void> {
  const credential = await credentialOf(context);
  if (credential.kind === "none") throw problem("unauthorized", "Only the operator may do this: send ADMIN_TOKEN");
  if (credential.kind === "operator") return;
  const catalog = new Catalog(context.env.DB, viewerOf(credential, Date.now()), undefined, () => {});
  principalOf(credential, await catalog.gate());
  throw problem("forbidden", "Only the operator may do this");
}

function credentialOf(context: ApiContext): Promise<Credential> {
  return readCredential(context.req.raw.headers, context.env.ADMIN_TOKEN);
}

function notFound(principal: Principal) {
  const hint = principal.kind === "operator" ? "" : ", or it needs a token of its namespace";
  return problem("not_found", `There is nothing at this address${hint}`);
}
