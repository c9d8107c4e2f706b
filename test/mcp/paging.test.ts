import { env, exports } from "cloudflare:workers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { beforeAll, describe, expect, it } from "vitest";

import { formatCursor } from "../../src/domain/cursor.ts";
import { api, legacy, modern, newNamespace, publish, seedSkill, skillMdOf } from "../harness.ts";

const total = 25_000;
let large: string;

/** Rows as a publish writes them, made in SQL from one published skill: 25,000 publishes would take minutes. */
async function multiply(namespace: string, template: string): Promise<void> {
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)";
  const name = "printf('bulk-%05d', i)";
  const renamed = (column: string) => `replace(${column}, ?2, ${name})`;
  const statements = [
    `${numbers} INSERT INTO skills (namespace, path, visibility, search_text, created_at, updated_at)
     SELECT namespace, ${name}, visibility, ${renamed("search_text")}, created_at, updated_at
     FROM n, skills WHERE namespace = ?1 AND path = ?2`,
    `${numbers} INSERT INTO releases (namespace, path, version, major, minor, patch, pre, name, description, tree,
       executables, file_count, total_bytes, skill_md_bytes, zip_digest, tar_digest, search_text, published_at,
       published_by, entry_bytes, entry, pinned_entry, terms)
     SELECT namespace, ${name}, version, major, minor, patch, pre, ${name}, description, tree, executables, file_count,
       total_bytes, skill_md_bytes, zip_digest, tar_digest, ${renamed("search_text")}, published_at, published_by,
       entry_bytes,
       ${renamed("entry")}, ${renamed("pinned_entry")}, ${renamed("terms")}
     FROM n, releases WHERE namespace = ?1 AND path = ?2`,
    `${numbers} UPDATE skills SET current = '1.0.0' WHERE namespace = ?1 AND path <> ?2 AND ?3 > 0 AND EXISTS (SELECT 1 FROM n)`,
  ];
  for (const statement of statements) await env.DB.prepare(statement).bind(namespace, template, total).run();
}

beforeAll(async () => {
  large = await newNamespace();
  await seedSkill(large, "bulk-00000");
  await multiply(large, "bulk-00000");
});

type Call = typeof modern;

async function listAll(
  call: Call,
  address: string,
  method: string,
  key: string,
): Promise<{ pages: number; uris: string[] }> {
  const uris: string[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const { result, error } = await call(address, method, cursor === undefined ? {} : { cursor });
    expect(error).toBeUndefined();
    const items = result![key] as { uri: string }[];
    expect(items.length).toBeLessThanOrEqual(100);
    uris.push(...items.map((item) => item.uri));
    if (!("nextCursor" in result!)) return { pages, uris };
    cursor = result!["nextCursor"] as string;
    expect(cursor).not.toBe("");
  }
}

describe("a namespace of 25,000 skills", () => {
  it.each([
    ["skills/list", "skills"],
    ["resources/list", "resources"],
  ])("%s ends after 50 pages of 100, without gap or repeat, in both eras", async (method, key) => {
    for (const call of [modern, legacy]) {
      const { pages, uris } = await listAll(call, `/mcp/${large}`, method, key);
      expect([pages, new Set(uris).size]).toEqual([50, 5_000]);
      expect(uris[0]).toBe(`skill://${large}/bulk-00000/SKILL.md`);
      expect(uris.at(-1)).toBe(`skill://${large}/bulk-04999/SKILL.md`);
    }
  });

  it("reaches every skill by its address all the same", async () => {
    const { error } = await modern(`/mcp/${large}`, "skills/get", { uri: `skill://${large}/bulk-24999/SKILL.md` });
    expect(error).toBeUndefined();
  });

  it("pages all of them through the API, without gap or repeat, while others publish", async () => {
    const seen: string[] = [];
    let cursor: string | null = "";
    let page = 0;
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `?cursor=${cursor}`;
      const { status, body } = await api("GET", `/namespaces/${large}/skills${query}`, undefined, null);
      expect(status).toBe(200);
      seen.push(...(body["skills"] as { path: string }[]).map((skill) => skill.path));
      cursor = body["next_cursor"] as string | null;
      // One skill before and one after the position of the reader, and a new release of one already read.
      if (page++ % 50 === 10) {
        await publish(large, { "SKILL.md": skillMdOf(`aa-${page}`) });
        await publish(large, { "SKILL.md": skillMdOf(`zz-${page}`) });
        await publish(large, { "SKILL.md": skillMdOf("bulk-00000", `changed ${page}`) });
      }
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((path) => path.startsWith("bulk-")).length).toBe(total + 1);
    expect([...seen].sort()).toEqual(seen);
  });

  it("finds one of them by its name", async () => {
    const call = { name: "search_skills", arguments: { query: "bulk-24998", limit: 1 } };
    const { result } = await modern(`/mcp/${large}`, "tools/call", call);
    expect(JSON.stringify(result)).toContain("bulk-24998");
  });

  it("shows at most 100 prompts", async () => {
    const { result } = await modern(`/mcp/${large}`, "prompts/list");
    expect((result!["prompts"] as unknown[]).length).toBe(100);
  });
});

