import { beforeAll, describe, expect, it } from "vitest";

import { maxSkillsPerUpload } from "../../src/domain/limits.ts";
import { api, eras, legacy, modern, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";

/** `tools/list` with `query` (SEP-1821) and `limit`, where the list is short and where it takes two pages. */
const registryTools = [
  "search_skills",
  "load_skill",
  "read_skill_file",
  "list_groups",
  "search_tools",
  "describe_tool",
];

interface Tool {
  name: string;
  description: string;
}

type Call = typeof modern;

let namespace: string;
/** An address whose list is that of the registry alone. */
let short: string;
/** A collection of all, each skill a tool as well: 106 of them, more than a page holds. */
let long: string;

/** More than the 100 that a collection shows: half of them about boats, half about bikes. */
const skills = Array.from({ length: 104 }, (_, index) => {
  const number = String(index).padStart(3, "0");
  return index % 2 === 0 ? `rent-boat-${number}` : `lend-bike-${number}`;
});

beforeAll(async () => {
  namespace = await newNamespace();
  await publishFolders(namespace, skills);
  expect(
    (await api("PUT", `/namespaces/${namespace}/collections/all`, { skills: "all", tools: "per-skill" })).status,
  ).toBeLessThan(300);
  short = `/mcp/${namespace}`;
  long = `/mcp/${namespace}/all`;
});

/** An upload of many folders is one revision, and takes a moment where a hundred publishes would take a minute. */
async function publishFolders(namespace: string, names: readonly string[]): Promise<void> {
  for (let start = 0; start < names.length; start += maxSkillsPerUpload) {
    const some = names.slice(start, start + maxSkillsPerUpload);
    const files = some.map((name) => [`${name}/SKILL.md`, skillMdOf(name, `How guests ${name.slice(0, 9)}`)]);
    const { status } = await publish(namespace, Object.fromEntries(files) as Record<string, string>);
    expect(status).toBe(201);
  }
}

async function list(call: Call, address: string, params: Record<string, unknown> = {}, token?: string) {
  const { result, error } = await call(address, "tools/list", params, token === undefined ? {} : { token });
  if (error !== undefined) throw new Error(error.message);
  return result as unknown as { tools: Tool[]; nextCursor?: string; ttlMs?: number; cacheScope?: string };
}

/** Every page, which are two at most. */
async function listAll(call: Call, address: string, params: Record<string, unknown> = {}): Promise<Tool[]> {
  const first = await list(call, address, params);
  if (first.nextCursor === undefined) return first.tools;
  const second = await list(call, address, { ...params, cursor: first.nextCursor });
  expect(second).not.toHaveProperty("nextCursor");
  return [...first.tools, ...second.tools];
}

const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);
/** As a collection of all lists them: in the order of their paths, and no more than 100. */
const shownSkills = [...skills].sort().slice(0, 100);

