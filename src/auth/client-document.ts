import * as z from "zod";

import {
  clientDocumentTimeoutMs,
  maxClientDocumentBytes,
  maxClientDocumentMs,
  maxClientIdLength,
  maxClientNameLength,
  maxRedirectUriLength,
  maxRedirectUris,
  minClientDocumentMs,
  staleClientDocumentMs,
} from "../domain/limits.ts";
import { outsideFault } from "../domain/outside.ts";
import { dropDocument, findDocument, keepDocument } from "../storage/oauth-clients.ts";
import type { ClientDocument } from "../storage/oauth-clients.ts";
import { fetchJson, OutboundError } from "./outbound.ts";

/**
 * Clients whose id is the address of a document about them (draft-ietf-oauth-client-id-metadata-document). The library
 * could fetch it, but would follow redirects; here no inner, loopback or redirecting target is asked, and what was read
 * is kept. A client is what its document says now: where a fresh reading fails, only one that is allowed already goes
 * on under the last one, for a time.
 */
export class ClientDocumentError extends Error {}

export interface DocumentSource {
  db: D1Database;
  now: number;
  ownOrigin: string;
  /** At the token endpoint: while the host does not answer, the last document counts. */
  mayBeStale: boolean;
  /** Called before the client's host is asked; what it throws is the outcome. */
  beforeAsking?: (() => Promise<void>) | undefined;
}

export interface DocumentedClient {
  clientId: string;
  clientName?: string;
  redirectUris: readonly string[];
}

/** The fields of a client as the OAuth library keeps them. @throws ClientDocumentError */
export async function readClient(clientId: string, source: DocumentSource): Promise<DocumentedClient> {
  const fault = clientIdFault(clientId, source.ownOrigin);
  if (fault !== undefined) throw new ClientDocumentError(`The client id ${fault}`);
  const { db, now } = source;
  const kept = await findDocument(db, clientId);
  if (kept !== undefined && kept.freshUntil > now) return JSON.parse(kept.client) as DocumentedClient;
  await source.beforeAsking?.();
  try {
    const document = await fetchDocument(clientId, source);
    await keepDocument(db, clientId, document);
    return JSON.parse(document.client) as DocumentedClient;
  } catch (error) {
    if (!(error instanceof OutboundError)) {
      // What its host says plainly counts: the client is not what it was.
      if (kept !== undefined) await dropDocument(db, clientId);
      throw error;
    }
    if (kept !== undefined && source.mayBeStale && kept.fetchedAt > now - staleClientDocumentMs) {
      return JSON.parse(kept.client) as DocumentedClient;
    }
    throw new ClientDocumentError(error.message);
  }
}

/** Section 3 of the draft; undefined: it may be one. */
export function clientIdFault(clientId: string, ownOrigin: string): string | undefined {
  if (clientId.length > maxClientIdLength) return `has more than ${maxClientIdLength} characters`;
  const outside = outsideFault(clientId, ownOrigin);
  if (outside !== undefined) return outside;
  const url = new URL(clientId);
  if (url.protocol !== "https:") return "is not https";
  if (url.href !== clientId) return "is not written in its shortest form";
  if (url.pathname === "/") return "has no path";
  return url.search === "" ? undefined : "has a query";
}

async function fetchDocument(clientId: string, { ownOrigin, now }: DocumentSource): Promise<ClientDocument> {
  const limits = { maxBytes: maxClientDocumentBytes, timeoutMs: clientDocumentTimeoutMs };
  const { status, headers, body } = await fetchJson(clientId, { ownOrigin, ...limits });
  if (status >= 500 || status === 429) {
    throw new OutboundError("unreachable", `${new URL(clientId).host} answered ${status}`);
  }
  if (status !== 200) throw new ClientDocumentError(`The document of the client was answered with ${status}`);
  return {
    client: JSON.stringify(parseDocument(clientId, body)),
    fetchedAt: now,
    freshUntil: now + lifetimeOf(headers),
  };
}

function lifetimeOf(headers: Headers): number {
  const maxAge = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(headers.get("cache-control") ?? "")?.[1];
  return Math.min(Math.max(Number(maxAge ?? 0) * 1_000, minClientDocumentMs), maxClientDocumentMs);
}

const document = z.object({
  client_id: z.string(),
  client_name: z.string().max(maxClientNameLength).optional(),
  redirect_uris: z.array(z.string().max(maxRedirectUriLength)).min(1).max(maxRedirectUris),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

function parseDocument(clientId: string, body: unknown): object {
  const read = document.safeParse(body);
  if (!read.success) {
    const issue = read.error.issues[0]!;
    throw new ClientDocumentError(`The document of the client is not valid: ${issue.path.join(".")}: ${issue.message}`);
  }
  const { client_id, client_name, redirect_uris, grant_types, response_types } = read.data;
  if (client_id !== clientId) throw new ClientDocumentError("The document of the client names another client_id");
  if (!mayBePublic(read.data)) {
    throw new ClientDocumentError("The document of the client allows no token_endpoint_auth_method `none`");
  }
  if (grant_types !== undefined && !grant_types.includes("authorization_code")) {
    throw new ClientDocumentError("The document of the client does not list the grant type authorization_code");
  }
  if (response_types !== undefined && !response_types.includes("code")) {
    throw new ClientDocumentError("The document of the client does not list the response type code");
  }
  return {
    clientId,
    redirectUris: redirect_uris,
    ...(client_name === undefined ? {} : { clientName: client_name }),
    grantTypes: ["authorization_code", "refresh_token"],
    responseTypes: ["code"],
    tokenEndpointAuthMethod: "none",
  };
}

/** A document holds no secret that both sides know; of keys of its own (`private_key_jwt`) this server asks for none. */
function mayBePublic(read: z.infer<typeof document>): boolean {
  const { token_endpoint_auth_method: method = "none", token_endpoint_auth_methods_supported: methods = [] } = read;
  return method === "none" || methods.includes("none");
}
