import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { syncGroups } from "../../src/storage/group-roles.ts";
import { packZip } from "../../src/publish/pack.ts";
import { api, modern, newNamespace, newToken, origin, seedSkill, send, skillMdOf, toFiles } from "../harness.ts";
import type { Answer } from "../harness.ts";
import { obtainCode, redeem, refresh, register, signInAt as signInAsNewClient } from "./oauth-client.ts";
import type { Who } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** What is taken away is over at once: at every address, for reading, renewing, and for writes that were under way. */
afterEach(() => void vi.useRealTimers());

const issuer = "https://accounts.example";
const day = 86_400_000;
let people = 0;

async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return namespace;
}

async function newMember(namespace: string, role = "reader") {
  const who = { issuer, subject: `person-${++people}` };
  const id = `member-${people}`;
  await env.DB.prepare(
    "INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by) VALUES (?1, ?2, ?3, ?4, ?5, 1, 'test')",
  )
    .bind(id, namespace, issuer, who.subject, role)
    .run();
  return { who, id };
}

let client: string | undefined;

/** With one client for all, since an address may register no more than some in an hour. */
async function signInAt(who: Who, path: string, more: Record<string, string> = {}) {
  client ??= (await register()).body.client_id;
  return signInAsNewClient(who, path, { client_id: client, ...more });
}

const opens = async (path: string, token: string) => (await modern(path, "skills/list", {}, { token })).status;

/** Whether the answer holds the private skill. */
async function finds(path: string, token: string): Promise<boolean> {
  const { body } = await modern(path, "skills/list", {}, { token });
  return JSON.stringify(body).includes("secret-plans");
}

/** Signed in at every address, with all that could be allowed. */
async function everywhere(who: Who, namespace: string) {
  const paths = ["/me/mcp", `/me/mcp/${namespace}`, `/mcp/${namespace}`];
  const all = [];
  for (const path of paths) all.push({ path, ...(await signInAt(who, path)) });
  for (const { path, tokens } of all) expect([path, await finds(path, tokens.access_token)]).toEqual([path, true]);
  return all;
}

type SignedIn = Awaited<ReturnType<typeof everywhere>>;

async function isOverFor(all: SignedIn): Promise<void> {
  for (const { path, tokens } of all) expect([path, await finds(path, tokens.access_token)]).toEqual([path, false]);
}

async function isDead(all: SignedIn): Promise<void> {
  for (const { path, tokens, clientId } of all) {
    expect([path, await opens(path, tokens.access_token)]).toEqual([path, 401]);
    const { status, body } = await refresh(clientId, tokens.refresh_token);
    expect([path, status, body.error]).toEqual([path, 400, "invalid_grant"]);
  }
}

