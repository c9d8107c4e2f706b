import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { newNamespace, newToken, origin, seedSkill, send } from "../harness.ts";
import { allow, authorizePath, pkce, redeem, redirectUri, register } from "./oauth-client.ts";
import { fieldIn, Person } from "./person.ts";
import type { Shown } from "./person.ts";

/** Consent that nobody gave, or somebody else, or to something else; and pages inside other pages. */
afterEach(() => void vi.useRealTimers());

function later(ms: number): void {
  const then = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(then);
}

const minute = 60_000;

interface Asked {
  path: string;
  verifier: string;
  clientId: string;
  resource: string;
}

async function newReader() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  const token = await newToken(namespace, "reader");
  const person = new Person();
  await person.signIn(token);
  return { namespace, token, person };
}

async function request(namespace: string): Promise<Asked> {
  const { verifier, challenge } = await pkce();
  const clientId = (await register()).body.client_id;
  const resource = `${origin}/mcp/${namespace}`;
  const asked = { client_id: clientId, redirect_uri: redirectUri, resource, scope: "skills:read" };
  return { path: authorizePath({ ...asked, code_challenge: challenge }), verifier, clientId, resource };
}

/** A person before the consent page. */
async function beforeConsent() {
  const reader = await newReader();
  const asked = await request(reader.namespace);
  const shown = await reader.person.open(asked.path);
  expect(shown.status, shown.html).toBe(200);
  return { ...reader, ...asked, shown, handle: fieldIn(shown.html, "handle") };
}

const approval = (handle: string) => ({ handle, decision: "approve" });

async function countOfGrants(): Promise<number> {
  const row = await env.DB.prepare(
    "SELECT (SELECT count(*) FROM grants) + (SELECT count(*) FROM oauth_records WHERE key LIKE 'grant:%') AS count",
  ).first<{ count: number }>();
  return row!.count;
}

/** Does it, and finds that nobody got anything. */
async function givesNothing(work: () => Promise<Shown>, status = 400): Promise<void> {
  const before = await countOfGrants();
  const shown = await work();
  expect([shown.status, shown.location], shown.html).toEqual([status, null]);
  expect(await countOfGrants()).toBe(before);
}

