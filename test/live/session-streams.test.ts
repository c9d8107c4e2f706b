import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import { call, open as openSession, post, versions } from "./handshakes.ts";
import { get, openStream } from "./session-stream.ts";
import type { Stream } from "./streams.ts";

/** The GET streams of 2025-era sessions. */
const listChanged = { jsonrpc: "2.0", method: "notifications/resources/list_changed" };

describe.each(versions)("a stream of %s", (version) => {
  it("says something at once, how long to wait, and from 2025-11-25 on where it is", async () => {
    const address = `/mcp/${await newNamespace()}`;
    const stream = await openStream(address, await openSession(address, version), { version });
    const first = await stream.frame();
    expect(first!.retry).toBe("3000");
    if (version === "2025-11-25") expect([/^\d+$/.test(first!.id!), first!.data]).toEqual([true, ""]);
    else expect([first!.id, first!.data]).toEqual([undefined, undefined]);
    await stream.close();
  });

  it("shows signs of life, and is told of changes with how far they came", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const stream = await openStream(address, await openSession(address, version), {
      version,
      vars: { LIVE_KEEP_ALIVE_MS: "40" },
    });
    await stream.frame();
    expect((await stream.frame())!.comment).toBe("keep-alive");
    await seedSkill(namespace, "alpha");
    let frame = await stream.frame();
    while (frame!.data === undefined) frame = await stream.frame();
    expect(JSON.parse(frame!.data)).toEqual(listChanged);
    expect(Number(frame!.id)).toBeGreaterThan(0);
    await stream.close();
  });

  it("tells who comes back behind once, at once, with or without the last id", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version);
    await seedSkill(namespace, "alpha");
    const first = await openStream(address, session, { version });
    const told = await (async () => {
      for (;;) {
        const frame = await first.frame();
        if (frame!.data !== undefined && frame!.data !== "") return frame!;
      }
    })();
    expect(JSON.parse(told.data!)).toEqual(listChanged);
    await first.quiet();
    await first.close();
    // Nothing came to pass: whoever says where they are is told nothing.
    const second = await openStream(address, session, { version, headers: { "last-event-id": told.id! } });
    await second.quiet();
    await second.close();
    await seedSkill(namespace, "beta");
    const third = await openStream(address, session, { version, headers: { "last-event-id": told.id! } });
    expect(await third.next()).toEqual(listChanged);
    await third.quiet();
    await third.close();
  });

  it("remembers for a client that sends no last id how far it was told", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version);
    await seedSkill(namespace, "alpha");
    const stream = await openStream(address, session, { version, vars: { LIVE_KEEP_ALIVE_MS: "40" } });
    expect(await stream.next()).toEqual(listChanged);
    for (let signs = 0; signs < 4;) if ((await stream.frame())!.comment === "keep-alive") signs++;
    await stream.close();
    const next = await openStream(address, session, { version });
    await next.quiet();
    await next.close();
  });

  it("hears of what the session subscribed to, also while it is open", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    await seedSkill(namespace, "alpha");
    await seedSkill(namespace, "beta");
    const session = await openSession(address, version);
    const uriOf = (name: string) => `skill://${namespace}/${name}/SKILL.md`;
    const subscribe = (method: string, name: string) =>
      post(address, method, { version, session }, { uri: uriOf(name) });
    expect((await subscribe("resources/subscribe", "alpha")).body.result).toEqual({});
    const stream = await openStream(address, session, { version });
    const change = (name: string, text: string) => publish(namespace, { "SKILL.md": skillMdOf(name, text) });
    await change("alpha", "Another");
    expect(await stream.next()).toEqual(listChanged);
    expect(await stream.next()).toMatchObject({ params: { uri: uriOf("alpha") } });
    await subscribe("resources/subscribe", "beta");
    await subscribe("resources/unsubscribe", "alpha");
    await stream.quiet();
    await change("alpha", "A third");
    expect(await stream.next()).toEqual(listChanged);
    await stream.quiet();
    await change("beta", "Another");
    expect(await stream.next()).toEqual(listChanged);
    expect(await stream.next()).toMatchObject({ params: { uri: uriOf("beta") } });
    await stream.close();
  });

  it("of a session with several streams: only the newest is told, and the fifth takes the place of the first", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version);
    const streams: Stream[] = [];
    for (let count = 0; count < 4; count++) streams.push(await openStream(address, session, { version }));
    await seedSkill(namespace, "alpha");
    expect(await streams[3]!.next()).toEqual(listChanged);
    for (const older of streams.slice(0, 3)) await older.quiet();
    streams.push(await openStream(address, session, { version }));
    await streams[0]!.ended();
    for (const stream of streams) await stream.close();
  });

  it("ends with its session", async () => {
    const address = `/mcp/${await newNamespace()}`;
    const session = await openSession(address, version);
    const stream = await openStream(address, session, { version });
    expect((await call("DELETE", address, { version, session })).status).toBe(204);
    expect(await stream.ended()).toEqual([]);
    expect((await get(address, session, { version })).status).toBe(404);
  });

  it("outlives an eviction of its Feed and of its session's object", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const session = await openSession(address, version);
    const stream = await openStream(address, session, { version });
    await evictDurableObject(env.FEEDS!.getByName(`feed:${namespace}:0`), { webSockets: "close" });
    await evictDurableObject(env.SESSIONS!.getByName(`sessions:${session.split(".")[0]}`));
    expect(await stream.next()).toEqual(listChanged);
    await seedSkill(namespace, "alpha");
    expect(await stream.next()).toEqual(listChanged);
    await stream.close();
  });
});

