import { beforeAll, describe, expect, it } from "vitest";

import { api, modern, newToken, publish, rpc, seedSkill, skillMdOf } from "../harness.ts";
import type { Files } from "../harness.ts";

/**
 * `instructions` at every kind of address, where everything that somebody named is as long as it may be: how to search
 * and load has to be in the first 512 characters all the same, since some hosts read no further.
 */
const maker = `Ask which fiscal year is meant. ${"Ω".repeat(967)}!`;
/** 128 characters; cut at any even number of UTF-16 units it would end in half a character. */
const title = `T${"🎉".repeat(63)}x`;
const longNamespace = `acme-${"n".repeat(59)}`;
const longCollection = `desk-${"c".repeat(59)}`;
const longPath = ["a", "b", "c"]
  .map((letter) => letter.repeat(63))
  .concat("d".repeat(62))
  .join("/");

const handshakes = {
  "2026-07-28": (at: string, token?: string) => modern(at, "server/discover", {}, token === undefined ? {} : { token }),
  "2025-11-25": (at: string, token?: string) => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    return rpc(at, { jsonrpc: "2.0", id: 1, method: "initialize", params }, token === undefined ? {} : { token });
  },
};

/** The largest first; twelve, of which ten are named. */
const sizes = Array.from({ length: 12 }, (_, index) => [`group-${index + 10}`, 14 - index] as const);

async function create(name: string, visibility: "public" | "private" = "public"): Promise<void> {
  expect((await api("POST", "/namespaces", { name, visibility })).status).toBe(201);
}

async function fill(namespace: string, count: number): Promise<void> {
  const files: Files = {};
  for (let index = 0; index < count; index++) files[`skill-${index}/SKILL.md`] = skillMdOf(`skill-${index}`);
  // A single folder would be taken for what is around everything.
  const { status } = await publish(namespace, files, count === 1 ? "?path=skill-0" : "");
  expect(status).toBe(201);
}

let privateToken: string;
let readLink: string;

beforeAll(async () => {
  for (const [name, size] of sizes) {
    await create(name);
    await fill(name, size);
  }
  await create(longNamespace);
  await seedSkill(longNamespace, "d".repeat(62), {}, `?path=${longPath}`);
  await create("hidden-place", "private");
  // An example that would be too long beside the groups.
  const path = `${"e".repeat(58)}/${"f".repeat(58)}`;
  await seedSkill(longNamespace, "f".repeat(58), {}, `?path=${path}`);
  await put(longNamespace, "long-address", { title, instructions: maker, skills: [{ path }] });
  await seedSkill("hidden-place", "inner");
  privateToken = await newToken("hidden-place", "reader");
  const picked = [
    { path: longPath },
    ...sizes.map(([namespace]) => ({ namespace, path: "skill-0" })).slice(0, 1),
    ...sizes.slice(1).map(([namespace], index) => ({ namespace, path: `skill-${index % 3}` })),
  ];
  // Names are unique in a collection, so most of these have to go; what is left is of several namespaces.
  const unique = picked.filter(
    ({ path }, index) => picked.findIndex((other) => other.path.split("/").at(-1) === path.split("/").at(-1)) === index,
  );
  await put(longNamespace, longCollection, { title, instructions: maker, skills: unique, tools: "per-skill" });
  for (let index = 0; index < 12; index++) {
    await put(longNamespace, `${index}${"-long".repeat(12)}`, { skills: [{ path: longPath }] });
  }
  await put("hidden-place", "desk", { title, instructions: maker, skills: "all" });
  const { body } = await api("POST", "/namespaces/hidden-place/links", { collection: "desk" });
  readLink = new URL(body["url"] as string).pathname;
});

async function put(namespace: string, collection: string, body: object): Promise<void> {
  const answer = await api("PUT", `/namespaces/${namespace}/collections/${collection}`, body);
  expect([answer.status < 300, answer.body]).toEqual([true, expect.anything()]);
}

interface Place {
  kind: string;
  address: () => string;
  token?: () => string;
  groups: "Namespaces" | "Collections" | undefined;
  hasMaker?: boolean;
}

