import { describe, expect, it } from "vitest";

import { cutPage } from "../../src/adapter/pages.ts";
import { api, modern, newToken, origin, publish, skillMdOf } from "../harness.ts";
import { alpha, binary, isFile, must, openCache, openShop, readAll } from "./shop.ts";
import type { Shop } from "./shop.ts";

const uriOf = (shop: Shop, rest: string) => `skill://${shop.namespace}/${rest}`;

describe("a collection in another server", () => {
  it("lists, gets and reads what the registry does, to the byte", async () => {
    const shop = await openShop();
    const skills = await shop.open();
    const there = await modern(`/mcp/${shop.namespace}/desk`, "skills/list");
    const { skills: listed } = await skills.list({});
    expect(listed).toEqual(there.result?.["skills"]);
    expect(listed.map(({ frontmatter }) => frontmatter.name)).toEqual(["beta", "alpha"]);

    for (const uri of Object.keys(await readAll(skills, uriOf(shop, "alpha/SKILL.md")))) {
      const { result } = await modern(`/mcp/${shop.namespace}/desk`, "resources/read", { uri });
      const [content] = result!["contents"] as { text?: string; mimeType: string }[];
      const own = (await skills.read(uri))!;
      expect(own.mimeType).toBe(content!.mimeType);
      if ("text" in own) expect(own.text).toBe(content!.text);
      else expect(own.bytes).toEqual(binary);
    }
  });

  it("shows folders and resources as the registry does", async () => {
    const shop = await openShop();
    const skills = await shop.open();
    const door = `/mcp/${shop.namespace}/desk`;
    for (const folder of ["alpha", "alpha/references", "alpha/references/deep"]) {
      const uri = uriOf(shop, folder);
      const { result } = await modern(door, "resources/directory/read", { uri });
      expect(await skills.readDirectory(uri), folder).toEqual({ resources: result?.["resources"] });
    }
    expect(await skills.readDirectory(uriOf(shop, "alpha/LICENSE"))).toBeUndefined();
    const { result } = await modern(door, "resources/list");
    expect(await skills.listResources()).toEqual(result?.["resources"]);
  });

  it("answers the pinned address of what it lists, and nothing else", async () => {
    const shop = await openShop();
    const skills = await shop.open();
    const pinned = uriOf(shop, "@1.0.0/alpha/SKILL.md");
    const { result } = await modern(`/mcp/${shop.namespace}/desk`, "skills/get", { uri: pinned });
    expect(await skills.get(pinned)).toEqual(result?.["skill"]);
    expect(await skills.read(pinned)).toEqual(await skills.read(uriOf(shop, "alpha/SKILL.md")));
    for (const rest of [
      "alpha",
      "alpha/SKILL.md/",
      "@2.0.0/alpha/SKILL.md",
      "gamma/SKILL.md",
      "alpha/../beta/SKILL.md",
    ]) {
      expect(await skills.get(uriOf(shop, rest))).toBeUndefined();
      expect(await skills.read(uriOf(shop, rest))).toBeUndefined();
    }
  });

  it("downloads each digest once, also where two skills share it", async () => {
    const shop = await openShop();
    const skills = await shop.open();
    expect(shop.asked.filter(isFile)).toHaveLength(6);
    await Promise.all([1, 2, 3].map(() => readAll(skills, uriOf(shop, "alpha/SKILL.md"))));
    expect(shop.asked.filter(isFile)).toHaveLength(6);
  });

  it("takes up a new release, asks only for what is new, and tells it", async () => {
    const shop = await openShop();
    const skills = await shop.open();
    const told: unknown[] = [];
    skills.onChange((changes) => told.push(changes));
    shop.asked.length = 0;
    const [one, two] = await Promise.all([skills.refresh(), skills.refresh()]);
    expect(two).toBe(one);
    expect(shop.asked).toHaveLength(1);
    expect(told).toEqual([]);

    await must(publish(shop.namespace, { ...alpha, "references/deep/one.md": "# Other\n" }));
    shop.asked.length = 0;
    const uri = uriOf(shop, "alpha/SKILL.md");
    const quiet = { added: [], removed: [], changed: [uri], listChanged: false };
    expect(await skills.refresh()).toEqual(quiet);
    expect(shop.asked.filter(isFile)).toHaveLength(1);
    expect(await skills.read(uriOf(shop, "alpha/references/deep/one.md"))).toMatchObject({ text: "# Other\n" });

    await must(publish(shop.namespace, { ...alpha, "SKILL.md": skillMdOf("alpha", "Something else") }));
    await must(api("PUT", `/namespaces/${shop.namespace}/collections/desk`, { skills: [{ path: "alpha" }] }));
    const loud = { added: [], removed: [uriOf(shop, "beta/SKILL.md")], changed: [uri], listChanged: true };
    expect(await skills.refresh()).toEqual(loud);
    expect(told).toEqual([quiet, loud]);
    expect(await skills.read(uriOf(shop, "beta/SKILL.md"))).toBeUndefined();
  });

  it("looks for changes by itself", async () => {
    const shop = await openShop();
    const skills = await shop.open({ refreshMs: 20 });
    const changed = new Promise((done) => skills.onChange(done));
    await must(publish(shop.namespace, { ...alpha, LICENSE: "Other" }));
    await changed;
    skills.close();
  });
});