describe("a GET", () => {
  it("without a session is 405, and names what is allowed", async () => {
    const address = `/mcp/${await newNamespace()}`;
    for (const version of [...versions, "2026-07-28"]) {
      const { status, headers, body } = await call("GET", address, { version });
      expect([status, headers.get("allow"), body.error?.code]).toEqual([405, "POST", -32600]);
    }
  });

  it("that does not accept a stream is 406; with a foreign session, at another address or of another, 404", async () => {
    const [address, other] = [`/mcp/${await newNamespace()}`, `/mcp/${await newNamespace()}`];
    const session = await openSession(address, "2025-11-25");
    expect((await get(address, session, { headers: { accept: "application/json" } })).status).toBe(406);
    expect((await get(other, session)).status).toBe(404);
    expect((await get(address, `${session}0`)).status).toBe(404);
    expect((await get(address, session, { version: "2025-06-18" })).status).toBe(400);
  });
});

describe("a right that ends", () => {
  it("ends the streams that it opened, and nothing more is told", async () => {
    const namespace = await newNamespace("private");
    const address = `/mcp/${namespace}`;
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
    const token = body["token"] as string;
    const stays = await newToken(namespace, "reader");
    const session = await openSession(address, "2025-11-25", { token });
    const stream = await openStream(address, session, { token });
    const other = await openStream(address, await openSession(address, "2025-11-25", { token: stays }), {
      token: stays,
    });
    await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
    await seedSkill(namespace, "alpha");
    expect(await stream.ended()).toEqual([]);
    expect(await other.next()).toEqual(listChanged);
    await other.close();
  });

  it("because a namespace was hidden or deleted ends the streams of all who may not see it", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    const token = await newToken(namespace, "reader");
    const stranger = await openStream(address, await openSession(address, "2025-11-25"));
    const member = await openStream(address, await openSession(address, "2025-11-25", { token }), { token });
    await api("PATCH", `/namespaces/${namespace}`, { visibility: "private" });
    expect(await stranger.ended()).toEqual([]);
    expect(await member.next()).toEqual(listChanged);
    await api("DELETE", `/namespaces/${namespace}`);
    await member.ended();
  });

  it("is found out without being told, at the next recheck", async () => {
    const namespace = await newNamespace("private");
    const address = `/mcp/${namespace}`;
    const token = await newToken(namespace, "reader");
    const session = await openSession(address, "2025-11-25", { token });
    const stream = await openStream(address, session, { token, vars: { LIVE_RECHECK_MS: "100" } });
    await env.DB.prepare("UPDATE tokens SET revoked_at = 1 WHERE namespace = ?1").bind(namespace).run();
    expect(await stream.ended()).toEqual([]);
  });
});

describe("collections and /mcp", () => {
  it("hear of what they hold, and of being replaced", async () => {
    const [namespace, team] = [await newNamespace(), await newNamespace()];
    await seedSkill(namespace, "alpha");
    await seedSkill(namespace, "beta");
    const put = (skills: unknown) =>
      api("PUT", `/namespaces/${team}/collections/desk`, { visibility: "public", skills });
    await put([
      { namespace, path: "alpha" },
      { namespace, path: "beta", version: "1.0.0" },
    ]);
    const address = `/mcp/${team}/desk`;
    const stream = await openStream(address, await openSession(address, "2025-11-25"));
    await publish(namespace, { "SKILL.md": skillMdOf("alpha", "Another") });
    expect(await stream.next()).toEqual(listChanged);
    await stream.quiet();
    // A pinned release is what it was when current moves on, and gone from the list when it is yanked.
    await publish(namespace, { "SKILL.md": skillMdOf("beta", "Another") });
    await stream.quiet();
    await api("PATCH", `/namespaces/${namespace}/skills/beta/-/releases/1.0.0`, { yanked: true });
    expect(await stream.next()).toEqual(listChanged);
    await stream.quiet();
    await put("all");
    expect(await stream.next()).toEqual(listChanged);
    await stream.quiet();
    await seedSkill(namespace, "gamma");
    await stream.quiet();
    await stream.close();
  });

  it("at /mcp everything public is heard, private things by those who may read them", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "reader");
    const stranger = await openStream("/mcp", await openSession("/mcp", "2025-11-25"));
    const member = await openStream("/me/mcp", await openSession("/me/mcp", "2025-11-25", { token }), { token });
    await seedSkill(namespace, "alpha");
    expect(await stranger.next()).toEqual(listChanged);
    expect(await member.next()).toEqual(listChanged);
    await member.quiet();
    await seedSkill(namespace, "inner", {}, "?visibility=private");
    expect(await member.next()).toEqual(listChanged);
    await stranger.quiet();
    await stranger.close();
    await member.close();
  });
});

describe("too many listeners", () => {
  it("are asked to come back later", async () => {
    const address = `/mcp/${await newNamespace()}`;
    const few = { LIVE_LISTENERS: "1" };
    const stream = await openStream(address, await openSession(address, "2025-11-25"), { vars: few });
    const refused = await get(address, await openSession(address, "2025-11-25"), { vars: few });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("later") as string } });
    const own = { LIVE_LISTENERS_PER_PRINCIPAL: "1" };
    expect((await get(address, await openSession(address, "2025-11-25"), { vars: own })).status).toBe(503);
    await stream.close();
  });
});
