import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { newNamespace, operator, origin, seedSkill } from "../harness.ts";

let namespace: string;
let closed: string;

beforeAll(async () => {
  [namespace, closed] = [await newNamespace(), await newNamespace("private")];
  // What nobody expected is logged whole.
  vi.spyOn(console, "error").mockReturnValue();
  await seedSkill(namespace, "pdf-forms", { "page.html": "<script>alert(1)</script>" });
});

afterEach(() => void vi.useRealTimers());

async function ask(path: string, init: RequestInit = {}, vars: Partial<Env> = {}): Promise<Response> {
  const context = createExecutionContext();
  const url = path.startsWith("http") ? path : origin + path;
  const response = await worker.fetch(new Request(url, { redirect: "manual", ...init }), { ...env, ...vars }, context);
  await waitOnExecutionContext(context);
  return response;
}

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const message = (method: string) => ({
  method: "POST",
  headers: json,
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
});
const preflight = (from: string) => ({
  method: "OPTIONS",
  headers: { origin: from, "access-control-request-method": "POST" },
});
const broken = { DB: undefined as unknown as D1Database };
const release = () => `/api/v1/namespaces/${namespace}/skills/pdf-forms/-/releases/current`;

/** One of each kind of answer: its status, and how it is asked for. */
const kinds: [string, number, () => Promise<Response>][] = [
  ["an MCP answer", 200, () => ask(`/mcp/${namespace}`, message("skills/list"))],
  ["an MCP answer by the SDK", 200, () => ask(`/mcp/${namespace}`, message("tools/list"))],
  ["an MCP address that challenges", 401, () => ask(`/mcp/${closed}`, message("skills/list"))],
  ["a personal MCP address", 401, () => ask("/me/mcp", message("skills/list"))],
  ["a dead read link", 404, () => ask("/r/skl_nothing/mcp", message("skills/list"))],
  ["a method that MCP has not", 405, () => ask(`/mcp/${namespace}`)],
  ["an MCP failure nobody expected", 500, () => ask(`/mcp/${namespace}`, message("skills/list"), broken)],
  ["an API answer", 200, () => ask(`/api/v1/namespaces/${namespace}`)],
  ["an API answer without a body", 200, () => ask(`/api/v1/namespaces/${namespace}`, { method: "HEAD" })],
  ["a published file", 200, () => ask(`${release()}/files/page.html`)],
  ["an archive", 200, () => ask(`${release()}/archive.zip`)],
  ["a refusal of the API", 401, () => ask(`/api/v1/namespaces/${namespace}/tokens`)],
  ["a bad token", 401, () => ask("/api/v1/namespaces", { headers: { authorization: "Bearer junk" } })],
  ["an API method that is not there", 405, () => ask(`/api/v1/namespaces/${namespace}`, { method: "PUT" })],
  ["an unknown API address", 404, () => ask("/api/v1/nothing")],
  ["too many requests", 429, () => ask(`/api/v1/namespaces/${namespace}`, {}, { RATE_READS: "0" })],
  [
    "an API failure nobody expected",
    500,
    () => ask(`/api/v1/namespaces/${namespace}`, { headers: { authorization: `Bearer ${operator}` } }, broken),
  ],
  ["an address that nobody serves", 404, () => ask("/nothing/at/all")],
  ["the root", 404, () => ask("/")],
  ["an unknown well-known file", 404, () => ask("/.well-known/nothing")],
  ["security.txt", 200, () => ask("/.well-known/security.txt")],
  ["public bytes that are not there", 404, () => ask(`/blobs/sha256/${"0".repeat(64)}`)],
  ["a preflight", 204, () => ask("/mcp", preflight(origin))],
  ["a preflight of a public file", 204, () => ask("/.well-known/security.txt", preflight("https://any.example"))],
  ["a foreign origin", 403, () => ask("/mcp", preflight("https://evil.example"))],
  ["a foreign host", 403, () => ask("http://evil.example/mcp", message("skills/list"))],
];

describe.each(kinds)("%s", (_, status, once) => {
  it("is nothing that a browser runs, frames, guesses at or keeps", async () => {
    const response = await once();
    const { headers } = response;
    await response.arrayBuffer();
    expect(response.status).toBe(status);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/^(?:sandbox; )?default-src 'none'/);
    expect(headers.get("content-security-policy")).toMatch(/frame-ancestors 'none'|sandbox/);
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("permissions-policy")).toContain("camera=()");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    const isEverybodys = headers.get("access-control-allow-origin") === "*";
    expect(headers.get("cross-origin-resource-policy")).toBe(isEverybodys ? "cross-origin" : "same-origin");
    expect(headers.get("cache-control")).toMatch(/^(?:no-store, no-transform|public, max-age=\d+.*)$/);
    expect(headers.get("vary")).toContain("authorization, origin");
    expect(headers.get("strict-transport-security")).toBeNull();
  });
});