describe.each(eras)("the list of tools over %s", (era, call) => {
  const refusalOf = async (params: Record<string, unknown>, address = short) => {
    const { status, error, result } = await call(address, "tools/list", params);
    expect(result).toBeUndefined();
    expect(status).toBe(200);
    return [error?.code, error?.message] as const;
  };

  it("is complete without a query, in the same order each time: the registry's tools, then the skills'", async () => {
    expect(namesOf(await listAll(call, short))).toEqual(registryTools);
    const all = await listAll(call, long);
    expect(namesOf(all)).toEqual([...registryTools, ...shownSkills]);
    expect(await listAll(call, long)).toEqual(all);
  });

  it("may never be kept, and not by others where a token came along", async () => {
    const isModern = era === "2026-07-28";
    const token = await newToken(namespace, "reader");
    for (const params of [{}, { query: "rent" }, { limit: 1 }]) {
      const { ttlMs, cacheScope } = await list(call, long, params);
      expect([ttlMs, cacheScope]).toEqual(isModern ? [0, "public"] : [undefined, undefined]);
      const own = await list(call, long, params, token);
      expect([own.ttlMs, own.cacheScope]).toEqual(isModern ? [0, "private"] : [undefined, undefined]);
    }
  });

  it.each(["", " ", "\n\t "])("with a query of nothing (%j) is the complete one", async (query) => {
    expect(await listAll(call, long, { query })).toEqual(await listAll(call, long));
  });

  it("with a query is a part of the complete one, tool by tool, with the best first", async () => {
    const all = await listAll(call, long);
    for (const query of ["load a skill", "rent boat 004", "lend bikes to guests", "rent", "find tools of a server"]) {
      const found = await listAll(call, long, { query });
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThan(all.length);
      expect(all).toEqual(expect.arrayContaining(found));
      expect(await listAll(call, long, { query })).toEqual(found);
    }
    expect(namesOf(await listAll(call, long, { query: "load a skill" }))).toEqual(["load_skill"]);
    expect(namesOf(await listAll(call, short, { query: "load a skill" }))).toEqual(["load_skill"]);
    expect(namesOf(await listAll(call, long, { query: "rent boat 004" }))[0]).toBe("rent-boat-004");
    expect(namesOf(await listAll(call, long, { query: "boats" }))).toEqual(
      shownSkills.filter((name) => name.includes("boat")),
    );
  });

  it.each([
    "quantum chromodynamics",
    "the of and",
    "*",
    ".*",
    "%",
    "_",
    '"',
    "' OR 1=1 --",
    "NEAR(load skill)",
    '{"$ne":""}',
    "🎉",
    "\0",
  ])("takes a query as plain words, of which %j are never all tools", async (query) => {
    const found = await listAll(call, short, { query });
    expect(found.length).toBeLessThan(registryTools.length / 2);
  });

  it("takes a query of 512 characters and refuses one of 513, naming the limit", async () => {
    // Two UTF-16 units each: what counts is what a person would count.
    expect((await list(call, short, { query: "🎉".repeat(512) })).tools).toEqual([]);
    expect((await list(call, short, { query: `load ${"é".repeat(507)} ` })).tools).toHaveLength(1);
    expect(await refusalOf({ query: "é".repeat(513) })).toEqual([-32602, expect.stringContaining("512")]);
  });

  it.each([[5], [null], [true], [["load"]], [{ text: "load" }]])(
    "refuses a query that is no text: %j",
    async (query) => {
      expect(await refusalOf({ query })).toEqual([-32602, expect.stringContaining("query")]);
    },
  );

  it.each([0, -1, 1.5, "2", null])("refuses %j as a limit", async (limit) => {
    expect(await refusalOf({ limit })).toEqual([-32602, expect.stringContaining("limit")]);
  });

  it("with a limit ends after so many tools, over all pages and not on each", async () => {
    expect(namesOf(await listAll(call, long, { limit: 1 }))).toEqual(["search_skills"]);
    const all = await listAll(call, long);
    for (const limit of [99, 100, 101, 103]) expect(await listAll(call, long, { limit })).toEqual(all.slice(0, limit));
    expect(await listAll(call, long, { limit: 100_000 })).toEqual(all);
    expect(await list(call, long, { limit: 100 })).not.toHaveProperty("nextCursor");
    expect((await list(call, long, { limit: 101 })).tools).toHaveLength(100);
  });

  it("with a query and a limit has the best of what matches", async () => {
    const found = await listAll(call, long, { query: "boats" });
    for (const limit of [1, 7, 49])
      expect(await listAll(call, long, { query: "boats", limit })).toEqual(found.slice(0, limit));
    expect(await listAll(call, long, { query: "boats", limit: 1_000 })).toEqual(found);
    expect(await listAll(call, long, { query: "chromodynamics", limit: 3 })).toEqual([]);
  });

  it("goes on with a cursor only where it came from: not with another query, limit or address", async () => {
    const { nextCursor: cursor } = await list(call, long);
    const { nextCursor: limited } = await list(call, long, { limit: 103 });
    expect([cursor, limited]).toEqual([expect.any(String), expect.any(String)]);
    expect((await list(call, long, { cursor, query: " " })).tools).toHaveLength(6);
    for (const params of [
      { cursor, query: "boats" },
      { cursor, limit: 103 },
      { cursor: limited },
      { cursor: limited, limit: 104 },
      { cursor: limited, limit: 103, query: "boats" },
      { cursor: "" },
      { cursor: "nonsense" },
    ]) {
      expect(await refusalOf(params, long)).toEqual([-32602, expect.stringContaining("start again")]);
    }
    await api("PUT", `/namespaces/${namespace}/collections/twin`, { skills: "all", tools: "per-skill" });
    for (const address of [short, `${long.slice(0, -"all".length)}twin`, "/mcp"]) {
      expect(await refusalOf({ cursor }, address)).toEqual([-32602, expect.stringContaining("start again")]);
    }
  });
});

describe("a cursor of the list of tools", () => {
  it("skips and repeats nothing when somebody publishes in between, and says so when its tool has gone", async () => {
    const own = await newNamespace();
    const names = Array.from({ length: 98 }, (_, index) => `own-${String(index).padStart(3, "0")}`);
    await publishFolders(own, names);
    await api("PUT", `/namespaces/${own}/collections/all`, { skills: "all", tools: "per-skill" });
    const address = `/mcp/${own}/all`;
    const { nextCursor: cursor, tools } = await list(modern, address);
    expect(tools.at(-1)!.name).toBe("own-093");
    await seedSkill(own, "aaa-first");
    expect(namesOf((await list(modern, address, { cursor })).tools)).toEqual(names.slice(94));
    await api("PATCH", `/namespaces/${own}/skills/own-093`, { visibility: "unlisted" });
    const gone = await modern(address, "tools/list", { cursor });
    expect([gone.error?.code, gone.error?.message]).toEqual([-32602, expect.stringContaining("start again")]);
  });
});

