import { createLocalJWKSet } from "jose";
import type { JSONWebKeySet, LocalJWKSet } from "jose";

import {
  issuerKeysStaleMs,
  issuerKeysTtlMs,
  issuerPauseMs,
  issuerTimeoutMs,
  maxIssuerDocumentBytes,
  maxIssuerKeys,
  maxIssuerQuestions,
  maxRememberedIssuers,
} from "../domain/limits.ts";
import { outsideFault } from "../domain/outside.ts";
import { fetchJson, OutboundError } from "./outbound.ts";

/**
 * What an issuer says of itself and its keys, found by OpenID Connect Discovery and remembered by the isolate. Its keys
 * change when it likes, so an unknown one makes us ask again; but no more often than a limit, since whoever sends us a
 * token chooses the key's name. While the issuer does not answer, what it said last counts on for a bounded time.
 */
export interface IssuerMetadata {
  issuer: string;
  jwks_uri: string;
  authorization_endpoint: string | undefined;
  token_endpoint: string | undefined;
  /** All of the document, whose other members nobody has looked at. */
  document: Readonly<Record<string, unknown>>;
}

export interface Asking {
  /** Where people reach us; see outbound.ts. */
  ownOrigin: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** The issuer answered, and with what cannot be believed. */
export class IssuerError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "IssuerError";
  }
}

interface Said {
  metadata: IssuerMetadata;
  keys: LocalJWKSet;
  at: number;
}

interface Memory {
  said: Said | undefined;
  /** When it was asked of late. */
  asked: number[];
  /** Questions under way. One whose request ended first stays counted, so nobody relies on this coming down. */
  open: number;
}

const overhearStepMs = 50;

const memories = new Map<string, Memory>();

/** @throws OutboundError, IssuerError */
export async function discover(issuer: string, asking: Asking): Promise<IssuerMetadata> {
  return (await recall(issuer, asking)).metadata;
}

/**
 * The keys, for jose. `isOutdated`: they lack one that a token names, so they are asked for again if that was not done
 * just now; the answer may be the same keys.
 * @throws OutboundError, IssuerError
 */
export async function keysOf(issuer: string, asking: Asking, isOutdated = false): Promise<LocalJWKSet> {
  return (await recall(issuer, asking, isOutdated)).keys;
}

/** For tests, whose issuers come and go. */
export function forgetIssuers(): void {
  memories.clear();
}

async function recall(issuer: string, asking: Asking, isOutdated = false): Promise<Said> {
  const { now } = asking;
  const memory = memoryOf(issuer);
  const { said } = memory;
  memory.asked = memory.asked.filter((at) => now - at < issuerPauseMs);
  const isFresh = said !== undefined && now - said.at < issuerKeysTtlMs;
  const maySay = said !== undefined && now - said.at < issuerKeysTtlMs + issuerKeysStaleMs;
  const mayAsk = memory.asked.length < (isFresh ? 1 : maxIssuerQuestions);
  if (isFresh && !(isOutdated && mayAsk)) return said;
  try {
    if (!mayAsk) return maySay ? said : await overhear(issuer, memory);
    memory.asked.push(now);
    memory.open++;
    memory.said = await ask(issuer, asking).finally(() => memory.open--);
    return memory.said;
  } catch (error) {
    if (maySay) return said;
    throw error;
  }
}

/** Others are asking right now, as when the jobs of a matrix begin at once: what they are told is for all. */
async function overhear(issuer: string, memory: Memory): Promise<Said> {
  const before = memory.said;
  const end = Date.now() + 2 * issuerTimeoutMs;
  while (memory.open > 0 && memory.said === before && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, overhearStepMs));
  }
  if (memory.said === before) throw new IssuerError(`${issuer} was asked too often just now`);
  return memory.said!;
}

/** The issuer that was asked about the longest ago makes room. */
function memoryOf(issuer: string): Memory {
  const memory = memories.get(issuer) ?? { said: undefined, asked: [], open: 0 };
  memories.delete(issuer);
  memories.set(issuer, memory);
  if (memories.size > maxRememberedIssuers) memories.delete(memories.keys().next().value!);
  return memory;
}

async function ask(issuer: string, { ownOrigin, now }: Asking): Promise<Said> {
  const base = issuer.endsWith("/") ? issuer.slice(0, -1) : issuer;
  const document = await fetchObject(`${base}/.well-known/openid-configuration`, ownOrigin);
  const metadata = readMetadata(issuer, document, ownOrigin);
  const { keys } = await fetchObject(metadata.jwks_uri, ownOrigin);
  return { metadata, keys: readKeys(issuer, keys), at: now };
}

async function fetchObject(url: string, ownOrigin: string): Promise<Record<string, unknown>> {
  const options = { ownOrigin, maxBytes: maxIssuerDocumentBytes, timeoutMs: issuerTimeoutMs };
  const { status, body } = await fetchJson(url, options);
  if (status !== 200) throw new OutboundError("unreachable", `${url} answered ${status}`);
  if (isRecord(body)) return body;
  throw new IssuerError(`${url} answered with JSON that is not an object`);
}

/** A document that names another issuer is no word of this one: else one issuer could lend its keys to another's name. */
function readMetadata(issuer: string, document: Record<string, unknown>, ownOrigin: string): IssuerMetadata {
  if (document["issuer"] !== issuer) throw new IssuerError(`The discovery document of ${issuer} names another issuer`);
  const endpoint = (name: string): string | undefined => {
    const value = document[name];
    if (value === undefined) return undefined;
    const fault = typeof value === "string" ? outsideFault(value, ownOrigin) : "is not a text";
    if (fault === undefined) return value as string;
    throw new IssuerError(`The ${name} of ${issuer} ${fault}`);
  };
  const jwks_uri = endpoint("jwks_uri");
  if (jwks_uri === undefined) throw new IssuerError(`The discovery document of ${issuer} has no jwks_uri`);
  const [authorization_endpoint, token_endpoint] = [endpoint("authorization_endpoint"), endpoint("token_endpoint")];
  return { issuer, jwks_uri, authorization_endpoint, token_endpoint, document };
}

/** Secrets that an issuer shows by mistake (`oct`) are no keys to us. */
function readKeys(issuer: string, keys: unknown): LocalJWKSet {
  if (!Array.isArray(keys)) throw new IssuerError(`The key set of ${issuer} has no list of keys`);
  const usable = keys.filter((key) => isRecord(key) && ["RSA", "EC", "OKP"].includes(String(key["kty"])));
  try {
    return createLocalJWKSet({ keys: usable.slice(0, maxIssuerKeys) } as JSONWebKeySet);
  } catch {
    throw new IssuerError(`The key set of ${issuer} is not one`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
