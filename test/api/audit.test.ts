import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { auditExportLines } from "../../src/domain/limits.ts";
import { api, newNamespace, newToken, operator, publish, seedSkill, send, skillMdOf } from "../harness.ts";
import { newMember } from "./tenancy.ts";

interface Event {
  id: number;
  namespace: string;
  at: string;
  principal: string;
  action: string;
  target: string;
  address: string;
  agent: string;
  before: unknown;
  after: unknown;
}

const eventsOf = async (namespace: string, query = "", token?: string): Promise<Event[]> => {
  const { body } = await api("GET", `/namespaces/${namespace}/audit${query}`, undefined, token);
  return body["events"] as Event[];
};

const exportOf = async (namespace: string, token = operator): Promise<Response> =>
  send(`/api/v1/namespaces/${namespace}/audit.jsonl`, { headers: { authorization: `Bearer ${token}` } });

const linesOf = async (response: Response): Promise<Event[]> =>
  new TextDecoder()
    .decode(await response.arrayBuffer())
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);

const fill = (namespace: string, rows: number) =>
  env.DB.prepare(
    `INSERT INTO audit (namespace, seq, at, principal, action, target, address, agent)
     SELECT ?1, value + 2, 4102444800000 + value, 'operator', 'publish', 'skills/x', '', '' FROM json_each(?2)`,
  )
    .bind(namespace, JSON.stringify(Array.from({ length: rows }, (_, i) => i)))
    .run();

