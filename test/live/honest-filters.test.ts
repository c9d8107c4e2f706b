import { describe, expect, it, vi } from "vitest";

import { maxSubscriptionsPerSession } from "../../src/domain/limits.ts";
import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import { listen, openListen } from "./streams.ts";

/** What `subscriptions/listen` acknowledges: what it can deliver to this caller, and nothing else. */
type Filter = Record<string, unknown>;

async function acknowledged(address: string, filter: Filter, token?: string): Promise<Filter> {
  const stream = await openListen(address, filter, token === undefined ? {} : { token });
  const ack = await stream.next();
  await stream.close();
  return (ack["params"] as { notifications: Filter }).notifications;
}

const malformed = ["x", {}, 7, true, false, null, [1], [null], [[]]];

describe("resourceSubscriptions that are no list of addresses", () => {
  it.each(malformed)("%j: refused in band, and nothing is logged", async (resourceSubscriptions) => {
    const logged = (["error", "warn", "log"] as const).map((level) => vi.spyOn(console, level));
    const response = await listen(`/mcp/${await newNamespace()}`, { resourceSubscriptions }, { id: 5 });
    expect([response.status, await response.json()]).toMatchObject([200, { id: 5, error: { code: -32602 } }]);
    for (const level of logged) expect(level).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("are refused to a stranger at a private address like everything there", async () => {
    const address = `/mcp/${await newNamespace("private")}`;
    const expected = await listen(address, { resourcesListChanged: true });
    const text = await expected.text();
    expect(expected.status).toBe(401);
    const tooMany = Array.from({ length: maxSubscriptionsPerSession + 1 }, (_, index) => `skill://a/${index}/SKILL.md`);
    for (const resourceSubscriptions of [...malformed, tooMany]) {
      const response = await listen(address, { resourceSubscriptions });
      expect([response.status, await response.text()]).toEqual([401, text]);
    }
  });
});

describe("what is acknowledged", () => {
  it("is what this caller may read at this address, each once; all else is left out alike", async () => {
    const [mine, other] = [await newNamespace(), await newNamespace()];
    const token = await newToken(mine, "reader");
    await seedSkill(mine, "open");
    await seedSkill(mine, "inner", {}, "?visibility=private");
    await seedSkill(other, "elsewhere");
    const uriOf = (namespace: string, path: string) => `skill://${namespace}/${path}/SKILL.md`;
    const [open, inner] = [uriOf(mine, "open"), uriOf(mine, "inner")];
    const pinned = uriOf(mine, "@1.0.0/open");
    const resourceSubscriptions = [open, inner, pinned, open, uriOf(mine, "unknown"), uriOf(mine, "@2.0.0/open")];
    resourceSubscriptions.push(
      uriOf(other, "elsewhere"),
      uriOf("nobody", "x"),
      `skill://${mine}/open/a.txt`,
      "http://x",
    );
    const address = `/mcp/${mine}`;
    expect(await acknowledged(address, { resourceSubscriptions })).toEqual({ resourceSubscriptions: [open, pinned] });
    expect(await acknowledged(address, { resourceSubscriptions }, token)).toEqual({
      resourceSubscriptions: [open, inner, pinned],
    });
    for (const uri of [inner, uriOf(mine, "unknown"), uriOf(other, "elsewhere"), uriOf("nobody", "x")]) {
      expect(await acknowledged(address, { resourceSubscriptions: [uri] })).toEqual({});
    }
  });

  it("is delivered: to who watches a private skill, and not to who was not acknowledged", async () => {
    const namespace = await newNamespace();
    const token = await newToken(namespace, "reader");
    await seedSkill(namespace, "inner", {}, "?visibility=private");
    const uri = `skill://${namespace}/inner/SKILL.md`;
    const filter = { resourcesListChanged: true, resourceSubscriptions: [uri] };
    const [member, stranger] = [
      await openListen(`/mcp/${namespace}`, filter, { token }),
      await openListen(`/mcp/${namespace}`, filter),
    ];
    for (const stream of [member, stranger]) await stream.next();
    await publish(namespace, { "SKILL.md": skillMdOf("inner", "Another") });
    expect((await member.next())["method"]).toBe("notifications/resources/list_changed");
    expect(await member.next()).toMatchObject({ params: { uri } });
    await stranger.quiet();
    await api("PATCH", `/namespaces/${namespace}/skills/inner`, { visibility: "public" });
    // What was not acknowledged is not told either, also when it can be read by now.
    expect((await stranger.next())["method"]).toBe("notifications/resources/list_changed");
    await stranger.quiet();
    for (const stream of [member, stranger]) await stream.close();
  });

  it("has at most as many addresses as a session; one more is refused, and the limit named", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "alpha");
    const uri = `skill://${namespace}/alpha/SKILL.md`;
    const many = Array.from(
      { length: maxSubscriptionsPerSession - 1 },
      (_, at) => `skill://${namespace}/x-${at}/SKILL.md`,
    );
    const address = `/mcp/${namespace}`;
    const full = [...many, uri, uri];
    expect(await acknowledged(address, { resourceSubscriptions: full })).toEqual({ resourceSubscriptions: [uri] });
    const refused = await listen(address, { resourceSubscriptions: [...full, "skill://a/b/SKILL.md"] }, { id: "n" });
    const body = await refused.json<{ id: string; error: { code: number; message: string } }>();
    expect([refused.status, body.id, body.error.code]).toEqual([200, "n", -32602]);
    expect(body.error.message).toContain(String(maxSubscriptionsPerSession));
  });
});
