import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import { open as openSession } from "./handshakes.ts";
import { openStream } from "./session-stream.ts";
import { openListen } from "./streams.ts";
import type { Stream } from "./streams.ts";

/** What listeners must not hear, must not lose, and must not hear twice. */
const listChanged = { jsonrpc: "2.0", method: "notifications/resources/list_changed" };
const version = "2025-11-25";
/** A recheck soon after, so that what it would find is found within a test. */
const soon = { LIVE_RECHECK_MS: "80" };

async function listener(address: string, token?: string, vars: Record<string, string> = {}): Promise<Stream> {
  const options = token === undefined ? {} : { token };
  return openStream(address, await openSession(address, version, options), { ...options, vars });
}

/** What a stream that is opened now says first: how far its caller is. */
async function progressAt(address: string, session: string, token?: string): Promise<number> {
  const stream = await openStream(address, session, token === undefined ? {} : { token });
  const frame = await stream.frame();
  await stream.close();
  return Number(frame!.id);
}

const put = (namespace: string, name: string, body: Record<string, unknown>) =>
  api("PUT", `/namespaces/${namespace}/collections/${name}`, body);
const change = (namespace: string, name: string, text: string) =>
  publish(namespace, { "SKILL.md": skillMdOf(name, text) });

describe("a collection that holds what its owner hid", () => {
  it("tells its own people nothing of it, not even how often it changes, and the owner's people everything", async () => {
    const [theirs, mine] = [await newNamespace(), await newNamespace()];
    await seedSkill(theirs, "one");
    await put(mine, "desk", { visibility: "public", skills: [{ namespace: theirs, path: "one" }] });
    await api("PATCH", `/namespaces/${theirs}/skills/one`, { visibility: "private" });
    const address = `/mcp/${mine}/desk`;
    const [curator, owner] = [await newToken(mine, "admin"), await newToken(theirs, "reader")];
    const session = await openSession(address, version, { token: curator });
    const before = await progressAt(address, session, curator);
    const [deaf, hears] = [await listener(address, curator, soon), await listener(address, owner)];
    await hears.frame();
    await change(theirs, "one", "Another");
    expect(await hears.next()).toEqual(listChanged);
    await deaf.quiet();
    expect(await progressAt(address, session, curator)).toBe(before);
    await deaf.close();
    await hears.close();
  });
});

describe("a token that is held to a path", () => {
  it("hears of what lies below it, and learns nothing of how much happens beside it", async () => {
    const namespace = await newNamespace("private");
    await seedSkill(namespace, "inside", {}, "?path=billing/inside");
    await put(namespace, "all", { skills: "all" });
    const body = { scopes: ["skills:read"], path: "billing" };
    const token = (await api("POST", `/namespaces/${namespace}/tokens`, body)).body["token"] as string;
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version, { token });
    const before = await progressAt(address, session, token);
    const stream = await openListen(address, { resourcesListChanged: true }, { token, vars: soon });
    await stream.next();
    await seedSkill(namespace, "beside");
    await stream.quiet();
    expect(await progressAt(address, session, token)).toBe(before);
    await publish(namespace, { "SKILL.md": skillMdOf("inside", "Another") }, "?path=billing/inside");
    expect((await stream.next())["method"]).toBe(listChanged.method);
    await stream.close();
  });
});

describe("a right that runs out by itself", () => {
  it("is told nothing from that moment on, however long until the next recheck", async () => {
    const namespace = await newNamespace("private");
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
    const stream = await listener(`/mcp/${namespace}`, body["token"] as string);
    await stream.frame();
    // As when it was minted for so long: nobody is told when the clock gets there.
    await env.DB.prepare("UPDATE tokens SET expires_at = ?2 WHERE id = ?1").bind(body["id"], Date.now()).run();
    const rotated = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
    const other = await listener(`/mcp/${namespace}`, rotated.body["token"] as string);
    await api("POST", `/namespaces/${namespace}/tokens/${rotated.body["id"] as string}/rotate`, { overlap_hours: 0 });
    await seedSkill(namespace, "alpha");
    expect(await other.ended()).toEqual([]);
    expect(await stream.ended()).toEqual([]);
  });
});

describe("streams of one session", () => {
  it("tell of a change once, also after a recheck", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version);
    const streams = [];
    for (let count = 0; count < 3; count++) streams.push(await openStream(address, session, { vars: soon }));
    await seedSkill(namespace, "alpha");
    expect(await streams[2]!.next()).toEqual(listChanged);
    for (const stream of streams) await stream.quiet();
    for (const stream of streams) await stream.close();
  });
});

