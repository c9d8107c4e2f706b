import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import { newMember } from "../api/tenancy.ts";
import { openListen } from "./streams.ts";

/** `subscriptions/listen` of 2026-07-28: who is told what, and when. */
const listChanged = "notifications/resources/list_changed";

describe("a listener", () => {
  it("is acknowledged first, with what is honoured and no more, under its own id", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "a", { "b.txt": "b" });
    for (const id of ["one", 7]) {
      const stream = await openListen(
        `/mcp/${namespace}`,
        {
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: [`skill://${namespace}/a/SKILL.md`, `skill://${namespace}/a/b.txt`, "http://x"],
        },
        { id },
      );
      const ack = await stream.next();
      expect(ack).toMatchObject({
        method: "notifications/subscriptions/acknowledged",
        params: {
          notifications: { resourcesListChanged: true, resourceSubscriptions: [`skill://${namespace}/a/SKILL.md`] },
          _meta: { "io.modelcontextprotocol/subscriptionId": id },
        },
      });
      expect(Object.keys((ack["params"] as { notifications: object }).notifications)).toHaveLength(2);
      await stream.close();
    }
  });

  it("is told of every kind of change once, and of none that changed nothing", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "alpha");
    const stream = await openListen(`/mcp/${namespace}`, { resourcesListChanged: true });
    await stream.next();
    const path = `/namespaces/${namespace}/skills/alpha`;
    const changes: [string, () => Promise<unknown>][] = [
      ["publish", () => publish(namespace, { "SKILL.md": skillMdOf("alpha", "Another") })],
      ["move of current", () => api("PATCH", path, { current: "1.0.0" })],
      ["yank", () => api("PATCH", `${path}/-/releases/1.0.0`, { yanked: true })],
      ["un-yank", () => api("PATCH", `${path}/-/releases/1.0.0`, { yanked: false })],
      ["move back", () => api("PATCH", path, { current: "1.0.0" })],
      ["hide", () => api("PATCH", path, { visibility: "private" })],
      ["show", () => api("PATCH", path, { visibility: "public" })],
      ["delete", () => api("DELETE", path)],
    ];
    for (const [name, change] of changes) {
      await stream.quiet();
      await change();
      if (name === "un-yank") continue;
      expect([name, (await stream.next())["method"]]).toEqual([name, listChanged]);
    }
    await stream.quiet();
    await publish(namespace, { "SKILL.md": skillMdOf("beta") }, "?dry_run=true");
    await stream.quiet();
    await stream.close();
  });

  it("is told of what it watches, moving or pinned", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "alpha");
    const [moving, pinned] = [`skill://${namespace}/alpha/SKILL.md`, `skill://${namespace}/@1.0.0/alpha/SKILL.md`];
    const stream = await openListen(`/mcp/${namespace}`, { resourceSubscriptions: [moving, pinned] });
    await stream.next();
    await publish(namespace, { "SKILL.md": skillMdOf("alpha", "Another") });
    expect(await stream.next()).toMatchObject({ method: "notifications/resources/updated", params: { uri: moving } });
    await stream.quiet();
    await api("PATCH", `/namespaces/${namespace}/skills/alpha/-/releases/1.0.0`, { yanked: true });
    expect(await stream.next()).toMatchObject({ params: { uri: pinned } });
    await stream.close();
  });

  it("hears nothing of another namespace, nor of what it may not read", async () => {
    const [mine, other] = [await newNamespace(), await newNamespace()];
    const token = await newToken(mine, "reader");
    const stranger = await openListen(`/mcp/${mine}`, { resourcesListChanged: true });
    const member = await openListen(`/mcp/${mine}`, { resourcesListChanged: true }, { token });
    await stranger.next();
    await member.next();
    await seedSkill(other, "alpha");
    await stranger.quiet();
    await seedSkill(mine, "inner", {}, "?visibility=private");
    expect((await member.next())["method"]).toBe(listChanged);
    await stranger.quiet();
    await stranger.close();
    await member.close();
  });

  it("is ended with a result when its right ends: a token revoked, a member removed, a namespace deleted", async () => {
    const ends: ((namespace: string) => Promise<{ token: string; end: () => Promise<unknown> }>)[] = [
      async (namespace) => {
        const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
        const end = () => api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
        return { token: body["token"] as string, end };
      },
      async (namespace) => {
        const { id, token } = await newMember(namespace, "reader");
        return { token, end: () => api("DELETE", `/namespaces/${namespace}/members/${id}`) };
      },
      async (namespace) => ({
        token: await newToken(namespace, "reader"),
        end: () => api("DELETE", `/namespaces/${namespace}`),
      }),
    ];
    for (const make of ends) {
      const namespace = await newNamespace("private");
      const { token, end } = await make(namespace);
      const stream = await openListen(`/mcp/${namespace}`, { resourcesListChanged: true }, { token, id: "x" });
      await stream.next();
      await end();
      expect(await stream.ended()).toMatchObject([
        {
          id: "x",
          result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": "x" } },
        },
      ]);
    }
  });
});
