import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { api, newNamespace, newToken, seedSkill, send } from "../harness.ts";

const secretOf = (token: string) => token.split("_")[2]!;

/** What is left of a rate limit differs from one request to the next, whatever it asked for. */
const headersOf = (headers: Headers) => [...headers].filter(([name]) => !name.startsWith("ratelimit"));

describe("a namespace", () => {
  it("is created by the operator, public unless said otherwise, and shown", async () => {
    const { status, body, headers } = await api("POST", "/namespaces", { name: "acme-tools", title: "Acme" });
    expect([status, headers.get("location")]).toEqual([201, "/api/v1/namespaces/acme-tools"]);
    expect(body).toMatchObject({ name: "acme-tools", title: "Acme", visibility: "public", revision: 0 });
    expect((await api("GET", "/namespaces/acme-tools")).body).toEqual(body);
    const { revision: _, ...shownToAll } = body;
    expect((await api("GET", "/namespaces/acme-tools", undefined, null)).body).toEqual(shownToAll);
  });

  it("is created once: 409 for the name that is taken", async () => {
    const name = await newNamespace();
    const { status, body } = await api("POST", "/namespaces", { name });
    expect([status, body["code"]]).toEqual([409, "namespace_exists"]);
  });

  it.each([
    "api",
    "mcp",
    "me",
    "well-known",
    "featured",
    "ab",
    "Acme",
    "a_b",
    "-acme",
    "acme-",
    "a--b",
    "",
    "a.b",
    "é".repeat(5),
    "x".repeat(65),
  ])("is refused under the name %s, saying which rule", async (name) => {
    const { status, body } = await api("POST", "/namespaces", { name });
    expect([status, body["code"]]).toEqual([400, "invalid_namespace"]);
    expect(body["detail"]).toContain(`"${name}"`);
  });

  it.each([
    ["no name", {}],
    ["an unknown visibility", { name: "acme-x", visibility: "secret" }],
    ["an unknown member", { name: "acme-x", owner: "me" }],
    ["a title of 129 characters", { name: "acme-x", title: "x".repeat(129) }],
    ["half a character in the title", { name: "acme-x", title: "a\ud800" }],
    ["an array", []],
  ])("is refused with %s", async (_, input) => {
    const { status, body } = await api("POST", "/namespaces", input);
    expect([status, body["code"]]).toEqual([400, "invalid_request"]);
  });

  it("is listed for the operator, page by page", async () => {
    const names = [await newNamespace(), await newNamespace("private")];
    const { body } = await api("GET", "/namespaces");
    const listed = (body["namespaces"] as { name: string }[]).map((row) => row.name);
    expect(listed).toEqual(expect.arrayContaining(names));
    expect(body["next_cursor"]).toBeNull();
  });

  it("is created by the operator alone, unless the deployment says otherwise", async () => {
    const create = (token: string | null) => api("POST", "/namespaces", { name: "acme-y" }, token);
    expect((await create(null)).status).toBe(401);
    expect((await create("wrong")).status).toBe(401);
    const refused = await create(await newToken(await newNamespace(), "admin"));
    expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
  });

  it("that is private looks absent to whoever has no token of it", async () => {
    const hidden = await newNamespace("private");
    await seedSkill(hidden, "inner");
    const stranger = await newToken(await newNamespace(), "admin");
    const paths = [
      "",
      "/skills",
      "/skills/inner",
      "/skills/inner/-/releases",
      "/skills/inner/-/releases/1.0.0",
      "/skills/inner/-/releases/1.0.0/manifest",
      "/skills/inner/-/releases/1.0.0/files/SKILL.md",
      "/skills/inner/-/releases/1.0.0/archive.zip",
      "/skills/inner/-/releases/1.0.0/archive.tar.gz",
    ];
    const member = await newToken(hidden, "reader");
    for (const path of paths) {
      for (const token of [null, stranger]) {
        const [known, unknown] = await Promise.all([
          api("GET", `/namespaces/${hidden}${path}`, undefined, token),
          api("GET", `/namespaces/never-created${path}`, undefined, token),
        ]);
        expect([path, known.status, known.body]).toEqual([path, 404, unknown.body]);
        expect(headersOf(known.headers)).toEqual(headersOf(unknown.headers));
      }
      expect([
        path,
        (await send(`/api/v1/namespaces/${hidden}${path}`, { headers: { authorization: `Bearer ${member}` } })).status,
      ]).toEqual([path, 200]);
    }
  });
});

