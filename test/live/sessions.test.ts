import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { sessionIdleMs, sessionUseStepMs } from "../../src/domain/limits.ts";
import { api, newNamespace, newToken, operator, rpc, seedSkill, send } from "../harness.ts";
import { call, initialize, kinds, objectOf, open, post, randomOf, versions, watched } from "./handshakes.ts";

let namespace: string;
let address: string;
let reader: string;
let publisher: string;

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "pdf-forms");
  [reader, publisher] = [await newToken(namespace, "reader"), await newToken(namespace, "publisher")];
  address = `/mcp/${namespace}`;
});

afterEach(() => {
  vi.useRealTimers();
});

/** From now on it is so much later, for the Worker and its objects alike. */
function later(ms: number): void {
  const then = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(then);
}

/** As the version has its clients send it: 2025-03-26 knows no header. */
const headerOf = (version: string) => (version === "2025-03-26" ? undefined : version);

const other = (version: string) => versions.find((one) => one !== version)!;

const lost = (reply: { status: number; body: { id?: unknown; error?: { code: number; message: string } } }) => {
  expect([reply.status, reply.body.error?.code, "id" in reply.body]).toEqual([404, -32001, false]);
  expect(reply.body.error?.message).toContain("initialize");
};

describe.each(versions)("a session of %s", (version) => {
  it("begins with initialize, whose answer alone carries its id", async () => {
    const { status, headers, body } = await initialize(address, version);
    expect([status, body.result?.["protocolVersion"]]).toEqual([200, version]);
    expect(headers.get("mcp-session-id")).toMatch(/^\d+\.[0-9a-f]{32}\.[0-9a-f]{32}$/);
    const session = headers.get("mcp-session-id")!;
    for (const method of ["ping", "skills/list", "tools/list", "no/such"]) {
      const later = await post(address, method, { session, version: headerOf(version) });
      expect([later.status, later.headers.get("mcp-session-id")]).toEqual([200, null]);
    }
  });

  it("promises news, which a request without a session is not", async () => {
    const { body } = await initialize(address, version);
    expect(body.result?.["capabilities"]).toMatchObject({ resources: { subscribe: true, listChanged: true } });
  });

  it("takes notifications with 202 and responses too", async () => {
    const session = await open(address, version);
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect((await call("POST", address, { session, version: headerOf(version) }, notification)).status).toBe(202);
    const response = { jsonrpc: "2.0", id: 1, result: {} };
    expect((await call("POST", address, { session, version: headerOf(version) }, response)).status).toBe(202);
    await call("DELETE", address, { session });
    lost(await call("POST", address, { session }, notification));
  });

  it("outlives its object's eviction", async () => {
    const session = await open(address, version);
    await evictDurableObject(objectOf(session));
    expect((await post(address, "skills/list", { session, version })).status).toBe(200);
    expect((await post(address, "skills/list", { session, version: other(version) })).status).toBe(400);
  });

  it("is refused under another version with 400, and goes on under its own or none", async () => {
    const session = await open(address, version);
    for (const method of ["ping", "skills/list", "tools/list"]) {
      const refused = await post(address, method, { session, version: other(version) });
      expect([refused.status, refused.body.error?.code, "id" in refused.body]).toEqual([400, -32600, false]);
      expect(refused.body.error?.message).toContain(version);
      expect((await post(address, method, { session, version: "2024-01-01" })).status).toBe(400);
    }
    expect((await call("DELETE", address, { session, version: other(version) })).status).toBe(400);
    expect((await post(address, "ping", { session, version })).status).toBe(200);
    expect((await post(address, "ping", { session })).status).toBe(200);
  });

  it("ends with DELETE: 204, then 404 for everything that is sent with it, from any isolate", async () => {
    const session = await open(address, version);
    const ended = await call("DELETE", address, { session, version: headerOf(version) });
    expect([ended.status, ended.text]).toEqual([204, ""]);
    // Other bindings, as another isolate has them.
    const { bindings } = watched();
    for (const options of [
      { session },
      { session, bindings },
      { session, version },
      { session, version: other(version) },
    ]) {
      lost(await post(address, "skills/list", options));
      lost(await post(address, "ping", options));
      lost(await call("DELETE", address, options));
    }
    await evictDurableObject(objectOf(session));
    lost(await post(address, "skills/list", { session }));
  });

  it("answers a batch, in which no request escapes its check", async () => {
    const batch = ["ping", "skills/list"].map((method, id) => ({ jsonrpc: "2.0", id, method }));
    const session = await open(address, version);
    const answered = await call("POST", address, { session, version: headerOf(version) }, batch);
    expect([answered.status, (answered.body as unknown as unknown[]).length]).toEqual([200, 2]);
    await call("DELETE", address, { session });
    lost(await call("POST", address, { session }, batch));
  });

  it("lives a day from its last use, to within a few minutes and never less", async () => {
    const [used, unused] = [await open(address, version), await open(address, version)];
    later(sessionIdleMs - 60_000);
    expect((await post(address, "ping", { session: used })).status).toBe(200);
    later(2 * 60_000 + sessionUseStepMs);
    expect((await post(address, "ping", { session: used })).status).toBe(200);
    for (const method of ["ping", "skills/list"]) lost(await post(address, method, { session: unused }));
    lost(await call("DELETE", address, { session: unused }));
    await evictDurableObject(objectOf(used));
    later(sessionIdleMs);
    expect((await post(address, "ping", { session: used })).status).toBe(200);
    later(sessionIdleMs + 2 * sessionUseStepMs);
    lost(await post(address, "ping", { session: used }));
  });

  it("keeps the client's name and version, cut, and how far it was told", async () => {
    const name = `${"n".repeat(99)}🎉`;
    const { headers } = await initialize(address, version, { token: reader }, { name, version: "9".repeat(500) });
    const session = headers.get("mcp-session-id")!;
    const row = await objectOf(session).check(randomOf(session), Date.now());
    expect(row).toMatchObject({ version, clientName: `${"n".repeat(99)}\ufffd`, clientVersion: "9".repeat(100) });
    expect(row).toMatchObject({
      path: address,
      subscriptions: [],
      principal: expect.stringMatching(/^token:[0-9a-f]+$/),
    });
    expect(row!.sent).toBeGreaterThan(0);
  });
});

