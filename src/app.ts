import { Hono } from "hono";
import type { Context } from "hono";

import { auditApi } from "./api/audit.ts";
import { blobsApi } from "./api/blobs.ts";
import { withChallenge } from "./api/challenge.ts";
import { collectionsApi } from "./api/collections.ts";
import { discoveryApi } from "./api/discovery.ts";
import { exchangeApi } from "./api/exchange.ts";
import { invitationsApi } from "./api/invitations.ts";
import { lifecycleApi } from "./api/lifecycle.ts";
import { linksApi } from "./api/links.ts";
import { membersApi } from "./api/members.ts";
import { namespacesApi } from "./api/namespaces.ts";
import { olderDiscoveryApi } from "./api/older-discovery.ts";
import { otherMethodsOf } from "./api/other-methods.ts";
import { problemDetails } from "./api/problems.ts";
import { publishApi } from "./api/publish.ts";
import { publishersApi } from "./api/publishers.ts";
import { resourceMetadata } from "./api/resource-metadata.ts";
import { quotasApi } from "./api/quotas.ts";
import { searchIndexApi } from "./api/search-index.ts";
import { securityTxt } from "./api/security-txt.ts";
import { serversApi } from "./api/servers.ts";
import { skillsApi } from "./api/skills.ts";
import { statisticsApi } from "./api/statistics.ts";
import { meApi } from "./api/me.ts";
import { tokensApi } from "./api/tokens.ts";
import { checkHost, checkOrigin, openToAll, secureHeaders } from "./boundary.ts";
import { isMcpPath } from "./domain/address.ts";
import { clientPrefixOf } from "./domain/client-address.ts";
import { defaultTallyPauseMs } from "./domain/limits.ts";
import { Problem, problem } from "./domain/problem.ts";
import { numberOf } from "./domain/setting.ts";
import { publicOriginOf } from "./env.ts";
import type { AppEnv } from "./env.ts";
import { liveSettings } from "./live/settings.ts";
import { logFailure } from "./log.ts";
import { serveMcp } from "./mcp/endpoint.ts";
import { problemResponse } from "./mcp/errors.ts";
import { TallyBuffer } from "./mcp/tally-buffer.ts";
import { countRefusal, countRequest, refuseBadCredential } from "./rates.ts";
import { Blobs } from "./storage/blobs.ts";
import { accountPages } from "./web/account.ts";
import { authorizePage } from "./web/authorize.ts";
import { invitationPages } from "./web/invitation.ts";
import { providerPages } from "./web/provider.ts";
import { registrationEndpoint } from "./web/registration.ts";
import { serverMetadata } from "./web/server-metadata.ts";
import { signInPages } from "./web/sign-in.ts";
import { tokenEndpoint } from "./web/token.ts";

/**
 * The order of middleware, and which door stands where. Addresses are routed as they were typed, since handlers read
 * them so: Hono would decode `%6d` first, and what it took for an address would be none to its handler.
 */
export const app = new Hono<AppEnv>({ getPath: (request) => pathAsTyped.exec(request.url)?.[1] ?? "/" });

const pathAsTyped = /^https?:\/\/[^/?#]*(\/[^?#]*)/;

app.use(secureHeaders);
app.use(checkHost);
for (const path of ["/mcp/*", "/me/*", "/r/:secret/mcp", "/api/*", "/token", "/revoke", "/register"]) {
  app.use(path, checkOrigin);
}
for (const path of [
  "/.well-known/*",
  "/:namespace/.well-known/*",
  "/r/:secret/:what{[.]well-known|archives}/*",
  "/blobs/*",
])
  app.use(path, openToAll);
app.use(countRequest);
app.use(refuseBadCredential);

/** What this isolate has counted and not yet written down. */
const counted = new TallyBuffer();

// Door 1: agents.
const mcp = (context: Context<AppEnv>) =>
  serveMcp(context.req.raw, {
    db: context.env.DB,
    blobs: new Blobs(context.env.BLOBS),
    adminToken: context.env.ADMIN_TOKEN,
    signingKey: context.env.SIGNING_KEY,
    origin: publicOriginOf(context.env, context.req.url),
    live: liveSettings(context.env),
    clientKey: `address:${clientPrefixOf(context.req.header("cf-connecting-ip"))}`,
    waitUntil: (work) => context.executionCtx.waitUntil(work),
    tally: {
      buffer: counted,
      pauseMs: numberOf(context.env.TALLY_PAUSE_MS, defaultTallyPauseMs),
      userAgent: context.req.header("user-agent") ?? null,
    },
  });
for (const path of ["/mcp", "/mcp/*", "/me/mcp", "/me/mcp/*", "/r/:secret/mcp"]) app.all(path, mcp);

// Door 2: publishers.
export const publisherApis = [
  namespacesApi,
  tokensApi,
  meApi,
  membersApi,
  invitationsApi,
  linksApi,
  publishersApi,
  exchangeApi,
  auditApi,
  publishApi,
  quotasApi,
  statisticsApi,
  skillsApi,
  lifecycleApi,
  collectionsApi,
  serversApi,
  searchIndexApi,
];
for (const api of [...publisherApis, otherMethodsOf(publisherApis)]) app.route("/api/v1", api);

// Door 3: people, and the clients that they sign in for.
export const personalDoors = [
  authorizePage,
  signInPages,
  providerPages,
  accountPages,
  invitationPages,
  tokenEndpoint,
  registrationEndpoint,
  serverMetadata,
];
for (const door of [...personalDoors, otherMethodsOf(personalDoors)]) app.route("/", door);

// Public bytes, and what clients look for before they connect.
app.route("/blobs", blobsApi);
app.route("/", discoveryApi);
app.route("/", olderDiscoveryApi);
app.route("/", resourceMetadata);
app.route("/", securityTxt);
app.route("/blobs", otherMethodsOf([blobsApi]));
app.route("/", otherMethodsOf([discoveryApi, olderDiscoveryApi, resourceMetadata, securityTxt]));

app.notFound(() => problemDetails(problem("not_found", "Nothing is served at this address")));

app.onError(async (error, context) => {
  const isMcp = isMcpPath(context.req.path);
  if (!(error instanceof Problem)) logFailure(isMcp ? "mcp" : "api", error, { path: withoutSecrets(context.req.path) });
  const refusal = error instanceof Problem ? await countRefusal(context, error) : problem("internal");
  return isMcp ? problemResponse(refusal) : problemDetails(withChallenge(context, refusal));
});

/** Read links and invitations carry their secret in the path, in whatever spelling; it goes into no log. */
function withoutSecrets(path: string): string {
  const read = path.replaceAll(/%([2-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return read.replaceAll(/sk[rli]_[^/]*/g, (secret) => `${secret.slice(0, 20)}…`);
}
