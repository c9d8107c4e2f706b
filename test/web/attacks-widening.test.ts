import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { api, modern, newToken } from "../harness.ts";
import { apiPath, everything, house, isAlive, join, memberOf, newWho, pageFor, provider, withdraw } from "./house.ts";
import type { Somebody } from "./house.ts";
import { allow, authorizePath, pkce, redeem, redirectUri, register, signInAt } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** What somebody allowed is what a client has, whatever they become later. */
beforeAll(async () => {
  await provider.install();
});

const linesOf = async (namespace: string, id: string) => {
  const { body } = await api("GET", `/audit?namespace=${namespace}`);
  const events = body["events"] as { action: string; target: string; principal: string; after: unknown }[];
  return events.filter(({ target }) => target === `grants/${id}`);
};

describe("who only said who they are", () => {
  /** As long as nobody can sign in, whoever holds an invitation says who they are. */
  async function claim(namespace: string, role: string, person: Somebody) {
    const { body } = await api("POST", `/namespaces/${namespace}/invitations`, { role });
    const { OIDC_ISSUER: issuer } = env;
    Object.assign(env, { OIDC_ISSUER: undefined });
    const accepted = await api("POST", `/invitations/${body["secret"] as string}`, person, null);
    Object.assign(env, { OIDC_ISSUER: issuer });
    expect(accepted.body).toMatchObject({ member: { proven: false } });
    return accepted.body["token"] as string;
  }

  it("puts no namespace before the person of that name once they sign in", async () => {
    const namespace = await house("pushed");
    const victim = newWho();
    const token = await claim(namespace, "admin", victim);
    const person = new Person();
    await provider.signIn(person, "/account", { sub: victim.subject });
    expect((await person.open("/account")).html).not.toContain(namespace);
    const clientId = (await register()).body.client_id;
    for (const [path, opens] of [
      ["/me/mcp", true],
      [`/me/mcp/${namespace}`, false],
      [apiPath, false],
    ] as const) {
      const { challenge, verifier } = await pkce();
      const resource = `http://localhost${path}`;
      const asked = { client_id: clientId, redirect_uri: redirectUri, resource, code_challenge: challenge };
      const shown = await person.open(authorizePath(asked));
      expect([path, shown.status]).toEqual([path, opens ? 200 : 400]);
      if (!opens) continue;
      const answer = new URL((await allow(person, shown)).location!);
      const code = answer.searchParams.get("code")!;
      const { body } = await redeem({ person, clientId, resource, verifier, code, answer });
      const { result } = await modern("/me/mcp", "skills/list", {}, { token: body.access_token });
      expect(JSON.stringify(result)).not.toContain(namespace);
      const found = await modern(
        "/me/mcp",
        "tools/call",
        { name: "search_skills", arguments: { query: `pushed-of-${namespace}` } },
        { token: body.access_token },
      );
      expect(JSON.stringify(found.result)).not.toContain(`skill://${namespace}`);
    }
    // What was minted for whoever accepted is good in that namespace, as before.
    expect(await isAlive(token)).toBe(true);
  });

  it("becomes it by accepting as them, with the higher role and what was minted", async () => {
    const namespace = await house();
    for (const [said, invited, becomes] of [
      ["publisher", "reader", "publisher"],
      ["reader", "admin", "admin"],
    ] as const) {
      const who = newWho();
      const token = await claim(namespace, said, who);
      const id = await join(who, namespace, invited);
      expect(await memberOf(namespace, who.subject)).toMatchObject({ id, role: becomes, proven: true });
      expect(await isAlive(token)).toBe(true);
      const second = await api("POST", `/namespaces/${namespace}/invitations`, { role: "reader" });
      const person = new Person();
      await provider.signIn(person, "/account", { sub: who.subject });
      const again = await person.submit(`/account/invitations/${second.body["secret"] as string}`, {});
      expect(again.status).toBe(409);
    }
  });

  it("becomes it by a group of theirs, and stays what they were made", async () => {
    const namespace = await house();
    const who = newWho();
    await claim(namespace, "publisher", who);
    await api("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group: "all", role: "reader" }] });
    await provider.signIn(new Person(), "/account", { sub: who.subject, groups: ["all"] });
    expect(await memberOf(namespace, who.subject)).toMatchObject({ role: "publisher", proven: true, via_group: null });
  });
});

describe("what a person allows at the API", () => {
  it("counts in the namespaces that the page named, as what they were there", async () => {
    const [first, second, later] = [await house(), await house(), await house()];
    const who = newWho();
    await join(who, first, "admin");
    const member = await join(who, second, "reader");
    const { tokens } = await signInAt(who, apiPath, { scope: everything });
    const mint = async (namespace: string) => {
      const path = `/namespaces/${namespace}/tokens`;
      return (await api("POST", path, { role: "admin" }, tokens.access_token)).status;
    };
    expect(await mint(first)).toBe(201);
    expect([await mint(second), await mint(later)]).toEqual([403, 403]);

    await join(who, later, "admin");
    await api("PATCH", `/namespaces/${second}/members/${member}`, { role: "admin" });
    expect([await mint(second), await mint(later)]).toEqual([403, 403]);
    const read = async (namespace: string) =>
      (await api("GET", `/namespaces/${namespace}/skills`, undefined, tokens.access_token)).status;
    expect([await read(first), await read(second), await read(later)]).toEqual([200, 200, 404]);

    const asked = await signInAt(who, apiPath, { scope: everything });
    for (const namespace of [first, second, later]) {
      const path = `/namespaces/${namespace}/tokens`;
      expect((await api("POST", path, { role: "admin" }, asked.tokens.access_token)).status).toBe(201);
    }
  });

  it("is named on the page, with the roles", async () => {
    const [one, other] = [await house(), await house()];
    const who = newWho();
    await join(who, one, "admin");
    await join(who, other, "reader");
    const { html } = await pageFor(who, apiPath);
    expect(html).toContain(`<li>${one} (admin)</li>`);
    expect(html).toContain(`<li>${other} (reader)</li>`);
    expect(html).toContain("in no other that you join later");
    expect((await pageFor(who, "/me/mcp")).html).toContain("also in those that you join later");
    expect((await pageFor(who, `/me/mcp/${one}`)).html).not.toContain("that you join later");
  });

  it("stands in the audit log of each namespace that it could change, with client and person, until its end", async () => {
    const [changed, read] = [await house(), await house()];
    const who = newWho();
    await join(who, changed, "admin");
    await join(who, read, "reader");
    const { tokens, clientId } = await signInAt(who, apiPath, { scope: everything });
    const [, id] = tokens.access_token.split(":");
    await api("PATCH", `/namespaces/${changed}`, { title: "Changed" }, tokens.access_token);
    const { body } = await api("GET", `/audit?namespace=${changed}`);
    expect((body["events"] as { principal: string }[])[0]).toMatchObject({ principal: `grant:${id}` });
    expect(await linesOf(changed, id!)).toMatchObject([
      {
        action: "allow-client",
        principal: `person:${who.subject}`,
        after: { client: clientId, name: "A test client", address: `http://localhost${apiPath}` },
      },
    ]);
    expect(await linesOf(read, id!)).toEqual([]);
    await withdraw(who, id!);
    const actions = (await linesOf(changed, id!)).map(({ action }) => action);
    expect(actions.sort()).toEqual(["allow-client", "withdraw-grant"]);
  });

  it("is what /me says, and what the list of namespaces shows", async () => {
    const [one, other] = [await house(), await house()];
    const who = newWho();
    await join(who, one, "publisher");
    await join(who, other, "reader");
    const { tokens } = await signInAt(who, apiPath, { scope: everything });
    const me = (await api("GET", "/me", undefined, tokens.access_token)).body;
    expect(me).toMatchObject({
      kind: "grant",
      label: "A test client",
      namespace: null,
      role: null,
      scopes: ["skills:read", "skills:publish", "collections:write"],
      memberships: [
        { namespace: one, role: "publisher" },
        { namespace: other, role: "reader" },
      ],
      member: who,
    });
    expect(Date.parse(me["expires_at"] as string) - Date.now()).toBeLessThanOrEqual(3_600_000);
    await join(who, await house(), "reader");
    const { body } = await api("GET", "/namespaces?limit=200", undefined, tokens.access_token);
    const shown = (body["namespaces"] as { name: string; visibility: string }[])
      .filter(({ visibility }) => visibility === "private")
      .map(({ name }) => name);
    expect(shown).toEqual([one, other].sort());
  });
});

describe("what somebody allows with a token", () => {
  it("is what /me says, until the access token ends", async () => {
    const namespace = await house();
    const { tokens } = await signInAt(await newToken(namespace, "admin"), apiPath, { scope: "skills:read audit:read" });
    const me = (await api("GET", "/me", undefined, tokens.access_token)).body;
    expect(me).toMatchObject({ kind: "grant", namespace, scopes: ["skills:read", "audit:read"] });
    expect(me).not.toHaveProperty("memberships");
    expect(Date.parse(me["expires_at"] as string) - Date.now()).toBeLessThanOrEqual(3_600_000);
  });
});

describe("a consent page", () => {
  it("that was shown before somebody got more rights allows what it said", async () => {
    const namespace = await house();
    const who = newWho();
    const id = await join(who, namespace, "reader");
    const { person, html, ...flow } = await pageFor(who, apiPath, everything);
    expect(html).toContain("It asked for more, which you cannot give here");
    await api("PATCH", `/namespaces/${namespace}/members/${id}`, { role: "admin" });
    const answer = new URL(
      (await allow(person, { html, status: 200, headers: new Headers(), location: null })).location!,
    );
    const { body } = await redeem({ ...flow, person, code: answer.searchParams.get("code")!, answer });
    expect(body.scope).toBe("skills:read");
    expect((await api("GET", `/namespaces/${namespace}/tokens`, undefined, body.access_token)).status).toBe(403);
  });
});
