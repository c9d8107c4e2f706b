import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { mintSecret } from "../../src/auth/tokens.ts";
import { api, newNamespace, newToken, operator, seedSkill, send } from "../harness.ts";
import { ask } from "../tenants/answers.ts";
import { forgotten } from "./tenancy.ts";

/** A bad token is 401 everywhere, whatever the address would have answered without one. */
let namespace: string;
let link: string;

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "refunds");
  link = ((await api("POST", `/namespaces/${namespace}/links`, {})).body["url"] as string).split("/")[4]!;
});

const index = ".well-known/agent-skills/index.json";
const metadata = "/.well-known/oauth-protected-resource";
const skill = () => `/api/v1/namespaces/${namespace}/skills/refunds`;

/** Also what asks no database: unknown addresses, fixed files, wrong methods, malformed paths. */
const everywhere = (): [string, string][] => [
  ["GET", "/"],
  ["GET", "/nothing/at/all"],
  ["POST", "/api/v1/nothing"],
  ["GET", "/.well-known/nothing"],
  ["GET", "/.well-known/security.txt"],
  ["HEAD", "/.well-known/security.txt"],
  ["POST", "/.well-known/security.txt"],
  ["GET", `/${index}`],
  ["GET", `/${namespace}/${index}`],
  ["GET", `/No Such/${index}`],
  ["GET", `/r/${link}/${index}`],
  ["GET", `/r/skl_dead/${index}`],
  ["GET", `/r/${link}/archives/${namespace}/refunds/1.0.0.tar.gz`],
  ["GET", `${metadata}/mcp/${namespace}`],
  ["GET", `${metadata}/me/mcp`],
  ["GET", `${metadata}/nonsense`],
  ["GET", `/blobs/sha256/${"0".repeat(64)}`],
  ["GET", "/blobs/sha256/nonsense"],
  ["DELETE", `/blobs/sha256/${"0".repeat(64)}`],
  ["GET", skill()],
  ["GET", `${skill()}/-/nonsense`],
  ["GET", `${skill()}/-/releases/nonsense`],
  ["GET", `/api/v1/namespaces/${namespace}/skills/Bad%20Path`],
  ["PATCH", `/api/v1/namespaces/${namespace}/skills/Bad%20Path`],
  ["DELETE", `/api/v1/namespaces/${namespace}/skills/a/-/b`],
  ["PUT", skill()],
  ["POST", `/mcp/${namespace}`],
  ["POST", "/%6dcp"],
  ["POST", `/r/${link}/mcp`],
  ["POST", "/r//mcp"],
  ["OPTIONS", "/nothing"],
];

describe("a credential that is bad by itself", () => {
  const texts: [string, () => string | Promise<string>][] = [
    ["junk", () => "Bearer junk"],
    ["a made-up check", () => `Bearer skr_${"0".repeat(16)}_${"0".repeat(64)}_${"0".repeat(16)}`],
    ["the old form", () => `Bearer skr_${"0".repeat(16)}_${"0".repeat(64)}`],
    ["a read link", async () => `Bearer ${(await mintSecret("skl", env.SIGNING_KEY!)).text}`],
    ["Basic", () => `Basic ${btoa("operator:secret")}`],
    ["another operator token", () => `Bearer ${operator}x`],
    ["nothing", () => "Bearer "],
  ];

  it.each(texts)("is 401 at every address and method, and asks no store: %s", async (_, text) => {
    const headers = { authorization: await text() };
    for (const [method, path] of everywhere()) {
      const seen = await ask({ method, path, headers });
      expect([method, path, seen.status, seen.calls]).toEqual([method, path, 401, []]);
    }
  });

  it("is not looked at in a preflight, which browsers send without one", async () => {
    const headers = { origin: "http://localhost", "access-control-request-method": "GET", authorization: "junk" };
    for (const path of ["/api/v1/namespaces", "/mcp", "/.well-known/security.txt"]) {
      expect([path, (await send(path, { method: "OPTIONS", headers })).status]).toEqual([path, 204]);
    }
  });
});

describe("a token that is well made and dead", () => {
  it("is 401 wherever the database is asked, malformed paths included", async () => {
    const revoked = await newToken(namespace, "admin");
    const { body } = await api("GET", "/me", undefined, revoked);
    await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
    const asking = everywhere().filter(
      ([method, path]) => method === "GET" && !/nothing|security|^\/$|^\/%|\/r\/\//.test(path),
    );
    expect(asking.length).toBeGreaterThan(14);
    for (const token of [revoked, await forgotten("skr")]) {
      for (const [method, path] of [...asking, ["PATCH", `${skill()}%20`], ["DELETE", `${skill()}/-/b`]] as const) {
        const { status } = await send(path, { method, headers: { authorization: `Bearer ${token}` } });
        expect([method, path, status]).toEqual([method, path, 401]);
      }
    }
  });

  it("is told from a living one, which malformed paths answer as before", async () => {
    const token = await newToken(namespace, "admin");
    for (const path of ["/skills/Bad%20Path", "/skills/refunds/-/nonsense", "/skills/refunds/-/releases/x"]) {
      expect([path, (await api("GET", `/namespaces/${namespace}${path}`, undefined, token)).status]).toEqual([
        path,
        404,
      ]);
    }
  });
});
