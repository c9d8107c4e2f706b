import { Hono } from "hono";

import { lifecycleApi } from "./api/lifecycle.ts";
import { namespacesApi } from "./api/namespaces.ts";
import { otherMethods } from "./api/other-methods.ts";
import { problemDetails } from "./api/problems.ts";
import { publishApi } from "./api/publish.ts";
import { skillsApi } from "./api/skills.ts";
import { checkHost, checkOrigin, secureHeaders } from "./boundary.ts";
import { Problem, problem } from "./domain/problem.ts";
import type { AppEnv, Env } from "./env.ts";
import { logFailure } from "./log.ts";
import { serveMcp } from "./mcp/endpoint.ts";
import { problemResponse } from "./mcp/errors.ts";
import { Blobs } from "./storage/blobs.ts";

/** The order of middleware, and which door stands where. */
export const app = new Hono<AppEnv>();

app.use(secureHeaders);
app.use(checkHost);
app.use("/mcp/*", checkOrigin);
app.use("/api/*", checkOrigin);

// Door 1: agents.
const mcp = (request: Request, env: Env, name?: string) =>
  serveMcp(request, name, { db: env.DB, blobs: new Blobs(env.BLOBS), adminToken: env.ADMIN_TOKEN });
app.all("/mcp", (context) => mcp(context.req.raw, context.env));
app.all("/mcp/:namespace{.+}", (context) => mcp(context.req.raw, context.env, context.req.param("namespace")));

// Door 2: publishers.
app.route("/api/v1", namespacesApi);
app.route("/api/v1", publishApi);
app.route("/api/v1", skillsApi);
app.route("/api/v1", lifecycleApi);
app.route("/api/v1", otherMethods);

app.notFound(() => problemDetails(problem("not_found", "Nothing is served at this address")));

app.onError((error, context) => {
  const isMcp = context.req.path === "/mcp" || context.req.path.startsWith("/mcp/");
  if (!(error instanceof Problem)) logFailure(isMcp ? "mcp" : "api", error, { path: context.req.path });
  const refusal = error instanceof Problem ? error : problem("internal");
  return isMcp ? problemResponse(refusal) : problemDetails(refusal);
});
