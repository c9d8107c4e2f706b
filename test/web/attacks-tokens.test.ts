import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import {
  api,
  lastingHeaders,
  legacy,
  modern,
  newNamespace,
  newToken,
  operator,
  origin,
  seedSkill,
  send,
} from "../harness.ts";
import { authorizePath, pkce, redirectUri, register, signInAt } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** Tokens of another address, of nobody, in the wrong place or for less than is asked; and what refusals tell. */
const issuer = "https://accounts.example";
let people = 0;

async function newPerson(namespace?: string, role = "reader") {
  const who = { issuer, subject: `person-${++people}` };
  if (namespace !== undefined) {
    await env.DB.prepare(
      "INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by) VALUES (?1, ?2, ?3, ?4, ?5, 1, 'test')",
    )
      .bind(`member-${people}`, namespace, issuer, who.subject, role)
      .run();
  }
  return who;
}

async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return namespace;
}

/** The Worker with other bindings. */
async function sendWith(bindings: Partial<Env>, path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const response = await worker.fetch(new Request(origin + path, init), { ...env, ...bindings }, context);
  await waitOnExecutionContext(context);
  return response;
}

describe("an access token", () => {
  it("of another address is none, whatever both are, for tokens and for people", async () => {
    const namespace = await privateNamespace();
    await api("PUT", `/namespaces/${namespace}/collections/team`, { title: "Team", skills: "all" });
    const at = ["/mcp", "/me/mcp", `/mcp/${namespace}`, `/me/mcp/${namespace}`, `/mcp/${namespace}/team`];
    for (const who of [await newToken(namespace, "admin"), await newPerson(namespace, "admin")]) {
      for (const path of [...at, "/api/v1"]) {
        const { tokens } = await signInAt(who, path);
        for (const other of at) {
          const { status, headers } = await modern(other, "skills/list", {}, { token: tokens.access_token });
          expect([path, other, status]).toEqual([path, other, path === other ? 200 : 401]);
          if (path !== other && other !== "/mcp") {
            expect(headers.get("www-authenticate")).toMatch(/^Bearer error="invalid_token", resource_metadata="/);
          }
        }
        const { status } = await api("GET", `/namespaces/${namespace}`, undefined, tokens.access_token);
        expect([path, status]).toEqual([path, path === "/api/v1" ? 200 : 401]);
      }
    }
  });

  it("of an address is none at another spelling of it", async () => {
    const namespace = await privateNamespace();
    const { tokens } = await signInAt(await newToken(namespace, "reader"), `/mcp/${namespace}`);
    const encoded = `%${namespace.charCodeAt(0).toString(16)}${namespace.slice(1)}`;
    for (const path of [`/mcp/${namespace}/`, `/mcp/${encoded}`, `/mcp//${namespace}`, `/me/mcp/${namespace}/`]) {
      const { status } = await modern(path, "skills/list", {}, { token: tokens.access_token });
      expect([path, status]).toEqual([path, 401]);
    }
  });

  it("does not count beside a read link, where only bad ones are noticed", async () => {
    const namespace = await privateNamespace();
    const { body } = await api("POST", `/namespaces/${namespace}/links`, {});
    const path = new URL(body["url"] as string, origin).pathname;
    const { tokens } = await signInAt(await newToken(namespace, "reader"), `/mcp/${namespace}`);
    expect((await modern(path, "skills/list")).status).toBe(200);
    expect((await modern(path, "skills/list", {}, { token: tokens.access_token })).status).toBe(401);
  });

  it("cannot be for an address that is none: the consent page is not even reached", async () => {
    const person = new Person();
    await person.signIn(await newToken(await privateNamespace(), "reader"));
    const { body } = await register();
    const { challenge } = await pkce();
    const bad = [
      undefined,
      "",
      origin,
      `${origin}/`,
      `${origin}/mcp?x=1`,
      `${origin}/mcp#x`,
      `${origin}/mcp/`,
      `${origin}/account`,
      `${origin}/api/v1/`,
      `${origin}/api/v1/me`,
      `${origin}/r/secret/mcp`,
      `${origin}/mcp/../mcp`,
      `${origin}/%6dcp`,
      `${origin}\\mcp`,
      "http://LOCALHOST/mcp",
      "http://localhost:80/mcp",
      "https://localhost/mcp",
      "http://localhost@evil.example/mcp",
      "http://localhost.evil.example/mcp",
      "https://evil.example/mcp",
    ];
    for (const resource of bad) {
      const asked = { client_id: body.client_id, redirect_uri: redirectUri, resource, code_challenge: challenge };
      const { status, location } = await person.open(authorizePath(asked));
      expect([resource, status, location]).toEqual([resource, 400, null]);
    }
    const two = authorizePath({
      client_id: body.client_id,
      redirect_uri: redirectUri,
      resource: `${origin}/me/mcp`,
      code_challenge: challenge,
    });
    expect((await person.open(`${two}&resource=${encodeURIComponent("https://evil.example/mcp")}`)).status).toBe(400);
  });

  it("is taken from the header alone: not from the query, a form or a cookie", async () => {
    const namespace = await privateNamespace();
    const path = `/mcp/${namespace}`;
    const { tokens } = await signInAt(await newToken(namespace, "reader"), path);
    const api = (await signInAt(await newToken(namespace, "reader"), "/api/v1")).tokens;
    for (const name of ["access_token", "token", "authorization", "bearer"]) {
      const query = new URLSearchParams({ [name]: tokens.access_token }).toString();
      expect([name, (await modern(`${path}?${query}`, "skills/list")).status]).toEqual([name, 401]);
      const asked = await send(`/api/v1/namespaces/${namespace}?${name}=${encodeURIComponent(api.access_token)}`);
      expect([name, asked.status]).toEqual([name, 404]);
      const cookie = { cookie: `${name}=${tokens.access_token}` };
      expect([name, (await modern(path, "skills/list", {}, { headers: cookie })).status]).toEqual([name, 401]);
    }
    const form = new URLSearchParams({ access_token: tokens.access_token });
    expect((await send(path, { method: "POST", body: form })).status).toBe(401);
    const basic = { authorization: `Basic ${btoa(`x:${tokens.access_token}`)}` };
    expect((await modern(path, "skills/list", {}, { headers: basic })).status).toBe(401);
  });

  it("with too little scope is told all that the operation takes, and does nothing", async () => {
    const namespace = await privateNamespace();
    const who = await newPerson(namespace, "admin");
    const { tokens } = await signInAt(who, "/api/v1");
    expect(tokens.scope).toBe("skills:read");
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/api/v1"`;
    const operations: [string, string, unknown, string][] = [
      ["PUT", "/collections/team", { title: "Team", skills: "all" }, "collections:write"],
      ["PATCH", "", { title: "Taken" }, "namespace:admin"],
      ["DELETE", "", undefined, "namespace:admin"],
      ["POST", "/tokens", { role: "admin" }, "namespace:admin"],
      ["POST", "/links", {}, "namespace:admin"],
      ["PATCH", "/skills/secret-plans", { visibility: "public" }, "skills:publish"],
      ["DELETE", "/skills/secret-plans", undefined, "namespace:admin"],
      ["GET", "/audit", undefined, "audit:read"],
    ];
    for (const [method, path, body, scope] of operations) {
      const answer = await api(method, `/namespaces/${namespace}${path}`, body, tokens.access_token);
      expect([method, path, answer.status]).toEqual([method, path, 403]);
      const challenge = `Bearer error="insufficient_scope", ${metadata}, scope="skills:read ${scope}"`;
      expect(answer.headers.get("www-authenticate")).toBe(challenge);
    }
    const reader = await signInAt(await newPerson(namespace, "reader"), "/api/v1", {
      scope: "skills:read skills:publish",
    });
    expect(reader.tokens.scope).toBe("skills:read");
    const refused = await api("PATCH", `/namespaces/${namespace}`, { title: "Taken" }, reader.tokens.access_token);
    // Who could not allow it is not sent to ask for it.
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([403, null]);
  });

  it("has no more than the token or the member behind it has by now", async () => {
    const namespace = await privateNamespace();
    const who = await newPerson(namespace, "admin");
    const scope = "skills:read skills:publish namespace:admin collections:write audit:read";
    const { tokens } = await signInAt(who, "/api/v1", { scope });
    const change = () => api("PATCH", `/namespaces/${namespace}`, { title: "New" }, tokens.access_token);
    expect((await change()).status).toBe(200);
    await env.DB.prepare("UPDATE members SET role = 'reader' WHERE subject = ?1").bind(who.subject).run();
    expect((await change()).status).toBe(403);
  });
});

describe("junk", () => {
  /** How many statements a request asks of the database. */
  async function statementsOf(path: string, headers: Record<string, string>, method = "POST") {
    let count = 0;
    const database = new Proxy(env.DB, {
      get(target, name) {
        if (name === "prepare" || name === "exec") count++;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const body = method === "GET" ? null : "{}";
    const response = await sendWith({ DB: database }, path, { method, headers, body });
    return { count, status: response.status };
  }

  it("in place of an access token never reaches the database, at any address", async () => {
    const namespace = await privateNamespace();
    const { tokens } = await signInAt(await newToken(namespace, "reader"), `/mcp/${namespace}`);
    const [user, grant, secret] = tokens.access_token.split(":") as [string, string, string];
    const flip = (text: string) => (text.startsWith("0") ? "1" : "0") + text.slice(1);
    const [name, check] = user.split("-") as [string, string];
    const junk = [
      "x",
      "a:b:c",
      "::",
      `${"0".repeat(32)}-${"0".repeat(16)}:${"a".repeat(16)}:${"b".repeat(32)}`,
      `${name}-${flip(check)}:${grant}:${secret}`,
      `${flip(name)}-${check}:${grant}:${secret}`,
      `${name}:${grant}:${secret}`,
      `${user.toUpperCase()}:${grant}:${secret}`,
      `${user}:${grant}:${secret}x`,
      `${user}:${grant}:${secret.slice(1)}`,
      `${user}:${grant}:${secret}:x`,
      `skr_${"0".repeat(16)}_${"0".repeat(64)}_${"0".repeat(16)}`,
      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
      operator.toUpperCase(),
    ];
    const paths = [`/mcp/${namespace}`, "/me/mcp", "/mcp"];
    for (const token of junk) {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      for (const path of paths) {
        expect([token, path, await statementsOf(path, headers)]).toEqual([token, path, { count: 0, status: 401 }]);
      }
      const asked = await statementsOf(`/api/v1/namespaces/${namespace}`, headers, "GET");
      expect([token, asked]).toEqual([token, { count: 0, status: 401 }]);
    }
    // The counter counts: a token of ours is asked about.
    const good = { authorization: `Bearer ${tokens.access_token}` };
    expect((await statementsOf(`/api/v1/namespaces/${namespace}`, good, "GET")).count).toBeGreaterThan(0);
  });

  it("at the sign-in page counts as a failed credential, as an access token would, and ends in a pause", async () => {
    const form = { origin, "sec-fetch-site": "same-origin", "cf-connecting-ip": "203.0.113.77" };
    const vars = { RATE_FAILED_CREDENTIALS: "3" };
    const namespace = await privateNamespace();
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
    await api("DELETE", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
    const tries = ["nonsense", body["token"] as string, "skr_x", "nonsense", "nonsense"];
    const answers: [number, string | null][] = [];
    for (const token of tries) {
      const init = { method: "POST", headers: form, body: new URLSearchParams({ token }), redirect: "manual" as const };
      const response = await sendWith(vars, "/sign-in", init);
      expect(response.headers.getSetCookie()).toEqual([]);
      answers.push([response.status, response.headers.get("retry-after")]);
    }
    expect(answers.map(([status]) => status)).toEqual([401, 401, 401, 429, 429]);
    expect(answers[3]![1]).toMatch(/^\d+$/);
    const bearer = { authorization: "Bearer nonsense", "cf-connecting-ip": "203.0.113.77" };
    expect((await sendWith(vars, "/api/v1/me", { headers: bearer })).status).toBe(429);
  });
});

describe("the sign-in page", () => {
  it("takes registry tokens alone: not the operator's, no read link, invitation, code or access token", async () => {
    const namespace = await privateNamespace();
    const token = await newToken(namespace, "admin");
    const link = (await api("POST", `/namespaces/${namespace}/links`, {})).body;
    const invitation = (await api("POST", `/namespaces/${namespace}/invitations`, { role: "reader" })).body;
    const { tokens, code } = await signInAt(token, "/api/v1");
    const secret = /\/r\/([^/]+)\//.exec(link["url"] as string)![1]!;
    const bad = [
      operator,
      `Bearer ${token}`,
      secret,
      secret.replace("skl_", "skr_"),
      link["url"] as string,
      invitation["secret"] as string,
      (invitation["secret"] as string).replace("ski_", "skr_"),
      tokens.access_token,
      tokens.refresh_token,
      code,
      token.slice(0, -1),
      "",
    ];
    for (const one of bad) {
      const person = new Person();
      const { status, html } = await person.signIn(one);
      expect([one, status, person.cookies]).toEqual([one, 401, ""]);
      // What was typed is not shown again.
      if (one !== "") expect(html).not.toContain(one);
    }
    const person = new Person();
    expect((await person.signIn(token)).status).toBe(303);
  });

  it("takes no token from its address", async () => {
    const token = await newToken(await privateNamespace(), "reader");
    const person = new Person();
    expect((await person.open(`/sign-in?token=${token}`)).html).not.toContain(token);
    expect((await person.submit(`/sign-in?token=${token}`, {})).status).toBe(401);
    expect(person.cookies).toBe("");
  });
});

describe("what is private and what is not there are alike, to the byte", () => {
  /** A private name and one that nobody took, of the same length. */
  async function pair() {
    const namespace = await privateNamespace();
    await api("PUT", `/namespaces/${namespace}/collections/team`, { title: "Team", skills: "all" });
    return { known: namespace, unknown: `${namespace.slice(0, -1)}x` };
  }
  const neutral = (text: string, name: string) => text.replaceAll(name, "the-name");

  it("in the documents that clients look for", async () => {
    const { known, unknown } = await pair();
    for (const place of ["/mcp/NAME", "/me/mcp/NAME", "/mcp/NAME/team", "/me/mcp/NAME/team", "/mcp/NAME/none"]) {
      const answers = [];
      for (const name of [known, unknown]) {
        const response = await send(`/.well-known/oauth-protected-resource${place.replace("NAME", name)}`);
        answers.push([response.status, lastingHeaders(response.headers), neutral(await response.text(), name)]);
      }
      expect(answers[0]![0]).toBe(200);
      expect(answers[0]).toEqual(answers[1]);
    }
  });

  it("at the authorization endpoint, to nobody, to the token of another namespace and to a person", async () => {
    const { known, unknown } = await pair();
    const clientId = (await register()).body.client_id;
    const { challenge } = await pkce();
    const [nobody, stranger, person] = [new Person(), new Person(), new Person()];
    await stranger.signIn(await newToken(await privateNamespace(), "admin"));
    await person.become(await newPerson(await privateNamespace(), "admin"));
    for (const browser of [nobody, stranger, person]) {
      for (const place of ["/mcp/NAME", "/me/mcp/NAME", "/mcp/NAME/team", "/me/mcp/NAME/team"]) {
        const answers = [];
        for (const name of [known, unknown]) {
          const resource = origin + place.replace("NAME", name);
          const asked = { client_id: clientId, redirect_uri: redirectUri, resource, code_challenge: challenge };
          const { status, headers, html } = await browser.open(authorizePath(asked));
          const lasting = lastingHeaders(headers).map(([key, value]) => [key, neutral(value, name)]);
          answers.push([status, lasting, neutral(html, name)]);
        }
        expect(answers[0]![0]).toBe(browser === nobody ? 303 : 400);
        expect(answers[0]).toEqual(answers[1]);
      }
    }
  });

  it("to a good access token without a right: 404 and -32602, never another challenge", async () => {
    const { known, unknown } = await pair();
    for (const place of ["/mcp/NAME", "/me/mcp/NAME", "/mcp/NAME/team"]) {
      for (const ask of [modern, legacy]) {
        const answers = [];
        for (const name of [known, unknown]) {
          // As a right that was lost leaves it: the token is good, for this address, and opens nothing.
          const { tokens, code } = await signInAt(await newPerson(), "/mcp");
          const [, grant] = code.split(":");
          const path = place.replace("NAME", name);
          await env.DB.batch([
            env.DB.prepare("UPDATE grants SET audience = ?1, namespace = ?2 WHERE id = ?3").bind(
              origin + path,
              name,
              grant,
            ),
            env.DB.prepare(
              "UPDATE oauth_records SET value = json_set(value, '$.audience', ?1) WHERE value ->> '$.grantId' = ?2 AND key > 'token:'",
            ).bind(origin + path, grant),
          ]);
          const { status, headers, error, body } = await ask(path, "skills/list", {}, { token: tokens.access_token });
          expect([status, error?.code, headers.get("www-authenticate")]).toEqual([404, -32602, null]);
          answers.push([lastingHeaders(headers), neutral(JSON.stringify(body), name)]);
        }
        expect(answers[0]).toEqual(answers[1]);
      }
    }
  });
});