describe("a sign-in ends at once", () => {
  it("when its person withdraws it on the account page, and no other does", async () => {
    const namespace = await privateNamespace();
    const token = await newToken(namespace, "reader");
    const all = await everywhere(token, namespace);
    const [withdrawn, ...kept] = all;
    const id = withdrawn!.code.split(":")[1]!;
    const [stranger, neighbour] = [new Person(), new Person()];
    await neighbour.signIn(await newToken(namespace, "admin"));
    expect((await stranger.submit(`/account/grants/${id}/revoke`, {})).status).toBe(401);
    await neighbour.submit(`/account/grants/${id}/revoke`, {});
    expect((await neighbour.open("/account")).html).not.toContain(id);
    expect(await opens("/me/mcp", withdrawn!.tokens.access_token)).toBe(200);
    await withdrawn!.person.submit(`/account/grants/${id}/revoke`, {});
    await isDead([withdrawn!]);
    for (const { path, tokens } of kept) expect(await opens(path, tokens.access_token)).toBe(200);
    expect((await withdrawn!.person.open("/account")).html).not.toContain(id);
  });

  it("when the token is revoked or runs out with which it was allowed", async () => {
    const namespace = await privateNamespace();
    const ends: Record<string, (id: string) => Promise<unknown>> = {
      revoked: (id) => api("DELETE", `/namespaces/${namespace}/tokens/${id}`),
      expired: (id) => env.DB.prepare("UPDATE tokens SET expires_at = 1 WHERE id = ?1").bind(id).run(),
    };
    for (const end of Object.values(ends)) {
      const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
      const all = await everywhere(body["token"] as string, namespace);
      await end(body["id"] as string);
      await isDead(all);
    }
  });

  it("when the member is removed: at the namespace, and for what the root shows of it", async () => {
    const namespace = await privateNamespace();
    const { who, id } = await newMember(namespace);
    const all = await everywhere(who, namespace);
    expect((await api("DELETE", `/namespaces/${namespace}/members/${id}`)).status).toBe(204);
    await isOverFor(all);
    for (const { path, tokens, clientId } of all.slice(1)) {
      expect([path, await opens(path, tokens.access_token)]).toEqual([path, 401]);
      expect((await refresh(clientId, tokens.refresh_token)).body.error).toBe("invalid_grant");
    }
  });

  it("when the member is removed whose token signed in", async () => {
    const namespace = await privateNamespace();
    const { body } = await api("POST", `/namespaces/${namespace}/invitations`, { role: "reader" });
    const person = { issuer, subject: `person-${++people}` };
    const accepted = await api("POST", `/invitations/${body["secret"] as string}`, person, null);
    const all = await everywhere(accepted.body["token"] as string, namespace);
    const { id } = accepted.body["member"] as { id: string };
    await api("DELETE", `/namespaces/${namespace}/members/${id}`);
    await isDead(all);
  });

  it("when the namespace is deleted, for tokens and members", async () => {
    const namespace = await privateNamespace();
    const members = await everywhere((await newMember(namespace)).who, namespace);
    const tokens = await everywhere(await newToken(namespace, "reader"), namespace);
    expect((await api("DELETE", `/namespaces/${namespace}`)).status).toBe(204);
    await isOverFor([...members, ...tokens]);
    for (const { path, tokens: one, clientId } of members.slice(1)) {
      expect([401, 404]).toContain(await opens(path, one.access_token));
      expect((await refresh(clientId, one.refresh_token)).body.error).toBe("invalid_grant");
    }
    await isDead(tokens);
  });

  it("for whoever has no rights there, when the namespace becomes private", async () => {
    const namespace = await newNamespace("public");
    await seedSkill(namespace, "secret-plans");
    const path = `/mcp/${namespace}`;
    const person = await signInAt({ issuer, subject: "nobody-here" }, path);
    expect(await finds(path, person.tokens.access_token)).toBe(true);
    await api("PATCH", `/namespaces/${namespace}`, { visibility: "private" });
    expect(await opens(path, person.tokens.access_token)).toBe(404);
    expect((await refresh(person.clientId, person.tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  it("when the provider says that the person has left the group, the mapping goes, or nobody says it for a week", async () => {
    const ends: Record<string, (namespace: string, join: (groups: string[]) => Promise<void>) => Promise<unknown>> = {
      "left the group": (_, join) => join([]),
      "the mapping is gone": (namespace) => api("PUT", `/namespaces/${namespace}/groups`, { groups: [] }),
      "another sign-in without the claim": (_, join) => join(["others"]),
    };
    for (const [name, end] of Object.entries(ends)) {
      const namespace = await privateNamespace();
      const who = { issuer, subject: `person-${++people}` };
      const join = (groups: string[]) =>
        syncGroups(env.DB, {
          person: who,
          groups,
          now: Date.now(),
          from: { address: "", agent: "" },
          mintId: () => `m${++people}`,
        });
      await api("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group: name, role: "reader" }] });
      await join([name, "others"]);
      const all = await everywhere(who, namespace);
      await end(namespace, join);
      await isOverFor(all);
      for (const { path, tokens } of all.slice(1)) {
        expect([name, path, await opens(path, tokens.access_token)]).toEqual([name, path, 401]);
      }
    }
  });

  it("a week after the provider last named the group, without any sweep, also for tokens that are renewed", async () => {
    const namespace = await privateNamespace();
    const who = { issuer, subject: `person-${++people}` };
    await api("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group: "team", role: "reader" }] });
    const said = { person: who, groups: ["team"], now: Date.now(), from: { address: "", agent: "" } };
    await syncGroups(env.DB, { ...said, mintId: () => `m${++people}` });
    const path = `/mcp/${namespace}`;
    const signedIn = await signInAt(who, path);
    const root = await signInAt(who, "/me/mcp");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 6 * day);
    const renewed = await refresh(signedIn.clientId, signedIn.tokens.refresh_token);
    const renewedRoot = await refresh(root.clientId, root.tokens.refresh_token);
    expect(await opens(path, renewed.body.access_token)).toBe(200);
    vi.setSystemTime(Date.now() + day);
    expect((await refresh(signedIn.clientId, renewed.body.refresh_token)).body.error).toBe("invalid_grant");
    const later = await refresh(root.clientId, renewedRoot.body.refresh_token);
    expect(await finds("/me/mcp", later.body.access_token)).toBe(false);
  });
});

/** A sign-in at the API with all scopes that its role has. */
async function writer(who: Who) {
  const scope = "skills:read skills:publish collections:write audit:read namespace:admin";
  return signInAt(who, "/api/v1", { scope });
}

/** Sends the request with its last byte once `meanwhile` is over: after its rights were looked at. */
async function slowly(
  request: { method: string; path: string; token: string; bytes: Uint8Array; type?: string },
  meanwhile: () => Promise<unknown>,
): Promise<Answer> {
  const { method, path, token, bytes, type = "application/json" } = request;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes.slice(0, -1)),
    pull: async (controller) => {
      await meanwhile();
      controller.enqueue(bytes.slice(-1));
      controller.close();
    },
  });
  const headers = { authorization: `Bearer ${token}`, "content-type": type };
  const response = await send(`/api/v1${path}`, { method, headers, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** All that a namespace is, but for when its tokens were used. */
async function stateOf(namespace: string): Promise<string> {
  const tables = [
    "namespaces",
    "skills",
    "releases",
    "tokens",
    "members",
    "invitations",
    "collections",
    "audit",
    "group_roles",
  ];
  const columns: Record<string, string> = { namespaces: "name" };
  const rows = tables.map((table) =>
    env.DB.prepare(`SELECT * FROM ${table} WHERE ${columns[table] ?? "namespace"} = ?1`).bind(namespace),
  );
  return JSON.stringify((await env.DB.batch(rows)).map(({ results }) => results));
}

describe("a write that was under way when its sign-in ended changes nothing", () => {
  const writes: Record<string, (at: string) => { method: string; path: string; bytes: Uint8Array; type?: string }> = {
    publish: (at) => ({
      method: "POST",
      path: `${at}/skills`,
      bytes: packZip(toFiles({ "SKILL.md": skillMdOf("late") })),
      type: "application/zip",
    }),
    "a skill's visibility": (at) => ({
      method: "PATCH",
      path: `${at}/skills/secret-plans`,
      bytes: json({ visibility: "unlisted" }),
    }),
    "a release's yank": (at) => ({
      method: "PATCH",
      path: `${at}/skills/secret-plans/-/releases/1.0.0`,
      bytes: json({ yanked: true }),
    }),
    "a collection": (at) => ({
      method: "PUT",
      path: `${at}/collections/team`,
      bytes: json({ title: "Team", skills: "all" }),
    }),
    "the namespace's title": (at) => ({ method: "PATCH", path: at, bytes: json({ title: "Taken" }) }),
    "a new token": (at) => ({ method: "POST", path: `${at}/tokens`, bytes: json({ role: "admin" }) }),
    "a new link": (at) => ({ method: "POST", path: `${at}/links`, bytes: json({}) }),
    "an invitation": (at) => ({ method: "POST", path: `${at}/invitations`, bytes: json({ role: "admin" }) }),
  };

  for (const [name, write] of Object.entries(writes)) {
    it(name, async () => {
      const namespace = await privateNamespace();
      const request = write(`/namespaces/${namespace}`);
      const person = await newMember(namespace, "admin");
      const minted = (await api("POST", `/namespaces/${namespace}/tokens`, { role: "admin" })).body;
      const [ofPerson, ofToken] = [await writer(person.who), await writer(minted["token"] as string)];
      const withdraw = (flow: typeof ofPerson) => () =>
        flow.person.submit(`/account/grants/${flow.code.split(":")[1]!}/revoke`, {});
      const endings: [typeof ofPerson, () => Promise<unknown>][] = [
        [ofPerson, withdraw(ofPerson)],
        [ofToken, withdraw(ofToken)],
      ];
      for (const [{ tokens }, end] of endings) {
        let before = "";
        const answer = await slowly({ ...request, token: tokens.access_token }, async () => {
          await end();
          before = await stateOf(namespace);
        });
        // What was looked at anew before the change is not there for strangers.
        expect([401, 404], JSON.stringify(answer.body)).toContain(answer.status);
        expect(await stateOf(namespace)).toBe(before);
      }
      // The same request without an end is done.
      const again = await writer(person.who);
      const done = await slowly({ ...request, token: again.tokens.access_token }, () => Promise.resolve());
      expect([200, 201], JSON.stringify(done.body)).toContain(done.status);
    });
  }

  const endings: Record<string, (at: { namespace: string; member: string; token: string }) => Promise<unknown>> = {
    "the member is removed": ({ namespace, member }) => api("DELETE", `/namespaces/${namespace}/members/${member}`),
    "the member's role shrinks": ({ member }) =>
      env.DB.prepare("UPDATE members SET role = 'reader' WHERE id = ?1").bind(member).run(),
    "the time of a member by group is over": ({ member }) =>
      env.DB.prepare("UPDATE members SET until = 1 WHERE id = ?1").bind(member).run(),
    "a refresh token was used again, and ended it": ({ token }) =>
      env.DB.prepare("DELETE FROM oauth_records WHERE key = ?1")
        .bind(`grant:${token.split(":").slice(0, 2).join(":")}`)
        .run(),
    "the namespace is deleted": ({ namespace }) => api("DELETE", `/namespaces/${namespace}`),
  };
  for (const [name, end] of Object.entries(endings)) {
    it(`when ${name}`, async () => {
      const namespace = await privateNamespace();
      const { who, id: member } = await newMember(namespace, "publisher");
      const { tokens } = await writer(who);
      const token = tokens.access_token;
      let before = "";
      const request = writes["publish"]!(`/namespaces/${namespace}`);
      const { status } = await slowly({ ...request, token }, async () => {
        await end({ namespace, member, token });
        before = await stateOf(namespace);
      });
      expect([401, 404]).toContain(status);
      expect(await stateOf(namespace)).toBe(before);
    });
  }
});

describe("a consent under way", () => {
  it("of a member who is removed before their client redeems the code gives nothing", async () => {
    const namespace = await privateNamespace();
    const { who, id } = await newMember(namespace);
    const flow = await obtainCode(who, `/mcp/${namespace}`, { client_id: client! });
    await api("DELETE", `/namespaces/${namespace}/members/${id}`);
    expect((await redeem(flow)).body.error).toBe("invalid_grant");
    expect(await opens(`/mcp/${namespace}`, flow.code)).toBe(401);
    expect(flow.resource).toBe(`${origin}/mcp/${namespace}`);
  });
});
