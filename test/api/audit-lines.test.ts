import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { maxCollectionEditions } from "../../src/domain/limits.ts";
import { packZip } from "../../src/publish/pack.ts";
import {
  api,
  modern,
  newNamespace,
  newToken,
  operator,
  publish,
  seedSkill,
  send,
  skillMdOf,
  toFiles,
} from "../harness.ts";
import type { Answer } from "../harness.ts";
import { newMember } from "./tenancy.ts";

interface Event {
  id: number;
  at: string;
  action: string;
  agent: string;
  address: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

const eventsOf = async (namespace: string, query = ""): Promise<Event[]> =>
  (await api("GET", `/namespaces/${namespace}/audit${query}`)).body["events"] as Event[];

const post = (path: string, body: object) => api("POST", path, body);
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

/** Publishes; the last byte of the upload is sent once `meanwhile` is over. */
async function slowly(namespace: string, token: string, meanwhile: () => Promise<unknown>): Promise<Answer> {
  const bytes = packZip(toFiles({ "SKILL.md": skillMdOf("slow") }));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes.slice(0, -1)),
    pull: async (controller) => {
      await meanwhile();
      controller.enqueue(bytes.slice(-1));
      controller.close();
    },
  });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/zip" };
  const response = await send(`/api/v1/namespaces/${namespace}/skills`, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

describe("a line's number", () => {
  it("counts the namespace's own lines, so that no tenant learns how busy the others are", async () => {
    const [one, other] = [await newNamespace(), await newNamespace()];
    await newToken(one, "reader");
    for (let i = 0; i < 5; i++) await newToken(other, "reader");
    await newToken(one, "reader");
    expect((await eventsOf(one)).map(({ id }) => id)).toEqual([3, 2, 1]);
    expect((await eventsOf(one, "?action=mint-token")).map(({ id }) => id)).toEqual([3, 2]);
    const { results } = await env.DB.prepare("SELECT seq FROM audit WHERE namespace = ?1").bind(other).all();
    expect(results).toHaveLength(6);
    const exported = await send(`/api/v1/namespaces/${one}/audit.jsonl`, {
      headers: { authorization: `Bearer ${operator}` },
    });
    const lines = (await exported.text()).trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as Event).id)).toEqual([1, 2, 3]);
  });

  it("begins anew for whoever takes over the name, and the operator still finds what was before", async () => {
    const namespace = await newNamespace();
    for (let i = 0; i < 3; i++) await newToken(namespace, "reader");
    await api("DELETE", `/namespaces/${namespace}`);
    await env.DB.prepare("UPDATE namespaces SET deleted_at = 1, purged_at = 1 WHERE name = ?1").bind(namespace).run();
    expect((await post("/namespaces", { name: namespace })).status).toBe(201);
    await newToken(namespace, "reader");
    expect((await eventsOf(namespace)).map(({ id, action }) => [id, action])).toEqual([
      [2, "mint-token"],
      [1, "create-namespace"],
    ]);
    const all = (await api("GET", `/audit?namespace=${namespace}`)).body["events"] as Event[];
    expect(all).toHaveLength(7);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((a, b) => b - a));
  });
});