describe("what is said only where it is true", () => {
  it("search engines keep out of the API, of personal addresses and of read links, and of nothing else", async () => {
    const robots = async (path: string) => (await ask(path, message("skills/list"))).headers.get("x-robots-tag");
    expect(await Promise.all(["/api/v1/namespaces", "/me/mcp", "/r/skl_nothing/mcp"].map(robots))).toEqual([
      "noindex",
      "noindex",
      "noindex",
    ]);
    expect(await robots(`/mcp/${namespace}`)).toBeNull();
    expect(await robots("/nothing")).toBeNull();
  });

  it("Strict-Transport-Security where PUBLIC_ORIGIN is https, refusals included", async () => {
    const at = async (publicOrigin: string, url: string) =>
      (await ask(url, {}, { PUBLIC_ORIGIN: publicOrigin })).headers.get("strict-transport-security");
    const https = "https://skills.example.com";
    expect(await at(https, `${https}/nothing`)).toBe("max-age=31536000");
    expect(await at(https, "https://evil.example/nothing")).toBe("max-age=31536000");
    expect(await at("http://skills.example.com", "http://skills.example.com/nothing")).toBeNull();
  });

  it("Cache-Control of a route's own where it answered, and no-store where it refused", async () => {
    const cached = async (init: RequestInit) =>
      (await ask("/.well-known/security.txt", init)).headers.get("cache-control");
    expect(await cached({})).toBe("public, max-age=3600");
    expect(await cached({ method: "POST" })).toBe("no-store, no-transform");
  });

  it("the limits of rates are readable for pages of an allowed origin", async () => {
    const { headers } = await ask(`/mcp/${namespace}`, { ...message("skills/list"), headers: { ...json, origin } });
    expect(headers.get("access-control-expose-headers")).toContain("retry-after, ratelimit, ratelimit-policy");
  });

  it("what pages may send and read lets them change only what they saw", async () => {
    for (const [path, from] of [
      ["/api/v1/namespaces", origin],
      [`/blobs/sha256/${"0".repeat(64)}`, "https://any.example"],
    ] as const) {
      const allowed = (await ask(path, preflight(from))).headers.get("access-control-allow-headers");
      expect(allowed!.split(", ")).toEqual(expect.arrayContaining(["if-match", "if-none-match"]));
      const exposed = (await ask(path, { headers: { origin: from } })).headers.get("access-control-expose-headers");
      expect(exposed!.split(", ")).toContain("etag");
    }
  });
});

describe("security.txt", () => {
  const text = async (vars: Partial<Env> = {}, url = "/.well-known/security.txt") => (await ask(url, {}, vars)).text();

  it("says where to report a weakness, until when, in which language, and where it stands", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-12-01T15:00:00Z") });
    const { headers } = await ask("/.well-known/security.txt");
    expect(headers.get("content-type")).toMatch(/^text\/plain; charset=utf-8$/i);
    expect(await text()).toBe(
      "Contact: mailto:security@localhost\nExpires: 2027-06-02T00:00:00Z\nPreferred-Languages: en\n" +
        "Canonical: http://localhost/.well-known/security.txt\n",
    );
  });

  it("says the same all day, and a later date the day after", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-12-01T00:00:00Z") });
    const first = await text();
    vi.setSystemTime(Date.parse("2026-12-01T23:59:59Z"));
    expect(await text()).toBe(first);
    vi.setSystemTime(Date.parse("2026-12-02T00:00:00Z"));
    expect(await text()).toContain("Expires: 2027-06-03T00:00:00Z");
  });

  it("names the operator's contacts, or the mailbox of the public host", async () => {
    const vars = { PUBLIC_ORIGIN: "https://skills.example.com:8443" };
    const url = "https://skills.example.com:8443/.well-known/security.txt";
    expect(await text(vars, url)).toContain("Contact: mailto:security@skills.example.com\n");
    expect(await text(vars, url)).toContain(`Canonical: ${url}\n`);
    const contacts = { SECURITY_CONTACT: "mailto:psirt@example.com https://example.com/report" };
    expect(await text(contacts)).toMatch(
      /^Contact: mailto:psirt@example.com\nContact: https:\/\/example.com\/report\n/,
    );
  });

  it("answers GET and HEAD, to any origin, and nothing else", async () => {
    const head = await ask("/.well-known/security.txt", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("access-control-allow-origin")).toBe("*");
    const post = await ask("/.well-known/security.txt", { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});
