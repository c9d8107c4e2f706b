import { inspectRoutes } from "hono/dev";
import { describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { buildServer } from "../../src/mcp/server.ts";
import type { Visit } from "../../src/mcp/visit.ts";
import { modern, newNamespace } from "../harness.ts";
import { tablesNotInSnapshot } from "./answers.ts";
import { doors, notifications, requests, tools } from "./methods.ts";
import { routes } from "./routes.ts";

/** What the suites of this folder try is a table; here it is held against the program itself, so that nothing lacks. */
const known = inspectRoutes(app).filter(({ isMiddleware }) => !isMiddleware);
const named = known.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`);
const patterns = new Set(named.map((route) => route.split(" ")[1]));

describe("what one tenant tries at another", () => {
  it("is tried at every route, and at no route that is gone", () => {
    expect(Object.keys(routes).sort()).toEqual([...new Set(named)].sort());
  });

  it("is tried at every address that takes all methods", () => {
    const all = known.filter(({ method }) => method === "ALL").map(({ path }) => path);
    const doorsOnly = all.filter((path) => !patterns.has(path));
    expect(doorsOnly.sort()).toEqual(Object.keys(doors).sort());
  });

  it("is tried with every MCP method and notification that a server registers", () => {
    const visit = { address: { serverName: "x" }, session: { shard: 0 } } as Visit;
    const server = buildServer(visit, { hasSkillTools: false }) as unknown as Record<string, Map<string, unknown>>;
    // The SDK has no public list of them.
    const of = (name: string) => [...server[name]!.keys()];
    // Those two are answered before a server is built, or by the SDK's own handler of the era.
    const registered = [...of("_requestHandlers"), "server/discover", "subscriptions/listen"];
    expect(registered.filter((method) => requests[method] === undefined)).toEqual([]);
    expect(registered.length).toBeGreaterThan(10);
    const quiet = of("_notificationHandlers");
    expect(quiet.filter((method) => !notifications.includes(method))).toEqual([]);
  });

  it("is tried with every tool", async () => {
    const { result } = await modern(`/mcp/${await newNamespace()}`, "tools/list");
    const names = (result!["tools"] as { name: string }[]).map(({ name }) => name);
    expect(names.sort()).toEqual(Object.keys(tools).sort());
  });

  it("is compared in every table of the database", async () => {
    expect(await tablesNotInSnapshot()).toEqual([]);
  });
});