describe("a line", () => {
  it("has times like every answer, before and after", async () => {
    const namespace = await newNamespace();
    const at = (path: string) => `/namespaces/${namespace}/${path}`;
    const token = await post(at("tokens"), {});
    const ends = token.body["expires_at"] as string;
    await post(at("links"), {});
    await post(at("invitations"), { role: "reader" });
    await post(at(`tokens/${token.body["id"] as string}/rotate`), {});
    const [rotated, invited, linked, minted] = await eventsOf(namespace);
    expect(minted!.after).toMatchObject({ expires_at: ends });
    expect([linked!.after, invited!.after]).toMatchObject([{ expires_at: iso }, { expires_at: iso }]);
    expect([rotated!.before, rotated!.after]).toMatchObject([{ expires_at: ends }, { ends_at: iso, expires_at: iso }]);
  });

  it("of a collection has its digest instead of its content, and the newest editions stay", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "held");
    const put = (title: string, skills: unknown) =>
      api("PUT", `/namespaces/${namespace}/collections/desk`, { title, instructions: "Greet first", skills });
    await put("First", "all");
    await put("Second", ["skill://" + namespace + "/held/SKILL.md"]);
    const [second, first] = await eventsOf(namespace);
    const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string;
    const shared = { visibility: "public", digest };
    expect(first).toMatchObject({ before: null, after: { title: "First", edition: 1, skills: "all", ...shared } });
    expect(second!.after).toEqual({ title: "Second", edition: 2, skills: 1, ...shared });
    expect(second!.before).toEqual(first!.after);
    expect(JSON.stringify([first, second])).not.toMatch(/Greet|held/);
    for (let edition = 3; edition <= maxCollectionEditions + 2; edition++) await put(`Edition ${edition}`, "all");
    const { body } = await api("GET", `/namespaces/${namespace}/collections/desk/editions`);
    const kept = (body["editions"] as { edition: number }[]).map(({ edition }) => edition);
    expect([kept.length, kept.at(-1)]).toEqual([maxCollectionEditions, 3]);
    const gone = await post(`/namespaces/${namespace}/collections/desk/return`, { edition: 2 });
    expect(gone.status).toBe(404);
  });

  it("of a publish says what visibility a new skill has, and of another nothing about it", async () => {
    const namespace = await newNamespace();
    await api("PATCH", `/namespaces/${namespace}`, { default_visibility: "unlisted" });
    await seedSkill(namespace, "new");
    await publish(namespace, { "SKILL.md": skillMdOf("new", "Another description") });
    await seedSkill(namespace, "asked", {}, "?visibility=private");
    const published = (await eventsOf(namespace, "?action=publish")).map(({ after }) => after?.["visibility"]);
    expect(published).toEqual(["private", undefined, "unlisted"]);
  });

  it("is dated when it was committed, and what the namespace said then is what a new skill gets", async () => {
    const namespace = await newNamespace();
    const began = Date.now();
    const { status } = await slowly(namespace, operator, async () => {
      await scheduler.wait(50);
      await api("PATCH", `/namespaces/${namespace}`, { default_visibility: "private" });
    });
    expect(status).toBe(201);
    const [line, change] = await eventsOf(namespace);
    expect([line!.action, line!.after?.["visibility"]]).toEqual(["publish", "private"]);
    expect(Date.parse(line!.at)).toBeGreaterThanOrEqual(Math.max(began + 50, Date.parse(change!.at)));
    expect((await api("GET", `/namespaces/${namespace}/skills/slow`, undefined, null)).status).toBe(404);
  });

  it("is not written for a token that runs out while its upload arrives", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "publisher");
    const ends = Date.now() + 400;
    await env.DB.prepare("UPDATE tokens SET expires_at = ?2 WHERE id = ?1").bind(token.split("_")[1], ends).run();
    const { status, body } = await slowly(namespace, token, () => scheduler.wait(500));
    expect([status, body["code"]]).toEqual([401, "invalid_token"]);
    expect(await eventsOf(namespace, "?action=publish")).toEqual([]);
    expect((await api("GET", `/namespaces/${namespace}/skills/slow`)).status).toBe(404);
  });
});

describe("a secret that was typed where it does not belong", () => {
  it("is cut in labels, titles, the User-Agent and every line about them", async () => {
    const namespace = await newNamespace();
    const secret = await newToken(namespace, "admin");
    const shown = `${secret.slice(0, 20)}…`;
    const at = (path: string) => `/namespaces/${namespace}${path}`;
    for (const path of ["/tokens", "/links"])
      expect((await post(at(path), { label: secret })).body["label"]).toBe(shown);
    await post(at("/invitations"), { role: "reader", label: `for ${secret}` });
    await api("PATCH", at(""), { title: secret, description: `key: ${secret}` });
    await api("PATCH", at(""), { title: "Better" });
    await api("PUT", at("/collections/desk"), { title: secret, instructions: secret, skills: "all" });
    await send(`/api/v1${at("")}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${operator}`, "content-type": "application/json", "user-agent": `x ${secret}` },
      body: '{"title":"Best"}',
    });
    const events = await eventsOf(namespace);
    expect(events[0]!.agent).toBe(`x ${shown}`);
    const { results } = await env.DB.prepare("SELECT * FROM audit WHERE namespace = ?1").bind(namespace).all();
    expect(JSON.stringify([events, results])).not.toContain(secret.slice(0, 40));
    expect(JSON.stringify(events)).toContain(`"label":"for ${shown}"`);
  });

  it("is cut in what refuses it, over the API and over MCP", async () => {
    const namespace = await newNamespace();
    const secret = await newToken(namespace, "admin");
    const answers = [
      await api("GET", `/namespaces/${namespace}/skills/${secret}`),
      await post("/namespaces", { name: secret }),
      await api("GET", `/namespaces/${namespace}/audit?action=${secret}`),
      await api("PUT", `/namespaces/${namespace}/collections/${secret}`, { skills: "all" }),
      await modern(`/mcp/${namespace}`, "resources/read", { uri: `skill://${namespace}/${secret}/SKILL.md` }),
      await modern(`/mcp/${namespace}`, "tools/call", { name: "load_skill", arguments: { uri: secret } }),
    ];
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(secret.slice(0, 40));
    expect(JSON.stringify(answers[1]!.body)).toContain(secret.slice(0, 20));
  });
});