describe("an id that was not given to this caller for this address", () => {
  const junk = [
    "abc",
    "",
    "0.0.0",
    `0.${"0".repeat(32)}.${"0".repeat(32)}`,
    `999999999.${"a".repeat(32)}.b`,
    "ü".repeat(9),
  ];

  it.each(junk)("%s: 404 for all that is sent with it, and no object is woken", async (session) => {
    const { bindings, calls } = watched();
    for (const method of ["ping", "skills/list", "tools/list", "resources/read"]) {
      lost(await post(address, method, { headers: { "mcp-session-id": encodeURI(session) }, bindings }));
    }
    lost(await call("DELETE", address, { headers: { "mcp-session-id": encodeURI(session) }, bindings }));
    expect(calls.filter((call) => call.startsWith("sessions"))).toEqual([]);
  });

  it("with one digit, the shard or the random part of another: 404, and no object is woken", async () => {
    const [one, two] = [await open(address, "2025-11-25"), await open(address, "2025-11-25")];
    const [shard, random, check] = one.split(".") as [string, string, string];
    const flipped = (check.startsWith("0") ? "1" : "0") + check.slice(1);
    const forged = [
      `${shard}.${random}.${flipped}`,
      `${Number(shard) + 1}.${random}.${check}`,
      `${shard}.${randomOf(two)}.${check}`,
      `0${shard}.${random}.${check}`,
      `${one}0`,
      one.toUpperCase() === one ? `${one}x` : one.toUpperCase(),
    ];
    const { bindings, calls } = watched();
    for (const session of forged) lost(await post(address, "skills/list", { session, bindings }));
    expect(calls.filter((call) => call.startsWith("sessions"))).toEqual([]);
    expect((await post(address, "skills/list", { session: one })).status).toBe(200);
  });

  it("at another address: 404, and no object is woken", async () => {
    const link = await api("POST", `/namespaces/${namespace}/links`, {});
    const path = `/r/${/skl_[0-9a-f_]+/.exec(JSON.stringify(link.body))![0]}/mcp`;
    const places: [string, string | undefined][] = [
      ["/mcp", undefined],
      [address, undefined],
      [address, reader],
      [`/me${address}`, reader],
      ["/me/mcp", reader],
      [path, undefined],
    ];
    const sessions = await Promise.all(places.map(([at, token]) => open(at, "2025-11-25", { token })));
    const { bindings, calls } = watched();
    for (const [from, session] of sessions.entries()) {
      for (const [to, [at, token]] of places.entries()) {
        calls.length = 0;
        const reply = await post(at, "ping", { session, token, bindings });
        if (from === to) expect([reply.status, calls.includes("sessions check")]).toEqual([200, true]);
        else lost(reply);
        expect(calls.some((call) => call.startsWith("sessions"))).toBe(from === to);
      }
    }
  });

  it("in the hands of another principal: 404, and no object is woken", async () => {
    const callers = [undefined, reader, publisher, operator];
    const { bindings, calls } = watched();
    for (const owner of callers) {
      const session = await open(address, "2025-06-18", { token: owner });
      for (const token of callers) {
        calls.length = 0;
        const replies = [
          await post(address, "skills/list", { session, token, bindings }),
          ...(token === owner ? [] : [await call("DELETE", address, { session, token, bindings })]),
        ];
        if (token === owner) expect(replies[0]!.status).toBe(200);
        else replies.forEach(lost);
        expect(calls.some((call) => call.startsWith("sessions"))).toBe(token === owner);
      }
    }
  });

  it("keeps a stranger's session when their address changes", async () => {
    const session = await open(address, "2025-11-25", { headers: { "cf-connecting-ip": "192.0.2.1" } });
    const moved = { session, headers: { "cf-connecting-ip": "198.51.100.7" } };
    expect((await post(address, "skills/list", moved)).status).toBe(200);
  });

  it("holds no secret: neither of a link nor of a token", async () => {
    const { body } = await api("POST", `/namespaces/${namespace}/links`, {});
    const secret = /skl_[0-9a-f]+_([0-9a-f]{64})/.exec(JSON.stringify(body))![1]!;
    const path = `/r/${/skl_[0-9a-f_]+/.exec(JSON.stringify(body))![0]}/mcp`;
    const session = await open(path, "2025-11-25", { headers: { "cf-connecting-ip": "192.0.2.1" } });
    const { runInDurableObject } = await import("cloudflare:test");
    const rows = await runInDurableObject(objectOf(session), (_, state) =>
      JSON.stringify(state.storage.sql.exec("SELECT * FROM sessions").toArray()),
    );
    expect(rows).toMatch(/"path":"\/r\/[0-9a-f]{16}\/mcp"/);
    for (const text of [secret, "192.0.2.1", reader]) expect(rows).not.toContain(text);
  });
});

