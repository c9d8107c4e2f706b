import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { api, modern, newNamespace, newToken, publish, skillMdOf } from "../harness.ts";

/** A skill `notes` with one release per text, 1.0.0 and on. */
async function withReleases(...texts: string[]): Promise<string> {
  const namespace = await newNamespace();
  for (const text of texts) await publish(namespace, { "SKILL.md": skillMdOf("notes", text) });
  return namespace;
}

const yank = (namespace: string, version: string, yanked = true) =>
  api("PATCH", `/namespaces/${namespace}/skills/notes/-/releases/${version}`, { yanked });

/** What agents see: the description that the list shows, and whether the moving address answers. */
async function seen(namespace: string): Promise<unknown> {
  const { result } = await modern(`/mcp/${namespace}`, "skills/list");
  const listed = (result!["skills"] as { frontmatter: { description: string } }[]).map(
    (entry) => entry.frontmatter.description,
  );
  const got = await modern(`/mcp/${namespace}`, "skills/get", { uri: `skill://${namespace}/notes/SKILL.md` });
  return { listed, moving: got.error?.code ?? "answers" };
}

async function pinned(namespace: string, version: string): Promise<unknown> {
  const uri = `skill://${namespace}/@${version}/notes/SKILL.md`;
  const [got, read] = [
    await modern(`/mcp/${namespace}`, "skills/get", { uri }),
    await modern(`/mcp/${namespace}`, "resources/read", { uri }),
  ];
  return [got.error?.code ?? "answers", read.error?.code ?? "answers"];
}

const revision = async (namespace: string) => (await api("GET", `/namespaces/${namespace}`)).body["revision"] as number;

describe("yank", () => {
  it("of current moves it to the highest unyanked full version; pinned addresses stay", async () => {
    const namespace = await withReleases("a", "b", "c");
    await publish(namespace, { "SKILL.md": skillMdOf("notes", "rc") }, "?version=9.0.0-rc.1");
    const { status, body } = await yank(namespace, "1.0.2");
    expect([status, body["current"], body["is_current"]]).toEqual([200, "1.0.1", false]);
    expect(body["yanked_at"]).toMatch(/^\d{4}-/);
    expect(await seen(namespace)).toEqual({ listed: ["b"], moving: "answers" });
    expect(await pinned(namespace, "1.0.2")).toEqual(["answers", "answers"]);
  });

  it("of the last one leaves the skill in no list, and its moving address unknown", async () => {
    const namespace = await withReleases("a");
    await yank(namespace, "1.0.0");
    expect(await seen(namespace)).toEqual({ listed: [], moving: -32602 });
    expect(await pinned(namespace, "1.0.0")).toEqual(["answers", "answers"]);
    const search = { name: "search_skills", arguments: { query: "notes" } };
    expect(JSON.stringify((await modern(`/mcp/${namespace}`, "tools/call", search)).result)).not.toContain("skill://");
    const list = async (token?: null) => (await api("GET", `/namespaces/${namespace}/skills`, undefined, token)).body;
    expect((await list(null))["skills"]).toEqual([]);
    expect((await list())["skills"]).toMatchObject([{ path: "notes", version: null, name: null }]);
  });

  it("is undone: the release is shown again, and current where there is none", async () => {
    const namespace = await withReleases("a", "b");
    await yank(namespace, "1.0.1");
    await yank(namespace, "1.0.0");
    const { body } = await yank(namespace, "1.0.1", false);
    expect([body["current"], body["yanked_at"]]).toEqual(["1.0.1", null]);
    expect(await seen(namespace)).toEqual({ listed: ["b"], moving: "answers" });
    expect((await yank(namespace, "1.0.0", false)).body["current"]).toBe("1.0.1");
  });

  it("of what is not current changes no list", async () => {
    const namespace = await withReleases("a", "b");
    await yank(namespace, "1.0.0");
    expect(await seen(namespace)).toEqual({ listed: ["b"], moving: "answers" });
  });

  it("said twice is said once: no new revision", async () => {
    const namespace = await withReleases("a", "b");
    await yank(namespace, "1.0.0");
    const before = await revision(namespace);
    expect((await yank(namespace, "1.0.0")).status).toBe(200);
    expect(await revision(namespace)).toBe(before);
  });
});