describe("consent", () => {
  it("is not given by a browser that was not shown the page", async () => {
    const { handle, token, person } = await beforeConsent();
    const [stranger, elsewhere] = [new Person(), new Person()];
    await elsewhere.signIn(token);
    for (const browser of [stranger, elsewhere]) {
      for (const decision of ["approve", "deny"]) {
        await givesNothing(() => browser.submit("/authorize", { handle, decision }));
      }
    }
    await givesNothing(() => person.submit("/authorize", { decision: "approve" }));
    await givesNothing(() => person.submit("/authorize", approval("")));
    await givesNothing(() => person.submit("/authorize", approval("a".repeat(43))));
    await givesNothing(() => person.submit(`/authorize?handle=${handle}&decision=approve`, {}));
    // None of that was this person's own answer.
    expect((await person.submit("/authorize", approval(handle))).status).toBe(303);
  });

  it("is not given by what another site makes the browser send", async () => {
    const { handle, person } = await beforeConsent();
    const sent: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
      { "sec-fetch-site": "same-site", origin: "http://evil.localhost" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "cross-site", origin },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `${origin}.evil.example` },
      { origin: "http://localhost:8080" },
      { referer: `${origin}/authorize` },
      {},
    ];
    for (const headers of sent) {
      await givesNothing(async () => {
        const body = new URLSearchParams(approval(handle));
        const response = await send("/authorize", {
          method: "POST",
          body,
          headers: { ...headers, cookie: person.cookies },
        });
        const { status } = response;
        return {
          status,
          html: await response.text(),
          location: response.headers.get("location"),
          headers: response.headers,
        };
      }, 403);
    }
    expect((await person.submit("/authorize", approval(handle))).status).toBe(303);
  });

  it("is not given by a form that is none", async () => {
    const { handle, person } = await beforeConsent();
    for (const type of [
      "text/plain",
      "application/json",
      "multipart/form-data; boundary=x",
      "application/x-www-form-urlencodedx",
    ]) {
      await givesNothing(() => person.submit("/authorize", approval(handle), { "content-type": type }), 415);
    }
  });

  it("is not given by opening an address, whatever that says", async () => {
    const { path, person } = await beforeConsent();
    const before = await countOfGrants();
    for (const more of ["&decision=approve", "&prompt=none", "&approve=true"]) {
      const { status, location } = await person.open(path + more);
      expect([status, location]).toEqual([200, null]);
    }
    expect(await countOfGrants()).toBe(before);
  });

  it("counts once: the same form again, or a deny before it, is nothing", async () => {
    const { handle, person, path } = await beforeConsent();
    expect((await person.submit("/authorize", approval(handle))).status).toBe(303);
    await givesNothing(() => person.submit("/authorize", approval(handle)));
    const denied = fieldIn((await person.open(path)).html, "handle");
    const { location } = await person.submit("/authorize", { handle: denied, decision: "deny" });
    expect(new URL(location!).searchParams.get("error")).toBe("access_denied");
    await givesNothing(() => person.submit("/authorize", approval(denied)));
  });

  it("counts once where the form comes twice at once, with the cookie that the first answer takes away", async () => {
    for (let again = 0; again < 5; again++) {
      const { handle, person } = await beforeConsent();
      const before = await countOfGrants();
      const answers = await Promise.all([1, 2, 3].map(() => person.submit("/authorize", approval(handle))));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 400, 400]);
      expect(await countOfGrants()).toBe(before + 2);
    }
  });

  it("of one person is not given by another who signs in at the same browser, nor by nobody", async () => {
    const { handle, person, path, shown } = await beforeConsent();
    const other = await newReader();
    await person.signIn(other.token);
    await givesNothing(() => person.submit("/authorize", approval(handle)));
    const { handle: second, person: leaving } = await beforeConsent();
    await leaving.submit("/sign-out", {});
    await givesNothing(() => leaving.submit("/authorize", approval(second)));
    expect(shown.html).not.toContain(other.namespace);
    expect((await person.open(path)).html).toContain("You have no rights at this address");
  });

  it("is for what was shown: other fields of the form change nothing", async () => {
    const { handle, person, namespace, clientId, verifier, resource } = await beforeConsent();
    const other = (await register({ redirect_uris: ["http://127.0.0.1:1/evil"] })).body.client_id;
    const { location } = await person.submit("/authorize", {
      ...approval(handle),
      scope: "skills:read skills:publish namespace:admin",
      resource: `${origin}/me/mcp`,
      client_id: other,
      redirect_uri: "http://127.0.0.1:1/evil",
      state: "forged",
      code_challenge: "x",
      userId: "somebody",
    });
    const answer = new URL(location!);
    expect([answer.origin + answer.pathname, answer.searchParams.get("state")]).toEqual([redirectUri, null]);
    const flow = { clientId, verifier, resource, person, answer, code: answer.searchParams.get("code")! };
    const { body } = await redeem(flow);
    expect(body).toMatchObject({ scope: "skills:read", resource });
    const row = await env.DB.prepare("SELECT client_id, audience, scopes, namespace FROM grants WHERE id = ?1")
      .bind(flow.code.split(":")[1])
      .first();
    expect(row).toEqual({ client_id: clientId, audience: resource, scopes: '["skills:read"]', namespace });
  });

  it("is for no more than the person has when they answer", async () => {
    const { handle, person, namespace } = await beforeConsent();
    await env.DB.prepare("UPDATE tokens SET revoked_at = 1 WHERE namespace = ?1").bind(namespace).run();
    await givesNothing(() => person.submit("/authorize", approval(handle)));
  });

  it("ends ten minutes after the page was shown", async () => {
    const { handle, person, path } = await beforeConsent();
    const late = fieldIn((await person.open(path)).html, "handle");
    later(9 * minute);
    expect((await person.submit("/authorize", approval(handle))).status).toBe(303);
    later(2 * minute);
    await givesNothing(() => person.submit("/authorize", approval(late)));
  });

  it("of a second window does not answer for the first", async () => {
    const { handle, person, namespace } = await beforeConsent();
    const other = await request(namespace);
    const second = await person.open(other.path);
    const answer = new URL((await allow(person, second)).location!);
    const code = answer.searchParams.get("code")!;
    const row = await env.DB.prepare("SELECT client_id FROM grants WHERE id = ?1").bind(code.split(":")[1]).first();
    expect(row).toEqual({ client_id: other.clientId });
    expect((await person.submit("/authorize", approval(handle))).status).toBe(303);
  });
});

