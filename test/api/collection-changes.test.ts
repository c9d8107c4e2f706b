import { beforeAll, describe, expect, it } from "vitest";

import { api, eras, legacy, modern, newNamespace, newToken, publish, seedSkill, send, skillMdOf } from "../harness.ts";
import { snapshot } from "../tenants/answers.ts";

/** Changes of collections: foretold, repaired, and seen by those who curate and by strangers. */
let team: string;
let publisher: string;

beforeAll(async () => {
  team = await newNamespace();
  publisher = await newToken(team, "publisher");
  await api("GET", "/me", undefined, publisher);
  await seedSkill(team, "refunds");
  await seedSkill(team, "private-notes", {}, "?visibility=private");
});

const at = (name: string) => `/namespaces/${team}/collections/${name}`;
const put = (name: string, body: unknown, query = "") => api("PUT", at(name) + query, body, publisher);

const urisAt = async (address: string, token?: string) => {
  const { result } = await modern(address, "skills/list", {}, token === undefined ? {} : { token });
  return (result?.["skills"] as { uri: string }[] | undefined)?.map(({ uri }) => uri);
};

describe("with dry_run=true", () => {
  it("a PUT is checked and answered, and changes nothing", async () => {
    const before = await snapshot();
    const body = { title: "Desk", visibility: "public", skills: [{ path: "refunds", version: "1.0.0" }] };
    const made = await put("dry", body, "?dry_run=true");
    const skills = [{ namespace: team, path: "refunds", version: "1.0.0" }];
    expect([made.status, made.body]).toEqual([
      200,
      {
        dry_run: true,
        changed: true,
        findings: [],
        content: { title: "Desk", instructions: "", visibility: "public", skills },
        edition: 1,
      },
    ]);
    expect((await put("dry", { skills: [{ path: "nothing" }] }, "?dry_run=true")).status).toBe(422);
    expect((await put("Dry", body, "?dry_run=true")).status).toBe(422);
    expect(await snapshot()).toBe(before);
    expect((await api("GET", at("dry"), undefined, publisher)).status).toBe(404);
  });

  it("a PUT says when it would change nothing, or meet another edition than the one seen", async () => {
    await put("dry-again", { skills: "all" });
    const same = await put("dry-again", { skills: "all" }, "?dry_run=true");
    expect(same.body).toMatchObject({ dry_run: true, changed: false, edition: 1 });
    const headers = { authorization: `Bearer ${publisher}`, "content-type": "application/json" };
    const ask = (edition: number) =>
      send(`/api/v1${at("dry-again")}?dry_run=true`, {
        method: "PUT",
        headers: { ...headers, "if-match": `"${edition}"` },
        body: JSON.stringify({ skills: [] }),
      });
    expect([(await ask(1)).status, (await ask(2)).status]).toEqual([200, 409]);
  });

  it("a DELETE says what it would delete, the read links that would end among it", async () => {
    const admin = await newToken(team, "admin");
    await put("doomed", { title: "Doomed", skills: [{ path: "refunds" }] });
    await api("POST", `/namespaces/${team}/links`, { collection: "doomed" });
    await api("GET", "/me", undefined, admin);
    const before = await snapshot();
    const { status, body } = await api("DELETE", `${at("doomed")}?dry_run=true`, undefined, publisher);
    expect([status, body]).toMatchObject([
      200,
      { dry_run: true, name: "doomed", title: "Doomed", edition: 1, skills: [{ path: "refunds" }], read_links: 1 },
    ]);
    expect((await api("DELETE", `${at("nothing")}?dry_run=true`, undefined, publisher)).status).toBe(404);
    expect(await snapshot()).toBe(before);
  });

  it("a return shows what it would return to", async () => {
    await put("steps", { skills: "all" });
    await put("steps", { skills: [] });
    const before = await snapshot();
    const { body } = await api("POST", `${at("steps")}/return?dry_run=true`, {}, publisher);
    expect(body).toMatchObject({ dry_run: true, changed: true, edition: 3, content: { skills: "all" } });
    expect(await snapshot()).toBe(before);
  });
});