describe("what is chosen of a collection", () => {
  it("holds skills to a version, under their pinned address", async () => {
    const shop = await openShop();
    await must(publish(shop.namespace, { ...alpha, LICENSE: "Other" }));
    const skills = await shop.open({ versions: { [`${shop.namespace}/alpha`]: "1.0.0" } });
    expect(skills.entries.map(({ uri }) => uri)).toEqual([
      uriOf(shop, "beta/SKILL.md"),
      uriOf(shop, "@1.0.0/alpha/SKILL.md"),
    ]);
    expect(await skills.read(uriOf(shop, "@1.0.0/alpha/LICENSE"))).toMatchObject({ text: "Shared by both" });
    await expect(shop.open({ versions: { "acme/other": "1.0.0" } })).rejects.toThrow("does not hold acme/other");
  });

  it("holds to an edition, for those who curate", async () => {
    const shop = await openShop();
    const token = await newToken(shop.namespace, "publisher");
    const skills = [{ path: "alpha", version: "1.0.0" }];
    await must(api("PUT", `/namespaces/${shop.namespace}/collections/desk`, { skills }));
    const uris = async (edition: number) => (await shop.open({ edition, token })).entries.map(({ uri }) => uri);
    expect(await uris(1)).toEqual([uriOf(shop, "beta/SKILL.md"), uriOf(shop, "alpha/SKILL.md")]);
    expect(await uris(2)).toEqual([uriOf(shop, "@1.0.0/alpha/SKILL.md")]);
    await expect(uris(3)).rejects.toThrow("no longer has it");
    await expect(shop.open({ edition: 1 })).rejects.toThrow("401");
  });

  it("opens what is private with a token or a read link, and not without", async () => {
    const shop = await openShop("private");
    await expect(shop.open()).rejects.toThrow("answered 404");
    const byToken = await shop.open({ token: await newToken(shop.namespace, "reader") });
    const made = await api("POST", `/namespaces/${shop.namespace}/links`, { collection: "desk", label: "adapter" });
    const link = String(made.body["url"]);
    const cache = openCache();
    const byLink = await shop.open({ link, cache });
    expect(byLink.entries).toEqual(byToken.entries);
    const uri = uriOf(shop, "alpha/SKILL.md");
    expect(await readAll(byLink, uri)).toEqual(await readAll(byToken, uri));
    // Whoever reads the cache does not learn the link.
    for (const [key, bytes] of cache.values) expect(key + new TextDecoder().decode(bytes)).not.toContain("skl_");
    await expect(shop.open({ link: `${origin}/r/skl_none` })).rejects.toThrow("The read link: the registry answered");
  });
});

describe("pages", () => {
  const entries = Array.from({ length: 250 }, (_, index) => {
    return {
      uri: `skill://acme/s-${index}/SKILL.md`,
      frontmatter: { name: `s-${index}`, description: "" },
      resources: [],
    };
  });

  it("end after 100 entries, and go on where their skill stands now", () => {
    const first = cutPage(entries, undefined);
    expect(first.skills).toHaveLength(100);
    const moved = entries.slice(10);
    expect(cutPage(moved, first.nextCursor).skills[0]!.uri).toBe("skill://acme/s-100/SKILL.md");
    expect(cutPage(entries, cutPage(entries, first.nextCursor).nextCursor).skills).toHaveLength(50);
    const without = entries.filter((_, index) => index !== 99);
    expect(cutPage(without, first.nextCursor).skills[0]!.uri).toBe("skill://acme/s-101/SKILL.md");
    expect(cutPage(entries, "nonsense").skills).toEqual([]);
  });

  it("end after a MiB, but hold one entry at least", () => {
    const large = entries.map((entry) => ({
      ...entry,
      resources: [{ uri: "x".repeat(600_000), digest: "", size: 0 }],
    }));
    expect(cutPage(large, undefined).skills).toHaveLength(1);
  });
});
