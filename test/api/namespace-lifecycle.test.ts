import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { namespaceTombstoneMs } from "../../src/domain/limits.ts";
import { sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import { api, modern, newNamespace, newToken, publish, seedSkill, send, skillMdOf } from "../harness.ts";
import { actionsOf, newMember } from "./tenancy.ts";

const count = async (table: string, namespace: string): Promise<number> =>
  (await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE namespace = ?1`).bind(namespace).first<number>("n"))!;

const sweepNow = () => sweep(env.DB, new Blobs(env.BLOBS), Date.now);

const makeOld = (namespace: string, ms: number) =>
  env.DB.prepare("UPDATE namespaces SET deleted_at = deleted_at - ?2, created_at = created_at - ?2 WHERE name = ?1")
    .bind(namespace, ms)
    .run();

describe("a change of a namespace", () => {
  it("is seen at once, and is one line of the audit log with what it was before", async () => {
    const namespace = await newNamespace();
    const admin = await newToken(namespace, "admin");
    const change = { title: "Acme", description: "Tools", visibility: "private", default_visibility: "unlisted" };
    const before = await api("GET", `/namespaces/${namespace}`);
    const { status, body } = await api("PATCH", `/namespaces/${namespace}`, change, admin);
    expect([status, body]).toMatchObject([200, { ...before.body, ...change, revision: 1 }]);
    expect((await api("GET", `/namespaces/${namespace}`, undefined, null)).status).toBe(404);
    const log = await api("GET", `/namespaces/${namespace}/audit?action=change-namespace`);
    expect(log.body["events"]).toMatchObject([
      {
        target: "namespace",
        before: { title: namespace, description: "", visibility: "public", default_visibility: null },
        after: change,
      },
    ]);
  });

  it("that changes nothing writes nothing; null takes the default visibility back", async () => {
    const namespace = await newNamespace();
    const patch = (change: object) => api("PATCH", `/namespaces/${namespace}`, change);
    expect((await patch({ visibility: "public", title: namespace })).body["revision"]).toBe(0);
    expect((await patch({ default_visibility: "private" })).body["default_visibility"]).toBe("private");
    expect((await seedSkill(namespace, "inner")).status).toBe(201);
    expect((await api("GET", `/namespaces/${namespace}/skills/inner`, undefined, null)).status).toBe(404);
    expect((await patch({ default_visibility: null })).body["default_visibility"]).toBeNull();
    expect((await actionsOf(namespace)).filter((action) => action === "change-namespace")).toHaveLength(2);
  });

  it.each([
    {},
    { name: "other" },
    { title: "" },
    { title: null },
    { description: "x".repeat(1025) },
    { visibility: "x" },
  ])("is refused as %o", async (change) => {
    const { body } = await api("PATCH", `/namespaces/${await newNamespace()}`, change);
    expect(body["code"]).toBe("invalid_request");
  });
});

describe("the list of namespaces", () => {
  const listAll = async (token?: string | null) => {
    const found: Record<string, unknown>[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await api("GET", `/namespaces${cursor === "" ? "" : `?cursor=${cursor}`}`, undefined, token);
      found.push(...(body["namespaces"] as Record<string, unknown>[]));
      cursor = body["next_cursor"] as string | null;
    }
    return found;
  };

  it("shows everybody what is public, a token also its own, the operator all; in order, page by page", async () => {
    const [open, mine, hidden] = [
      await newNamespace(),
      await newNamespace("private"),
      await newNamespace("private"),
    ] as const;
    const rows = Array.from({ length: 205 }, (_, i) => `many-${"abcdefgh"[i % 8]}${"x".repeat(1 + Math.floor(i / 8))}`);
    await env.DB.prepare(
      `INSERT INTO namespaces (name, title, visibility, created_at)
       SELECT value, value, iif(key % 2, 'public', 'private'), 0 FROM json_each(?1)`,
    )
      .bind(JSON.stringify(rows))
      .run();
    const names = async (token?: string | null) => (await listAll(token)).map((row) => row["name"] as string);
    const [anonymous, member, operator] = [
      await names(null),
      await names(await newToken(mine, "reader")),
      await names(),
    ] as const;
    for (const list of [anonymous, member, operator]) expect(list).toEqual(list.toSorted());
    expect([open, mine, hidden].map((name) => anonymous.includes(name))).toEqual([true, false, false]);
    expect([open, mine, hidden].map((name) => member.includes(name))).toEqual([true, true, false]);
    expect([open, mine, hidden].map((name) => operator.includes(name))).toEqual([true, true, true]);
    expect(anonymous.filter((name) => name.startsWith("many-"))).toHaveLength(102);
    expect(operator.filter((name) => name.startsWith("many-"))).toHaveLength(205);
    expect(new Set(member).size).toBe(member.length);
  });

  it("tells only those who see all of a namespace how often it changes", async () => {
    const namespace = await newNamespace();
    const reader = await newToken(namespace, "reader");
    const rowOf = async (token?: string | null) => (await listAll(token)).find(({ name }) => name === namespace)!;
    expect(await rowOf(reader)).toHaveProperty("revision");
    expect(await rowOf()).toHaveProperty("revision");
    for (const token of [null, await newToken(await newNamespace(), "admin")]) {
      expect(await rowOf(token)).not.toHaveProperty("revision");
      const shown = await api("GET", `/namespaces/${namespace}`, undefined, token);
      expect(shown.body).not.toHaveProperty("revision");
    }
  });

  it("refuses a bad token and a cursor that is not its own", async () => {
    expect((await api("GET", "/namespaces", undefined, "junk")).status).toBe(401);
    expect((await api("GET", "/namespaces?cursor=x", undefined, null)).body["code"]).toBe("invalid_cursor");
  });
});

describe("a deleted namespace", () => {
  it("is unknown at once, with its tokens, links and invitations, to every door", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "inner");
    const [admin, reader] = [await newToken(namespace, "admin"), await newToken(namespace, "reader")];
    const member = await newMember(namespace, "admin");
    const post = async (path: string, input: object) =>
      (await api("POST", `/namespaces/${namespace}/${path}`, input)).body;
    const link = await post("links", {});
    const invitation = await post("invitations", { role: "admin" });
    const absent = await api("GET", "/namespaces/never-created", undefined, null);
    expect((await api("DELETE", `/namespaces/${namespace}`, undefined, admin)).status).toBe(204);
    for (const path of ["", "/skills", "/skills/inner", "/skills/inner/-/releases/1.0.0/files/SKILL.md"]) {
      const { status, body } = await api("GET", `/namespaces/${namespace}${path}`, undefined, null);
      expect([path, status, body]).toEqual([path, 404, absent.body]);
    }
    for (const token of [admin, reader, member.token]) {
      expect((await api("GET", "/me", undefined, token)).status).toBe(401);
    }
    expect((await api("GET", `/namespaces/${namespace}`)).status).toBe(404);
    expect((await api("DELETE", `/namespaces/${namespace}`)).status).toBe(404);
    expect((await publish(namespace, { "SKILL.md": skillMdOf("late") })).status).toBe(404);
    expect((await modern(`/mcp/${namespace}`, "skills/list")).status).toBe(401);
    const moving = await modern("/mcp", "skills/get", { uri: `skill://${namespace}/inner/SKILL.md` });
    expect(moving.error?.code).toBe(-32602);
    expect((await modern(new URL(link["url"] as string).pathname, "skills/list")).status).toBe(404);
    expect((await api("GET", `/invitations/${invitation["secret"] as string}`, undefined, null)).status).toBe(404);
    const { body } = await api("GET", "/namespaces");
    expect(JSON.stringify(body)).not.toContain(`"${namespace}"`);
    expect((await actionsOf(namespace))[0]).toBe("delete-namespace");
  });

  it("cannot be taken, nor a look-alike of it, for 30 days and until its rows are gone", async () => {
    const name = "gone-hare";
    const take = async (wanted: string) => (await api("POST", "/namespaces", { name: wanted })).body["code"];
    await api("POST", "/namespaces", { name });
    await seedSkill(name, "inner");
    await api("DELETE", `/namespaces/${name}`);
    expect([await take(name), await take("g0ne-hare")]).toEqual(["namespace_exists", "namespace_similar"]);
    await sweepNow();
    expect([await take(name), await take("g0ne-hare")]).toEqual(["namespace_exists", "namespace_similar"]);
    await env.DB.prepare("UPDATE namespaces SET purged_at = NULL WHERE name = ?1").bind(name).run();
    await makeOld(name, namespaceTombstoneMs);
    expect([await take(name), await take("g0ne-hare")]).toEqual(["namespace_exists", "namespace_similar"]);
    await sweepNow();
    expect(await take(name)).toBeUndefined();
    expect(await take("g0ne-hare")).toBe("namespace_similar");
  });

  it("is purged by the sweep: bytes, people and keys go, tombstones and the audit log stay", async () => {
    const namespace = await newNamespace();
    for (const name of ["one", "two", "three"]) {
      await seedSkill(namespace, name, { "data.txt": `bytes of ${namespace} ${name}` });
    }
    await publish(namespace, { "SKILL.md": skillMdOf("one"), "more.md": "more" });
    await api("DELETE", `/namespaces/${namespace}/skills/three`);
    await newMember(namespace, "admin");
    await api("POST", `/namespaces/${namespace}/links`, {});
    await api("POST", `/namespaces/${namespace}/invitations`, { role: "reader" });
    const collection = { title: "Desk", visibility: "public", skills: [{ path: "one" }, { path: "two" }] };
    await api("PUT", `/namespaces/${namespace}/collections/desk`, collection);
    const tools = [{ name: "search_jobs", description: "Find jobs", inputSchema: { type: "object" } }];
    const server = await api("PUT", `/namespaces/${namespace}/servers/jobs`, { url: "https://mcp.example", tools });
    expect(server.status).toBe(201);
    const elsewhere = await newNamespace();
    const skills = [`skill://${namespace}/one/SKILL.md`];
    const foreign = await api("PUT", `/namespaces/${elsewhere}/collections/desk`, { ...collection, skills });
    expect(foreign.status).toBeLessThan(300);
    const digests = await env.DB.prepare(
      "SELECT DISTINCT digest FROM release_files WHERE namespace = ?1 AND file = 'data.txt'",
    )
      .bind(namespace)
      .all<{ digest: string }>();
    await api("DELETE", `/namespaces/${namespace}`);
    await env.DB.prepare("UPDATE blobs SET touched_at = 0").run();
    expect(await sweepNow()).toMatchObject({ isComplete: true });
    const tables = [
      "releases release_files members invitations tokens receipts collections collection_items collection_editions",
      "servers server_tools release_tools search_docs search_postings",
    ];
    for (const table of tables.join(" ").split(" ")) expect([table, await count(table, namespace)]).toEqual([table, 0]);
    expect([await count("skills", namespace), await count("spent_versions", namespace)]).toEqual([3, 4]);
    expect(await count("audit", namespace)).toBeGreaterThan(8);
    expect(await count("collection_items", elsewhere)).toBe(0);
    for (const { digest } of digests.results) {
      await expect(new Blobs(env.BLOBS).read(digest as `sha256:${string}` & never)).rejects.toThrow();
    }
    const row = await env.DB.prepare("SELECT * FROM namespaces WHERE name = ?1").bind(namespace).first();
    expect(row).toMatchObject({ skill_count: 0, stored_bytes: 0, purged_at: expect.any(Number) as number });
    expect(await sweepNow()).toMatchObject({ purged: 0 });
  });

  it("belongs to its next owner as if new, but for versions that are spent and what others may have pinned", async () => {
    const namespace = await newNamespace("private");
    await seedSkill(namespace, "inner");
    const oldToken = await newToken(namespace, "admin");
    await api("PUT", `/namespaces/${namespace}/quotas`, { skills: 1, bytes: 1, publishes_a_day: 1 });
    await api("PATCH", `/namespaces/${namespace}`, { description: "Old", default_visibility: "private" });
    await api("DELETE", `/namespaces/${namespace}`);
    await sweepNow();
    await makeOld(namespace, namespaceTombstoneMs);
    const { status, body } = await api("POST", "/namespaces", { name: namespace, title: "New" });
    expect([status, body]).toMatchObject([
      201,
      { title: "New", description: "", visibility: "public", default_visibility: null, revision: 0 },
    ]);
    expect((await api("GET", `/namespaces/${namespace}`, undefined, oldToken)).status).toBe(401);
    const quotas = await api("GET", `/namespaces/${namespace}/quotas`);
    expect(quotas.body["skills"]).toMatchObject({ is_default: true, used: 0 });
    expect((await api("GET", `/namespaces/${namespace}/skills`)).body["skills"]).toEqual([]);
    expect((await send(`/api/v1/namespaces/${namespace}/skills/inner/-/releases/1.0.0`)).status).toBe(404);
    const again = await publish(namespace, { "SKILL.md": skillMdOf("inner", "Other bytes") }, "?version=1.0.0");
    expect([again.status, again.body["code"]]).toEqual([409, "version_exists"]);
    const next = await publish(namespace, { "SKILL.md": skillMdOf("inner", "Other bytes") });
    expect((next.body["release"] as { version: string }).version).toBe("1.0.1");
    const log = await api("GET", `/namespaces/${namespace}/audit`);
    const seen = (log.body["events"] as { action: string }[]).map(({ action }) => action);
    expect(seen).toEqual(["publish", "create-namespace"]);
    const lines = await send(`/api/v1/namespaces/${namespace}/audit.jsonl`, {
      headers: { authorization: `Bearer ${env.ADMIN_TOKEN}` },
    });
    expect(
      new TextDecoder()
        .decode(await lines.arrayBuffer())
        .trim()
        .split("\n"),
    ).toHaveLength(2);
    expect((await actionsOf(namespace)).length).toBeGreaterThan(5);
  });

  it("of many releases goes in several batches, the last of which says that it is done", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "inner");
    await env.DB.prepare(
      `INSERT INTO releases (namespace, path, version, major, minor, patch, pre, name, description, tree, executables,
         file_count, total_bytes, skill_md_bytes, zip_digest, tar_digest, search_text, published_at, published_by,
         entry_bytes, entry, pinned_entry)
       SELECT namespace, releases.path, '2.0.' || value, 2, 0, value, '', name, description, tree, executables, 0, 1, 1,
         zip_digest, tar_digest, '', 0, 'operator', 2, '{}', '{}'
       FROM releases, json_each(?2) WHERE namespace = ?1`,
    )
      .bind(namespace, JSON.stringify(Array.from({ length: 60 }, (_, i) => i)))
      .run();
    await api("DELETE", `/namespaces/${namespace}`);
    expect(await sweepNow()).toMatchObject({ isComplete: true });
    expect([await count("releases", namespace), await count("spent_versions", namespace)]).toEqual([0, 61]);
  });

  it("refuses whatever was under way when it was deleted", async () => {
    const namespace = await newNamespace();
    const work = [
      api("POST", `/namespaces/${namespace}/tokens`, {}),
      api("POST", `/namespaces/${namespace}/links`, {}),
      api("POST", `/namespaces/${namespace}/invitations`, { role: "admin" }),
      publish(namespace, { "SKILL.md": skillMdOf("late") }),
      api("DELETE", `/namespaces/${namespace}`),
    ];
    for (const { status } of await Promise.all(work)) expect(status).toBeLessThan(500);
    const alive = await env.DB.prepare(
      `SELECT (SELECT count(*) FROM tokens WHERE namespace = ?1 AND revoked_at IS NULL)
         + (SELECT count(*) FROM invitations WHERE namespace = ?1 AND revoked_at IS NULL) AS n`,
    )
      .bind(namespace)
      .first<number>("n");
    expect(alive).toBe(0);
  });
});