describe("every change", () => {
  it("is one line: who, when, what, and what it was before", async () => {
    const namespace = await newNamespace();
    const at = (path: string) => `/namespaces/${namespace}${path}`;
    const admin = await newToken(namespace, "admin");
    const log: [string, string][] = [
      ["create-namespace", "namespace"],
      ["mint-token", `tokens/${admin.split("_")[1]}`],
    ];
    const does = async (action: string, target: string, change: Promise<{ status: number }>) => {
      expect([action, (await change).status]).toEqual([action, expect.toBeOneOf([200, 201, 204])]);
      log.push([action, target]);
    };
    const skill = (files: Record<string, string>, query = "") =>
      publish(namespace, { "SKILL.md": skillMdOf("a"), ...files }, query, admin);
    await does("publish", "skills/a@1.0.0", skill({}));
    await does("publish", "skills/a@1.0.1", skill({ "b.md": "b" }));
    await does("change-skill", "skills/a", api("PATCH", at("/skills/a"), { current: "1.0.0" }, admin));
    await does("change-skill", "skills/a", api("PATCH", at("/skills/a"), { visibility: "unlisted" }, admin));
    await does("yank", "skills/a@1.0.0", api("PATCH", at("/skills/a/-/releases/1.0.0"), { yanked: true }, admin));
    await does("unyank", "skills/a@1.0.0", api("PATCH", at("/skills/a/-/releases/1.0.0"), { yanked: false }, admin));
    await does("delete-skill", "skills/a", api("DELETE", at("/skills/a"), undefined, admin));
    await does("change-namespace", "namespace", api("PATCH", at(""), { title: "New" }, admin));
    const link = await api("POST", at("/links"), {}, admin);
    await does("create-link", `links/${link.body["id"] as string}`, Promise.resolve(link));
    const gone = api("DELETE", at(`/links/${link.body["id"] as string}`), undefined, admin);
    await does("revoke-link", `links/${link.body["id"] as string}`, gone);
    const { id } = await newMember(namespace, "reader");
    const [accepted, invited] = await eventsOf(namespace);
    log.push(["create-invitation", invited!.target], ["accept-invitation", accepted!.target]);
    expect(accepted!.after).toMatchObject({ member: id, role: "reader" });
    await does("change-member", `members/${id}`, api("PATCH", at(`/members/${id}`), { role: "publisher" }, admin));
    await does("remove-member", `members/${id}`, api("DELETE", at(`/members/${id}`), undefined, admin));
    const events = await eventsOf(namespace, "", admin);
    expect(events.map(({ action, target }) => [action, target])).toEqual(log.toReversed());
    const byAdmin = events.filter(({ principal }) => principal === `token:${admin.split("_")[1]}`);
    expect(byAdmin).toHaveLength(12);
    const changed = events.find(({ action }) => action === "change-member")!;
    expect([changed.before, changed.after]).toMatchObject([{ role: "reader" }, { role: "publisher" }]);
    const yanked = events.find(({ action }) => action === "yank")!;
    expect([yanked.before, yanked.after]).toEqual([{ current: "1.0.0", yanked: false }, { yanked: true }]);
  });

  it("of a prune is a line for each skill, and a dry run or a repeated publish is none", async () => {
    const namespace = await newNamespace();
    const folder = (...names: string[]) =>
      Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillMdOf(name)]));
    await publish(namespace, folder("one", "two"), "?path=team");
    await publish(namespace, folder("one", "two"), "?path=team");
    await publish(namespace, folder("one"), "?path=team&prune=dry_run");
    await publish(namespace, folder("one", "three", "four"), "?path=team&prune=true&dry_run=true");
    expect(await eventsOf(namespace)).toHaveLength(3);
    await publish(namespace, folder("one", "three", "four"), "?path=team&prune=true");
    const actions = (await eventsOf(namespace)).map(({ action, target }) => `${action} ${target.split("@")[0]}`);
    expect(actions.slice(0, 3).toSorted()).toEqual([
      "prune skills/team/two",
      "publish skills/team/four",
      "publish skills/team/three",
    ]);
    expect(actions).toHaveLength(6);
  });

  it("that is refused leaves no line", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "a");
    const reader = await newToken(namespace, "reader");
    const before = await eventsOf(namespace);
    await publish(namespace, { "SKILL.md": skillMdOf("a", "Other") }, "?version=1.0.0");
    await publish(namespace, { "SKILL.md": skillMdOf("a") }, "?path=a/b/a");
    await api("DELETE", `/namespaces/${namespace}/skills/a`, undefined, reader);
    await api("POST", `/namespaces/${namespace}/links`, { collection: "none" });
    await api("POST", "/namespaces", { name: namespace });
    expect(await eventsOf(namespace)).toEqual(before);
  });

  it("keeps the address and the start of the User-Agent that it came from", async () => {
    const namespace = await newNamespace();
    await send(`/api/v1/namespaces/${namespace}`, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${operator}`,
        "content-type": "application/json",
        "cf-connecting-ip": "203.0.113.7",
        "user-agent": `robot ${"x".repeat(500)}`,
      },
      body: '{"title":"New"}',
    });
    const [event] = await eventsOf(namespace);
    expect(event).toMatchObject({ address: "203.0.113.7", agent: `robot ${"x".repeat(194)}`, principal: "operator" });
  });
});

describe("the audit log", () => {
  it("is paged, newest first, and filtered by action and time", async () => {
    const namespace = await newNamespace();
    await fill(namespace, 150);
    await newToken(namespace, "reader");
    const ids: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await api("GET", `/namespaces/${namespace}/audit${cursor === "" ? "" : `?cursor=${cursor}`}`);
      ids.push(...(body["events"] as Event[]).map(({ id }) => id));
      cursor = body["next_cursor"] as string | null;
    }
    expect(ids).toHaveLength(152);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect((await eventsOf(namespace, "?action=mint-token")).map(({ action }) => action)).toEqual(["mint-token"]);
    expect(await eventsOf(namespace, "?action=no-such")).toEqual([]);
    const actions = async (query: string) => (await eventsOf(namespace, query)).map(({ action }) => action);
    expect(await actions("?before=2099-12-31")).toEqual(["mint-token", "create-namespace"]);
    expect(await actions("?after=2100-01-01T00:00:00.149Z")).toEqual(["publish"]);
    expect(await actions("?after=2100-01-01T00:00:00.100Z&before=2100-01-01T00:00:00.102Z")).toHaveLength(2);
    const { body } = await api("GET", `/namespaces/${namespace}/audit`);
    const moved = await api(
      "GET",
      `/namespaces/${namespace}/audit?action=publish&cursor=${body["next_cursor"] as string}`,
    );
    expect(moved.body["code"]).toBe("invalid_cursor");
  });

  it.each(["before=yesterday", "after=2026-13-01", "after=12", "action=Publish!", "actoin=publish", "namespace=x"])(
    "refuses the filter %s",
    async (query) => {
      const { status, body } = await api("GET", `/namespaces/${await newNamespace()}/audit?${query}`);
      expect([status, body["code"]]).toEqual([400, "invalid_request"]);
    },
  );

  it("is read by admins, and by tokens that may just that", async () => {
    const namespace = await newNamespace("private");
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { scopes: ["audit:read"] });
    const auditor = body["token"] as string;
    expect(await eventsOf(namespace, "", auditor)).toHaveLength(2);
    expect((await exportOf(namespace, auditor)).status).toBe(200);
    expect((await api("POST", `/namespaces/${namespace}/tokens`, {}, auditor)).status).toBe(403);
    const { token } = await newMember(namespace, "publisher");
    expect((await api("GET", `/namespaces/${namespace}/audit`, undefined, token)).status).toBe(403);
  });

  it("of all namespaces is the operator's", async () => {
    const namespace = await newNamespace();
    await api("DELETE", `/namespaces/${namespace}`);
    const { body } = await api("GET", "/audit");
    expect(body["events"]).toMatchObject([
      { namespace, action: "delete-namespace" },
      { namespace, action: "create-namespace" },
      ...Array.from({ length: (body["events"] as Event[]).length - 2 }, () => ({})),
    ]);
    const cursor = body["next_cursor"] as string;
    expect(((await api("GET", `/audit?cursor=${cursor}`)).body["events"] as Event[]).length).toBeGreaterThan(0);
    const only = await api("GET", `/audit?namespace=${namespace}&action=delete-namespace`);
    expect(only.body["events"]).toHaveLength(1);
    expect((await api("GET", "/audit?namespace=No")).body["code"]).toBe("invalid_namespace");
    const admin = await newToken(await newNamespace(), "admin");
    expect((await api("GET", "/audit", undefined, admin)).status).toBe(403);
    expect((await api("GET", "/audit", undefined, null)).status).toBe(401);
  });

  it("is exported whole as JSON lines, oldest first", async () => {
    const namespace = await newNamespace();
    await fill(namespace, 2 * auditExportLines);
    const response = await exportOf(namespace);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = await linesOf(response);
    expect(lines).toHaveLength(2 * auditExportLines + 1);
    const ids = lines.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(lines.slice(-100).toReversed()).toEqual(await eventsOf(namespace));
    const empty = await api("GET", `/namespaces/${namespace}/audit.jsonl?action=publish`);
    expect(empty.body["code"]).toBe("invalid_request");
  });

  it("holds one page in memory at a time, however slowly it is taken", async () => {
    const namespace = await newNamespace();
    await fill(namespace, 3 * auditExportLines);
    let asked = 0;
    const DB = new Proxy(env.DB, {
      get: (target, name) => {
        if (name === "batch") asked++;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const response = await sendTo({ DB }, `/api/v1/namespaces/${namespace}/audit.jsonl`);
    const beforeReading = asked;
    const reader = response.body!.getReader();
    await reader.read();
    expect(asked - beforeReading).toBeLessThanOrEqual(2);
    await reader.cancel();
  });

  it("ends early for a token that is revoked while it reads", async () => {
    const namespace = await newNamespace();
    await fill(namespace, 3 * auditExportLines);
    const admin = await newToken(namespace, "admin");
    const reader = (await sendTo({}, `/api/v1/namespaces/${namespace}/audit.jsonl`, admin)).body!.getReader();
    await reader.read();
    await api("DELETE", `/namespaces/${namespace}/tokens/${admin.split("_")[1]}`);
    const drain = async () => {
      let chunks = 0;
      for (;;) {
        const { done } = await reader.read();
        if (done) return chunks;
        chunks++;
      }
    };
    await expect(drain()).rejects.toThrow();
  });

  it("cannot be changed or shortened, not even by SQL", async () => {
    const namespace = await newNamespace();
    const before = await eventsOf(namespace);
    for (const sql of [
      "UPDATE audit SET principal = 'nobody'",
      "UPDATE audit SET after = NULL WHERE namespace = 'x' OR 1",
      "DELETE FROM audit",
      "REPLACE INTO audit SELECT id, namespace, seq, 0, 'x', 'x', 'x', '', '', NULL, NULL FROM audit",
      "REPLACE INTO audit SELECT NULL, namespace, seq, 0, 'x', 'x', 'x', '', '', NULL, NULL FROM audit",
      "INSERT INTO audit SELECT id, namespace, seq, 0, 'x', 'x', 'x', '', '', NULL, NULL FROM audit WHERE true ON CONFLICT DO UPDATE SET at = 0",
    ]) {
      await expect(env.DB.prepare(sql).run(), sql).rejects.toThrow();
    }
    expect(await eventsOf(namespace)).toEqual(before);
  });
});

describe("secrets", () => {
  it("are in no table, no list, no refusal and no line of the audit log", async () => {
    const namespace = await newNamespace();
    const at = (path: string) => `/namespaces/${namespace}/${path}`;
    const post = async (path: string, input: object) => (await api("POST", at(path), input)).body;
    const token = await post("tokens", { role: "admin" });
    const rotated = await post(`tokens/${token["id"] as string}/rotate`, {});
    const link = await post("links", {});
    const [open, revoked] = [
      await post("invitations", { role: "admin" }),
      await post("invitations", { role: "admin" }),
    ];
    await api("DELETE", at(`invitations/${revoked["id"] as string}`));
    const member = await newMember(namespace, "admin");
    const texts = [
      token["token"],
      rotated["token"],
      link["url"],
      open["secret"],
      revoked["secret"],
      member.token,
      operator,
      env.SIGNING_KEY,
    ] as string[];
    const secrets = texts.map((text) => /[0-9a-f]{64}/.exec(text)?.[0] ?? text);
    expect(new Set(secrets).size).toBe(8);
    const seen: unknown[] = [];
    for (const path of ["tokens", "links", "invitations", "members", "audit"]) seen.push(await api("GET", at(path)));
    seen.push(await api("GET", at(`tokens/${token["id"] as string}`)), await api("GET", "/audit"));
    seen.push(await linesOf(await exportOf(namespace)));
    for (const text of texts) {
      seen.push(await api("GET", `/invitations/${text.replace(/^.*\/r\//, "").replace("/mcp", "")}x`, undefined, null));
      seen.push(await api("PUT", `/invitations/${encodeURIComponent(text)}`, undefined, null));
      seen.push(await api("GET", "/me", undefined, `${text}x`));
    }
    const tables = await env.DB.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '_cf%'",
    ).all<{ name: string }>();
    expect(tables.results.length).toBeGreaterThan(12);
    for (const { name } of tables.results) seen.push((await env.DB.prepare(`SELECT * FROM ${name}`).all()).results);
    const everything = JSON.stringify(seen, (_, value: unknown) => (value instanceof Headers ? [...value] : value));
    for (const secret of secrets) expect(everything.includes(secret)).toBe(false);
  });
});

async function sendTo(bindings: Partial<typeof env>, path: string, token = operator): Promise<Response> {
  const request = new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}` } });
  return app.fetch(request, { ...env, ...bindings }, createExecutionContext());
}