describe("the gate", () => {
  it("comes before the session: a private address and an unknown one answer alike, whatever id comes along", async () => {
    const closed = await newNamespace("private");
    const token = await newToken(closed, "reader");
    const good = await open(`/mcp/${closed}`, "2025-11-25", { token });
    for (const session of [good, "junk", await open(address, "2025-11-25")]) {
      const [known, unknown] = await Promise.all(
        [closed, "never-created"].map((name) => post(`/mcp/${name}`, "skills/list", { session })),
      );
      expect([known!.status, unknown!.status]).toEqual([401, 401]);
      expect(known!.text).toBe(unknown!.text);
      for (const name of [closed, "never-created"]) {
        expect((await call("DELETE", `/mcp/${name}`, { session })).status).toBe(401);
      }
    }
    expect((await post(`/mcp/${closed}`, "skills/list", { session: good, token })).status).toBe(200);
  });

  it("opens no session for whoever it refuses", async () => {
    const closed = await newNamespace("private");
    const { bindings, calls } = watched();
    for (const name of [closed, "never-created"]) {
      const { status, headers } = await initialize(`/mcp/${name}`, "2025-11-25", { bindings });
      expect([status, headers.get("mcp-session-id")]).toEqual([401, null]);
    }
    expect(calls.filter((call) => call.startsWith("sessions"))).toEqual([]);
  });

  it("is asked each time: a session of a token that was revoked is 401", async () => {
    const token = await newToken(namespace, "reader");
    const session = await open(address, "2025-11-25", { token });
    const id = /^skr_([0-9a-f]{16})/.exec(token)![1]!;
    expect((await api("DELETE", `/namespaces/${namespace}/tokens/${id}`)).status).toBe(204);
    expect((await post(address, "skills/list", { session, token })).status).toBe(401);
    expect((await call("DELETE", address, { session, token })).status).toBe(401);
    // Who is not let in ends nothing either.
    expect(await objectOf(session).check(randomOf(session), Date.now())).toBeDefined();
  });
});

