import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { serveMcp } from "../../src/mcp/endpoint.ts";
import { TallyBuffer } from "../../src/mcp/tally-buffer.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import { newNamespace, newToken, operator, seedSkill } from "../harness.ts";

const plainBindings = {
  adminToken: operator,
  signingKey: env.SIGNING_KEY,
  origin: "http://localhost",
  live: undefined,
  clientKey: "address:unknown",
  waitUntil: () => {},
  // What is counted is written after the answer; here nothing waits for it.
  tally: { buffer: new TallyBuffer(), pauseMs: 5_000, userAgent: null },
};

/** Counts every call that leaves the isolate: D1 round trips (a batch is one) and R2 operations. */
function counted() {
  const calls = { d1: 0, r2: 0 };
  const countStatement = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        if (name === "bind") return (...parameters: unknown[]) => countStatement(target.bind(...parameters));
        return (...parameters: unknown[]) => {
          calls.d1++;
          return (value as (...all: unknown[]) => unknown).apply(target, parameters);
        };
      },
    });
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const db = new Proxy(env.DB, {
    get(target, name) {
      if (name === "prepare") {
        return (sql: string) => {
          const statement = target.prepare(sql);
          return remember(statement);
        };
      }
      if (name === "batch") {
        return (statements: D1PreparedStatement[]) => {
          calls.d1++;
          return target.batch(statements.map((statement) => originals.get(statement) ?? statement));
        };
      }
      throw new Error(`the test does not know db.${String(name)}`);
    },
  });
  const remember = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped: D1PreparedStatement = new Proxy(countStatement(statement), {
      get(target, name) {
        if (name === "bind") return (...parameters: unknown[]) => remember(statement.bind(...parameters));
        return Reflect.get(target, name) as unknown;
      },
    });
    originals.set(wrapped, statement);
    return wrapped;
  };
  const bucket = new Proxy(env.BLOBS, {
    get(target, name) {
      return (...parameters: unknown[]) => {
        calls.r2++;
        return (Reflect.get(target, name) as (...all: unknown[]) => unknown).apply(target, parameters);
      };
    },
  });
  return { calls, bindings: { ...plainBindings, db, blobs: new Blobs(bucket) } };
}

async function cost(
  address: string,
  method: string,
  params: Record<string, unknown>,
  { token, era }: { token?: string; era: string },
) {
  const { calls, bindings } = counted();
  const isModern = era === "2026-07-28";
  const meta = { "io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": {} };
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": era,
    ...(isModern ? { "mcp-method": method, "mcp-name": String(params["uri"] ?? params["name"] ?? "") } : {}),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: isModern ? { ...params, _meta: meta } : params,
  });
  const request = new Request(`http://localhost/mcp/${address}`, { method: "POST", headers, body });
  const response = await serveMcp(request, bindings);
  return { ...calls, status: response.status, text: await response.text() };
}

let open: string;
let closed: string;

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  for (const namespace of [open, closed]) await seedSkill(namespace, "pdf-forms");
});

describe("a store that fails", () => {
  it.each(["2026-07-28", "2025-11-25"])("in %s is 200 with -32603, and its cause stays inside", async (era) => {
    const uri = `skill://${open}/pdf-forms/SKILL.md`;
    const isModern = era === "2026-07-28";
    const meta = { "io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": {} };
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
      ...(isModern ? { "mcp-method": "resources/read", "mcp-name": uri } : {}),
    };
    const params = isModern ? { uri, _meta: meta } : { uri };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params });
    const broken = new Blobs({ get: () => Promise.reject(new Error("secret cause")) } as unknown as R2Bucket);
    const request = new Request(`http://localhost/mcp/${open}`, { method: "POST", headers, body });
    const response = await serveMcp(request, { ...plainBindings, db: env.DB, blobs: broken });
    const answer = (await response.json()) as { error: { code: number; message: string } };
    expect([response.status, answer.error.code, answer.error.message]).toEqual([200, -32603, "Internal error"]);
  });
});

describe.each(["2026-07-28", "2025-11-25"])("what a request costs in %s", (era) => {
  it.each([
    ["skills/list", {}, 1, 0],
    ["skills/get", { uri: "SKILL" }, 1, 0],
    ["resources/read", { uri: "SKILL" }, 1, 1],
    ["resources/directory/read", { uri: "ROOT" }, 1, 0],
    ["resources/list", {}, 1, 0],
    ["prompts/list", {}, 1, 0],
    ["tools/list", {}, 1, 0],
    ["skills/get", { uri: "NONE" }, 1, 0],
    ["skills/list", { cursor: "bad" }, 1, 0],
  ])("%s %o: at most %d D1 call and %d R2 call", async (method, params, d1, r2) => {
    const uris: Record<string, string> = {
      SKILL: `skill://${open}/pdf-forms/SKILL.md`,
      ROOT: `skill://${open}/pdf-forms`,
      NONE: `skill://${open}/nothing/SKILL.md`,
    };
    const given = "uri" in params ? { uri: uris[params.uri as string] } : params;
    const spent = await cost(open, method, given, { era });
    expect([spent.status, spent.d1, spent.r2]).toEqual([200, d1, r2]);
    const token = await newToken(open, "reader");
    // Its first use in an hour is written down, after the answer.
    expect((await cost(open, method, given, { token, era })).d1).toBe(d1 + 1);
    const withToken = await cost(open, method, given, { token, era });
    expect([withToken.status, withToken.d1, withToken.r2]).toEqual([200, d1, r2]);
  });

  it.each(["skills/list", "skills/get", "resources/read", "tools/call", "no/such"])(
    "%s at a private namespace costs what it costs at one that does not exist",
    async (method) => {
      const params = {
        uri: `skill://${closed}/pdf-forms/SKILL.md`,
        name: "search_skills",
        arguments: { query: "pdf" },
      };
      const [known, unknown] = [
        await cost(closed, method, params, { era }),
        await cost("never-created", method, params, { era }),
      ];
      expect(known).toEqual(unknown);
      expect(known.status).toBe(401);
    },
  );
});