describe("a browser's sign-in", () => {
  const isIn = async (person: Person) => (await person.open("/account")).status === 200;

  it("ends after a working day, with its token, and when somebody signs out, also for a copy of its cookie", async () => {
    const [day, revoked, left] = [await newReader(), await newReader(), await newReader()];
    const copy = left.person.cookies;
    await left.person.submit("/sign-out", {});
    const response = await send("/account", { headers: { cookie: copy }, redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/sign-in?return=%2Faccount"]);
    expect(await isIn(revoked.person)).toBe(true);
    await env.DB.prepare("UPDATE tokens SET revoked_at = 1 WHERE namespace = ?1").bind(revoked.namespace).run();
    expect(await isIn(revoked.person)).toBe(false);
    later(7 * 60 * minute);
    expect(await isIn(day.person)).toBe(true);
    later(2 * 60 * minute);
    expect(await isIn(day.person)).toBe(false);
  });

  it("is a new secret each time, which no site can set or read", async () => {
    const { token, person } = await newReader();
    const before = person.cookies;
    const planted = { cookie: `__Host-skill-registry=${"a".repeat(64)}`, origin, "sec-fetch-site": "same-origin" };
    const response = await send("/sign-in", {
      method: "POST",
      body: new URLSearchParams({ token }),
      headers: planted,
      redirect: "manual",
    });
    const [line] = response.headers.getSetCookie();
    expect(line).toMatch(/^__Host-skill-registry=[0-9a-f]{64}; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Lax$/);
    expect(line).not.toContain("a".repeat(64));
    await person.signIn(token);
    expect(person.cookies).not.toBe(before);
    const old = await send("/account", { headers: { cookie: before }, redirect: "manual" });
    expect(old.status).toBe(303);
    const { results } = await env.DB.prepare("SELECT hash FROM sign_ins").all<{ hash: string }>();
    expect(results.map(({ hash }) => hash)).not.toContain(person.cookies.split("=")[1]);
  });

  it("is neither begun nor ended nor used by what another site makes the browser send", async () => {
    const { token, person } = await newReader();
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    const victim = new Person();
    expect((await victim.submit("/sign-in", { token }, foreign)).status).toBe(403);
    expect(victim.cookies).toBe("");
    for (const path of ["/sign-out", "/account/grants/aaaaaaaaaaaaaaaa/revoke"]) {
      expect((await person.submit(path, {}, foreign)).status).toBe(403);
    }
    expect(await isIn(person)).toBe(true);
  });

  it("is no credential at the other doors", async () => {
    const { person, namespace } = await newReader();
    for (const path of [`/api/v1/namespaces/${namespace}`, "/api/v1/me"]) {
      const [known, stranger] = [await send(path, { headers: { cookie: person.cookies } }), await send(path)];
      expect([path, known.status, await known.text()]).toEqual([path, stranger.status, await stranger.text()]);
    }
    const response = await send(`/mcp/${namespace}`, {
      method: "POST",
      headers: { cookie: person.cookies },
      body: "{}",
    });
    expect(response.status).toBe(401);
  });
});

describe("the sign-in page", () => {
  const linkTo = (resource: string) => `/sign-in?return=${encodeURIComponent(authorizePath({ resource }))}`;
  const purposeAt = async (resource: string) => {
    const { status, html } = await new Person().open(linkTo(resource));
    expect([resource, status]).toEqual([resource, 200]);
    return /to connect an application/.test(html);
  };

  it("says to which address of ours somebody connects, whether or not anything is there", async () => {
    const paths = ["/mcp", "/me/mcp", "/mcp/acme", "/me/mcp/acme", "/mcp/acme/support-desk", "/api/v1"];
    for (const path of paths) expect([path, await purposeAt(origin + path)]).toEqual([path, true]);
  });

  it("speaks no words of whoever wrote the link that leads to it", async () => {
    const words = "Your token has expired. Mail it to help@evil.example";
    const dashed = "YOUR-TOKEN-HAS-EXPIRED-mail-it-to-help@evil.example";
    const resources = [
      words,
      `${origin}/ . ${words}`,
      `${origin}/mcp . ${words}`,
      `${origin}/mcp/${words}`,
      `${origin}/mcp/${encodeURIComponent(words)}`,
      `${origin}/mcp/${dashed}`,
      `${origin}/mcp/acme/${dashed}`,
      `${origin}/mcp/acme/desk/${dashed}`,
      `${origin}/mcp/acme?${dashed}`,
      `${origin}/mcp/acme#${dashed}`,
      `${origin}/mcp/acme/`,
      `${origin}/mcp/./acme`,
      `${origin}/mcp/%61cme`,
      `${origin}/mcp/acme\u202e${dashed}`,
      `${origin}/api/v1/${dashed}`,
      `${origin}/r/${dashed}/mcp`,
      `${origin}/${dashed}`,
      `${origin}.evil.example/mcp`,
      `${origin}@evil.example/mcp`,
    ];
    for (const resource of resources) {
      expect([resource, await purposeAt(resource)]).toEqual([resource, false]);
      const { html } = await new Person().open(linkTo(resource));
      // The place to return to goes back as it came, in fields and links, where nobody reads it.
      expect(html.replaceAll(/(?:value|href|action)="[^"]*"/g, "")).not.toMatch(/evil|expired/i);
    }
  });
});

describe("every page and redirect of the sign-in", () => {
  it("refuses frames, scripts, caches and foreign readers of its address", async () => {
    const { person, path, shown, handle } = await beforeConsent();
    const lost = await newReader();
    const redirecting = await person.open(`${path}&response_type=token`);
    const answers: Record<string, Shown> = {
      consent: shown,
      "sign-in": await person.open("/sign-in"),
      "a failed sign-in": await person.submit("/sign-in", { token: "nonsense" }),
      account: await person.open("/account"),
      "nobody at the account page": await new Person().open("/account"),
      "no rights": await lost.person.open(path),
      "a message": await person.open("/authorize?client_id=nobody"),
      "a repeated parameter": redirecting,
      "a forged form": await person.submit("/authorize", approval("x")),
      "a foreign form": await person.submit("/authorize", approval(handle), { "sec-fetch-site": "cross-site" }),
      "an error for the client": await person.open(path.replace("response_type=code", "response_type=token")),
      "an invitation that is none": await person.open("/account/invitations/nonsense"),
      "no provider": await person.open("/sign-in/provider"),
      approval: await person.submit("/authorize", approval(handle)),
      "sign-out": await person.submit("/sign-out", {}),
    };
    for (const [name, { headers, html }] of Object.entries(answers)) {
      const policy = (headers.get("content-security-policy") ?? "").split("; ");
      expect([name, policy.includes("frame-ancestors 'none'"), policy.includes("default-src 'none'")]).toEqual([
        name,
        true,
        true,
      ]);
      expect(
        policy.filter((part) => /script|unsafe|\*/.test(part)),
        name,
      ).toEqual([]);
      expect([name, headers.get("x-frame-options")]).toEqual([name, "DENY"]);
      expect([name, headers.get("x-content-type-options")]).toEqual([name, "nosniff"]);
      expect(headers.get("referrer-policy"), name).toMatch(/^(?:same-origin|no-referrer)$/);
      expect(headers.get("cache-control"), name).toContain("no-store");
      expect(headers.get("access-control-allow-origin"), name).toBeNull();
      expect(html, name).not.toMatch(/<script/i);
    }
  });
});
