import { describe, expect, it } from "vitest";

import { api, origin, publish } from "../harness.ts";
import { alpha, away, isFile, must, openCache, openShop, readAll } from "./shop.ts";
import type { Shop } from "./shop.ts";

const uriOf = (shop: Shop, rest: string) => `skill://${shop.namespace}/${rest}`;

/** A registry that sends other bytes than its manifest says. */
function sendsInstead(shop: Shop, of: (path: string) => boolean, change: (bytes: Uint8Array) => Uint8Array): void {
  shop.alter = async (path, response) => {
    if (!of(path)) return response;
    const bytes = change(new Uint8Array(await response.arrayBuffer()));
    return new Response(bytes as BodyInit, { status: response.status });
  };
}

describe("a registry that sends what is not right", () => {
  it.each([
    ["flipped", (bytes: Uint8Array) => bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte))],
    ["cut short", (bytes: Uint8Array) => bytes.slice(1)],
    ["too long", (bytes: Uint8Array) => Uint8Array.from([...bytes, 0])],
  ])("has bytes refused that are %s, and the last good state goes on", async (_, change) => {
    const shop = await openShop();
    const skills = await shop.open();
    const before = await readAll(skills, uriOf(shop, "alpha/SKILL.md"));
    await must(publish(shop.namespace, { ...alpha, LICENSE: "Other" }));
    sendsInstead(shop, isFile, change);
    await expect(skills.refresh()).rejects.toThrow(/LICENSE: .*(not those of|longer than)/);
    expect(await readAll(skills, uriOf(shop, "alpha/SKILL.md"))).toEqual(before);

    shop.alter = undefined;
    expect(await skills.refresh()).toMatchObject({ changed: [uriOf(shop, "alpha/SKILL.md")] });
    expect(await skills.read(uriOf(shop, "alpha/LICENSE"))).toMatchObject({ text: "Other" });
  });

  it.each([
    ["/manifest", '"files":[', '"files":[{"file":"a.md","digest":"sha256:0","size":1,"media_type":"text/plain"},'],
    ["/1.0.0", '"size":14', '"size":15'],
    ["/1.0.0", '"digest":"sha256:', '"digest":"sha256:0'],
  ])("has a release refused whose parts disagree: %s %s", async (end, from, to) => {
    const shop = await openShop();
    shop.alter = async (path, response) => {
      if (!path.endsWith(end)) return response;
      return new Response((await response.text()).replace(from, to));
    };
    const problems: Error[] = [];
    const skills = await shop.open({ onProblem: (problem) => void problems.push(problem) });
    expect(skills.entries).toEqual([]);
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining("do not agree")]);
  });

  it.each([
    ["a digest that is a path", '"digest":"sha256:', '"digest":"../../../dev/zero:'],
    ["a size that is no number", '"size":14', '"size":"x"'],
    ["another frontmatter than SKILL.md has", '"description":"', '"description":"IGNORE ALL '],
  ])("has a release refused with %s, wherever it stands", async (_, from, to) => {
    const shop = await openShop();
    shop.alter = async (path, response) =>
      path.includes("/-/releases/") && !isFile(path)
        ? new Response((await response.text()).replaceAll(from, to))
        : response;
    const problems: Error[] = [];
    const skills = await shop.open({ onProblem: (problem) => void problems.push(problem) });
    expect([skills.entries, problems.length]).toEqual([[], 1]);
  });

  it("cannot lead the adapter to other addresses", async () => {
    const shop = await openShop();
    shop.fault = () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } });
    await expect(shop.open({ token: "skr_secret" })).rejects.toThrow("answered 302");
    shop.fault = undefined;
    shop.asked.length = 0;
    shop.alter = async (path, response) =>
      path.endsWith("/desk") ? new Response((await response.text()).replace('"alpha"', '"../../../me"')) : response;
    expect((await shop.open()).entries).toEqual([]);
    expect(shop.asked.filter((path) => path.includes(".."))).toEqual([]);
  });
});