describe("a collection whose skill was deleted and published again", () => {
  async function broken(name: string): Promise<{ skills: object[] }> {
    await seedSkill(team, name);
    const content = { visibility: "public", skills: [{ path: name }] };
    await put(name, content);
    await api("DELETE", `/namespaces/${team}/skills/${name}`);
    await publish(team, { "SKILL.md": skillMdOf(name) }, "?version=5.0.0");
    expect(await urisAt(`/mcp/${team}/${name}`)).toEqual([]);
    return content;
  }

  it("holds it again once the same is put again", async () => {
    const content = await broken("comes-back");
    expect((await put("comes-back", content)).body).toMatchObject({ changed: true, edition: 2 });
    expect(await urisAt(`/mcp/${team}/comes-back`)).toEqual([`skill://${team}/comes-back/SKILL.md`]);
    expect((await put("comes-back", content)).body).toMatchObject({ changed: false, edition: 2 });
  });

  it("holds it again once it returns to the edition that had it", async () => {
    await broken("returns");
    const back = await api("POST", `${at("returns")}/return`, { edition: 1 }, publisher);
    expect(back.body).toMatchObject({ changed: true, edition: 2, findings: [] });
    expect(await urisAt(`/mcp/${team}/returns`)).toEqual([`skill://${team}/returns/SKILL.md`]);
  });

  it("is changed by saying that it holds nothing only where it held something", async () => {
    await broken("emptied");
    expect((await put("emptied", { visibility: "public", skills: [] })).body).toMatchObject({ changed: false });
  });
});

describe("what changes with every edition", () => {
  it("is shown to those who curate, and to nobody else", async () => {
    await put("watched", { visibility: "public", skills: [{ path: "refunds" }] });
    const stranger = await newToken(await newNamespace(), "admin");
    const seenBy = async (token: string | null) => {
      const one = await api("GET", at("watched"), undefined, token);
      const list = await api("GET", `/namespaces/${team}/collections`, undefined, token);
      return [one, list].map(({ body, headers }) => JSON.stringify([body, headers.get("etag")]));
    };
    const everybody = [null, stranger, await newToken(team, "reader")];
    const before = await Promise.all(everybody.map(seenBy));
    await put("watched", { visibility: "public", skills: [{ path: "refunds" }, { path: "private-notes" }] });
    for (const [index, token] of everybody.slice(0, 2).entries()) expect(await seenBy(token)).toEqual(before[index]);
    for (const token of everybody) expect((await seenBy(token)).join()).not.toMatch(/edition|updated_at|"\\"/);
    const { body, headers } = await api("GET", at("watched"), undefined, publisher);
    expect([body["edition"], headers.get("etag"), typeof body["updated_at"]]).toEqual([2, '"2"', "string"]);
    const { body: list } = await api("GET", `/namespaces/${team}/collections`, undefined, publisher);
    expect((list["collections"] as { edition: number }[]).every(({ edition }) => edition > 0)).toBe(true);
  });
});