const places: Place[] = [
  { kind: "the root", address: () => "/mcp", groups: "Namespaces" },
  { kind: "the root, with a token", address: () => "/mcp", token: () => privateToken, groups: "Namespaces" },
  { kind: "a namespace", address: () => "/mcp/group-10", groups: undefined },
  { kind: "a namespace with the longest names", address: () => `/mcp/${longNamespace}`, groups: "Collections" },
  {
    kind: "a collection with the longest names",
    address: () => `/mcp/${longNamespace}/${longCollection}`,
    groups: "Namespaces",
    hasMaker: true,
  },
  {
    kind: "a private namespace, with its token",
    address: () => "/mcp/hidden-place",
    token: () => privateToken,
    groups: "Collections",
  },
  {
    kind: "a collection whose first skill has a long address",
    address: () => `/mcp/${longNamespace}/long-address`,
    groups: "Namespaces",
    hasMaker: true,
  },
  { kind: "a read link", address: () => readLink, groups: "Namespaces", hasMaker: true },
  { kind: "one's own address", address: () => "/me/mcp", token: () => privateToken, groups: "Namespaces" },
  {
    kind: "one's own address of a namespace",
    address: () => "/me/mcp/hidden-place",
    token: () => privateToken,
    groups: "Collections",
  },
  {
    kind: "one's own address of a collection",
    address: () => "/me/mcp/hidden-place/desk",
    token: () => privateToken,
    groups: "Namespaces",
    hasMaker: true,
  },
];

describe.each(Object.entries(handshakes))("instructions over %s", (_, shake) => {
  const read = async ({ address, token }: Place): Promise<string> => {
    const instructions = (await shake(address(), token?.())).result!["instructions"] as string;
    // Here, because the runner itself breaks when it has to print half a character.
    if (!instructions.isWellFormed()) throw new Error("The instructions hold half a character");
    return instructions;
  };

  describe.each(places)("at $kind", (place) => {
    it("are whole characters, and fewer than 2,048", async () => {
      const instructions = await read(place);
      expect(instructions.length).toBeLessThan(2_048);
      expect(instructions).not.toContain("\uFFFD");
    });

    it("say in the first 512 what is here, how to search and load with examples, and the largest groups", async () => {
      const start = (await read(place)).slice(0, 512);
      expect(start).toContain("Agent Skills");
      expect(start).toMatch(/search_skills \{"query":"[^"]+"\}/);
      expect(start).toMatch(/load_skill \{"uri":"[^"]+"\}/);
      expect(start).toContain("read_skill_file");
      if (place.groups === undefined) expect(start).not.toMatch(/Namespaces|Collections/);
      else expect(start).toMatch(new RegExp(`\\n${place.groups}: [a-z0-9-]+ \\(\\d+\\)[^\\n]*\\.\\n`));
    });

    it("have what the collection's maker says whole, after our own beginning", async () => {
      const instructions = await read(place);
      if (place.hasMaker !== true) return expect(instructions).not.toContain("fiscal");
      expect(instructions).toContain(`\n${maker}\n`);
      expect(instructions.indexOf(maker)).toBeGreaterThan(instructions.indexOf("load_skill"));
      return expect(instructions.indexOf(maker)).toBeGreaterThan(instructions.indexOf("Namespaces: "));
    });

    it("give an example only where skills/get confirms it", async () => {
      const [uri] = /skill:\/\/[^\s<"]+/.exec(await read(place)) ?? [];
      if (uri === undefined) return;
      const token = place.token?.();
      const { error } = await modern(place.address(), "skills/get", { uri }, token === undefined ? {} : { token });
      expect(error).toBeUndefined();
    });
  });

  it("at the root name the ten largest namespaces with their counts, and where the rest is", async () => {
    const start = (await read(places[0]!)).slice(0, 512);
    const ten = sizes.slice(0, 10).map(([name, size]) => `${name} (${size})`);
    expect(start).toContain(`\nNamespaces: ${ten.join(", ")}; list_groups has more.\n`);
  });

  it("at a namespace with long names name as many collections as have room, none by half", async () => {
    const [, line] = /\nCollections: (.+)\.\n/.exec(await read(places[3]!))!;
    const [named, more] = line!.split("; ");
    expect(more).toBe("list_groups has more");
    const names = named!.split(", ").map((one) => one.split(" ")[0]!);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      expect((await api("GET", `/namespaces/${longNamespace}/collections/${name}`)).status).toBe(200);
    }
  });

  it("count for a caller what that caller finds", async () => {
    expect(await read(places[0]!)).not.toContain("hidden-place");
    const { result } = await modern(
      "/mcp",
      "tools/call",
      { name: "list_groups", arguments: {} },
      { token: privateToken },
    );
    expect(JSON.stringify(result)).toContain("hidden-place");
    expect(await read(places.find(({ kind }) => kind === "a read link")!)).toContain("hidden-place (1)");
  });
});

it("instructions follow the catalogue: a publish changes the count at once", async () => {
  await create("growing-place");
  await fill("growing-place", 16);
  const read = async () => (await modern("/mcp", "server/discover")).result!["instructions"] as string;
  expect(await read()).toContain("Namespaces: growing-place (16), group-10 (14)");
  await seedSkill("growing-place", "one-more");
  expect(await read()).toContain("Namespaces: growing-place (17)");
  await api("PATCH", "/namespaces/growing-place", { visibility: "private" });
  expect(await read()).not.toContain("growing-place");
});