describe("current", () => {
  const move = (namespace: string, current: string) =>
    api("PATCH", `/namespaces/${namespace}/skills/notes`, { current });

  it("moves back and forth, at once everywhere, search included", async () => {
    const namespace = await withReleases("zebra", "giraffe");
    expect((await move(namespace, "1.0.0")).body["current"]).toBe("1.0.0");
    expect(await seen(namespace)).toEqual({ listed: ["zebra"], moving: "answers" });
    const find = async (query: string) =>
      JSON.stringify(
        (await modern(`/mcp/${namespace}`, "tools/call", { name: "search_skills", arguments: { query } })).result,
      );
    expect(await find("zebra")).toContain("skill://");
    expect(await find("giraffe")).not.toContain("skill://");
    expect((await move(namespace, "1.0.1")).status).toBe(200);
    expect(await seen(namespace)).toEqual({ listed: ["giraffe"], moving: "answers" });
  });

  it("may be a pre-release when somebody says so", async () => {
    const namespace = await withReleases("a");
    await publish(namespace, { "SKILL.md": skillMdOf("notes", "rc") }, "?version=2.0.0-rc.1");
    expect((await move(namespace, "2.0.0-rc.1")).status).toBe(200);
    expect(await seen(namespace)).toEqual({ listed: ["rc"], moving: "answers" });
  });

  it("is never a yanked, unknown or malformed version", async () => {
    const namespace = await withReleases("a", "b");
    await yank(namespace, "1.0.0");
    const yanked = await move(namespace, "1.0.0");
    expect([yanked.status, yanked.body["code"]]).toEqual([409, "release_yanked"]);
    expect((await move(namespace, "7.0.0")).status).toBe(404);
    expect((await move(namespace, "latest")).status).toBe(400);
    expect(await seen(namespace)).toEqual({ listed: ["b"], moving: "answers" });
  });

  it("and visibility change together, in one revision", async () => {
    const namespace = await withReleases("a", "b");
    const before = await revision(namespace);
    const { body } = await api("PATCH", `/namespaces/${namespace}/skills/notes`, {
      current: "1.0.0",
      visibility: "unlisted",
    });
    expect(body).toMatchObject({ current: "1.0.0", visibility: "unlisted" });
    expect(await revision(namespace)).toBe(before + 1);
    expect(await seen(namespace)).toEqual({ listed: [], moving: "answers" });
  });
});

describe("visibility", () => {
  it("holds at once, and is undone", async () => {
    const namespace = await withReleases("a");
    const set = (visibility: string) => api("PATCH", `/namespaces/${namespace}/skills/notes`, { visibility });
    await set("private");
    expect(await seen(namespace)).toEqual({ listed: [], moving: -32602 });
    expect(await pinned(namespace, "1.0.0")).toEqual([-32602, -32602]);
    await set("public");
    expect(await seen(namespace)).toEqual({ listed: ["a"], moving: "answers" });
    expect((await set("secret")).status).toBe(400);
  });
});