describe.each(eras)("search in a collection over %s", (_, call) => {
  it("looks into the release that the collection pins, and into the current one of what it does not", async () => {
    const space = await newNamespace();
    await publish(space, { "SKILL.md": skillMdOf("forms", "Translate ancient hieroglyphs") });
    await publish(space, { "SKILL.md": skillMdOf("forms", "Negotiate mortgage contracts") }, "?version=2.0.0");
    await publish(space, { "SKILL.md": skillMdOf("moving", "Water tropical orchids") });
    await publish(space, { "SKILL.md": skillMdOf("early", "Polish brass trombones") }, "?version=1.0.0-rc.1");
    const skills = [{ path: "forms", version: "1.0.0" }, { path: "moving" }, { path: "early", version: "1.0.0-rc.1" }];
    await api("PUT", `/namespaces/${space}/collections/desk`, { visibility: "public", skills });
    const find = async (address: string, query: string) => {
      const { result } = await call(address, "tools/call", { name: "search_skills", arguments: { query } });
      return (result!["structuredContent"] as { cards: { uri: string }[] }).cards.map(({ uri }) => uri);
    };
    const desk = `/mcp/${space}/desk`;
    expect(await find(desk, "translate ancient hieroglyphs")).toEqual([`skill://${space}/@1.0.0/forms/SKILL.md`]);
    expect(await find(desk, "negotiate mortgage contracts")).toEqual([]);
    expect(await find(desk, "water tropical orchids")).toEqual([`skill://${space}/moving/SKILL.md`]);
    // A pre-release is current of nothing, and is found where it is pinned.
    expect(await find(desk, "polish brass trombones")).toEqual([`skill://${space}/@1.0.0-rc.1/early/SKILL.md`]);
    expect(await find(`/mcp/${space}`, "negotiate mortgage contracts")).toEqual([`skill://${space}/forms/SKILL.md`]);
    expect(await find(`/mcp/${space}`, "translate ancient hieroglyphs")).toEqual([]);
    expect(await find(`/mcp/${space}`, "polish brass trombones")).toEqual([]);
    await api("PATCH", `/namespaces/${space}/skills/early/-/releases/1.0.0-rc.1`, { yanked: true });
    expect(await find(desk, "polish brass trombones")).toEqual([]);
  });
});

describe("a long list that somebody picked", () => {
  it("is paged by the last skill shown, whatever else it holds, and says so when that has left", async () => {
    const space = await newNamespace();
    const member = await newToken(space, "reader");
    // Characters of three bytes, 700 KiB of frontmatter each, so that a page has one of them.
    const large = (name: string) =>
      `---\nname: ${name}\ndescription: Large\nmetadata:\n${Array.from({ length: 240 }, (_, index) => `  key-${index}: "${"語".repeat(1_000)}"\n`).join("")}---\n`;
    const names = ["a-one", "b-hidden", "c-two", "d-three"];
    for (const name of names) {
      const query = name === "b-hidden" ? "?visibility=private" : "";
      expect((await publish(space, { "SKILL.md": large(name) }, query)).status).toBe(201);
    }
    const skills = ["d-three", "b-hidden", "a-one", "c-two"].map((path) => ({ path }));
    await api("PUT", `/namespaces/${space}/collections/desk`, { visibility: "public", skills });
    const list = async (token?: string, cursor?: string) => {
      const options = token === undefined ? {} : { token };
      const { result, error } = await legacy(`/mcp/${space}/desk`, "skills/list", cursor ? { cursor } : {}, options);
      const page = result?.["skills"] as { frontmatter: { name: string } }[] | undefined;
      return { page: page?.map((one) => one.frontmatter.name), next: result?.["nextCursor"] as string, error };
    };
    const all = async (token?: string) => {
      const pages: (string[] | undefined)[] = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const { page, next } = await list(token, cursor);
        pages.push(page);
        cursor = next;
      }
      return pages;
    };
    expect(await all()).toEqual([["d-three"], ["a-one"], ["c-two"]]);
    expect(await all(member)).toEqual([["d-three"], ["b-hidden"], ["a-one"], ["c-two"]]);
    const cursor = (await list()).next;
    // base64url of the list's name and of nothing but what the page showed.
    expect(atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))).toContain(`1,"${space}/d-three"]`);
    await api("PATCH", `/namespaces/${space}/skills/b-hidden`, { visibility: "unlisted" });
    expect((await list(undefined, cursor)).page).toEqual(["a-one"]);
    await api("PATCH", `/namespaces/${space}/skills/d-three`, { visibility: "private" });
    const left = await list(undefined, cursor);
    expect([left.error!.code, left.error!.message]).toEqual([-32602, expect.stringContaining("start again") as string]);
  });
});
