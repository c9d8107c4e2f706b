import { Hono } from "hono";
import type { Context } from "hono";

import { lifecycleApi } from "./api/lifecycle.ts";
import { namespacesApi } from "./api/namespaces.ts";
import { otherMethods } from "./api/other-methods.ts";
import { problemDetails } from "./api/problems.ts";
import { publishApi } from "./api/publish.ts";
import { quotasApi } from "./api/quotas.ts";
import { skillsApi } from "./api/skills.ts";
import { checkHost, checkOrigin, publicOrigin, secureHeaders } from "./boundary.ts";
import { isMcpPath } from "./domain/address.ts";
import { Problem, problem } from "./domain/problem.ts";
import type { AppEnv } from "./env.ts";
import { logFailure } from "./log.ts";
import { serveMcp } from "./mcp/endpoint.ts";
import { problemResponse } from "./mcp/errors.ts";
import { countRefusal, countRequest } from "./rates.ts";
import { Blobs } from "./storage/blobs.ts";

/** The order of middleware, and which door stands where. */
export const app = new Hono<AppEnv>();

app.use(secureHeaders);
app.use(checkHost);
for (const path of ["/mcp/*", "/me/*", "/r/*"]) app.use(path, checkOrigin);
app.use("/api/*", checkOrigin);
app.use(countRequest);

// Door 1: agents.
const mcp = (context: Context<AppEnv>) =>
  serveMcp(context.req.raw, {
    db: context.env.DB,
    blobs: new Blobs(context.env.BLOBS),
    adminToken: context.env.ADMIN_TOKEN,
    signingKey: context.env.SIGNING_KEY,
    origin: publicOrigin(context),
    waitUntil: (work) => context.executionCtx.waitUntil(work),
  });
for (const path of ["/mcp", "/mcp/*", "/me/mcp", "/me/mcp/*", "/r/:secret/mcp"]) app.all(path, mcp);

// Door 2: publishers.
app.route("/api/v1", namespacesApi);
app.route("/api/v1", publishApi);
app.route("/api/v1", quotasApi);
app.route("/api/v1", skillsApi);
app.route("/api/v1", lifecycleApi);
app.route("/api/v1", otherMethods);

app.notFound(() => problemDetails(problem("not_found", "Nothing is served at this address")));

app.onError(async (error, context) => {
  const isMcp = isMcpPath(context.req.path);
  if (!(error instanceof Problem)) logFailure(isMcp ? "mcp" : "api", error, { path: withoutSecrets(context.req.path) });
  const refusal = error instanceof Problem ? await countRefusal(context, error) : problem("internal");
  return isMcp ? problemResponse(refusal) : problemDetails(refusal);
});

/** Read links and invitations carry their secret in the path; it goes into no log. */
function withoutSecrets(path: string): string {
  return path.replaceAll(/sk[rli]_[^/]*/g, (secret) => `${secret.slice(0, 20)}…`);
}
