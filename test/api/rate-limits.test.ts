import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import { RateCounts } from "../../src/auth/rate-counts.ts";
import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { api, newNamespace, newToken, operator, origin, seedSkill } from "../harness.ts";

const minute = Date.parse("2026-12-01T12:00:00Z");
let namespace: string;
let token: string;
let addresses = 0;

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "pdf-forms");
  token = await newToken(namespace, "publisher");
});

// A quarter into a minute, which passes only where a test says so.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: minute + 15_000 }));
afterEach(() => void vi.useRealTimers());

/** Somebody who asked nothing so far. */
const stranger = () => `203.0.113.${++addresses}`;

interface Ask {
  from: string;
  token?: string | undefined;
  method?: string;
  body?: unknown;
  vars?: Partial<Env>;
}

const few: Partial<Env> = { RATE_READS: "3", RATE_SEARCHES: "2", RATE_WRITES: "2", RATE_FAILED_CREDENTIALS: "2" };

async function ask(path: string, { from, token, method = "GET", body, vars = few }: Ask): Promise<Response> {
  const context = createExecutionContext();
  const headers = new Headers({ "cf-connecting-ip": from });
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  if (body !== undefined) {
    headers.set("content-type", "application/json");
    headers.set("accept", "application/json, text/event-stream");
  }
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await worker.fetch(new Request(origin + path, init), { ...env, ...vars }, context);
  await waitOnExecutionContext(context);
  return response;
}

const read = (who: Ask) => ask(`/api/v1/namespaces/${namespace}`, who);
const mcp = (message: unknown, who: Ask) => ask(`/mcp/${namespace}`, { ...who, method: "POST", body: message });
const list = { jsonrpc: "2.0", id: 1, method: "skills/list" };
const search = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "search_skills", arguments: { query: "pdf" } },
};

async function statuses(times: number, once: () => Promise<Response>): Promise<number[]> {
  const found: number[] = [];
  for (let time = 0; time < times; time++) found.push((await once()).status);
  return found;
}

describe("how often one may ask", () => {
  it("is 6,000 reads, 600 searches and 120 writes a minute where the operator says nothing", async () => {
    const vars = { RATE_READS: "", RATE_SEARCHES: "", RATE_WRITES: "" };
    const from = stranger();
    const get = await read({ from, vars });
    expect(get.headers.get("ratelimit-policy")).toBe('"reads";q=6000;w=60');
    expect(get.headers.get("ratelimit")).toBe('"reads";r=5999;t=45');
    const found = await mcp(search, { from, vars });
    expect(found.headers.get("ratelimit-policy")).toBe('"reads";q=6000;w=60, "searches";q=600;w=60');
    expect(found.headers.get("ratelimit")).toBe('"reads";r=5998;t=45, "searches";r=599;t=45');
    const write = await ask("/api/v1/namespaces", { from, vars, method: "POST", body: {} });
    expect([write.status, write.headers.get("ratelimit-policy")]).toEqual([401, '"writes";q=120;w=60']);
  });

  it.each(["many", "-1", "1.5", "1e3", " "])("is the default where the var says %j", async (text) => {
    const { headers } = await read({ from: stranger(), vars: { RATE_READS: text } });
    expect(headers.get("ratelimit-policy")).toBe('"reads";q=6000;w=60');
  });

  it("is never where the var says 0, save for the operator", async () => {
    const vars = { RATE_READS: "0" };
    expect((await read({ from: stranger(), vars })).status).toBe(429);
    expect((await read({ from: stranger(), vars, token: operator })).status).toBe(200);
  });

  it("is refused at the API with a sentence, the seconds to wait, and both headers", async () => {
    const from = stranger();
    expect(await statuses(4, () => read({ from }))).toEqual([200, 200, 200, 429]);
    const refused = await read({ from });
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(refused.headers.get("retry-after")).toBe("45");
    expect(refused.headers.get("ratelimit-policy")).toBe('"reads";q=3;w=60');
    expect(refused.headers.get("ratelimit")).toBe('"reads";r=0;t=45');
    expect(await refused.json()).toMatchObject({
      code: "rate_limited",
      detail:
        "The limit of 3 reads per 60 seconds for your address is reached; try again in 45 s; " +
        "with a token you have a limit of your own",
    });
  });

  it("is refused at an MCP address with 429 and a JSON-RPC error", async () => {
    const from = stranger();
    expect(await statuses(3, () => mcp(list, { from }))).toEqual([200, 200, 200]);
    const refused = await mcp(list, { from });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "45"]);
    const body = (await refused.json()) as { error: { code: number; message: string } };
    expect(body).toMatchObject({ jsonrpc: "2.0", error: { code: -32000 } });
    expect(body.error.message).toContain("3 reads per 60 seconds");
  });

  it("counts anew when the minute is over", async () => {
    const from = stranger();
    expect(await statuses(4, () => read({ from }))).toEqual([200, 200, 200, 429]);
    vi.setSystemTime(minute + 59_999);
    expect((await read({ from })).headers.get("retry-after")).toBe("1");
    vi.setSystemTime(minute + 60_000);
    expect((await read({ from })).headers.get("ratelimit")).toBe('"reads";r=2;t=60');
  });

  it("has a count of its own for searches", async () => {
    const vars = { ...few, RATE_READS: "100" };
    const from = stranger();
    expect(await statuses(3, () => mcp(search, { from, vars }))).toEqual([200, 200, 429]);
    expect((await mcp(list, { from, vars })).status).toBe(200);
  });

  it("has a count of its own for writes", async () => {
    const from = stranger();
    const write = () => ask("/api/v1/namespaces", { from, token, method: "POST", body: {} });
    expect(await statuses(3, write)).toEqual([403, 403, 429]);
    expect((await read({ from, token })).status).toBe(200);
  });

  it("counts each message of an array", async () => {
    const vars = { ...few, RATE_READS: "10" };
    const from = stranger();
    const headers = (await mcp([list, { ...list, id: 2 }, { ...search, id: 3 }], { from, vars })).headers;
    expect(headers.get("ratelimit")).toBe('"reads";r=7;t=45, "searches";r=1;t=45');
    expect((await mcp([search, { ...search, id: 2 }], { from, vars })).status).toBe(429);
  });
});