describe("delete", () => {
  const remove = (namespace: string, token?: string | null) =>
    api("DELETE", `/namespaces/${namespace}/skills/notes`, undefined, token);

  it("makes every address unknown, pinned ones too, and frees the bytes for the sweep", async () => {
    const namespace = await withReleases("to be deleted");
    const { body } = await api("GET", `/namespaces/${namespace}/skills/notes/-/releases/1.0.0/manifest`);
    const { digest } = (body["files"] as { digest: string }[])[0]!;
    expect((await remove(namespace)).status).toBe(204);
    expect(await seen(namespace)).toEqual({ listed: [], moving: -32602 });
    expect(await pinned(namespace, "1.0.0")).toEqual([-32602, -32602]);
    for (const tail of ["", "/-/releases", "/-/releases/1.0.0", "/-/releases/current"]) {
      expect((await api("GET", `/namespaces/${namespace}/skills/notes${tail}`)).status).toBe(404);
    }
    const references = await env.DB.prepare("SELECT count(*) AS n FROM release_files WHERE digest = ?1")
      .bind(digest)
      .first();
    expect(references).toEqual({ n: 0 });
    expect((await remove(namespace)).status).toBe(404);
  });

  it("spends the versions for ever: the skill may come back, but only under new ones", async () => {
    const namespace = await withReleases("a", "b");
    await remove(namespace);
    const reused = await publish(namespace, { "SKILL.md": skillMdOf("notes", "a") }, "?version=1.0.0");
    expect([reused.status, reused.body["code"]]).toEqual([409, "version_exists"]);
    expect(reused.body["detail"]).toContain("1.0.2");
    const back = await publish(namespace, { "SKILL.md": skillMdOf("notes", "a") });
    expect([back.status, (back.body["release"] as { version: string }).version]).toEqual([201, "1.0.2"]);
    expect(await seen(namespace)).toEqual({ listed: ["a"], moving: "answers" });
    await remove(namespace);
    expect((await publish(namespace, { "SKILL.md": skillMdOf("notes", "c") })).body["release"]).toMatchObject({
      version: "1.0.3",
    });
  });

  it("frees the path for skills above and below", async () => {
    const namespace = await withReleases("a");
    await remove(namespace);
    expect((await publish(namespace, { "SKILL.md": skillMdOf("inner") }, "?path=notes/inner")).status).toBe(201);
    const back = await publish(namespace, { "SKILL.md": skillMdOf("notes", "b") });
    expect([back.status, back.body["code"]]).toEqual([409, "path_conflict"]);
  });
});

describe("who may change what was published", () => {
  it("publishers yank, move and hide; only admins delete; strangers and readers do nothing", async () => {
    const namespace = await withReleases("a", "b");
    const path = `/namespaces/${namespace}/skills/notes`;
    const tokens = {
      none: null,
      reader: await newToken(namespace, "reader"),
      stranger: await newToken(await newNamespace(), "admin"),
      publisher: await newToken(namespace, "publisher"),
      admin: await newToken(namespace, "admin"),
    };
    const attempt = async (token: string | null) => [
      (await api("PATCH", path, { current: "1.0.0" }, token)).status,
      (await api("PATCH", `${path}/-/releases/1.0.1`, { yanked: true }, token)).status,
      (await api("PATCH", path, { visibility: "private" }, token)).status,
    ];
    expect(await attempt(tokens.none)).toEqual([401, 401, 401]);
    expect(await attempt(tokens.reader)).toEqual([403, 403, 403]);
    expect(await attempt(tokens.stranger)).toEqual([403, 403, 403]);
    expect(await seen(namespace)).toEqual({ listed: ["b"], moving: "answers" });
    expect(await attempt(tokens.publisher)).toEqual([200, 200, 200]);
    for (const [token, status] of [
      [tokens.none, 401],
      [tokens.reader, 403],
      [tokens.stranger, 403],
      [tokens.publisher, 403],
      [tokens.admin, 204],
    ] as const) {
      expect((await api("DELETE", path, undefined, token)).status).toBe(status);
    }
  });

  it.each([
    ["PATCH", "/skills/notes", {}],
    ["PATCH", "/skills/notes", { owner: "me" }],
    ["PATCH", "/skills/notes/-/releases/1.0.0", { yanked: "yes" }],
  ])("%s %s with %o is 400", async (method, path, body) => {
    const namespace = await withReleases("a");
    expect((await api(method, `/namespaces/${namespace}${path}`, body)).status).toBe(400);
  });

  it.each([
    ["PATCH", "/skills/none", { visibility: "private" }],
    ["PATCH", "/skills/notes/-/releases/9.9.9", { yanked: true }],
    ["PATCH", "/skills/notes/-/releases/current", { yanked: true }],
    ["PATCH", "/skills/notes/-/releases/1.0.0/files", { yanked: true }],
    ["DELETE", "/skills/notes/-/releases/1.0.0", undefined],
    ["DELETE", "/skills/none", undefined],
  ])("%s %s is 404", async (method, path, body) => {
    const namespace = await withReleases("a");
    expect((await api(method, `/namespaces/${namespace}${path}`, body)).status).toBe(404);
  });
});
