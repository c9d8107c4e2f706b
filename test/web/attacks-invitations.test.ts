import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import worker from "../../src/index.ts";
import { syncGroups } from "../../src/storage/group-roles.ts";
import { api, modern, newNamespace, newToken, origin, read, seedSkill } from "../harness.ts";
import { signInAt } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** Namespaces that push themselves on people, and people who take what was meant for others. */
const issuer = "https://accounts.example";
const vars = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: "registry", OIDC_CLIENT_SECRET: "secret-at-the-provider" };
let people = 0;

const newWho = () => ({ issuer, subject: `person-${++people}` });

async function sendWith(path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const response = await worker.fetch(new Request(origin + path, init), { ...env, ...vars }, context);
  await waitOnExecutionContext(context);
  return response;
}

async function signedIn(who = newWho()): Promise<Person> {
  const person = new Person(sendWith);
  await person.become(who);
  return person;
}

interface Invitation {
  id: string;
  secret: string;
  page: string;
}

async function invite(namespace: string, role = "reader"): Promise<Invitation> {
  const response = await sendWith(`/api/v1/namespaces/${namespace}/invitations`, {
    method: "POST",
    headers: { authorization: `Bearer ${await newToken(namespace, "admin")}`, "content-type": "application/json" },
    body: JSON.stringify({ role }),
  });
  expect(response.status).toBe(201);
  const invitation = await response.json<Invitation>();
  return { ...invitation, page: new URL(invitation.page).pathname };
}

async function hostile() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "pushed-skill");
  return namespace;
}

async function membersOf(namespace: string): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT subject FROM members WHERE namespace = ?1 ORDER BY subject")
    .bind(namespace)
    .all<{ subject: string }>();
  return results.map(({ subject }) => subject);
}

/** What the root shows to the person. */
async function rootOf(who: { issuer: string; subject: string }): Promise<string> {
  const { tokens } = await signInAt(who, "/me/mcp");
  return JSON.stringify((await modern("/me/mcp", "skills/list", {}, { token: tokens.access_token })).body);
}