describe("the check is made beside the work", () => {
  const ask = { uri: "" };
  beforeAll(() => {
    ask.uri = `skill://${namespace}/pdf-forms/SKILL.md`;
  });

  it.each(["skills/list", "skills/get", "resources/read", "tools/list", "ping"])(
    "%s: it begins first, and costs what the request costs without a session, and one check",
    async (method) => {
      const session = await open(address, "2025-11-25");
      const [without, withOne] = [watched(), watched()];
      await post(address, method, { bindings: without.bindings }, ask);
      expect((await post(address, method, { session, bindings: withOne.bindings }, ask)).status).toBe(200);
      expect(kinds(withOne.calls)).toEqual(["sessions check", ...kinds(without.calls)]);
    },
  );

  it.each(["skills/list", "tools/list", "ping"])(
    "%s: the database is asked while the check is held back, and only then is anything answered",
    async (method) => {
      const session = await open(address, "2025-11-25");
      const held = Promise.withResolvers<void>();
      const { bindings, calls } = watched(() => held.promise);
      let isAnswered = false;
      const reply = post(address, method, { session, bindings }).then((value) => {
        isAnswered = true;
        return value;
      });
      await vi.waitFor(() => expect(kinds(calls)).toEqual(["sessions check", "d1"]));
      await new Promise((done) => setTimeout(done, 50));
      expect(isAnswered).toBe(false);
      held.resolve();
      expect((await reply).status).toBe(200);
      expect(kinds(calls)).toEqual(["sessions check", "d1"]);
    },
  );

  it("an object that does not answer costs no read, and changes nothing", async () => {
    const session = await open(address, "2025-11-25");
    const { bindings } = watched(() => {
      throw new Error("the object is away");
    });
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    expect((await post(address, "skills/list", { session, bindings })).status).toBe(200);
    const subscribed = await post(address, "resources/subscribe", { session, bindings }, ask);
    expect([subscribed.status, subscribed.body.error?.code]).toEqual([200, -32603]);
    expect((await call("DELETE", address, { session, bindings })).status).toBe(500);
    log.mockRestore();
    expect((await post(address, "skills/list", { session })).status).toBe(200);
  });
});

describe("without a session", () => {
  it("a POST that never had an id is served, and asks no object", async () => {
    const { bindings, calls } = watched();
    expect((await post(address, "skills/list", { bindings, version: "2025-11-25" })).status).toBe(200);
    expect(kinds(calls)).toEqual(["d1"]);
  });

  it.each(["GET", "DELETE", "PUT"])("%s: 405 with Allow and a JSON-RPC error", async (method) => {
    const { status, headers, body } = await call(method, address, {});
    expect([status, headers.get("allow"), body.error?.code, "id" in body]).toEqual([405, "POST", -32600, false]);
  });

  it("DELETE that names 2026-07-28: 400, since the session speaks another version, and lives", async () => {
    const session = await open(address, "2025-11-25");
    expect((await call("DELETE", address, { session, version: "2026-07-28" })).status).toBe(400);
    expect((await post(address, "ping", { session })).status).toBe(200);
  });

  it("a 2026-07-28 request is answered as if the id were not there, and asks no object", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const message = { jsonrpc: "2.0", id: 1, method: "skills/list", params: { _meta: meta } };
    const session = await open(address, "2025-11-25");
    const { bindings, calls } = watched();
    const headers = { "mcp-method": "skills/list" };
    for (const id of [session, "junk"]) {
      const reply = await call("POST", address, { session: id, version: "2026-07-28", headers, bindings }, message);
      expect([reply.status, reply.headers.get("mcp-session-id")]).toEqual([200, null]);
    }
    expect(calls.filter((one) => one.startsWith("sessions"))).toEqual([]);
  });

  it.each<[string, Parameters<typeof call>[2]["bindings"]]>([
    ["SESSIONS", { SESSIONS: undefined } as never],
    ["FEEDS", { FEEDS: undefined } as never],
    ["SIGNING_KEY", { SIGNING_KEY: undefined } as never],
    ["a SIGNING_KEY that is long enough", { SIGNING_KEY: "short" }],
  ])("the Worker without %s opens none, promises nothing and ignores ids", async (_, bindings) => {
    const { status, headers, body } = await initialize(address, "2025-11-25", { bindings });
    expect([status, headers.get("mcp-session-id")]).toEqual([200, null]);
    expect(body.result?.["capabilities"]).toMatchObject({ resources: {} });
    expect(JSON.stringify(body.result?.["capabilities"])).not.toMatch(/subscribe|listChanged/);
    expect((await post(address, "ping", { session: "junk", bindings })).status).toBe(200);
    expect((await call("DELETE", address, { session: "junk", bindings })).status).toBe(405);
  });

  it("an object that fails or is full: initialize is answered, without an id and without a promise", async () => {
    const { bindings } = watched((method) => {
      if (method === "open") throw new Error("the object is away");
    });
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { status, headers, body } = await initialize(address, "2025-11-25", { bindings });
    log.mockRestore();
    expect([status, headers.get("mcp-session-id")]).toEqual([200, null]);
    expect(JSON.stringify(body.result?.["capabilities"])).not.toMatch(/subscribe|listChanged/);
  });
});