describe("nothing is lost", () => {
  it("of a yank of an old release, where a collection follows the skill", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "one");
    await change(namespace, "one", "Another");
    await put(namespace, "desk", { skills: [{ path: "one" }] });
    const uri = `skill://${namespace}/@1.0.0/one/SKILL.md`;
    const stream = await openListen(`/mcp/${namespace}/desk`, { resourceSubscriptions: [uri] });
    await stream.next();
    await api("PATCH", `/namespaces/${namespace}/skills/one/-/releases/1.0.0`, { yanked: true });
    expect(await stream.next()).toMatchObject({ params: { uri } });
    await stream.close();
  });

  it("at /mcp of another featured collection, live and after a break; and nothing is told of other collections", async () => {
    await api("POST", "/namespaces", { name: "registry" });
    await seedSkill("registry", "first");
    await seedSkill("registry", "second");
    await put("registry", "featured", { visibility: "public", skills: [{ path: "first" }] });
    const session = await openSession("/mcp", version);
    const stream = await openStream("/mcp", session);
    await stream.frame();
    await put("registry", "other", { visibility: "public", skills: "all" });
    await stream.quiet();
    await put("registry", "featured", { visibility: "public", skills: [{ path: "second" }] });
    expect(await stream.next()).toEqual(listChanged);
    await stream.close();
    const late = await openStream("/mcp", session);
    expect(await late.next()).toEqual(listChanged);
    await late.close();
  });

  it("of a collection that was deleted and made again, by a session from before", async () => {
    const namespace = await newNamespace();
    for (const skills of ["all", [], "all", []]) await put(namespace, "desk", { visibility: "public", skills });
    const address = `/mcp/${namespace}/desk`;
    const session = await openSession(address, version);
    await api("DELETE", `/namespaces/${namespace}/collections/desk`);
    await put(namespace, "desk", { visibility: "public", skills: "all" });
    const stream = await openStream(address, session);
    expect(await stream.next()).toEqual(listChanged);
    await stream.close();
  });

  it("after a private skill left a private collection", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "reader");
    for (const name of ["stays", "goes"]) await seedSkill(namespace, name, {}, "?visibility=private");
    await put(namespace, "desk", { visibility: "private", skills: [{ path: "stays" }, { path: "goes" }] });
    const address = `/mcp/${namespace}/desk`;
    const session = await openSession(address, version, { token });
    const stream = await openStream(address, session, { token });
    await stream.frame();
    await api("DELETE", `/namespaces/${namespace}/skills/goes`);
    const told = await stream.frame();
    await stream.close();
    // What the event was called is how far the database is.
    const again = await openStream(address, session, { token, headers: { "last-event-id": told!.id! } });
    expect((await again.frame())!.id).toBe(told!.id);
    await again.quiet();
    await again.close();
    await change(namespace, "stays", "Another");
    const late = await openStream(address, session, { token, headers: { "last-event-id": told!.id! } });
    expect(await late.next()).toEqual(listChanged);
    await late.close();
  });

  it("by the operator at /mcp", async () => {
    const namespace = await newNamespace();
    const token = env.ADMIN_TOKEN!;
    const session = await openSession("/mcp", version, { token });
    const stream = await openStream("/mcp", session, { token });
    await stream.frame();
    await seedSkill(namespace, "one");
    const told = await stream.frame();
    await stream.close();
    await change(namespace, "one", "Another");
    const late = await openStream("/mcp", session, { token, headers: { "last-event-id": told!.id! } });
    expect(await late.next()).toEqual(listChanged);
    await late.close();
  });
});

describe("nothing is told", () => {
  it("of a new title, a pre-release or a release that does not become current", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "reader");
    await seedSkill(namespace, "one");
    const stream = await listener(`/mcp/${namespace}`, token, soon);
    await stream.frame();
    await api("PATCH", `/namespaces/${namespace}`, { title: "Another" });
    await publish(namespace, { "SKILL.md": skillMdOf("one", "Next") }, "?version=2.0.0-rc.1");
    await publish(namespace, { "SKILL.md": skillMdOf("one", "Beside") }, "?current=false");
    await stream.quiet();
    await stream.close();
  });

  it("to strangers of what is unlisted, not even by a count", async () => {
    const namespace = await newNamespace();
    const session = await openSession(`/mcp/${namespace}`, version);
    const before = await progressAt(`/mcp/${namespace}`, session);
    await seedSkill(namespace, "hidden", {}, "?visibility=unlisted");
    expect(await progressAt(`/mcp/${namespace}`, session)).toBe(before);
  });
});