const accept = (secret: string, person: object, headers: Record<string, string> = {}) =>
  sendWith(`/api/v1/invitations/${secret}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(person),
  }).then(read);

describe("a stranger's invitation", () => {
  it("is accepted by nobody else for a person whom the provider names: no stranger, no admin, not the operator", async () => {
    const namespace = await hostile();
    const victim = newWho();
    const admin = await newToken(namespace, "admin");
    const other = await newToken(await newNamespace("private"), "admin");
    const { secret } = await invite(namespace);
    for (const token of [undefined, admin, other, env.ADMIN_TOKEN!]) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const { status, body } = await accept(secret, victim, headers as Record<string, string>);
      expect([token, status, body["token"]]).toEqual([token, 403, undefined]);
    }
    expect(await membersOf(namespace)).toEqual([]);
    expect(await rootOf(victim)).not.toContain("pushed-skill");
  });

  it("is not accepted by another spelling of the provider's name that counts as the same person", async () => {
    const namespace = await hostile();
    const { subject } = newWho();
    for (const spelling of [`${issuer}/`, "https://ACCOUNTS.example", `${issuer}:443`, `${issuer}.`, ` ${issuer}`]) {
      const { secret } = await invite(namespace);
      await accept(secret, { issuer: spelling, subject });
      expect(await rootOf({ issuer, subject })).not.toContain("pushed-skill");
    }
    const { results } = await env.DB.prepare("SELECT 1 FROM members WHERE namespace = ?1 AND issuer = ?2")
      .bind(namespace, issuer)
      .all();
    expect(results).toEqual([]);
  });

  it("makes nobody a member who only looks at it, who is not signed in, or whom another site sends", async () => {
    const namespace = await hostile();
    const { page } = await invite(namespace);
    const who = newWho();
    const victim = await signedIn(who);
    const shown = await victim.open(page);
    expect([shown.status, shown.html.includes(namespace)]).toEqual([200, true]);
    await victim.open(`${page}?accept=true`);
    for (const headers of [
      { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
      { "sec-fetch-site": "same-site", origin: "http://evil.localhost" },
      { "sec-fetch-site": "none", origin: "null" },
    ]) {
      expect((await victim.submit(page, {}, headers)).status).toBe(403);
    }
    const stranger = new Person(sendWith);
    const answer = await stranger.submit(page, { issuer, subject: who.subject });
    expect([answer.status, answer.location]).toEqual([303, page]);
    expect(await membersOf(namespace)).toEqual([]);
    expect(await rootOf(who)).not.toContain("pushed-skill");
  });

  it("is not accepted by a browser that a token signed in, since a token is nobody", async () => {
    const namespace = await hostile();
    const { page } = await invite(namespace, "admin");
    const browser = new Person(sendWith);
    await browser.signIn(await newToken(await newNamespace("private"), "reader"));
    expect((await browser.submit(page, {})).status).toBe(303);
    expect(await membersOf(namespace)).toEqual([]);
  });

  it("makes a member of whoever is signed in, whomever the form names", async () => {
    const namespace = await hostile();
    const { page } = await invite(namespace);
    const [who, victim] = [newWho(), newWho()];
    const person = await signedIn(who);
    const form = { issuer, subject: victim.subject, role: "admin", namespace: "other" };
    expect((await person.submit(page, form)).status).toBe(303);
    expect(await membersOf(namespace)).toEqual([who.subject]);
    const row = await env.DB.prepare("SELECT role FROM members WHERE namespace = ?1").bind(namespace).first();
    expect(row).toEqual({ role: "reader" });
    expect(await rootOf(who)).toContain("pushed-skill");
    expect(await rootOf(victim)).not.toContain("pushed-skill");
  });

  it("is accepted once, also by two at once", async () => {
    const namespace = await hostile();
    const { page } = await invite(namespace);
    const browsers = [await signedIn(), await signedIn(), await signedIn()];
    const answers = await Promise.all(browsers.map((browser) => browser.submit(page, {})));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404]);
    expect(await membersOf(namespace)).toHaveLength(1);
    expect((await (await signedIn()).submit(page, {})).status).toBe(404);
  });

  it("that was revoked, ran out, belongs to a namespace that is gone, or was made up, looks like one that never was", async () => {
    const [namespace, gone] = [await hostile(), await hostile()];
    const [revoked, expired, deleted] = [await invite(namespace), await invite(namespace), await invite(gone)];
    await api("DELETE", `/namespaces/${namespace}/invitations/${revoked.id}`);
    await env.DB.prepare("UPDATE invitations SET expires_at = 1 WHERE id = ?1").bind(expired.id).run();
    await api("DELETE", `/namespaces/${gone}`);
    const link = (await api("POST", `/namespaces/${namespace}/links`, {})).body["url"] as string;
    const secrets = [
      revoked.secret,
      expired.secret,
      deleted.secret,
      `${revoked.secret.slice(0, -1)}${revoked.secret.endsWith("0") ? "1" : "0"}`,
      /\/r\/([^/]+)\//.exec(link)![1]!,
      await newToken(namespace, "reader"),
      "nonsense",
    ];
    const browser = await signedIn();
    const seen = new Set<string>();
    for (const secret of secrets) {
      for (const ask of [
        () => browser.open(`/account/invitations/${secret}`),
        () => browser.submit(`/account/invitations/${secret}`, {}),
      ]) {
        const { status, html, location } = await ask();
        expect([status, location]).toEqual([404, null]);
        seen.add(html);
      }
    }
    expect(seen.size).toBe(1);
    expect(await membersOf(namespace)).toEqual([]);
  });

  it("leaves the audit line in its own namespace, in the name of the person", async () => {
    const namespace = await hostile();
    const { page } = await invite(namespace);
    const who = newWho();
    await (await signedIn(who)).submit(page, {});
    const events = (await api("GET", `/audit?namespace=${namespace}&action=accept-invitation`)).body["events"];
    expect(events).toMatchObject([{ principal: `person:${who.subject}`, after: { subject: who.subject } }]);
  });
});

describe("a namespace", () => {
  it("is not in anybody's root by what it says of itself, only by a membership", async () => {
    const namespace = await hostile();
    const who = newWho();
    await api("PATCH", `/namespaces/${namespace}`, { title: who.subject, description: `${issuer} ${who.subject}` });
    await newToken(namespace, "admin");
    await invite(namespace);
    expect(await rootOf(who)).not.toContain("pushed-skill");
  });

  it("is left by the person alone, who then sees nothing of it any more", async () => {
    const namespace = await hostile();
    const who = newWho();
    const { page } = await invite(namespace);
    await (await signedIn(who)).submit(page, {});
    const row = await env.DB.prepare("SELECT id FROM members WHERE namespace = ?1")
      .bind(namespace)
      .first<{ id: string }>();
    const { tokens } = await signInAt(who, "/api/v1");
    const left = await api("DELETE", `/namespaces/${namespace}/members/${row!.id}`, undefined, tokens.access_token);
    expect(left.status).toBe(204);
    expect(await rootOf(who)).not.toContain("pushed-skill");
  });

  it("says by itself of no group of the provider what its people are there: else it could take in everybody", async () => {
    const namespace = await hostile();
    const who = newWho();
    const groups = [{ group: "everybody", role: "reader" }];
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "admin" });
    for (const token of [body["token"] as string, null]) {
      const { status } = await api("PUT", `/namespaces/${namespace}/groups`, { groups }, token);
      expect([401, 403]).toContain(status);
    }
    const said = { person: who, groups: ["everybody"], now: Date.now(), from: { address: "", agent: "" } };
    await syncGroups(env.DB, { ...said, mintId: () => `pushed-${++people}` });
    expect(await membersOf(namespace)).toEqual([]);
    expect(await rootOf(who)).not.toContain("pushed-skill");
  });

  it("gets no member by a group whose name is only alike", async () => {
    const namespace = await hostile();
    await api("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group: "Engineering", role: "admin" }] });
    const who = newWho();
    const said = { person: who, groups: ["engineering", "Engineering ", "Engineering/x", "*", ""], now: Date.now() };
    await syncGroups(env.DB, { ...said, from: { address: "", agent: "" }, mintId: () => `by-group-${++people}` });
    expect(await membersOf(namespace)).toEqual([]);
  });
});