describe.each(eras)("the tools of single skills over %s", (_, call) => {
  const use = (address: string, name: string, given: object = {}, token?: string) =>
    call(address, "tools/call", { name, arguments: given }, token === undefined ? {} : { token });

  it("load their skill, and refuse arguments by a sentence that a model can read", async () => {
    const { result } = await use(long, "rent-boat-004");
    expect(result!["structuredContent"]).toMatchObject({ uri: `skill://${namespace}/rent-boat-004/SKILL.md` });
    const { error } = await call(long, "tools/call", { name: "rent-boat-004" });
    expect(error).toBeUndefined();
    for (const given of [{ uri: "skill://other/x/SKILL.md" }, { "": null }, { __proto__x: 1 }]) {
      const refused = await use(long, "rent-boat-004", given);
      expect(refused.result).toMatchObject({
        isError: true,
        content: [{ type: "text", text: "rent-boat-004 takes no arguments" }],
      });
    }
  });

  it("exist only where their list shows them", async () => {
    for (const [address, name] of [
      [short, "rent-boat-004"],
      ["/mcp", "rent-boat-004"],
      [long, "rent-plane-004"],
      // The collection shows 100 of its 104.
      [long, [...skills].sort().at(-1)!],
      [long, "constructor"],
    ] as const) {
      const { status, error } = await use(address, name);
      expect([address, name, status, error?.code]).toEqual([address, name, 200, -32602]);
      expect(error?.message).toBe(`Unknown tool: ${name}`);
    }
  });

  it("never repeat a secret that somebody typed for a name", async () => {
    const secret = `skr_${"a".repeat(16)}_${"b".repeat(64)}_${"c".repeat(16)}`;
    const { body } = await use(long, `tool ${secret}`);
    expect(JSON.stringify(body)).toContain("Unknown tool: tool skr_aaaaaaaaaaaaaaaa");
    expect(JSON.stringify(body)).not.toContain("bbbb");
  });

  it("of a private skill are there for its token alone", async () => {
    const own = await newNamespace();
    await seedSkill(own, "open-door");
    await seedSkill(own, "hidden-door", {}, "?visibility=private");
    await api("PUT", `/namespaces/${own}/collections/doors`, {
      visibility: "public",
      skills: [{ path: "hidden-door" }, { path: "open-door" }],
      tools: "per-skill",
    });
    const address = `/mcp/${own}/doors`;
    const token = await newToken(own, "reader");
    expect(namesOf((await list(call, address, { query: "door" }, token)).tools).sort()).toEqual([
      "hidden-door",
      "open-door",
    ]);
    expect(namesOf((await list(call, address)).tools)).toEqual([...registryTools, "open-door"]);
    expect(namesOf((await list(call, address, { query: "hidden" })).tools)).toEqual([]);
    expect((await use(address, "hidden-door", {}, token)).error).toBeUndefined();
    const [theirs, nobodys] = [await use(address, "hidden-door"), await use(address, "absent-door")];
    expect(theirs.error!.message.replace("hidden", "absent")).toBe(nobodys.error!.message);
  });

  it("come and go with what the collection says of its tools", async () => {
    const own = await newNamespace();
    await seedSkill(own, "one");
    const say = (tools: string) => api("PUT", `/namespaces/${own}/collections/desk`, { skills: "all", tools });
    await say("registry");
    expect(namesOf((await list(call, `/mcp/${own}/desk`)).tools)).toEqual(registryTools);
    await say("per-skill");
    expect(namesOf((await list(call, `/mcp/${own}/desk`)).tools)).toEqual([...registryTools, "one"]);
    await say("registry");
    expect((await use(`/mcp/${own}/desk`, "one")).error?.code).toBe(-32602);
    expect((await say("each")).status).toBe(400);
  });
});

it("two skills of one name are one tool, that of the first path", async () => {
  const own = await newNamespace();
  for (const path of ["north/garden", "east/garden"]) await seedSkill(own, "garden", {}, `?path=${path}`);
  await api("PUT", `/namespaces/${own}/collections/all`, { skills: "all", tools: "per-skill" });
  const address = `/mcp/${own}/all`;
  expect(namesOf((await list(legacy, address)).tools)).toEqual([...registryTools, "garden"]);
  const { result } = await legacy(address, "tools/call", { name: "garden", arguments: {} });
  expect(result!["structuredContent"]).toMatchObject({ uri: `skill://${own}/east/garden/SKILL.md` });
});
