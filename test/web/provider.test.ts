import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { groupMembershipMs } from "../../src/domain/limits.ts";
import { endGroupMembers } from "../../src/storage/group-roles.ts";
import { api, modern, newNamespace, newToken, seedSkill } from "../harness.ts";
import { allow, authorizePath, pkce, redeem, redirectUri, register, signInAt } from "./oauth-client.ts";
import { Person } from "./person.ts";
import { callback, FakeProvider } from "./provider.ts";

const provider = new FakeProvider("https://accounts.people.example");

beforeAll(async () => {
  await provider.install();
});

/** A private namespace with one skill of its own name, and who its groups are. */
async function house(groups: { group: string; role: string }[]) {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, `plan-of-${namespace}`);
  const put = await api("PUT", `/namespaces/${namespace}/groups`, { groups });
  expect(put).toMatchObject({ status: 200, body: { groups } });
  return namespace;
}

const membersOf = async (namespace: string) => (await api("GET", `/namespaces/${namespace}/members`)).body["members"];

/** Signs in for an address as somebody whom the provider names. */
async function connect(claims: Record<string, unknown>, path: string) {
  const person = new Person();
  await provider.signIn(person, "/account", claims);
  const clientId = (await register()).body.client_id;
  const { verifier, challenge } = await pkce();
  const resource = `http://localhost${path}`;
  const asked = {
    client_id: clientId,
    redirect_uri: redirectUri,
    resource,
    scope: "skills:read",
    code_challenge: challenge,
  };
  const shown = await person.open(authorizePath(asked));
  if (shown.status !== 200) return { person, shown, token: undefined };
  const answer = new URL((await allow(person, shown)).location!);
  const flow = { person, clientId, resource, verifier, code: answer.searchParams.get("code")!, answer };
  return { person, shown, token: (await redeem(flow)).body.access_token };
}

const listed = async (path: string, token: string | undefined) => {
  const { result, status } = await modern(path, "skills/list", {}, token === undefined ? {} : { token });
  return [status, ((result?.["skills"] ?? []) as { uri: string }[]).map(({ uri }) => uri.split("/")[2]).sort()];
};

describe("signing in at the operator's OpenID provider", () => {
  it("asks with PKCE, state and nonce, and comes back signed in as whom the provider names", async () => {
    const person = new Person();
    const away = await person.open("/sign-in/provider?return=/account");
    const asked = new URL(away.location!);
    expect(asked.origin + asked.pathname).toBe("https://accounts.people.example/authorize");
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      response_type: "code",
      client_id: "registry",
      redirect_uri: callback,
      scope: "openid profile email",
      code_challenge_method: "S256",
    });
    const back = await person.open(provider.cameBack(away, { sub: "ada", email: "ada@people.example" }));
    expect([back.status, back.location]).toEqual([303, "/account"]);
    expect((await person.open("/account")).html).toContain("ada@people.example at https://accounts.people.example");
  });

  it("makes members by group, of every namespace that knows one, with the highest role", async () => {
    const one = await house([
      { group: "engineering", role: "publisher" },
      { group: "everybody", role: "reader" },
    ]);
    const other = await house([{ group: "everybody", role: "reader" }]);
    const third = await house([{ group: "finance", role: "admin" }]);
    const { token } = await connect({ sub: "grace", groups: ["everybody", "engineering"] }, "/me/mcp");
    expect(await listed("/me/mcp", token)).toEqual([200, expect.arrayContaining([one, other].sort())]);
    expect((await listed("/me/mcp", token))[1]).not.toContain(third);
    expect(await membersOf(one)).toMatchObject([{ subject: "grace", role: "publisher", via_group: "engineering" }]);
    expect(await membersOf(other)).toMatchObject([{ subject: "grace", role: "reader", via_group: "everybody" }]);
    expect(await membersOf(third)).toEqual([]);
    const { body } = await api("GET", `/namespaces/${one}/audit?action=join-by-group`);
    expect(body["events"]).toHaveLength(1);
  });

  it("ends a membership with the group, its mapping, or its time, and what was minted in that name with it", async () => {
    const claims = { sub: "joan", groups: ["crew"] };
    const namespace = await house([{ group: "crew", role: "admin" }]);
    const path = `/me/mcp/${namespace}`;
    const join = async () => {
      const { token } = await connect(claims, path);
      expect(await listed(path, token)).toEqual([200, [namespace]]);
      const { tokens } = await signInAt({ issuer: provider.origin, subject: "joan" }, "/api/v1", {
        scope: "namespace:admin",
      });
      const minted = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" }, tokens.access_token);
      expect(minted.status).toBe(201);
      return { token, minted: minted.body["token"] as string };
    };
    const isOver = async ({ token, minted }: Awaited<ReturnType<typeof join>>) => {
      expect((await listed(path, token))[0]).toBe(401);
      expect((await listed(path, minted))[0]).toBe(401);
      expect(await membersOf(namespace)).toEqual([]);
    };
    const first = await join();
    await provider.signIn(new Person(), "/account", { sub: "joan", groups: ["others"] });
    await isOver(first);
    const second = await join();
    await api("PUT", `/namespaces/${namespace}/groups`, { groups: [] });
    await isOver(second);
    await api("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group: "crew", role: "admin" }] });
    const third = await join();
    await env.DB.prepare(`UPDATE members SET until = 1 WHERE namespace = ?1`).bind(namespace).run();
    expect((await listed(path, third.token))[0]).toBe(404);
    expect((await listed(path, third.minted))[0]).toBe(401);
    expect(await endGroupMembers(env.DB, Date.now(), 10)).toBe(1);
    await isOver(third);
  });

  it("says when a membership by group ends, and extends it with each sign-in", async () => {
    const namespace = await house([{ group: "night", role: "reader" }]);
    await provider.signIn(new Person(), "/account", { sub: "mary", groups: ["night"] });
    await env.DB.prepare(`UPDATE members SET until = ?2 WHERE namespace = ?1`)
      .bind(namespace, Date.now() + 1_000)
      .run();
    await provider.signIn(new Person(), "/account", { sub: "mary", groups: ["night"] });
    const [{ until }] = (await membersOf(namespace)) as [{ until: string }];
    expect(Date.parse(until)).toBeGreaterThan(Date.now() + groupMembershipMs - 60_000);
  });

  it("leaves alone who was invited, and whose role an admin set", async () => {
    const namespace = await house([{ group: "crew", role: "reader" }]);
    await provider.signIn(new Person(), "/account", { sub: "edith", groups: ["crew"] });
    const [{ id }] = (await membersOf(namespace)) as [{ id: string }];
    const patched = await api("PATCH", `/namespaces/${namespace}/members/${id}`, { role: "publisher" });
    expect(patched.body).toMatchObject({ role: "publisher", via_group: null, until: null });
    await provider.signIn(new Person(), "/account", { sub: "edith", groups: [] });
    expect(await membersOf(namespace)).toMatchObject([{ subject: "edith", role: "publisher" }]);
  });
});

