import { OAuthAuthorizationServer, OAuthError } from "@cloudflare/workers-oauth-provider";

import { accessTokenSeconds, refreshTokenSeconds, registrationSeconds } from "../domain/limits.ts";
import { documentOrigin, isAcceptedRedirect } from "../domain/redirect.ts";
import { scopes } from "../domain/principal.ts";
import { findStanding } from "../storage/grants.ts";
import { expiryOf, OAuthRecords } from "../storage/oauth-records.ts";
import type { RecordOptions } from "../storage/oauth-records.ts";
import { readClient } from "./client-document.ts";
import type { DocumentSource } from "./client-document.ts";

/**
 * The OAuth 2.1 authorization server: the library's, made anew for each request with the one address that the request
 * is about, since every address is a resource of its own and there are as many as there are namespaces. Its records
 * lie in D1 (storage/oauth-records.ts); tokens are checked by the question that asks for rights anyway (viewer.ts).
 */
export interface ServerSettings {
  db: D1Database;
  /** Where people reach the registry; the issuer. */
  origin: string;
  /** The address that tokens are for. */
  audience: string;
  now: number;
  /** Redirect addresses that the operator allows besides those of domain/redirect.ts. */
  listed?: readonly string[];
  /** At the token endpoint a client goes on under its last document while the host of that does not answer. */
  mayBeStale?: boolean;
  /** Which client ids that are addresses may be looked up; absent: all. */
  mayAsk?: (clientId: string) => boolean;
  /** Counts a question to a client's host. */
  beforeAsking?: () => Promise<void>;
  /** Writes a client that registers itself, or throws why not; absent: where nobody registers. */
  addClient?: (client: NewClient) => Promise<void>;
}

export interface NewClient {
  clientId: string;
  /** JSON as the library keeps a client. */
  record: string;
  expiresAt: number | null;
}

/** What the library takes for the bindings of a Worker. */
export interface ServerEnv {
  OAUTH_KV: KVNamespace;
}

export const endpoints = {
  authorize: "/authorize",
  token: "/token",
  register: "/register",
  revoke: "/revoke",
} as const;

export function authorizationServer({ origin, audience, db, now }: ServerSettings) {
  return new OAuthAuthorizationServer<ServerEnv>({
    issuer: origin,
    resources: [audience],
    authorizeEndpoint: origin + endpoints.authorize,
    tokenEndpoint: origin + endpoints.token,
    clientRegistrationEndpoint: origin + endpoints.register,
    scopesSupported: [...scopes],
    accessTokenTTL: accessTokenSeconds,
    refreshTokenTTL: refreshTokenSeconds,
    refreshTokenIdleTTL: refreshTokenSeconds,
    clientRegistrationTTL: registrationSeconds,
    // Which schemes of programs get codes says domain/redirect.ts, as of every other address.
    allowPrivateUseRedirectUris: true,
    // Our own reading of documents takes its place, as a record of the store.
    clientIdMetadataDocumentEnabled: false,
    // Whatever it refuses is the answer; nothing of it belongs into a log.
    onError: () => {},
    tokenExchangeCallback: async ({ grantId }) => {
      const standing = await findStanding(db, grantId, now);
      if (standing?.isAlive === true) return;
      throw new OAuthError("invalid_grant", { description: "What was allowed has ended; sign in again" });
    },
  });
}

/** The records of one request, and the clients that have a document instead of a record. */
export function serverEnv(settings: ServerSettings): ServerEnv {
  const records = new OAuthRecords(settings.db, settings.now);
  const store = {
    get: (key: string, options?: { type?: string }) => clientOf(key, settings) ?? records.get(key, options),
    put: (key: string, value: string, options?: RecordOptions) =>
      addedClient(key, value, options, settings) ?? records.put(key, value, options),
    delete: records.delete.bind(records),
    list: records.list.bind(records),
  };
  return { OAUTH_KV: store as unknown as KVNamespace };
}

const clientKey = "client:";

function clientOf(key: string, settings: ServerSettings): Promise<object | null> | undefined {
  if (!key.startsWith(clientKey)) return undefined;
  const clientId = key.slice(clientKey.length);
  if (documentOrigin(clientId) === undefined) return undefined;
  const { db, now, origin: ownOrigin, mayBeStale = false, mayAsk, beforeAsking } = settings;
  if (mayAsk !== undefined && !mayAsk(clientId)) return Promise.resolve(null);
  return readUsable(clientId, settings.listed ?? [], { db, now, ownOrigin, mayBeStale, beforeAsking });
}

/** The first writing of a client, which is counted in the statement that does it. */
function addedClient(
  key: string,
  record: string,
  options: RecordOptions = {},
  { addClient, now }: ServerSettings,
): Promise<void> | undefined {
  if (addClient === undefined || !key.startsWith(clientKey)) return undefined;
  return addClient({ clientId: key.slice(clientKey.length), record, expiresAt: expiryOf(options, now) });
}

/** To the other addresses of its document nothing is sent, not even that something went wrong. */
async function readUsable(clientId: string, listed: readonly string[], source: DocumentSource): Promise<object> {
  const client = await readClient(clientId, source);
  return { ...client, redirectUris: client.redirectUris.filter((uri) => isAcceptedRedirect(uri, clientId, listed)) };
}
