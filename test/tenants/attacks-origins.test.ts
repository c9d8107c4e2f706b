import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { newNamespace, newToken, operator } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt, Seen } from "./answers.ts";
import { message } from "./methods.ts";

/** Attacks by name: what a browser is tricked into, and what proxies and clients say of where they are. */
let open: string;
let closed: string;
let stranger: string;

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  stranger = await newToken(await newNamespace(), "admin");
  await ask(get("/api/v1/me"), stranger);
});

const get = (path: string, headers: Record<string, string> = {}): Attempt => ({ method: "GET", path, headers });
const list = (path: string, headers: Record<string, string> = {}): Attempt => {
  const one = message(path, "2025-11-25", "skills/list", {});
  return { ...one, headers: { ...one.headers, ...headers } };
};
const headersOf = (seen: Seen) =>
  new Map(seen.headers.split("\n").map((line) => line.split(/: (.*)/, 2) as [string, string]));

describe("cross-origin requests", () => {
  const evil = [
    "https://evil.example",
    "null",
    "http://localhost.evil.example",
    "https://localhost@evil.example",
    "file://",
    "*",
  ];
  const doors = () => [
    "/mcp",
    `/mcp/${open}`,
    `/me/mcp`,
    "/r/x/mcp",
    "/api/v1/namespaces",
    `/api/v1/namespaces/${open}/skills`,
  ];
  const everybodys = () => [
    `/${open}/.well-known/agent-skills/index.json`,
    "/.well-known/agent-skills/index.json",
    "/.well-known/skills/index.json",
    "/.well-known/oauth-protected-resource/me/mcp",
    `/blobs/sha256/${"0".repeat(64)}`,
  ];
  const preflight = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" };

  it("from a refused origin are refused, preflight or not, and with a good token too", async () => {
    for (const path of doors()) {
      for (const origin of evil) {
        for (const attempt of [
          get(path, { origin }),
          list(path, { origin }),
          { method: "OPTIONS", path, headers: { origin, ...preflight } },
        ]) {
          const seen = await ask(attempt, operator);
          expect([path, origin, seen.status]).toEqual([path, origin, 403]);
          expect(seen.headers).not.toContain("access-control-allow");
        }
      }
    }
  });

  it("from an allowed one have it echoed, never a star and never credentials", async () => {
    const origin = "https://app.example";
    for (const path of doors()) {
      const options = { method: "OPTIONS", path, headers: { origin, ...preflight } };
      for (const attempt of [options, get(path, { origin }), list(path, { origin })]) {
        const seen = await ask(attempt, undefined, { ALLOWED_ORIGINS: `https://other.example ${origin}` });
        expect([path, headersOf(seen).get("access-control-allow-origin") ?? "none"]).not.toEqual([path, "*"]);
        expect(seen.headers).not.toContain("allow-credentials");
        if (attempt.method === "OPTIONS") expect(headersOf(seen).get("access-control-allow-origin")).toBe(origin);
        expect(headersOf(seen).get("vary")).toContain("origin");
      }
      expect((await ask(options)).status).toBe(403);
    }
  });

  it("to what is everybody's have a star, and never credentials", async () => {
    for (const path of everybodys()) {
      for (const headers of [{ origin: evil[0]! }, { origin: evil[0]!, ...preflight }]) {
        const method = "access-control-request-method" in headers ? "OPTIONS" : "GET";
        const seen = await ask({ method, path, headers });
        expect(headersOf(seen).get("access-control-allow-origin") ?? "*").toBe("*");
        expect(seen.headers).not.toContain("allow-credentials");
      }
    }
  });
});

describe("other hosts and forwarded headers", () => {
  const hosts = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "localhost.",
    "0.0.0.0",
    "user@evil.example",
  ];

  it("are answered for no host but ours", async () => {
    for (const host of hosts) {
      for (const path of ["/mcp", "/api/v1/namespaces", "/.well-known/security.txt"]) {
        const response = await app.fetch(new Request(`http://${host}${path}`), env);
        expect([host, path, response.status]).toEqual([host, path, 403]);
        const own = await app.fetch(new Request(`http://${host}${path}`), {
          ...env,
          PUBLIC_ORIGIN: "https://skills.example",
        });
        expect(own.status).toBe(403);
      }
    }
  });

  it("change nothing of who is asking, of the method, of the address, or of where a client is sent", async () => {
    const headers = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      "x-forwarded-for": "127.0.0.1",
      forwarded: "for=127.0.0.1;host=evil.example;proto=https",
      "x-real-ip": "127.0.0.1",
      "cf-connecting-ip": "127.0.0.1",
      "true-client-ip": "127.0.0.1",
      "x-original-url": `/mcp/${open}`,
      "x-rewrite-url": `/mcp/${open}`,
      "x-http-method-override": "DELETE",
      "x-method-override": "DELETE",
      "x-forwarded-user": "admin",
      "x-forwarded-email": "admin@localhost",
      "cf-access-authenticated-user-email": "admin@localhost",
      "x-admin-token": operator,
      cookie: `authorization=Bearer ${operator}; token=${operator}`,
    };
    const base = `/api/v1/namespaces/${closed}`;
    for (const attempt of [
      list(`/mcp/${closed}`),
      list("/me/mcp"),
      get(base),
      get(`${base}/tokens`),
      get("/api/v1/audit"),
    ]) {
      for (const token of [undefined, stranger]) {
        const plain = await ask(attempt, token);
        const forged = await ask({ ...attempt, headers: { ...attempt.headers, ...headers } }, token);
        expect([attempt.path, forged]).toEqual([attempt.path, plain]);
      }
    }
  });
});