describe("initialize", () => {
  it("with an id, good or junk, opens a new session and leaves the old one", async () => {
    const old = await open(address, "2025-06-18");
    const next = await open(address, "2025-11-25", { session: old, version: "2025-06-18" });
    expect(next).not.toBe(old);
    expect((await post(address, "ping", { session: old, version: "2025-06-18" })).status).toBe(200);
    expect((await post(address, "ping", { session: next, version: "2025-11-25" })).status).toBe(200);
    expect(await open(address, "2025-11-25", { session: "junk" })).toMatch(/^\d/);
  });

  it.each<[string, unknown]>([
    ["without parameters", { jsonrpc: "2.0", id: 1, method: "initialize" }],
    ["as a notification", { jsonrpc: "2.0", method: "initialize", params: {} }],
    [
      "in an array",
      [
        {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "t", version: "1" } },
        },
      ],
    ],
  ])("%s opens none", async (_, message) => {
    const { bindings, calls } = watched();
    const { headers, text } = await call("POST", address, { bindings }, message);
    expect(headers.get("mcp-session-id")).toBeNull();
    expect(text).not.toMatch(/listChanged/);
    expect(calls.filter((one) => one.startsWith("sessions"))).toEqual([]);
  });

  it("asking for a version that is not spoken opens a session of the one that is offered", async () => {
    const { headers, body } = await initialize(address, "1999-01-01");
    expect(body.result?.["protocolVersion"]).toBe("2025-11-25");
    const session = headers.get("mcp-session-id")!;
    expect((await post(address, "ping", { session, version: "2025-11-25" })).status).toBe(200);
    expect((await post(address, "ping", { session, version: "2025-06-18" })).status).toBe(400);
  });

  it("goes to the object that its caller's others are in; with more objects old sessions stay where they are", async () => {
    const bindings = { SESSION_SHARDS: "1" };
    const old = await open(address, "2025-11-25", { token: reader, bindings });
    expect(old).toMatch(/^0\./);
    const more = { SESSION_SHARDS: "1000" };
    const shards = new Set<string>();
    for (let round = 0; round < 3; round++) {
      shards.add((await open(address, "2025-11-25", { token: reader, bindings: more })).split(".")[0]!);
    }
    expect(shards.size).toBe(1);
    expect((await post(address, "ping", { session: old, token: reader, bindings: more })).status).toBe(200);
    // What is no number of objects is the default, and nobody has none.
    for (const SESSION_SHARDS of ["0", "", "many"]) {
      expect(await open(address, "2025-11-25", { bindings: { SESSION_SHARDS } })).toMatch(/^[0-7]\./);
    }
  });
});

it("answers of a browser show it the id", async () => {
  const { headers } = await rpc(
    address,
    {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    },
    { headers: { origin: "http://localhost:3000" } },
  );
  expect(headers.get("access-control-expose-headers")).toContain("mcp-session-id");
  const preflight = await send(address, {
    method: "OPTIONS",
    headers: { origin: "http://localhost:3000", "access-control-request-method": "DELETE" },
  });
  expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE");
});
