import { beforeAll, describe, expect, it } from "vitest";

import { api, eras, modern, newNamespace, newToken, publish, seedSkill, send, skillMdOf } from "../harness.ts";

interface Entry {
  uri: string;
  frontmatter: { name: string };
}

const uriOf = (namespace: string, path: string) => `skill://${namespace}/${path}/SKILL.md`;

/** Two namespaces, one of them private, and a third whose people curate. */
let open: string;
let closed: string;
let team: string;
let publisher: string;

beforeAll(async () => {
  [open, closed, team] = [await newNamespace(), await newNamespace("private"), await newNamespace()];
  publisher = await newToken(team, "publisher");
  await seedSkill(open, "pdf-forms");
  await publish(open, { "SKILL.md": skillMdOf("pdf-forms", "Fill in forms, better") }, "?version=2.0.0");
  await seedSkill(open, "hidden", {}, "?visibility=unlisted");
  await seedSkill(open, "secret", {}, "?visibility=private");
  await seedSkill(closed, "inside");
  await seedSkill(team, "refunds", {}, "?path=billing/refunds");
  await seedSkill(team, "private-notes", {}, "?visibility=private");
});

const put = (name: string, body: unknown, token: string | null = publisher) =>
  api("PUT", `/namespaces/${team}/collections/${name}`, body, token);

const urisAt = async (address: string, token?: string) => {
  const { result } = await modern(address, "skills/list", {}, token === undefined ? {} : { token });
  return (result?.["skills"] as Entry[] | undefined)?.map((entry) => entry.uri);
};

