import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";

import { maxSubscriptionsPerSession } from "../../src/domain/limits.ts";
import { api, modern, newNamespace, newToken, seedSkill } from "../harness.ts";
import { call, kinds, objectOf, open, post, randomOf, versions, watched } from "./handshakes.ts";
import type { Options } from "./handshakes.ts";

let namespace: string;
let address: string;
let moving: string;
let pinned: string;

beforeAll(async () => {
  namespace = await newNamespace();
  address = `/mcp/${namespace}`;
  await seedSkill(namespace, "pdf-forms", { "notes.md": "# Notes\n" });
  await seedSkill(namespace, "secret-plan", {}, "?visibility=private");
  moving = `skill://${namespace}/pdf-forms/SKILL.md`;
  pinned = `skill://${namespace}/@1.0.0/pdf-forms/SKILL.md`;
});

const subscribe = (options: Options, uri: unknown, at = address) => post(at, "resources/subscribe", options, { uri });
const unsubscribe = (options: Options, uri: unknown, at = address) =>
  post(at, "resources/unsubscribe", options, { uri });

const kept = async (session: string) => (await objectOf(session).check(randomOf(session), Date.now()))?.subscriptions;

describe.each(versions)("subscriptions in %s", (version) => {
  it("are kept with the session, moving and pinned, each once, until they are taken back", async () => {
    const session = await open(address, version);
    for (const uri of [moving, pinned, moving]) {
      const { status, body } = await subscribe({ session, version }, uri);
      expect([status, body.result]).toEqual([200, {}]);
    }
    await evictDurableObject(objectOf(session));
    expect(await kept(session)).toEqual([moving, pinned]);
    for (const uri of [moving, moving]) {
      expect((await unsubscribe({ session, version }, uri)).body.result).toEqual({});
    }
    expect(await kept(session)).toEqual([pinned]);
  });

  it("are methods that nobody has without a session", async () => {
    for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
      const { status, body } = await post(address, method, { version }, { uri: moving });
      expect([status, body.error?.code]).toEqual([200, -32601]);
    }
  });

  it("change nothing in a session that does not serve the request", async () => {
    const session = await open(address, version);
    const other = versions.find((one) => one !== version)!;
    expect((await subscribe({ session, version: other }, moving)).status).toBe(400);
    expect(await kept(session)).toEqual([]);
    await subscribe({ session }, moving);
    expect((await unsubscribe({ session, version: other }, moving)).status).toBe(400);
    expect(await kept(session)).toEqual([moving]);
    await call("DELETE", address, { session });
    expect((await subscribe({ session }, moving)).status).toBe(404);
  });
});

describe("what can be subscribed to", () => {
  const refusals: [string, () => unknown][] = [
    ["an unknown skill", () => `skill://${namespace}/nothing/SKILL.md`],
    ["a private skill", () => `skill://${namespace}/secret-plan/SKILL.md`],
    ["an unknown version", () => `skill://${namespace}/@9.9.9/pdf-forms/SKILL.md`],
    ["another file", () => `skill://${namespace}/pdf-forms/notes.md`],
    ["a directory", () => `skill://${namespace}/pdf-forms`],
    ["another spelling", () => `skill://${namespace}/pdf-forms/%53KILL.md`],
    ["a skill outside the address", () => "skill://never-created/pdf-forms/SKILL.md"],
    ["another scheme", () => "https://example.com/SKILL.md"],
    ["no text", () => 5],
    ["nothing", () => undefined],
  ];

  it.each(refusals)("not %s: -32602", async (_, uri) => {
    const session = await open(address, "2025-11-25");
    const { status, body } = await subscribe({ session }, uri());
    expect([status, body.error?.code]).toEqual([200, -32602]);
    expect(await kept(session)).toEqual([]);
  });

  it("a private skill by whoever may read it, and strangers are told the same of it as of nothing", async () => {
    const token = await newToken(namespace, "reader");
    const uri = `skill://${namespace}/secret-plan/SKILL.md`;
    const session = await open(address, "2025-11-25", { token });
    expect((await subscribe({ session, token }, uri)).body.result).toEqual({});
    const theirs = await open(address, "2025-11-25");
    const [hidden, absent] = [uri, uri.replace("secret-plan", "secret-none")];
    const answers = [await subscribe({ session: theirs }, hidden), await subscribe({ session: theirs }, absent)];
    expect(answers[0]!.text.replaceAll("secret-plan", "secret-none")).toBe(answers[1]!.text);
  });

  it("at most so many, and one that is there already is never too many", async () => {
    const session = await open(address, "2025-11-25");
    for (let index = 1; index < maxSubscriptionsPerSession; index++) {
      await objectOf(session).subscribe(randomOf(session), `skill://acme/skill-${index}/SKILL.md`, Date.now());
    }
    expect((await subscribe({ session }, moving)).body.result).toEqual({});
    const refused = await subscribe({ session }, pinned);
    expect([refused.status, refused.body.error?.code]).toEqual([200, -32602]);
    expect(refused.body.error?.message).toContain(String(maxSubscriptionsPerSession));
    expect((await subscribe({ session }, moving)).body.result).toEqual({});
    await unsubscribe({ session }, moving);
    expect((await subscribe({ session }, pinned)).body.result).toEqual({});
  });

  it("what is gone can still be let go of", async () => {
    await seedSkill(namespace, "short-lived");
    const uri = `skill://${namespace}/short-lived/SKILL.md`;
    const session = await open(address, "2025-11-25");
    await subscribe({ session }, uri);
    expect((await api("DELETE", `/namespaces/${namespace}/skills/short-lived`)).status).toBe(204);
    expect((await subscribe({ session }, uri)).body.error?.code).toBe(-32602);
    expect((await unsubscribe({ session }, uri)).body.result).toEqual({});
    expect(await kept(session)).toEqual([]);
    expect((await unsubscribe({ session }, "skill://not/an/address")).body.error?.code).toBe(-32602);
  });

  it("several in one array of 2025-03-26", async () => {
    const session = await open(address, "2025-03-26");
    const batch = [moving, pinned].map((uri, id) => ({
      jsonrpc: "2.0",
      id,
      method: "resources/subscribe",
      params: { uri },
    }));
    expect((await call("POST", address, { session }, batch)).status).toBe(200);
    expect((await kept(session))?.sort()).toEqual([moving, pinned].sort());
  });
});

it("a modern request has neither method, whatever id it sends", async () => {
  const session = await open(address, "2025-11-25");
  for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
    const { status, error } = await modern(
      address,
      method,
      { uri: moving },
      { headers: { "mcp-session-id": session } },
    );
    expect([status, error?.code]).toEqual([404, -32601]);
  }
});

it("a subscription costs the look at the skill, the check and the one change", async () => {
  const session = await open(address, "2025-11-25");
  const { bindings, calls } = watched();
  await subscribe({ session, bindings }, moving);
  expect(kinds(calls)).toEqual(["sessions check", "d1", "sessions subscribe", "feeds watch"]);
});
