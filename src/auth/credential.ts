import { minSecretLength } from "../domain/limits.ts";
import { may } from "../domain/policy.ts";
import type { Resource } from "../domain/policy.ts";
import type { Principal } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import type { Gate } from "../storage/gate.ts";
import type { Reach, Viewer } from "../storage/viewer.ts";
import { isOfGrant, parseAccessToken } from "./access-token.ts";
import type { AccessToken } from "./access-token.ts";
import { isOldToken, parseSecret } from "./tokens.ts";

/** What the request carries, before the database has confirmed it. */
export type Credential =
  | { kind: "none" }
  | { kind: "operator" }
  | { kind: "token" | "link"; id: string; secretHash: string }
  /** An access token of a sign-in: good at one address only. */
  | ({ kind: "access" } & AccessToken);

export interface Secrets {
  adminToken: string | undefined;
  signingKey: string | undefined;
}

/**
 * Reads `Authorization: Bearer`. A token is never taken from anywhere else, and a bad one is never ignored. No question
 * to the database is asked here: what this registry did not write is refused by its check.
 * @throws Problem `invalid_token`; `not_configured` when the credential cannot be checked for want of a secret.
 */
export async function readCredential(headers: Headers, secrets: Secrets): Promise<Credential> {
  const header = headers.get("authorization");
  if (header === null) return { kind: "none" };
  const bearer = /^bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
  if (bearer === undefined) throw problem("invalid_token", "Send the token as `Authorization: Bearer <token>`");
  if (bearer.startsWith("skr_")) {
    const token = await parseSecret("skr", bearer, requireSecret("SIGNING_KEY", secrets.signingKey));
    if (token === undefined) throw isOldToken(bearer) ? outdated() : notOurs();
    return { kind: "token", ...token };
  }
  if (isOfGrant(bearer)) {
    const access = await parseAccessToken(bearer, requireSecret("SIGNING_KEY", secrets.signingKey));
    if (access === undefined) throw notOurs();
    return { kind: "access", ...access };
  }
  if (await equalInConstantTime(bearer, requireSecret("ADMIN_TOKEN", secrets.adminToken))) return { kind: "operator" };
  throw notOurs();
}

/** @throws Problem `not_configured` for a secret that is absent or too short to be compared with anything. */
export function requireSecret(name: string, secret: string | undefined): string {
  if (secret !== undefined && secret.length >= minSecretLength) return secret;
  throw problem("not_configured", `${name} is not set, or shorter than ${minSecretLength} characters`);
}

/** `audience`: the address that an access token must be for, as its client typed it; "": none that one could be for. */
export function viewerOf(credential: Credential, now: number, audience: string): Viewer {
  const isStored = credential.kind === "token" || credential.kind === "link";
  return {
    everything: credential.kind === "operator",
    tokenId: isStored ? credential.id : null,
    tokenHash: isStored ? credential.secretHash : null,
    access: credential.kind === "access" ? { key: credential.key, audience } : null,
    person: null,
    now,
  };
}

/** @throws Problem `invalid_token` when the database knows no living token like this; `not_found` for a dead link. */
export function principalOf(credential: Credential, gate: Gate): Principal {
  if (credential.kind === "none") return { kind: "anonymous" };
  if (credential.kind === "operator") return { kind: "operator" };
  const { token } = gate;
  if (token === undefined || (token.kind === "link") !== (credential.kind === "link")) throw deadCredential(credential);
  const { id, namespace, collection } = token;
  if (token.kind === "link" && namespace !== undefined) return { kind: "link", id, namespace, collection };
  const { grant, role, scopes, below, member, publisher } = token;
  return { kind: "token", id, grant, namespace, role, scopes, below, member, publisher };
}

function deadCredential({ kind }: Credential) {
  if (kind === "link") return problem("not_found", "There is nothing at this address");
  return kind === "access"
    ? problem("invalid_token", "The access token has ended, or is not for this address; sign in again")
    : problem("invalid_token", "The token is unknown, expired or revoked");
}

/** What the database knows of an address as what the policy decides about; undefined for what is absent. */
export function resourceOf(gate: Gate, reach: Reach): Resource | undefined {
  if (gate.namespace === undefined) return undefined;
  const namespace = { name: gate.namespace.name, visibility: gate.namespace.visibility };
  if (reach.collection === undefined) return { kind: "namespace", namespace };
  if (gate.collection === undefined) return undefined;
  return { kind: "collection", namespace, name: gate.collection.name, visibility: gate.collection.visibility };
}

/** Whether a stranger would be asked for a token here: for what is private, and for what is not there, alike. */
export function isChallenging(gate: Gate, reach: Reach): boolean {
  return !may({ kind: "anonymous" }, "read", resourceOf(gate, reach));
}

function outdated() {
  const rule = "The token was minted before tokens carried a check of their own, and is no longer taken";
  return problem("invalid_token", `${rule}; mint a new one`);
}

function notOurs() {
  return problem("invalid_token", "The token is not one of this registry's");
}

/** Both sides are hashed first, so that neither the length nor the first difference of the secret shows in time. */
async function equalInConstantTime(given: string, secret: string): Promise<boolean> {
  const hash = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [left, right] = await Promise.all([hash(given), hash(secret)]);
  return crypto.subtle.timingSafeEqual(left, right);
}
