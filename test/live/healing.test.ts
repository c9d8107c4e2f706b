import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { newNamespace, publish, seedSkill, skillMdOf } from "../harness.ts";
import { openListen } from "./streams.ts";
import type { Stream } from "./streams.ts";

/** Whatever happens to a Feed, its listeners' streams stay open, and nothing is missed that a list would not show. */
const listChanged = "notifications/resources/list_changed";
const vars = { LIVE_JITTER_MS: "0", LIVE_RECHECK_MS: "60000" };

const feedOf = (namespace: string) => env.FEEDS!.getByName(`feed:${namespace}:0`);

async function listener(namespace: string, more: Record<string, string> = {}): Promise<Stream> {
  const stream = await openListen(`/mcp/${namespace}`, { resourcesListChanged: true }, { vars: { ...vars, ...more } });
  await stream.next();
  return stream;
}

async function hearsPublish(namespace: string, stream: Stream, name: string): Promise<void> {
  await seedSkill(namespace, name);
  expect((await stream.next())["method"]).toBe(listChanged);
}

describe("a stream whose Feed", () => {
  it("hibernates hears what comes after, and no earlier news twice", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace);
    await hearsPublish(namespace, stream, "alpha");
    await evictDurableObject(feedOf(namespace), { webSockets: "hibernate" });
    await stream.quiet();
    await hearsPublish(namespace, stream, "beta");
    await stream.close();
  });

  it("is evicted stays open, is told to list again, and hears what comes after", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace);
    await evictDurableObject(feedOf(namespace), { webSockets: "close" });
    expect((await stream.next())["method"]).toBe(listChanged);
    await stream.quiet();
    await hearsPublish(namespace, stream, "alpha");
    await stream.close();
  });

  it("is aborted, as by a deploy, stays open, is told to list again, and hears what comes after", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace);
    await abortAllDurableObjects();
    expect((await stream.next())["method"]).toBe(listChanged);
    await hearsPublish(namespace, stream, "alpha");
    await stream.close();
  });

  it("lost its news finds out by itself", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace, { LIVE_RECHECK_MS: "200" });
    await env.DB.prepare("UPDATE namespaces SET public_revision = public_revision + 1 WHERE name = ?1")
      .bind(namespace)
      .run();
    expect((await stream.next())["method"]).toBe(listChanged);
    await stream.quiet();
    await stream.close();
  });
});

describe("a burst", () => {
  it("is told once at first and once together for the rest", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace);
    await Promise.all(
      ["a1", "b2", "c3", "d4", "e5"].map((name) => publish(namespace, { "SKILL.md": skillMdOf(name) })),
    );
    expect((await stream.next())["method"]).toBe(listChanged);
    expect((await stream.next())["method"]).toBe(listChanged);
    await stream.quiet();
    await stream.close();
  });
});

describe("a client that left", () => {
  it("is forgotten at the next signs of life, on both sides", async () => {
    const namespace = await newNamespace();
    const stream = await listener(namespace, { LIVE_KEEP_ALIVE_MS: "50" });
    const count = () => runInDurableObject(feedOf(namespace), (_, state) => state.getWebSockets().length);
    expect(await count()).toBe(1);
    await stream.close();
    const until = Date.now() + 5_000;
    while ((await count()) > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 50));
    expect(await count()).toBe(0);
  });
});