describe("an address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["2001:db8::7", "2001:db8::7"],
    ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
    ["somebody else", ""],
    ["<script>", ""],
    ["7", ""],
    [`${"1:".repeat(30)}1`, ""],
  ])("sent as %j is kept as %j", async (sent, kept) => {
    const namespace = await newNamespace();
    await send(`/api/v1/namespaces/${namespace}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${operator}`, "content-type": "application/json", "cf-connecting-ip": sent },
      body: '{"title":"New"}',
    });
    expect((await eventsOf(namespace))[0]!.address).toBe(kept);
  });
});

describe("a token that was cut for a job", () => {
  it("neither ends the membership that it was minted in, nor sees private collections with a path", async () => {
    const namespace = await newNamespace();
    const member = await newMember(namespace, "admin");
    await newMember(namespace, "admin");
    await api("PUT", `/namespaces/${namespace}/collections/inner`, { visibility: "private", skills: "all" });
    await api("PUT", `/namespaces/${namespace}/collections/outer`, { visibility: "public", skills: "all" });
    const mint = async (grant: object) =>
      (await api("POST", `/namespaces/${namespace}/tokens`, grant, member.token)).body["token"] as string;
    const remove = async (token: string) =>
      (await api("DELETE", `/namespaces/${namespace}/members/${member.id}`, undefined, token)).status;
    const held = await mint({ path: "team" });
    for (const token of [held, await mint({ scopes: ["audit:read"] }), await mint({ scopes: ["skills:publish"] })]) {
      expect(await remove(token)).toBe(403);
    }
    const seen = await api("GET", `/namespaces/${namespace}/collections`, undefined, held);
    expect((seen.body["collections"] as { name: string }[]).map(({ name }) => name)).toEqual(["outer"]);
    expect((await api("GET", `/namespaces/${namespace}/collections/inner`, undefined, held)).status).toBe(404);
    expect((await modern(`/mcp/${namespace}/inner`, "skills/list", {}, { token: held })).status).toBe(401);
    expect((await modern(`/mcp/${namespace}/outer`, "skills/list", {}, { token: held })).status).toBe(200);
    expect(await remove(member.token)).toBe(204);
  });

  it("is not told which skill outside its path is in the way", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "team", {}, "?visibility=private");
    await seedSkill(namespace, "inner", {}, "?path=job/deep/inner&visibility=private");
    const mint = async (path: string) =>
      (await post(`/namespaces/${namespace}/tokens`, { path })).body["token"] as string;
    const put = async (path: string, token: string) => {
      const name = path.split("/").at(-1)!;
      const { body } = await publish(namespace, { "SKILL.md": skillMdOf(name) }, `?path=${path}`, token);
      return [body["code"], body["detail"]];
    };
    const above = '"team/sub/x" and a skill above it would lie inside each other; choose another ?path=';
    expect(await put("team/sub/x", await mint("team/sub"))).toEqual(["path_conflict", above]);
    const named = '"job/deep" and the skill "job/deep/inner" would lie inside each other; choose another ?path=';
    expect(await put("job/deep", await mint("job"))).toEqual(["path_conflict", named]);
  });
});
