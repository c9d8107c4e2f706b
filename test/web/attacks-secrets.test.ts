import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { maxGrantsPerUser } from "../../src/domain/limits.ts";
import { open } from "../live/handshakes.ts";
import { legacy, modern, newNamespace, newToken, origin, seedSkill, send } from "../harness.ts";
import { authorizePath, obtainCode, pkce, redeem, redirectUri, refresh, register, signInAt } from "./oauth-client.ts";
import { fieldIn, Person } from "./person.ts";

/** What a stolen database, a log or a cache tells; and what a sign-in leaves to whoever comes after it. */
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return { path: `/mcp/${namespace}`, token: await newToken(namespace, "reader"), namespace };
}

/** Every row of every table, as text. */
async function wholeDatabase(): Promise<string> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>();
  const dumps = results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`));
  return JSON.stringify((await env.DB.batch(dumps)).map((one) => one.results));
}

/** All secrets of a sign-in, by name. */
async function secretsOfSignIn() {
  const { path, token } = await privateNamespace();
  const confidential = (await register({ token_endpoint_auth_method: "client_secret_post" })).body as unknown as {
    client_id: string;
    client_secret: string;
  };
  const { verifier, challenge } = await pkce();
  const asked = { redirect_uri: redirectUri, resource: origin + path, code_challenge: challenge };
  const person = new Person();
  await person.signIn(token);
  const shown = await person.open(
    authorizePath({ ...asked, client_id: confidential.client_id, state: "state-of-this" }),
  );
  const handle = fieldIn(shown.html, "handle");
  const answer = new URL((await person.submit("/authorize", { handle, decision: "approve" })).location!);
  const code = answer.searchParams.get("code")!;
  const flow = { person, clientId: confidential.client_id, resource: origin + path, verifier, code, answer };
  const secret = { client_secret: confidential.client_secret };
  const first = (await redeem(flow, secret)).body;
  const second = (await refresh(flow.clientId, first.refresh_token, secret)).body;
  await modern(path, "skills/list", {}, { token: second.access_token });
  await modern("/me/mcp", "skills/list", {}, { token: second.access_token });
  await person.submit("/sign-in", { token: `${token}x` });
  const waiting = await person.open(
    authorizePath({ ...asked, client_id: confidential.client_id, state: "state-of-this" }),
  );
  return {
    token,
    cookie: /__Host-skill-registry=([0-9a-f]+)/.exec(person.cookies)![1]!,
    clientSecret: confidential.client_secret,
    verifier,
    handle: fieldIn(waiting.html, "handle"),
    code,
    accessToken: first.access_token,
    refreshToken: first.refresh_token,
    laterAccessToken: second.access_token,
    laterRefreshToken: second.refresh_token,
  };
}

describe("the secrets of a sign-in", () => {
  it("are not in the database, of which a copy thus opens nothing", async () => {
    const secrets = await secretsOfSignIn();
    const text = await wholeDatabase();
    expect(text).toContain(origin);
    for (const [name, secret] of Object.entries(secrets)) {
      const parts = secret.split(":");
      expect([name, text.includes(secret), text.includes(parts.at(-1)!)]).toEqual([name, false, false]);
    }
  });

  it("are in no log", async () => {
    const lines: string[] = [];
    for (const level of ["log", "info", "warn", "error", "debug"] as const) {
      vi.spyOn(console, level).mockImplementation(
        (...parts: unknown[]) => void lines.push(parts.map(String).join(" ")),
      );
    }
    const secrets = await secretsOfSignIn();
    const flow = await obtainCode(secrets.token, "/me/mcp");
    const { body } = await redeem(flow);
    await refresh(flow.clientId, body.refresh_token);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 120_000);
    await refresh(flow.clientId, body.refresh_token);
    await redeem(flow);
    const text = lines.join("\n");
    expect(text).toContain("refresh token used again");
    for (const [name, secret] of Object.entries({ ...secrets, spent: flow.code, used: body.refresh_token })) {
      expect([name, text.includes(secret), text.includes(secret.split(":").at(-1)!)]).toEqual([name, false, false]);
    }
  });

  it("are kept by no cache, nor is what refuses them", async () => {
    const { path, token } = await privateNamespace();
    const flow = await obtainCode(token, path);
    const form = { client_id: flow.clientId, code: flow.code, code_verifier: flow.verifier, redirect_uri: redirectUri };
    const ask = (url: string, fields: Record<string, string>) =>
      send(url, { method: "POST", body: new URLSearchParams(fields) });
    const registered = await send("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
    const answers = [
      await ask("/token", { ...form, grant_type: "authorization_code", resource: flow.resource }),
      await ask("/token", { ...form, grant_type: "authorization_code" }),
      await ask("/token", {}),
      await ask("/revoke", { client_id: flow.clientId, token: flow.code }),
      registered,
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 200, 201]);
    for (const { headers } of answers) expect(headers.get("cache-control")).toContain("no-store");
  });

  it("of a confidential client are asked for whenever it comes", async () => {
    const { path, token } = await privateNamespace();
    const { body } = await register({ token_endpoint_auth_method: "client_secret_basic" });
    const { client_id, client_secret } = body as unknown as { client_id: string; client_secret: string };
    const flow = await obtainCode(token, path, { client_id });
    const basic = (secret: string) => ({ authorization: `Basic ${btoa(`${client_id}:${secret}`)}` });
    const code = {
      grant_type: "authorization_code",
      code: flow.code,
      code_verifier: flow.verifier,
      redirect_uri: redirectUri,
    };
    const ask = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      send(url, { method: "POST", body: new URLSearchParams(fields), headers });
    expect((await ask("/token", { ...code, client_id })).status).toBe(401);
    expect((await ask("/token", { ...code, client_id, client_secret })).status).toBe(401);
    expect((await ask("/token", code, basic("wrong"))).status).toBe(401);
    const tokens = await (
      await ask("/token", code, basic(client_secret))
    ).json<{ refresh_token: string; access_token: string }>();
    const renewal = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    expect((await ask("/token", { ...renewal, client_id })).status).toBe(401);
    expect((await ask("/token", renewal, basic(""))).status).toBe(401);
    expect((await ask("/revoke", { token: tokens.refresh_token, client_id })).status).toBe(401);
    expect((await modern(path, "skills/list", {}, { token: tokens.access_token })).status).toBe(200);
    expect((await ask("/token", renewal, basic(client_secret))).status).toBe(200);
  });
});

describe("a session of a sign-in", () => {
  it("is not another's, though it be the same person's to the same client, and goes on when the token is renewed", async () => {
    const { path, token } = await privateNamespace();
    const one = await signInAt(token, path);
    const other = await signInAt(token, path, { client_id: one.clientId });
    const version = "2025-11-25";
    const session = await open(path, version, { token: one.tokens.access_token });
    const ask = async (access: string) =>
      (await legacy(path, "skills/list", {}, { token: access, headers: { "mcp-session-id": session } })).status;
    expect(await ask(one.tokens.access_token)).toBe(200);
    expect(await ask(other.tokens.access_token)).toBe(404);
    expect(await ask(token)).toBe(404);
    const { body } = await refresh(one.clientId, one.tokens.refresh_token);
    expect(await ask(body.access_token)).toBe(200);
    await one.person.submit(`/account/grants/${one.code.split(":")[1]!}/revoke`, {});
    expect(await ask(body.access_token)).toBe(401);
  });
});

describe("what somebody has allowed", () => {
  it("is bounded: past that the oldest ends, and no other person's", async () => {
    const { path, token } = await privateNamespace();
    const [first, neighbour] = [
      await signInAt(token, path),
      await signInAt((await privateNamespace()).token, "/me/mcp"),
    ];
    const user = first.code.split(":")[0];
    await env.DB.prepare(
      `INSERT INTO grants (id, user_id, client_id, client_name, audience, scopes, token_id, granted_at)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
       SELECT 'filler-' || i, user_id, client_id, client_name, audience, scopes, token_id, granted_at + i FROM n
       JOIN grants WHERE user_id = ?2`,
    )
      .bind(maxGrantsPerUser - 1, user)
      .run();
    const opens = async (access: string, at = path) => (await modern(at, "skills/list", {}, { token: access })).status;
    expect(await opens(first.tokens.access_token)).toBe(200);
    const last = await signInAt(token, path, { client_id: first.clientId });
    expect(await opens(first.tokens.access_token)).toBe(401);
    expect((await refresh(first.clientId, first.tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect(await opens(last.tokens.access_token)).toBe(200);
    expect(await opens(neighbour.tokens.access_token, "/me/mcp")).toBe(200);
  });
});
