import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { maxVersionRetries } from "../../src/domain/limits.ts";
import { problem } from "../../src/domain/problem.ts";
import type { Problem } from "../../src/domain/problem.ts";
import { publish as publishDrafts } from "../../src/publish/publish.ts";
import type { PublishOptions, Stores } from "../../src/publish/publish.ts";
import { defaultQuotas } from "../../src/storage/quotas.ts";
import { newNamespace, newToken, origin, publish, seedSkill, skillMdOf } from "../harness.ts";
import { call, open as openSession, post, versions } from "./handshakes.ts";
import { open, Stream } from "./streams.ts";

/** How the GET, DELETE and other methods of a session keep to HTTP, and what a publisher who lost every race is told. */
const listChanged = { jsonrpc: "2.0", method: "notifications/resources/list_changed" };

async function get(address: string, session: string, headers: Record<string, string> = {}): Promise<Response> {
  const all = { accept: "text/event-stream", "mcp-session-id": session, ...headers };
  return open(new Request(origin + address, { headers: all }), { LIVE_JITTER_MS: "0", LIVE_RECHECK_MS: "60000" });
}

describe.each(versions)("Last-Event-ID of %s", (version) => {
  it("ahead of everything: told at once; malformed: what the session remembers counts", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    await seedSkill(namespace, "alpha");
    const session = await openSession(address, version);
    for (const id of ["999999", "999999999999999"]) {
      const stream = new Stream(await get(address, session, { "last-event-id": id }));
      const first = await stream.frame();
      if (version === "2025-11-25") expect(first!.id).toBe("0");
      expect(await stream.next()).toEqual(listChanged);
      await stream.quiet();
      await stream.close();
    }
    for (const id of ["-1", "1e9", "x", "9".repeat(16)]) {
      const stream = new Stream(await get(address, session, { "last-event-id": id }));
      await stream.quiet();
      await stream.close();
    }
  });
});

describe("Accept of a GET", () => {
  const good = ["text/event-stream", "Text/Event-Stream", "text/*", "*/*", "application/json;q=1, TEXT/*;q=0.5"];
  it.each(good)("%s is a stream", async (accept) => {
    const address = `/mcp/${await newNamespace()}`;
    const response = await get(address, await openSession(address, "2025-11-25"), { accept });
    expect(response.status).toBe(200);
    await response.body!.cancel();
  });

  it.each(["application/json", "text/html", "application/*", "", "x-text/event-stream"])("%j: 406", async (accept) => {
    const address = `/mcp/${await newNamespace()}`;
    expect((await get(address, await openSession(address, "2025-11-25"), { accept })).status).toBe(406);
  });
});

describe("methods", () => {
  it("that nobody has: 405 names what the session has, and without a good one POST", async () => {
    const [address, other] = [`/mcp/${await newNamespace()}`, `/mcp/${await newNamespace()}`];
    const session = await openSession(address, "2025-11-25");
    const texts = new Set<string>();
    const allowOf = async (method: string, at: string, id?: string) => {
      const { status, headers, text } = await call(method, at, { session: id, version: "2025-11-25" });
      texts.add(text);
      return [status, headers.get("allow")];
    };
    for (const method of ["PUT", "PATCH"]) {
      expect(await allowOf(method, address, session)).toEqual([405, "GET, POST, DELETE"]);
      expect(await allowOf(method, address)).toEqual([405, "POST"]);
      expect(await allowOf(method, address, `${session}0`)).toEqual([405, "POST"]);
      expect(await allowOf(method, other, session)).toEqual([405, "POST"]);
    }
    await call("DELETE", address, { session });
    expect(await allowOf("PUT", address, session)).toEqual([405, "POST"]);
    expect(texts.size).toBe(1);
  });

  it("that nobody has are refused by the gate first", async () => {
    const namespace = await newNamespace("private");
    const address = `/mcp/${namespace}`;
    const token = await newToken(namespace, "reader");
    const session = await openSession(address, "2025-11-25", { token });
    expect((await call("PUT", address, { session, token })).headers.get("allow")).toBe("GET, POST, DELETE");
    expect((await call("PUT", address, { session })).status).toBe(401);
  });

  it.each(["GET", "DELETE"])("%s that names 2026-07-28: 404, 400 or 405, and the session lives", async (method) => {
    const address = `/mcp/${await newNamespace()}`;
    const session = await openSession(address, "2025-11-25");
    const version = "2026-07-28";
    expect((await call(method, address, { session: `${session}0`, version })).status).toBe(404);
    const { status, body } = await call(method, address, { session, version });
    expect([status, body.error?.code]).toEqual([400, -32600]);
    const without = await call(method, address, { version });
    expect([without.status, without.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await call("DELETE", address, { session })).status).toBe(204);
  });
});

describe("a subscription that is made while the stream opens", () => {
  it("is heard of: what the session says after the dial counts", async () => {
    const namespace = await newNamespace();
    const address = `/mcp/${namespace}`;
    await seedSkill(namespace, "alpha");
    const session = await openSession(address, "2025-11-25");
    const uri = `skill://${namespace}/alpha/SKILL.md`;
    // Right before the dial: the session was looked at, and its Feed has nobody to tell yet.
    const getByName = (name: string) => ({
      fetch: async (url: string, init: RequestInit) => {
        expect((await post(address, "resources/subscribe", { session }, { uri })).body.result).toEqual({});
        return env.FEEDS!.getByName(name).fetch(url, init);
      },
    });
    const bindings = { FEEDS: { getByName } as unknown as DurableObjectNamespace };
    const headers = { accept: "text/event-stream", "mcp-session-id": session };
    const stream = new Stream(await open(new Request(origin + address, { headers }), bindings));
    await publish(namespace, { "SKILL.md": skillMdOf("alpha", "Another") });
    expect(await stream.next()).toEqual(listChanged);
    expect(await stream.next()).toMatchObject({ method: "notifications/resources/updated", params: { uri } });
    await stream.close();
  });
});

describe("a publisher who lost every race for a version", () => {
  it("is told that others published, and when to try again", async () => {
    let tries = 0;
    const ledger = {
      findStates: async () => ({ skills: [], quotas: quotas }),
      commit: async () => {
        tries++;
        throw problem("version_exists");
      },
    };
    const zero = { skills: 0, bytes: 0, publishesADay: 0 };
    const quotas = { own: {}, limits: defaultQuotas, used: zero, dayEndsAt: 0 };
    const options = { isDryRun: false, actor: { now: 0 } } as unknown as PublishOptions;
    const lost = await publishDrafts([], options, { ledger } as unknown as Stores).catch((error: Problem) => error);
    expect(tries).toBe(maxVersionRetries);
    expect(lost).toMatchObject({ code: "busy", details: { headers: { "retry-after": "2" } } });
    expect((lost as Problem).message).toMatch(/Others published .*try again/);
    expect((lost as Problem).message).not.toContain("bytes");
  });
});