describe("a collection", () => {
  it("is made of skills of any namespace that its maker may read, in the given order", async () => {
    const { status, body, headers } = await put("desk", {
      title: "Support desk",
      instructions: "Refunds first.",
      visibility: "public",
      skills: [
        { path: "billing/refunds" },
        { namespace: open, path: "pdf-forms", version: "1.0.0" },
        { path: "private-notes" },
      ],
    });
    expect([status, body["changed"], body["edition"], headers.get("etag")]).toEqual([201, true, 1, '"1"']);
    const pinned = `skill://${open}/@1.0.0/pdf-forms/SKILL.md`;
    expect(await urisAt(`/mcp/${team}/desk`)).toEqual([uriOf(team, "billing/refunds"), pinned]);
    expect(await urisAt(`/mcp/${team}/desk`, publisher)).toEqual([
      uriOf(team, "billing/refunds"),
      pinned,
      uriOf(team, "private-notes"),
    ]);
  });

  it.each(eras)("serves over %s what it holds and nothing else", async (_, call) => {
    const address = `/mcp/${team}/desk`;
    const status = async (uri: string) => (await call(address, "skills/get", { uri })).error?.code ?? "served";
    expect(await status(uriOf(team, "billing/refunds"))).toBe("served");
    expect(await status(`skill://${team}/billing/@1.0.0/refunds/SKILL.md`)).toBe("served");
    expect(await status(`skill://${open}/@1.0.0/pdf-forms/SKILL.md`)).toBe("served");
    // Pinned to 1.0.0, so that neither what came later nor the moving address is reached through it.
    expect(await status(`skill://${open}/@2.0.0/pdf-forms/SKILL.md`)).toBe(-32602);
    expect(await status(uriOf(open, "pdf-forms"))).toBe(-32602);
    expect(await status(uriOf(team, "private-notes"))).toBe(-32602);
    const read = await call(address, "resources/read", { uri: `skill://${open}/@1.0.0/pdf-forms/SKILL.md` });
    expect(read.result).toBeDefined();
    const search = await call(address, "tools/call", { name: "search_skills", arguments: { query: "pdf forms" } });
    const { cards } = search.result!["structuredContent"] as { cards: { uri: string; description: string }[] };
    expect(cards.map((card) => card.uri)).toEqual([`skill://${open}/@1.0.0/pdf-forms/SKILL.md`]);
    expect(cards[0]!.description).toBe("What pdf-forms does");
    const resources = (await call(address, "resources/list")).result!["resources"] as { uri: string }[];
    expect(resources.map((resource) => resource.uri)).toEqual(await urisAt(address));
    const prompts = (await call(address, "prompts/list")).result!["prompts"] as { name: string }[];
    expect(prompts.map((prompt) => prompt.name)).toEqual(["use-skill", "refunds", "pdf-forms"]);
    const prompt = await call(address, "prompts/get", { name: "pdf-forms" });
    expect(prompt.result!["description"]).toBe("What pdf-forms does");
  });

  it("tells agents what its maker says", async () => {
    const { result } = await modern(`/mcp/${team}/desk`, "server/discover");
    const instructions = result!["instructions"] as string;
    expect(instructions).toContain("Support desk");
    expect(instructions).toContain("Refunds first.");
    expect(instructions.slice(0, 512)).toContain("search_skills");
  });

  it("said again changes nothing; replaced, it is another edition; returned, it is what it was", async () => {
    const first = { title: "Steps", visibility: "public", skills: [uriOf(open, "pdf-forms")] };
    await put("steps", first);
    expect((await put("steps", first)).body).toMatchObject({ changed: false, edition: 1 });
    const second = { ...first, skills: [{ path: "billing/refunds" }] };
    expect((await put("steps", second)).body).toMatchObject({ changed: true, edition: 2 });
    const back = await api("POST", `/namespaces/${team}/collections/steps/return`, {}, publisher);
    expect(back.body).toMatchObject({ changed: true, edition: 3 });
    expect(await urisAt(`/mcp/${team}/steps`)).toEqual([uriOf(open, "pdf-forms")]);
    const { body } = await api("GET", `/namespaces/${team}/collections/steps/editions`, undefined, publisher);
    expect((body["editions"] as { edition: number }[]).map((edition) => edition.edition)).toEqual([3, 2, 1]);
    const never = await api("POST", `/namespaces/${team}/collections/steps/return`, { edition: 9 }, publisher);
    expect(never.status).toBe(404);
  });

  it("is not replaced by whoever saw an older edition", async () => {
    const path = `/api/v1/namespaces/${team}/collections/guarded`;
    const send1 = (edition: number, skills: unknown) =>
      send(path, {
        method: "PUT",
        headers: {
          authorization: `Bearer ${publisher}`,
          "content-type": "application/json",
          "if-match": `"${edition}"`,
        },
        body: JSON.stringify({ skills }),
      });
    expect((await send1(0, "all")).status).toBe(201);
    expect((await send1(0, [])).status).toBe(409);
    expect((await send1(1, [])).status).toBe(200);
    expect((await send1(1, "all")).status).toBe(409);
  });

  it("can hold every listed skill of its namespace", async () => {
    await put("everything", { visibility: "public", skills: "all" });
    expect(await urisAt(`/mcp/${team}/everything`)).toEqual([uriOf(team, "billing/refunds")]);
    expect(await urisAt(`/mcp/${team}/everything`, publisher)).toEqual([
      uriOf(team, "billing/refunds"),
      uriOf(team, "private-notes"),
    ]);
  });

  it("is refused with every problem and its place", async () => {
    const { status, body } = await put("wrong", {
      skills: [
        { namespace: closed, path: "inside" },
        { namespace: open, path: "secret" },
        { namespace: open, path: "no-such-skill" },
        { namespace: open, path: "hidden" },
        { namespace: open, path: "pdf-forms", version: "9.0.0" },
        { path: "billing/refunds" },
        `skill://${team}/billing/@1.0.0/refunds/SKILL.md`,
      ],
    });
    expect(status).toBe(422);
    const findings = body["findings"] as { file: string; code: string; message: string }[];
    expect(findings.map(({ file, code }) => `${file} ${code}`)).toEqual([
      "skills[0] skill_unknown",
      "skills[1] skill_unknown",
      "skills[2] skill_unknown",
      "skills[3] skill_unlisted",
      "skills[4] version_unknown",
      "skills[6] name_twice",
    ]);
    // A private skill is spoken of like one that is not there.
    expect(findings[0]!.message.replace("inside", "x").replace(closed, "y")).toBe(
      findings[2]!.message.replace("no-such-skill", "x").replace(open, "y"),
    );
  });

  it("is made by those who may publish, and by nobody else", async () => {
    const reader = await newToken(team, "reader");
    const stranger = await newToken(open, "admin");
    expect((await put("desk", { skills: "all" }, null)).status).toBe(401);
    expect((await put("desk", { skills: "all" }, reader)).status).toBe(403);
    expect((await put("desk", { skills: "all" }, stranger)).status).toBe(403);
    for (const [name, code] of [
      ["Bad", 422],
      ["a--b", 422],
      ["x".repeat(65), 422],
    ] as const)
      expect([name, (await put(name, { skills: "all" })).status]).toEqual([name, code]);
    const bodies = [{}, { skills: "some" }, { skills: ["http://x"] }, { skills: "all", title: "\uD800" }, []];
    for (const body of bodies) expect((await put("desk", body)).status).toBe(400);
  });

  it("that is private is there for those of its namespace only, and asks others as if it were not there", async () => {
    await put("inner", { visibility: "private", skills: "all" });
    const [there, nowhere] = [`/mcp/${team}/inner`, `/mcp/${team}/nothing`];
    expect(await urisAt(there, publisher)).toHaveLength(2);
    const [seen, unseen] = [await modern(there, "skills/list"), await modern(nowhere, "skills/list")];
    expect([seen.status, unseen.status]).toEqual([401, 401]);
    expect(JSON.stringify(seen.body)).toBe(JSON.stringify(unseen.body));
    expect(seen.headers.get("www-authenticate")!.replace("inner", "x")).toBe(
      unseen.headers.get("www-authenticate")!.replace("nothing", "x"),
    );
    const names = async (token: string | null) => {
      const { body } = await api("GET", `/namespaces/${team}/collections`, undefined, token);
      return (body["collections"] as { name: string }[]).map((collection) => collection.name);
    };
    expect(await names(null)).not.toContain("inner");
    expect(await names(publisher)).toContain("inner");
    expect((await api("GET", `/namespaces/${team}/collections/inner`, undefined, null)).status).toBe(404);
  });

  it("loses what is hidden, yanked or deleted, and says so beforehand", async () => {
    const space = await newNamespace();
    const admin = await newToken(space, "admin");
    for (const name of ["one", "two", "three"]) await seedSkill(space, name);
    const body = {
      visibility: "public",
      skills: [{ path: "one" }, { path: "two", version: "1.0.0" }, { path: "three" }],
    };
    await api("PUT", `/namespaces/${space}/collections/mix`, body, admin);
    await put("borrowed", { visibility: "public", skills: [{ namespace: space, path: "one" }] });
    await put("borrowed-inside", { visibility: "private", skills: [{ namespace: space, path: "one" }] });
    const dry = await api("DELETE", `/namespaces/${space}/skills/one?dry_run=true`, undefined, admin);
    expect(dry.status).toBe(200);
    // A private collection of others is not betrayed.
    expect((dry.body["collections"] as { name: string }[]).map(({ name }) => name).sort()).toEqual(["borrowed", "mix"]);
    expect(await urisAt(`/mcp/${space}/mix`)).toHaveLength(3);
    const dryHide = await api(
      "PATCH",
      `/namespaces/${space}/skills/three?dry_run=true`,
      { visibility: "private" },
      admin,
    );
    expect(dryHide.body).toMatchObject({ dry_run: true, visibility: "private", collections: [{ name: "mix" }] });
    await api("PATCH", `/namespaces/${space}/skills/three`, { visibility: "private" }, admin);
    expect(await urisAt(`/mcp/${space}/mix`)).toHaveLength(2);
    await api("PATCH", `/namespaces/${space}/skills/two/-/releases/1.0.0`, { yanked: true }, admin);
    expect(await urisAt(`/mcp/${space}/mix`)).toHaveLength(1);
    await api("DELETE", `/namespaces/${space}/skills/one`, undefined, admin);
    expect(await urisAt(`/mcp/${space}/mix`)).toEqual([]);
    // Another skill on the same path is not what was picked.
    await publish(space, { "SKILL.md": skillMdOf("one") }, "?version=5.0.0");
    expect(await urisAt(`/mcp/${space}/mix`)).toEqual([]);
    expect(await urisAt(`/mcp/${team}/borrowed`)).toEqual([]);
  });

  it("is gone once it is deleted, with its history", async () => {
    await put("short-lived", { skills: "all" });
    const path = `/namespaces/${team}/collections/short-lived`;
    expect((await api("DELETE", path, undefined, publisher)).status).toBe(204);
    expect((await api("DELETE", path, undefined, publisher)).status).toBe(404);
    expect((await modern(`/mcp/${team}/short-lived`, "skills/list", {}, { token: publisher })).status).toBe(401);
    expect((await put("short-lived", { skills: "all" })).body).toMatchObject({ edition: 1 });
  });
});
