import { beforeAll, describe, expect, it } from "vitest";

import { formatCursor } from "../../src/domain/cursor.ts";
import { sampled } from "../campaigns/scale.ts";
import { api, newNamespace, newToken, publish, skillMdOf } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Seen } from "./answers.ts";
import { eras, message, requests } from "./methods.ts";
import { attemptsAt, routes } from "./routes.ts";
import type { Target } from "./seed.ts";

/** Attacks by name: forged cursors. They are not signed, since they grant nothing; here is that they grant nothing. */
let mine: string;
let theirs: string;
let admin: string;
let lists: { name: string; path: string }[];

beforeAll(async () => {
  [mine, theirs] = [await newNamespace(), await newNamespace("private")];
  for (const namespace of [mine, theirs]) {
    const files = { "SKILL.md": skillMdOf("one-skill", namespace === mine ? "Mine" : "A quagga") };
    await publish(namespace, files);
    await api("PUT", `/namespaces/${namespace}/collections/desk`, { title: "A quagga", skills: "all" });
    const tools = [{ name: "quagga", inputSchema: { type: "object" } }];
    await api("PUT", `/namespaces/${namespace}/servers/jobs`, { url: "https://mcp.example", tools });
    await api("POST", `/namespaces/${namespace}/links`, { label: "quagga" });
    await api("POST", `/namespaces/${namespace}/publishers`, { github: { repository: "quagga/skills" } });
    await api("POST", `/namespaces/${namespace}/invitations`, { role: "reader", label: "quagga" });
  }
  await api("PUT", `/namespaces/${mine}/collections/desk`, { title: "Mine", skills: "all" });
  admin = await newToken(mine, "admin");
  lists = listsOf(mine);
});

const base = (namespace: string) => `/api/v1/namespaces/${namespace}`;

/** Every list with pages, with the name that its cursors carry. */
const listsOf = (namespace: string) => [
  { name: "namespaces", path: "/api/v1/namespaces" },
  { name: `api-skills:${namespace}`, path: `${base(namespace)}/skills` },
  { name: `api-releases:${namespace}/one-skill`, path: `${base(namespace)}/skills/one-skill/-/releases` },
  { name: `collections:${namespace}`, path: `${base(namespace)}/collections` },
  { name: `editions:${namespace}/desk`, path: `${base(namespace)}/collections/desk/editions` },
  { name: `servers:${namespace}`, path: `${base(namespace)}/servers` },
  { name: `tools:${namespace}/jobs`, path: `${base(namespace)}/servers/jobs` },
  { name: `tokens:${namespace}`, path: `${base(namespace)}/tokens` },
  { name: `members:${namespace}`, path: `${base(namespace)}/members` },
  { name: `invitations:${namespace}`, path: `${base(namespace)}/invitations` },
  { name: `links:${namespace}`, path: `${base(namespace)}/links` },
  { name: `publishers:${namespace}`, path: `${base(namespace)}/publishers` },
  {
    name: `audit:${JSON.stringify([true, namespace, undefined, undefined, undefined])}`,
    path: `${base(namespace)}/audit`,
  },
  { name: `reads:${namespace}::30`, path: `${base(namespace)}/reads` },
];

const askFor = (path: string, cursor: string): Promise<Seen> =>
  ask({ method: "GET", path: `${path}?cursor=${encodeURIComponent(cursor)}` }, admin);

const base64 = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const raw = (...parts: unknown[]) => base64(JSON.stringify(parts));

const malformed = (name: string): string[] => [
  "",
  "x",
  "null",
  "../../etc/passwd",
  "x".repeat(100_000),
  base64("[".repeat(600)),
  base64("not json"),
  raw("1", name, 1),
  raw("1", name, 1, "a", "b"),
  raw("2", name, 1, "a"),
  raw(1, name, 1, "a"),
  raw("1", name, 0, "a"),
  raw("1", name, -1, "a"),
  raw("1", name, 1.5, "a"),
  raw("1", name, 1e300, "a"),
  raw("1", name, "1", "a"),
  raw("1", name, 1, 7),
  raw("1", name, 1, { toString: "a" }),
  raw("1", [name], 1, "a"),
  `${raw("1", name, 1, "a")}=`,
  ` ${raw("1", name, 1, "a")}`,
  btoa(JSON.stringify(["1", name, 1, "a?>"])),
];

const keys = [
  "",
  "a",
  "0",
  "-1",
  "1e9",
  "9".repeat(40),
  "' OR 1=1 --",
  "\u0000",
  "\uffff",
  "1 0123456789abcdef",
  "1\na\n1.0.0\nx\n\n2026\n1",
  "NaN",
  "1.0.0",
  "zzzz",
];

