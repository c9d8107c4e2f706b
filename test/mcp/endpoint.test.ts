import { beforeAll, describe, expect, it } from "vitest";

import { api, legacy, modern, newNamespace, rpc, seedSkill, send } from "../harness.ts";

let address: string;

beforeAll(async () => {
  const namespace = await newNamespace();
  await seedSkill(namespace, "pdf-forms");
  address = `/mcp/${namespace}`;
});

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const modernHeaders = { "mcp-protocol-version": "2026-07-28", "mcp-method": "skills/list" };
const list = { jsonrpc: "2.0", id: 7, method: "skills/list", params: { _meta: meta } };

describe("what a 2026-07-28 request may get wrong (protocol.md 1.4)", () => {
  it("a body that is no JSON: 400 -32700 without an id", async () => {
    const { status, error, body } = await rpc(address, "{", { headers: modernHeaders });
    expect([status, error?.code, "id" in body]).toEqual([400, -32700, false]);
  });

  it.each([
    ["an array that holds a modern request", [list]],
    ["an empty array", []],
    ["no method", { jsonrpc: "2.0", id: 1 }],
    ["a null id", { ...list, id: null }],
    ["a fractional id", { ...list, id: 1.5 }],
    ["another jsonrpc version", { ...list, jsonrpc: "1.0" }],
    ["a string", '"hello"'],
    ["null", "null"],
  ])("not a JSON-RPC request (%s): 400 -32600 without an id", async (_, message) => {
    const { status, error, body } = await rpc(address, message, { headers: modernHeaders });
    expect([status, error?.code]).toEqual([400, -32600]);
    expect(body["id"]).not.toBeNull();
  });

  it("a response posted by the client is refused with 400 or taken as 2025-era traffic with 202, never served", async () => {
    const { status, result } = await rpc(address, { jsonrpc: "2.0", id: 1, result: {} }, { headers: modernHeaders });
    expect([400, 202]).toContain(status);
    expect(result).toBeUndefined();
  });

  it.each(Object.keys(meta))("the envelope lacks %s: 400 -32602 with the request's id", async (key) => {
    const { status, error, body } = await modern(address, "skills/list", {}, { meta: { [key]: undefined } });
    expect([status, error?.code, body["id"]]).toEqual([400, -32602, 1]);
  });

  it("no envelope at all behind a modern version header: 400 -32602", async () => {
    const { status, error } = await rpc(address, { ...list, params: {} }, { headers: modernHeaders });
    expect([status, error?.code]).toEqual([400, -32602]);
  });

  it.each([
    ["no MCP-Protocol-Version", { "mcp-method": "skills/list" }],
    ["no Mcp-Method", { "mcp-protocol-version": "2026-07-28" }],
    ["another Mcp-Method", { ...modernHeaders, "mcp-method": "skills/get" }],
    ["Mcp-Method in another case", { ...modernHeaders, "mcp-method": "Skills/List" }],
    ["another version in the header", { ...modernHeaders, "mcp-protocol-version": "2025-11-25" }],
  ])("header %s: 400 -32020 with the request's id", async (_, headers) => {
    const { status, error, body } = await rpc(address, list, { headers });
    expect([status, error?.code, body["id"]]).toEqual([400, -32020, 7]);
  });

  it.each([
    ["missing", undefined],
    ["of another resource", "skill://x/y/SKILL.md"],
    ["spelt with other escapes", "skill://space-1/pdf-forms/%53KILL.md"],
    ["bad base64", "=?base64?***?="],
  ])("Mcp-Name %s on resources/read: 400 -32020", async (_, name) => {
    const uri = "skill://space-1/pdf-forms/SKILL.md";
    const headers: Record<string, string> = { ...modernHeaders, "mcp-method": "resources/read" };
    if (name !== undefined) headers["mcp-name"] = name;
    const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri, _meta: meta } };
    const { status, error } = await rpc(address, message, { headers });
    expect([status, error?.code]).toEqual([400, -32020]);
  });

  it("a base64 Mcp-Name is decoded before it is compared", async () => {
    const uri = `skill://${address.split("/").at(-1)}/pdf-forms/SKILL.md`;
    const { status, result } = await modern(
      address,
      "resources/read",
      { uri },
      { headers: { "mcp-name": `=?base64?${btoa(uri)}?=` } },
    );
    expect([status, result !== undefined]).toEqual([200, true]);
  });

  it("no Mcp-Name is asked for on skills/get, lists and directory reads", async () => {
    const uri = "skill://space-1/pdf-forms/SKILL.md";
    expect((await modern(address, "skills/get", { uri })).status).toBe(200);
    expect((await modern(address, "resources/directory/read", { uri: uri.replace("/SKILL.md", "") })).status).toBe(200);
  });

  it.each(["2027-01-01", "2025-11-25", "1.0"])(
    "version %s in the envelope: 400 -32022 with what is supported",
    async (version) => {
      const options = {
        meta: { "io.modelcontextprotocol/protocolVersion": version },
        headers: { "mcp-protocol-version": version },
      };
      const { status, error } = await modern(address, "skills/list", {}, options);
      expect([status, error?.code]).toEqual([400, -32022]);
      expect(error?.data).toEqual({ supported: ["2026-07-28"], requested: version });
    },
  );

  it.each([
    "no/such",
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/get",
    "roots/list",
  ])("method %s: 404 -32601 with the request's id", async (method) => {
    const { status, error, body } = await modern(address, method);
    expect([status, error?.code, body["id"]]).toEqual([404, -32601, 1]);
  });

  it.each([
    ["unknown skill", "skills/get", { uri: "skill://space-1/nothing/SKILL.md" }],
    ["skill address without SKILL.md", "skills/get", { uri: "skill://space-1/pdf-forms" }],
    ["no uri", "skills/get", {}],
    ["unknown resource", "resources/read", { uri: "skill://space-1/nothing/SKILL.md" }],
    ["a directory read as a file", "resources/read", { uri: "skill://space-1/pdf-forms" }],
    ["unknown directory", "resources/directory/read", { uri: "skill://space-1/pdf-forms/none" }],
    ["a directory with a trailing slash", "resources/directory/read", { uri: "skill://space-1/pdf-forms/" }],
    ["a directory above every skill", "resources/directory/read", { uri: "skill://space-1" }],
    ["unknown tool", "tools/call", { name: "no_tool", arguments: {} }],
    ["unknown prompt", "prompts/get", { name: "no-prompt" }],
    ["bad cursor", "skills/list", { cursor: "nonsense" }],
    ["empty cursor", "skills/list", { cursor: "" }],
    ["a cursor that is no string", "skills/list", { cursor: 5 }],
    ["a cursor of resources that is no string", "resources/list", { cursor: 5 }],
    ["a read without a uri", "resources/read", {}],
    ["a prompt without a name", "prompts/get", {}],
    ["a prompt with a number for an argument", "prompts/get", { name: "pdf-forms", arguments: { task: 5 } }],
    ["bad cursor of resources", "resources/list", { cursor: "nonsense" }],
    ["bad cursor of templates", "resources/templates/list", { cursor: "nonsense" }],
    ["bad cursor of prompts", "prompts/list", { cursor: "nonsense" }],
    ["bad cursor of tools", "tools/list", { cursor: "nonsense" }],
    ["bad cursor of a directory", "resources/directory/read", { uri: "skill://space-1/pdf-forms", cursor: "x" }],
  ])("%s: 200 -32602 in both eras", async (_, method, params) => {
    for (const call of [modern, legacy]) {
      const { status, error } = await call(address, method, params);
      expect([status, error?.code]).toEqual([200, -32602]);
    }
  });

  it("an unknown resource is named in the error's data", async () => {
    const uri = "skill://space-1/nothing/SKILL.md";
    expect((await modern(address, "resources/read", { uri })).error?.data).toEqual({ uri });
  });

  it("bad tool arguments are a result that the model can read", async () => {
    const { status, result } = await modern(address, "tools/call", { name: "search_skills", arguments: { query: 5 } });
    expect([status, result?.["isError"]]).toEqual([200, true]);
    expect(JSON.stringify(result)).toContain("query");
  });

  it("another content type: 415, an error without an id", async () => {
    const { status, error, body } = await rpc(address, list, {
      headers: { ...modernHeaders, "content-type": "text/plain" },
    });
    expect([status, error?.code, "id" in body]).toEqual([415, -32600, false]);
  });

  it("a body over 256 KiB: 413, naming the limit", async () => {
    const { status, error, body } = await rpc(
      address,
      { ...list, padding: "x".repeat(256 * 1024) },
      { headers: modernHeaders },
    );
    expect([status, "id" in body]).toEqual([413, false]);
    expect(error?.message).toContain("262144");
  });

  it.each(["https://evil.example", "null", "http://localhost.evil.example"])("Origin %s: 403", async (origin) => {
    const { status, error } = await rpc(address, list, { headers: { ...modernHeaders, origin } });
    expect([status, error?.code]).toEqual([403, -32600]);
  });

  it.each(["http://localhost:3000", "http://127.0.0.1", "http://[::1]:5173"])(
    "Origin %s is loopback and served",
    async (origin) => {
      const { status, headers } = await rpc(address, list, { headers: { ...modernHeaders, origin } });
      expect([status, headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    },
  );

  it("neither clientInfo, nor the extension, nor an Accept header is asked of the client", async () => {
    const { status } = await rpc(address, list, { headers: { ...modernHeaders, accept: "" } });
    expect(status).toBe(200);
  });

  it("a session id is ignored and never given back", async () => {
    const { status, headers } = await rpc(address, list, { headers: { ...modernHeaders, "mcp-session-id": "abc" } });
    expect([status, headers.get("mcp-session-id")]).toEqual([200, null]);
  });

  it("a notification is taken with 202 and no body", async () => {
    const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    const { status, body } = await rpc(address, message, { headers: { "mcp-protocol-version": "2026-07-28" } });
    expect([status, body["text"]]).toEqual([202, ""]);
  });
});

