import { minSecretLength } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { may } from "../domain/principal.ts";
import type { NamespaceFacts, Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { Gate, Viewer } from "../storage/viewer.ts";
import { parseToken } from "./tokens.ts";

/** What the request carries, before the database has confirmed it. */
export type Credential = { kind: "none" } | { kind: "operator" } | { kind: "token"; id: string; secretHash: string };

/**
 * Reads `Authorization: Bearer`. A token is never taken from anywhere else, and a bad one is never ignored.
 * @throws Problem `invalid_token`; `not_configured` when the operator's token cannot be checked for want of a secret.
 */
export async function readCredential(headers: Headers, adminToken: string | undefined): Promise<Credential> {
  const header = headers.get("authorization");
  if (header === null) return { kind: "none" };
  const bearer = /^bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
  if (bearer === undefined) throw problem("invalid_token", "Send the token as `Authorization: Bearer <token>`");
  if (bearer.startsWith("skr_")) {
    const token = await parseToken(bearer);
    if (token === undefined) throw problem("invalid_token", "The token is not one of this registry's");
    return { kind: "token", ...token };
  }
  if (!isConfigured(adminToken))
    throw problem("not_configured", "ADMIN_TOKEN is not set, or shorter than 32 characters");
  if (await equalInConstantTime(bearer, adminToken)) return { kind: "operator" };
  throw problem("invalid_token", "The token is not one of this registry's");
}

/** Whether a secret is there and long enough to be compared with anything. */
export function isConfigured(secret: string | undefined): secret is string {
  return secret !== undefined && secret.length >= minSecretLength;
}

export function viewerOf(credential: Credential, now: number): Viewer {
  return {
    everything: credential.kind === "operator",
    tokenId: credential.kind === "token" ? credential.id : null,
    tokenHash: credential.kind === "token" ? credential.secretHash : null,
    now,
  };
}

/** @throws Problem `invalid_token` when the database knows no living token like this. */
export function principalOf(credential: Credential, gate: Gate): Principal {
  if (credential.kind === "none") return { kind: "anonymous" };
  if (credential.kind === "operator") return { kind: "operator" };
  if (gate.token === undefined) throw problem("invalid_token", "The token is unknown, expired or revoked");
  return { kind: "token", ...gate.token };
}

/** What an address names: a namespace, a name that no namespace can have, or (neither) the whole registry. */
export interface AddressFacts {
  namespace: Namespace | undefined;
  isAbsent: boolean;
}

/**
 * The admission of readers to an address. An absent namespace and one that is private to this caller look the same.
 * @throws Problem `unauthorized` for those who could still show a token, `not_found` for the operator.
 */
export function admitReader(credential: Credential, address: AddressFacts): (gate: Gate) => void {
  return (gate) => {
    const principal = principalOf(credential, gate);
    if (address.namespace === undefined && !address.isAbsent) return;
    const namespace: NamespaceFacts | undefined = gate.namespace;
    if (namespace !== undefined && may(principal, "read", namespace)) return;
    throw principal.kind === "operator"
      ? problem("not_found", "There is no such namespace")
      : problem("unauthorized", "This address needs a token of its namespace");
  };
}

/** Both sides are hashed first, so that neither the length nor the first difference of the secret shows in time. */
async function equalInConstantTime(given: string, secret: string): Promise<boolean> {
  const hash = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [left, right] = await Promise.all([hash(given), hash(secret)]);
  return crypto.subtle.timingSafeEqual(left, right);
}