describe("the groups of a namespace", () => {
  it("are seen by its admins and said by the operator alone, whole, and with a mistake named", async () => {
    const namespace = await newNamespace("private");
    const path = `/namespaces/${namespace}/groups`;
    const admin = await newToken(namespace, "admin");
    expect((await api("GET", path, undefined, await newToken(namespace, "publisher"))).status).toBe(403);
    expect((await api("GET", path, undefined, admin)).status).toBe(200);
    const pushed = { groups: [{ group: "everybody", role: "reader" }] };
    expect(await api("PUT", path, pushed, admin)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await api("PUT", path, { groups: [{ group: "x", role: "owner" }] })).toMatchObject({ status: 400 });
    const twice = [
      { group: "x", role: "reader" },
      { group: "x", role: "admin" },
    ];
    expect(await api("PUT", path, { groups: twice })).toMatchObject({ status: 400 });
    expect((await api("GET", path)).body).toEqual({ groups: [] });
    const { tokens } = await signInAt(admin, "/api/v1", { scope: "skills:read" });
    const refused = await api("GET", path, undefined, tokens.access_token);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain('scope="skills:read namespace:admin"');
  });
});

describe("an invitation", () => {
  const invite = async (namespace: string) =>
    (await api("POST", `/namespaces/${namespace}/invitations`, { role: "publisher", label: "Ada" })).body;

  it("is accepted by who signed in, in their own name", async () => {
    const namespace = await house([]);
    const invitation = await invite(namespace);
    const page = new URL(invitation["page"] as string).pathname;
    const person = new Person();
    expect((await person.open(page)).html).toContain("/sign-in/provider?return=");
    await provider.signIn(person, page, { sub: "hedy" });
    const shown = await person.open(page);
    expect(shown.html).toContain(namespace);
    expect((await person.submit(page, {})).location).toBe("/account");
    expect(await membersOf(namespace)).toMatchObject([{ subject: "hedy", role: "publisher", via_group: null }]);
    expect((await person.open("/account")).html).toContain(namespace);
    expect((await person.open(page)).status).toBe(404);
  });

  it("is not accepted in the name of somebody whom the provider names", async () => {
    const namespace = await house([]);
    const { secret } = await invite(namespace);
    const who = { issuer: provider.origin, subject: "hedy" };
    const { status, body } = await api("POST", `/invitations/${secret as string}`, who, null);
    expect([status, body["code"]]).toEqual([403, "forbidden"]);
    expect(body["detail"]).toContain("/account/invitations/ski_");
    expect(await membersOf(namespace)).toEqual([]);
  });
});