describe("the official client", () => {
  it.each([
    ["2026-07-28", { mode: "auto" }],
    ["2025-11-25", { mode: "legacy" }],
  ] as const)("over %s lists every address of that registry without an error", async (version, versionNegotiation) => {
    const empty = await newNamespace();
    for (const [address, count] of [
      [`/mcp/${large}`, 5_000],
      [`/mcp/${empty}`, 0],
      ["/mcp", undefined],
    ] as const) {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation });
      const fetch = (url: string | URL | Request, init?: RequestInit) => exports.default.fetch(new Request(url, init));
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`http://localhost${address}`), { fetch: fetch as never }),
      );
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      const { skills, invalid } = await new SkillsClient(client).list();
      expect(invalid).toEqual([]);
      if (count !== undefined) expect(skills.length).toBe(count);
      await client.close();
    }
  });
});

describe("a cursor", () => {
  it("of another list, address or format is -32602 in MCP and 400 in the API", async () => {
    const first = (await modern(`/mcp/${large}`, "skills/list")).result!["nextCursor"] as string;
    const other = await newNamespace();
    const foreign: [string, string][] = [
      [`/mcp/${other}`, first],
      ["/mcp", first],
      [`/mcp/${large}`, first.slice(0, -1)],
      [`/mcp/${large}`, `${first}x`],
      [`/mcp/${large}`, `${first}=`],
      [`/mcp/${large}`, btoa(JSON.stringify(["0", `skills:${large}`, 1, "a"]))],
      [`/mcp/${large}`, formatCursor(`skills:${large}`, { page: -1, key: "a" })],
      [`/mcp/${large}`, "x".repeat(5_000)],
    ];
    for (const [address, cursor] of foreign) {
      expect([address, (await modern(address, "skills/list", { cursor })).error?.code]).toEqual([address, -32602]);
    }
    expect((await modern(`/mcp/${large}`, "resources/list", { cursor: first })).error?.code).toBe(-32602);
    const { status, body } = await api("GET", `/namespaces/${large}/skills?cursor=${first}`);
    expect([status, body["code"]]).toEqual([400, "invalid_cursor"]);
  });
});

describe("a page", () => {
  it("ends at 1 MiB of JSON, and a large entry is never split nor skipped", async () => {
    const namespace = await newNamespace();
    const filler = "x".repeat(250_000);
    for (let index = 0; index < 9; index++) {
      const md = `---\nname: large-${index}\ndescription: d\nfiller: ${filler}\n---\n`;
      expect((await publish(namespace, { "SKILL.md": md })).status).toBe(201);
    }
    const sizes: number[] = [];
    const uris: string[] = [];
    let cursor: string | undefined;
    do {
      const { result } = await modern(`/mcp/${namespace}`, "skills/list", cursor === undefined ? {} : { cursor });
      const skills = result!["skills"] as { uri: string }[];
      sizes.push(JSON.stringify(skills).length);
      uris.push(...skills.map((skill) => skill.uri));
      cursor = result!["nextCursor"] as string | undefined;
    } while (cursor !== undefined);
    expect(uris.length).toBe(9);
    expect(new Set(uris).size).toBe(9);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(1024 * 1024);
  });
});

describe("the root address", () => {
  it("lists the featured collection in one page of at most 100, with unique names", async () => {
    const { status } = await api("POST", "/namespaces", { name: "registry" });
    expect(status).toBe(201);
    await seedSkill("registry", "alpha", {}, "?path=first/alpha");
    await seedSkill("registry", "alpha", {}, "?path=second/alpha");
    await seedSkill("registry", "beta");
    expect((await modern("/mcp", "skills/list")).result!["skills"]).toEqual([]);
    await api("PUT", "/namespaces/registry/collections/featured", { skills: "all" });
    const { result } = await modern("/mcp", "skills/list");
    expect((result!["skills"] as { uri: string }[]).map((skill) => skill.uri)).toEqual([
      "skill://registry/beta/SKILL.md",
      "skill://registry/first/alpha/SKILL.md",
    ]);
    expect(result).not.toHaveProperty("nextCursor");
  });
});