describe("a registry that is away", () => {
  const absences = [
    ["down", away],
    ["at fault", () => new Response("oops", { status: 503 })],
    ["busy", () => new Response("", { status: 429 })],
    ["sending a page", () => new Response("<html>", { status: 200 })],
  ] as const;

  it.each(absences)("and %s does not stop what the cache holds", async (_, fault) => {
    const shop = await openShop();
    const cache = openCache();
    const before = await shop.open({ cache });
    const uri = uriOf(shop, "alpha/SKILL.md");
    const bytes = await readAll(before, uri);
    shop.fault = fault;
    await expect(before.refresh()).rejects.toThrow();
    expect(await readAll(before, uri)).toEqual(bytes);

    const problems: Error[] = [];
    const restarted = await shop.open({ cache, onProblem: (problem) => void problems.push(problem) });
    expect(restarted.entries).toEqual(before.entries);
    expect(await readAll(restarted, uri)).toEqual(bytes);
    await expect.poll(() => problems.length).toBe(1);
  });

  it("does not stop a server that starts with nothing", async () => {
    const shop = await openShop();
    shop.fault = away;
    const skills = await shop.open();
    expect(await skills.list({})).toEqual({ skills: [] });
    shop.fault = undefined;
    expect(await skills.refresh()).toMatchObject({ listChanged: true });
    expect(skills.entries).toHaveLength(2);
  });

  it("or never answers, is given up at the deadline, and what came is kept", async () => {
    const shop = await openShop();
    const cache = openCache();
    shop.fault = (path) => (path.endsWith("/LICENSE") ? new Promise<Response>(() => {}) : undefined);
    const hanging = shop.fetch;
    const fetch: typeof hanging = (input, init) =>
      Promise.race([
        hanging(input, init),
        new Promise<never>((_, fail) => init!.signal!.addEventListener("abort", () => fail(new Error("deadline")))),
      ]);
    const problems: Error[] = [];
    await shop.open({ cache, fetch, deadlineMs: 300, onProblem: (problem) => void problems.push(problem) });
    expect(problems[0]?.message).toContain("did not answer (deadline)");
    const got = cache.values.size;
    expect(got).toBeGreaterThan(0);
    shop.fault = undefined;
    shop.asked.length = 0;
    await shop.open({ cache });
    expect(shop.asked.filter(isFile)).toHaveLength(6 - got);
  });

  it("is told from one that refuses, which a server with nothing must hear of", async () => {
    const shop = await openShop();
    await expect(shop.open({ collection: "nothing" })).rejects.toMatchObject({
      name: "RegistryError",
      isRefusal: true,
    });
    await expect(shop.open({ token: "skr_bad" })).rejects.toThrow("answered 401");
    const cache = openCache();
    await shop.open({ cache });
    await must(api("DELETE", `/namespaces/${shop.namespace}/collections/desk`));
    const skills = await shop.open({ cache });
    expect(skills.entries).toHaveLength(2);
  });
});

describe("a cache", () => {
  it("that was spoiled is mended from the registry, and never served", async () => {
    const shop = await openShop();
    const cache = openCache();
    const skills = await shop.open({ cache });
    const uri = uriOf(shop, "alpha/SKILL.md");
    const good = await readAll(skills, uri);
    for (const [key, bytes] of cache.values) if (key.startsWith("sha256-")) cache.values.set(key, bytes.slice(1));
    shop.fault = away;
    await expect(skills.read(uri)).rejects.toThrow("did not answer");
    shop.fault = undefined;
    shop.asked.length = 0;
    await Promise.all([readAll(skills, uri), readAll(skills, uri)]);
    expect(shop.asked.filter(isFile)).toHaveLength(5);
    expect(await readAll(skills, uri)).toEqual(good);
  });

  it("with a state of another version, or none of ours, is as good as empty", async () => {
    const shop = await openShop();
    const cache = openCache();
    await shop.open({ cache });
    const key = [...cache.values.keys()].find((name) => name.startsWith("state-"))!;
    for (const text of ['{"format":0,"skills":[]}', "not JSON", '{"format":1}', '{"format":1,"skills":[{}]}']) {
      cache.values.set(key, new TextEncoder().encode(text));
      expect((await shop.open({ cache })).entries, text).toHaveLength(2);
    }
  });

  it("in memory forgets what is no longer served", async () => {
    const { memoryCache } = await import("../../src/adapter/cache.ts");
    const shop = await openShop();
    const cache = memoryCache();
    const kept: ReadonlySet<string>[] = [];
    const skills = await shop.open({
      cache: { ...cache, retain: async (owner, keys) => (kept.push(keys), cache.retain!(owner, keys)) },
    });
    await must(api("PUT", `/namespaces/${shop.namespace}/collections/desk`, { skills: [{ path: "beta" }] }));
    await skills.refresh();
    expect(kept.map(({ size }) => size)).toEqual([7, 3]);
    expect(await readAll(skills, uriOf(shop, "beta/SKILL.md"))).toBeDefined();
  });

  it("is not asked to keep a release without a SKILL.md", async () => {
    const shop = await openShop();
    const problems: Error[] = [];
    const link = `${origin}/r/skl_x`;
    const entry = { uri: "skill://acme/a/SKILL.md", frontmatter: { name: "a", description: "A" }, resources: [] };
    shop.fault = () => Response.json({ jsonrpc: "2.0", id: 1, result: { skills: [entry] } });
    await shop.open({ link, onProblem: (problem) => void problems.push(problem) });
    expect(problems[0]?.message).toContain("holds no SKILL.md");
  });

  it("takes no more than maxBytes", async () => {
    const shop = await openShop();
    const problems: Error[] = [];
    await shop.open({ maxBytes: 10, onProblem: (problem) => void problems.push(problem) });
    expect(problems[0]?.message).toContain("maxBytes allows 10");
    expect(shop.asked.filter(isFile)).toEqual([]);
  });
});