describe("a forged cursor", () => {
  it("is tried at every list of the API that has pages", async () => {
    const texts =
      "skill version file collection server tool hex words invitation link tokenId memberId invitationId linkId";
    const target = Object.fromEntries(texts.split(" ").map((name) => [name, "x"])) as Target;
    const whole = { ...target, namespace: mine, skill: "one-skill", collection: "desk", server: "jobs" };
    const paged = new Set<string>();
    for (const route of Object.keys(routes).filter((one) => one.startsWith("GET /api"))) {
      for (const { path } of attemptsAt(route, whole, "x")) {
        const seen = await ask({ method: "GET", path }, admin);
        if (seen.body.includes('"next_cursor"')) paged.add(path.split("?")[0]!);
      }
    }
    expect(lists.map(({ path }) => path)).toEqual(
      expect.arrayContaining([...paged].filter((path) => path.includes(mine))),
    );
    expect(paged.size).toBeGreaterThan(7);
  });

  it("that is none, or that another list wrote, is refused in one way", async () => {
    for (const { name, path } of lists) {
      const others = lists
        .filter((one) => one.name !== name)
        .map((one) => formatCursor(one.name, { page: 1, key: "a" }));
      const foreign = listsOf(theirs).map((one) => formatCursor(one.name, { page: 1, key: "a" }));
      const elsewhere = foreign.filter((cursor) => cursor !== formatCursor(name, { page: 1, key: "a" }));
      for (const cursor of sampled([...malformed(name), ...others, ...elsewhere])) {
        const seen = await askFor(path, cursor);
        expect([path, cursor.slice(0, 80), seen.status, seen.body.includes("invalid_cursor")]).toEqual([
          path,
          cursor.slice(0, 80),
          400,
          true,
        ]);
      }
    }
  });

  it("of a list with another filter is refused", async () => {
    const audit = lists.at(-1)!;
    const filtered = formatCursor(`audit:${JSON.stringify([true, mine, "publish", undefined, undefined])}`, {
      page: 1,
      key: "999",
    });
    expect((await askFor(audit.path, filtered)).status).toBe(400);
    const all = formatCursor(`audit:${JSON.stringify([false, undefined, undefined, undefined, undefined])}`, {
      page: 1,
      key: "999",
    });
    expect((await askFor(audit.path, all)).status).toBe(400);
  });

  it("with a made-up place in its own list shows what the list shows, or is refused", async () => {
    for (const { name, path } of lists) {
      const statuses = new Set<number>();
      for (const key of keys) {
        const seen = await askFor(path, formatCursor(name, { page: 1, key }));
        statuses.add(seen.status);
        expect([path, key, [200, 400].includes(seen.status)]).toEqual([path, key, true]);
        expect(seen.body).not.toContain(theirs);
      }
      expect([path, statuses.has(200)]).toEqual([path, true]);
    }
  });

  it("opens no list of another tenant", async () => {
    for (const { name, path } of listsOf(theirs).filter((one) => one.path.includes(theirs))) {
      for (const key of keys) {
        const seen = await askFor(path, formatCursor(name, { page: 1, key }));
        expect([path, seen.status >= 400, seen.body.includes("quagga")]).toEqual([path, true, false]);
      }
    }
  });

  it.each(eras)("over MCP is refused, or shows what its own list shows, in %s", async (era) => {
    const addresses: [string, string][] = [
      [`/mcp/${mine}`, mine],
      [`/mcp/${mine}/desk`, `${mine}/desk`],
      ["/mcp", ""],
    ];
    const paged = Object.keys(requests).filter((method) => /\/list$|directory/.test(method));
    for (const [path, at] of addresses) {
      for (const method of paged) {
        const given = method.includes("directory") ? { uri: `skill://${mine}/one-skill` } : {};
        const ask1 = (cursor: string) => ask(message(path, era, method, { ...given, cursor }));
        const list = method.split("/")[0]!;
        const own = `${list}:${at}`;
        const foreign = [
          `${list}:${theirs}`,
          `${list}:${theirs}/desk`,
          `${list}:me/${mine}`,
          `x:${at}`,
          `api-skills:${mine}`,
        ];
        for (const cursor of [...malformed(own), ...foreign.map((name) => formatCursor(name, { page: 1, key: "a" }))]) {
          const seen = await ask1(cursor);
          expect([path, method, cursor.slice(0, 60), seen.body.includes("-32602")]).toEqual([
            path,
            method,
            cursor.slice(0, 60),
            true,
          ]);
        }
        for (const key of keys) {
          const seen = await ask1(formatCursor(own, { page: 1, key }));
          expect([path, method, key, seen.status < 500, /quagga|-32603/.test(seen.body)]).toEqual([
            path,
            method,
            key,
            true,
            false,
          ]);
        }
      }
    }
  });
});