describe("whom a request is counted against", () => {
  it("the token, wherever it is used from, and not the address", async () => {
    const own = await newToken(namespace, "reader");
    const from = stranger();
    expect(await statuses(3, () => read({ from: stranger(), token: own }))).toEqual([200, 200, 200]);
    const refused = await read({ from, token: own });
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('for this token is reached; try again in 45 s"');
    expect((await read({ from })).headers.get("ratelimit")).toBe('"reads";r=2;t=45');
  });

  it("the /64 of an IPv6 address, however it is written, and the whole of an IPv4 one", async () => {
    const vars = { RATE_READS: "9" };
    const remaining = async (from: string) =>
      Number((await read({ from, vars })).headers.get("ratelimit")!.match(/r=(\d+)/)![1]);
    expect(await remaining("2001:db8:1:2::1")).toBe(8);
    expect(await remaining("2001:db8:1:2:ffff:ffff:ffff:ffff")).toBe(7);
    expect(await remaining("2001:0DB8:0001:0002:0:0:0:1")).toBe(6);
    expect(await remaining("2001:db8:1:3::1")).toBe(8);
    expect(await remaining("2001:db8::1")).toBe(8);
    expect(await remaining("2001:db8:0:0:7::")).toBe(7);
    expect(await remaining("198.51.100.7")).toBe(8);
    expect(await remaining("198.51.100.8")).toBe(8);
    expect(await remaining("::ffff:198.51.100.8")).toBe(7);
  });

  it("a read link, by its id", async () => {
    const { mintSecret } = await import("../../src/auth/tokens.ts");
    const { text } = await mintSecret("skl", env.SIGNING_KEY!);
    const dead = `/r/${text}/mcp`;
    const once = () => ask(dead, { from: stranger(), method: "POST", body: list });
    expect(await statuses(4, once)).toEqual([404, 404, 404, 429]);
    const madeUp = `/r/${text.slice(0, -1)}${text.endsWith("0") ? "1" : "0"}/mcp`;
    expect((await ask(madeUp, { from: stranger(), method: "POST", body: list })).status).toBe(404);
  });

  it("the operator: nobody, and no header speaks of a limit", async () => {
    const from = stranger();
    expect(await statuses(5, () => read({ from, token: operator }))).toEqual([200, 200, 200, 200, 200]);
    expect((await read({ from, token: operator })).headers.get("ratelimit")).toBeNull();
  });

  it("a private and an unknown namespace alike", async () => {
    const closed = await newNamespace("private");
    const from = stranger();
    const vars = { ...few, RATE_READS: "4" };
    const at = (name: string) => ask(`/mcp/${name}`, { from, vars, method: "POST", body: list });
    const answers = [await at(closed), await at("nobody-here"), await at(closed), await at("nobody-here")];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    const [one, other] = [await at(closed), await at("nobody-here")];
    expect([one.status, other.status]).toEqual([429, 429]);
    expect(await one.text()).toBe(await other.text());
  });
});

