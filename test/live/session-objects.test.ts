import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";

import { defaultSessionShards, maxSessionsPerOwner, sessionIdleMs, sessionUseStepMs } from "../../src/domain/limits.ts";
import { stranger } from "../../src/live/sessions.ts";
import type { NewSession, Sessions } from "../../src/live/sessions.ts";
import { newNamespace, newToken } from "../harness.ts";
import { open, post, randomOf, shard } from "./handshakes.ts";

type Stub = DurableObjectStub<Sessions>;

const start = Date.now();
let objects = 1_000;
let sessions = 0;

/** An object of a test's own. */
const freshObject = (): Stub => shard(objects++);

function session(given: Partial<NewSession> = {}): NewSession {
  return {
    random: `random-${++sessions}`,
    version: "2025-11-25",
    clientName: "test",
    clientVersion: "1",
    path: "/mcp/acme",
    principal: "token:0123456789abcdef",
    owner: "owner",
    sent: 0,
    now: start,
    ...given,
  };
}

async function opened(object: Stub, given: Partial<NewSession> = {}): Promise<string> {
  const one = session(given);
  expect(await object.open(one)).toBe(true);
  return one.random;
}

function rowsOf(object: Stub): Promise<string[]> {
  return runInDurableObject(object, (_, { storage }) =>
    storage.sql
      .exec<{ random: string }>("SELECT random FROM sessions ORDER BY expires_at")
      .toArray()
      .map(({ random }) => random),
  );
}

/** Other tests' sessions may lie in the same object. */
function countOf(object: Stub, owner: string): Promise<number> {
  return runInDurableObject(
    object,
    (_, { storage }) =>
      storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM sessions WHERE owner = ?", owner).one().n,
  );
}

const alarmOf = (object: Stub) => runInDurableObject(object, (_, { storage }) => storage.getAlarm());

afterEach(() => {
  vi.useRealTimers();
});

function at(now: number): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(now);
}

describe("an object of sessions", () => {
  it("gives back what it was given, also after its eviction", async () => {
    const object = freshObject();
    const given = session({ sent: 7 });
    await object.open(given);
    await evictDurableObject(object);
    const { random, owner: _, now, ...rest } = given;
    const expiresAt = now + sessionIdleMs + sessionUseStepMs;
    expect(await object.check(random, start)).toEqual({ ...rest, subscriptions: [], expiresAt });
    expect(await object.check("never", start)).toBeUndefined();
  });

  it("ends a session once", async () => {
    const object = freshObject();
    const random = await opened(object);
    expect([await object.end(random), await object.end(random)]).toEqual([true, false]);
    expect(await object.check(random, start)).toBeUndefined();
    expect(await object.subscribe(random, "skill://a/b/SKILL.md", start)).toBe("gone");
    expect(await object.unsubscribe(random, "skill://a/b/SKILL.md", start)).toBe("gone");
    expect(await object.noteSent(random, 1, start)).toBe(false);
    expect(await rowsOf(object)).toEqual([]);
  });

  it("writes the last use down once in a while, however often a session is used", async () => {
    const object = freshObject();
    const random = await opened(object);
    const written = () =>
      runInDurableObject(object, (_, { storage }) =>
        storage.sql.exec<{ expires_at: number }>("SELECT expires_at FROM sessions").one(),
      );
    const before = await written();
    for (let second = 1; second < 5; second++) await object.check(random, start + second * 1000);
    await object.check(random, start + sessionUseStepMs - 1);
    expect(await written()).toEqual(before);
    await object.check(random, start + sessionUseStepMs);
    expect((await written()).expires_at).toBe(before.expires_at + sessionUseStepMs);
    // A clock that is behind takes nothing back.
    await object.check(random, start);
    expect((await written()).expires_at).toBe(before.expires_at + sessionUseStepMs);
  });

  it("remembers how far a client was told, and never less", async () => {
    const object = freshObject();
    const random = await opened(object, { sent: 5 });
    for (const [sent, kept] of [
      [4, 5],
      [9, 9],
      [6, 9],
    ] as const) {
      expect(await object.noteSent(random, sent, start)).toBe(true);
      expect((await object.check(random, start))?.sent).toBe(kept);
    }
  });
});

describe("the alarm", () => {
  it("is one, set for the next session that runs out", async () => {
    const object = freshObject();
    await opened(object, { now: start });
    const first = await alarmOf(object);
    expect(first).toBe(start + sessionIdleMs + sessionUseStepMs);
    await opened(object, { now: start + 60_000 });
    expect(await alarmOf(object)).toBe(first);
  });

  it("removes what has run out, and is set again only while there is something to wait for", async () => {
    const object = freshObject();
    const [idle, used] = [await opened(object), await opened(object)];
    const day = sessionIdleMs + sessionUseStepMs;
    await object.check(used, start + 3_600_000);
    await evictDurableObject(object);
    at(start + day);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await rowsOf(object)).toEqual([used]);
    expect(await object.check(idle, Date.now())).toBeUndefined();
    expect(await alarmOf(object)).toBe(start + 3_600_000 + day);
    at(start + 2 * day);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect([await rowsOf(object), await alarmOf(object)]).toEqual([[], null]);
    const again = await opened(object, { now: Date.now() });
    expect([await rowsOf(object), await alarmOf(object)]).toEqual([[again], Date.now() + day]);
  });

  it("takes many that run out one after the other together", async () => {
    const object = freshObject();
    for (let minute = 0; minute < 8; minute++) await opened(object, { now: start + minute * 60_000 });
    at(start + sessionIdleMs + sessionUseStepMs);
    await runDurableObjectAlarm(object);
    expect((await rowsOf(object)).length).toBe(7);
    expect(await alarmOf(object)).toBe(Date.now() + sessionUseStepMs);
    at(Date.now() + sessionUseStepMs);
    await runDurableObjectAlarm(object);
    expect((await rowsOf(object)).length).toBe(2);
  });
});