describe("a token", () => {
  it("is shown once, stored hashed, and lives as long as asked", async () => {
    const namespace = await newNamespace();
    const { status, body } = await api("POST", `/namespaces/${namespace}/tokens`, {
      role: "publisher",
      label: "ci",
      expires_in_days: 7,
    });
    expect(status).toBe(201);
    const token = body["token"] as string;
    expect(token).toMatch(/^skr_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{16}$/);
    const days = (Date.parse(body["expires_at"] as string) - Date.parse(body["created_at"] as string)) / 86_400_000;
    expect(days).toBe(7);
    const listed = await api("GET", `/namespaces/${namespace}/tokens`);
    expect(JSON.stringify(listed.body)).not.toContain(secretOf(token));
    expect(listed.body["tokens"]).toMatchObject([{ id: body["id"], role: "publisher", label: "ci", revoked_at: null }]);
    const dump = await env.DB.prepare("SELECT * FROM tokens WHERE namespace = ?1").bind(namespace).all();
    expect(JSON.stringify(dump.results)).not.toContain(secretOf(token));
  });

  it("no longer works once it has expired or is revoked", async () => {
    const namespace = await newNamespace();
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
    const token = body["token"] as string;
    const read = () => api("GET", `/namespaces/${namespace}/skills`, undefined, token);
    expect((await read()).status).toBe(200);
    await env.DB.prepare("UPDATE tokens SET expires_at = ?1 WHERE id = ?2")
      .bind(Date.now() - 1, body["id"])
      .run();
    expect((await read()).status).toBe(401);
    await env.DB.prepare("UPDATE tokens SET expires_at = ?1 WHERE id = ?2")
      .bind(Date.now() + 60_000, body["id"])
      .run();
    expect((await read()).status).toBe(200);
    expect((await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`)).status).toBe(204);
    expect((await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`)).status).toBe(204);
    const refused = await read();
    expect([refused.status, refused.body["code"]]).toEqual([401, "invalid_token"]);
  });

  it("is minted, listed and revoked by the operator and the namespace's admins only", async () => {
    const [mine, other] = [await newNamespace(), await newNamespace()];
    const admin = await newToken(mine, "admin");
    const minted = await api("POST", `/namespaces/${mine}/tokens`, { role: "reader" }, admin);
    expect(minted.status).toBe(201);
    expect((await api("GET", `/namespaces/${mine}/tokens`, undefined, admin)).status).toBe(200);
    const id = minted.body["id"] as string;
    for (const [token, status] of [
      [null, 401],
      ["nonsense", 401],
      [await newToken(mine, "publisher"), 403],
      [await newToken(mine, "reader"), 403],
      [await newToken(other, "admin"), 403],
    ] as const) {
      expect((await api("POST", `/namespaces/${mine}/tokens`, {}, token)).status).toBe(status);
      expect((await api("GET", `/namespaces/${mine}/tokens`, undefined, token)).status).toBe(status);
      expect((await api("DELETE", `/namespaces/${mine}/tokens/${id}`, undefined, token)).status).toBe(status);
    }
    expect((await api("DELETE", `/namespaces/${other}/tokens/${id}`)).status).toBe(404);
    expect((await api("GET", `/namespaces/${mine}/skills`, undefined, minted.body["token"] as string)).status).toBe(
      200,
    );
  });

  it("of a stranger learns nothing from a change it may not make: absent, private and public answer alike", async () => {
    const stranger = await newToken(await newNamespace(), "admin");
    const answers = [];
    for (const namespace of ["never-created", await newNamespace("private"), await newNamespace()]) {
      const { status, body } = await api("POST", `/namespaces/${namespace}/tokens`, {}, stranger);
      answers.push([status, JSON.stringify(body).replaceAll(namespace, "X")]);
    }
    expect(new Set(answers.map(String)).size).toBe(1);
    expect(answers[0]![0]).toBe(403);
  });

  it.each([
    { role: "owner" },
    { expires_in_days: 0 },
    { expires_in_days: 366 },
    { expires_in_days: 1.5 },
    { scope: "x" },
  ])("is refused as %o", async (input) => {
    const { status, body } = await api("POST", `/namespaces/${await newNamespace()}/tokens`, input);
    expect([status, body["code"]]).toEqual([400, "invalid_request"]);
  });
});

describe("secrets that are missing or short", () => {
  it.each([undefined, "", "short"])(
    "ADMIN_TOKEN %s: 503 for whoever sends something to compare with it",
    async (secret) => {
      const bindings = { ...env, ADMIN_TOKEN: secret };
      const attempt = (headers: Record<string, string>, path: string) =>
        app.fetch(
          new Request(`http://localhost${path}`, { headers }),
          bindings as typeof env,
          createExecutionContext(),
        );
      const refused = await attempt({ authorization: "Bearer short" }, "/api/v1/namespaces");
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, "not_configured"]);
      expect((await attempt({ authorization: "Bearer short" }, "/mcp")).status).toBe(503);
      expect((await attempt({}, "/api/v1/namespaces")).status).toBe(200);
    },
  );
});

describe("problem details", () => {
  it("have the members of RFC 9457 and a stable code", async () => {
    const { status, headers, body } = await api("GET", "/namespaces/never-created", undefined, null);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({
      type: "urn:skill-registry:problem:not_found",
      title: expect.any(String) as string,
      detail: expect.any(String) as string,
      status,
      code: "not_found",
    });
  });

  it("answer an unknown address and a wrong method", async () => {
    expect((await api("GET", "/nowhere")).status).toBe(404);
    expect((await api("PUT", "/namespaces")).status).toBe(405);
    expect((await send("/")).status).toBe(404);
  });

  it("refuse a body that is no JSON, of another type, or too large", async () => {
    const post = (body: string, type = "application/json") =>
      send("/api/v1/namespaces", {
        method: "POST",
        headers: { authorization: `Bearer ${env.ADMIN_TOKEN}`, "content-type": type },
        body,
      });
    expect((await post("{")).status).toBe(400);
    expect((await post("{}", "text/plain")).status).toBe(415);
    expect((await post(`{"name":"${"x".repeat(70_000)}"}`)).status).toBe(413);
  });

  it("never show the cause of an internal error", async () => {
    const broken = { ...env, DB: { batch: () => Promise.reject(new Error("secret table")) } };
    const response = await app.fetch(
      new Request("http://localhost/api/v1/namespaces/acme-z"),
      broken as unknown as typeof env,
    );
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("secret table");
    const mcp = await app.fetch(
      new Request("http://localhost/mcp/acme-z", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "mcp-protocol-version": "2025-11-25",
          accept: "application/json, text/event-stream",
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"skills/list"}',
      }),
      broken as unknown as typeof env,
    );
    expect(mcp.status).toBe(500);
    expect(await mcp.text()).not.toContain("secret table");
  });
});