describe("credentials that are refused", () => {
  it.each([
    ["not ours", () => Promise.resolve("skr_nonsense")],
    ["not the operator's", () => Promise.resolve("x".repeat(40))],
    [
      "revoked",
      async () => {
        const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
        await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
        return body["token"] as string;
      },
    ],
  ])("are 401 at first and then 429: %s", async (_, make) => {
    const [from, bad, vars] = [stranger(), await make(), { ...few, RATE_READS: "100" }];
    expect(await statuses(2, () => read({ from, vars, token: bad }))).toEqual([401, 401]);
    const refused = await read({ from, vars, token: bad });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "45"]);
    expect(refused.headers.get("ratelimit-policy")).toContain('"failed-credentials";q=2;w=60');
    expect((await mcp(list, { from, vars, token: bad })).status).toBe(429);
    expect((await ask("/me/mcp", { from, vars, token: bad, method: "POST", body: list })).status).toBe(429);
  });

  it("keep no good credential of the same address out, nor anybody without one", async () => {
    const from = stranger();
    const vars = { ...few, RATE_READS: "100" };
    expect(await statuses(3, () => mcp(list, { from, vars, token: "junk" }))).toEqual([401, 401, 429]);
    expect((await mcp(list, { from, vars, token })).status).toBe(200);
    expect((await mcp(list, { from, vars, token: operator })).status).toBe(200);
    expect((await mcp(list, { from, vars })).status).toBe(200);
  });

  it("are counted only where one was presented", async () => {
    const from = stranger();
    const vars = { ...few, RATE_READS: "100" };
    const once = () => ask("/me/mcp", { from, vars, method: "POST", body: list });
    expect(await statuses(4, once)).toEqual([401, 401, 401, 401]);
  });
});

describe("the binding that counts for all isolates", () => {
  const shieldOf = (answer: () => Promise<{ success: boolean }>) => {
    const keys: string[] = [];
    const limit = ({ key }: { key?: string }) => {
      keys.push(key!);
      return answer();
    };
    return { keys, vars: { RATE_READS: "20", SHIELD_READS: { limit } as unknown as RateLimit } };
  };

  it("is asked only once an isolate has counted a tenth of a limit", async () => {
    const { keys, vars } = shieldOf(() => Promise.resolve({ success: true }));
    const from = stranger();
    expect(await statuses(3, () => read({ from, vars }))).toEqual([200, 200, 200]);
    expect(keys).toEqual([`address:${from}`]);
  });

  it("refuses what others have used up", async () => {
    const { vars } = shieldOf(() => Promise.resolve({ success: false }));
    const from = stranger();
    expect(await statuses(3, () => read({ from, vars }))).toEqual([200, 200, 429]);
    expect((await read({ from, vars })).headers.get("ratelimit")).toBe('"reads";r=0;t=45');
  });

  it("lets everything pass when it fails", async () => {
    const { vars } = shieldOf(() => Promise.reject(new Error("out of order")));
    const from = stranger();
    expect(await statuses(4, () => read({ from, vars }))).toEqual([200, 200, 200, 200]);
  });

  it("is there in the runtime, as wrangler.toml says", async () => {
    for (const shield of [env.SHIELD_READS, env.SHIELD_SEARCHES, env.SHIELD_WRITES, env.SHIELD_FAILED_CREDENTIALS]) {
      expect(await shield!.limit({ key: "a test" })).toEqual({ success: true });
    }
  });
});

describe("what an isolate remembers", () => {
  it("is bounded: past so many keys it forgets the oldest", () => {
    const counts = new RateCounts(3);
    for (const key of ["a", "b", "c", "d"]) counts.add(key, 1, minute);
    counts.add("d", 1, minute);
    expect([counts.size, counts.used("a", minute), counts.used("b", minute), counts.used("d", minute)]).toEqual([
      3, 0, 1, 2,
    ]);
  });

  it("is forgotten with its minute", () => {
    const counts = new RateCounts(3);
    counts.add("a", 5, minute);
    expect(counts.used("a", minute + 60_000)).toBe(0);
    expect(counts.size).toBe(0);
  });
});