describe("room in an object", () => {
  const caps = { perOwner: 3, all: 5 };

  it("whoever has too many loses the one that was unused for longest", async () => {
    const object = freshObject();
    const own: string[] = [];
    for (let minute = 0; minute < 3; minute++) {
      const one = session({ now: start + minute });
      await object.open(one, caps);
      own.push(one.random);
    }
    const foreign = await opened(object, { owner: "other" });
    await object.check(own[0]!, start + sessionUseStepMs);
    const fourth = session({ now: start + sessionUseStepMs + 1 });
    expect(await object.open(fourth, caps)).toBe(true);
    expect((await rowsOf(object)).sort()).toEqual([own[0]!, own[2]!, foreign, fourth.random].sort());
  });

  it("a full object takes no more of those who have none there, unless a stranger's can go", async () => {
    const object = freshObject();
    const of = (owner: string, principal: string, minute: number) =>
      session({ owner, principal, now: start + minute * 60_000 });
    const first = [
      of("a", "token:a", 0),
      of("x", stranger, 1),
      of("y", stranger, 2),
      of("b", "token:b", 3),
      of("b", "token:b", 4),
    ];
    for (const one of first) expect(await object.open(one, caps)).toBe(true);
    await evictDurableObject(object);
    const [c, d, b] = [of("c", "token:c", 5), of("d", stranger, 6), of("b", "token:b", 7)];
    // The longest unused of all is a token's, and stays.
    expect(await object.open(c, caps)).toBe(true);
    expect(await object.check(first[1]!.random, start)).toBeUndefined();
    expect(await object.check(first[0]!.random, start)).toBeDefined();
    expect(await object.open(d, caps)).toBe(true);
    expect(await object.check(first[2]!.random, start)).toBeUndefined();
    // Who has some there loses an own one.
    expect(await object.open(b, caps)).toBe(true);
    expect(await object.check(first[3]!.random, start)).toBeUndefined();
    expect(await object.end(d.random)).toBe(true);
    expect(await object.open(of("e", "token:e", 8), caps)).toBe(true);
    // Five that belong to tokens: nobody has to make room for somebody new.
    expect(await object.open(of("f", "token:f", 9), caps)).toBe(false);
    expect(await object.open(of("z", stranger, 9), caps)).toBe(false);
    expect((await rowsOf(object)).length).toBe(5);
    expect(await object.end(c.random)).toBe(true);
    expect(await object.open(of("f", "token:f", 9), caps)).toBe(true);
  });

  it("a client that opens sessions in a loop keeps what its owner may have, and costs nobody else theirs", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "reader");
    const address = `/mcp/${namespace}`;
    const bindings = { SESSION_SHARDS: "1" };
    const theirs = await open(address, "2025-11-25", { token, bindings });
    const neighbour = await open(address, "2025-11-25", { bindings, headers: { "cf-connecting-ip": "192.0.2.9" } });
    const flooder = { bindings, headers: { "cf-connecting-ip": "2001:db8::1" } };
    const first = await open(address, "2025-11-25", flooder);
    const owner = await runInDurableObject(
      shard(0),
      (_, { storage }) =>
        storage.sql.exec<{ owner: string }>("SELECT owner FROM sessions WHERE random = ?", randomOf(first)).one().owner,
    );
    for (let more = 1; more < maxSessionsPerOwner; more++) {
      await shard(0).open(session({ owner, principal: stranger, now: Date.now() }));
    }
    // Another address of the same network is no new allowance.
    await open(address, "2025-11-25", { bindings, headers: { "cf-connecting-ip": "2001:db8::2" } });
    expect((await post(address, "ping", { session: first, ...flooder })).status).toBe(404);
    expect((await post(address, "ping", { session: theirs, token })).status).toBe(200);
    expect((await post(address, "ping", { session: neighbour })).status).toBe(200);
    expect(await countOf(shard(0), owner)).toBe(maxSessionsPerOwner);
  });

  it("is looked for in all objects evenly", async () => {
    const { placeOwner } = await import("../../src/auth/session-id.ts");
    const counts = new Map<number, number>();
    for (let owner = 0; owner < 800; owner++) {
      const { shard: place } = await placeOwner(`address:${owner}`, defaultSessionShards, "k".repeat(32));
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const count of counts.values()) expect(count).toBeGreaterThan(50);
  });
});