describe("verbs and hosts", () => {
  it.each(["GET", "DELETE", "PUT", "HEAD"])(
    "%s: 405 with Allow, since no stream and no session exists",
    async (method) => {
      const response = await send(address, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    },
  );

  it("a foreign Host: 403", async () => {
    const { exports } = await import("cloudflare:workers");
    const response = await exports.default.fetch(new Request(`http://evil.example${address}`, { method: "POST" }));
    expect(response.status).toBe(403);
  });

  it("a preflight of an allowed origin is answered by echo, without credentials", async () => {
    const response = await send(address, {
      method: "OPTIONS",
      headers: { origin: "http://localhost:3000", "access-control-request-method": "POST" },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    for (const header of ["mcp-protocol-version", "mcp-method", "mcp-name", "authorization", "mcp-session-id"]) {
      expect(response.headers.get("access-control-allow-headers")).toContain(header);
    }
  });

  it("a preflight of a foreign origin: 403", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    expect((await send(address, { method: "OPTIONS", headers })).status).toBe(403);
  });

  it("every answer carries Cache-Control: no-store, errors too", async () => {
    const answers = [
      await send("/nowhere"),
      await send(address),
      await send(address, { method: "POST" }),
      await send("/api/v1/namespaces/none"),
      (await modern(address, "skills/list")) as unknown as Response,
      (await api("GET", "/namespaces")) as unknown as Response,
    ];
    for (const { headers } of answers) expect(headers.get("cache-control")).toBe("no-store, no-transform");
  });
});

describe("what differs between the eras (protocol.md 3.3)", () => {
  it("server/discover advertises the extension inline, and to tell of changes in resources and nothing else", async () => {
    const { result } = await modern(address, "server/discover");
    expect(result).toMatchObject({ resultType: "complete", supportedVersions: ["2026-07-28"], ttlMs: 5000 });
    expect(result?.["capabilities"]).toEqual({
      tools: { filtering: true },
      resources: { listChanged: true, subscribe: true },
      prompts: {},
      completions: {},
      experimental: { "skill-registry/skills-list-query": {} },
      extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } },
    });
  });

  it.each(["2025-11-25", "2025-06-18", "2025-03-26"])(
    "initialize at %s echoes the version and advertises the same",
    async (version) => {
      const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      const { status, result } = await rpc(address, { jsonrpc: "2.0", id: 1, method: "initialize", params });
      expect([status, result?.["protocolVersion"]]).toEqual([200, version]);
      expect(result?.["capabilities"]).toMatchObject({
        extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } },
      });
    },
  );

  it.each(["2026-07-28", "1999-01-01"])(
    "initialize asking for %s is offered the newest 2025 version",
    async (version) => {
      const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      const { result } = await rpc(address, { jsonrpc: "2.0", id: 1, method: "initialize", params });
      expect(result?.["protocolVersion"]).toBe("2025-11-25");
    },
  );

  it.each(["skills/list", "resources/list", "resources/templates/list", "prompts/list", "tools/list"])(
    "%s carries resultType, ttlMs, cacheScope and serverInfo on 2026-07-28 and none of them in 2025",
    async (method) => {
      const now = (await modern(address, method)).result!;
      expect(now).toMatchObject({
        resultType: "complete",
        cacheScope: "public",
        ttlMs: method === "tools/list" ? 0 : 5000,
      });
      expect(now["_meta"]).toMatchObject({ "io.modelcontextprotocol/serverInfo": { name: `localhost${address}` } });
      const then = (await legacy(address, method)).result!;
      for (const key of ["resultType", "ttlMs", "cacheScope", "_meta"]) expect(then).not.toHaveProperty(key);
    },
  );

  it("an unknown method is 404 now and 200 then, because 404 meant a lost session", async () => {
    expect((await modern(address, "no/such")).status).toBe(404);
    for (const method of [
      "no/such",
      "subscriptions/listen",
      "resources/subscribe",
      "logging/setLevel",
      "server/discover",
    ]) {
      const { status, error } = await legacy(address, method);
      expect([status, error?.code]).toEqual([200, -32601]);
    }
  });

  it("ping answers {} in 2025", async () => {
    expect((await legacy(address, "ping")).result).toEqual({});
  });

  it("notifications/initialized is taken with 202", async () => {
    const { status } = await rpc(address, { jsonrpc: "2.0", method: "notifications/initialized" });
    expect(status).toBe(202);
  });

  it("a batch is answered as an array on 2025-03-26", async () => {
    const batch = ["ping", "skills/list", "no/such"].map((method, id) => ({ jsonrpc: "2.0", id, method }));
    const { status, body } = await rpc(address, batch, { headers: { "mcp-protocol-version": "2025-03-26" } });
    expect(status).toBe(200);
    const answers = (body as unknown as { id: number; result?: unknown; error?: { code: number } }[]).sort(
      (a, b) => a.id - b.id,
    );
    expect(answers.map((answer) => answer.error?.code ?? "ok")).toEqual(["ok", "ok", -32601]);
  });

  it("an unsupported version header in 2025: 400 with a JSON-RPC error", async () => {
    const { status, error } = await legacy(address, "ping", {}, { version: "2024-01-01" });
    expect([status, error !== undefined]).toEqual([400, true]);
  });

  it("a request without any version header is served as 2025-03-26", async () => {
    const { status, result } = await rpc(address, { jsonrpc: "2.0", id: 1, method: "skills/list" });
    expect([status, (result!["skills"] as unknown[]).length]).toEqual([200, 1]);
  });
});
