import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api, modern, newNamespace, newToken, origin, seedSkill, send } from "../harness.ts";
import { askToken, authorizePath, obtainCode, pkce, redeem, redirectUri, refresh } from "./oauth-client.ts";
import { register, signInAt } from "./oauth-client.ts";
import type { Flow } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** Codes and refresh tokens in the wrong hands, twice, too late, or for something else than was allowed. */
afterEach(() => void vi.useRealTimers());

function later(ms: number): void {
  const then = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(then);
}

async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return { path: `/mcp/${namespace}`, token: await newToken(namespace, "reader") };
}

const opens = async (path: string, token: string) => (await modern(path, "skills/list", {}, { token })).status;
const minute = 60_000;
const badGrant = { status: 400, body: { error: "invalid_grant" } };

interface Confidential {
  client_id: string;
  client_secret: string;
}

async function registerConfidential(): Promise<Confidential> {
  const { status, body } = await register({ token_endpoint_auth_method: "client_secret_post" });
  expect(status).toBe(201);
  return body as unknown as Confidential;
}

/** Where an authorization request leads that is wrong in a way of which the client may hear. */
async function errorOf(token: string, parameters: Record<string, string | undefined>): Promise<URLSearchParams> {
  const person = new Person();
  await person.signIn(token);
  const { location, status, html } = await person.open(authorizePath({ redirect_uri: redirectUri, ...parameters }));
  expect([status, location?.split("?")[0]], html).toEqual([303, redirectUri]);
  return new URL(location!).searchParams;
}

describe("PKCE", () => {
  it("is asked of public and confidential clients alike, and is S256", async () => {
    const { path, token } = await privateNamespace();
    const { challenge } = await pkce();
    const bent: Record<string, Record<string, string | undefined>> = {
      omitted: { code_challenge: undefined, code_challenge_method: undefined },
      "without its challenge": { code_challenge: undefined },
      "an empty challenge": { code_challenge: "" },
      plain: { code_challenge: challenge, code_challenge_method: "plain" },
      "no method, which means plain": { code_challenge: challenge, code_challenge_method: undefined },
      "an empty method": { code_challenge: challenge, code_challenge_method: "" },
      "another method": { code_challenge: challenge, code_challenge_method: "S512" },
      "a method in another case": { code_challenge: challenge, code_challenge_method: "s256" },
      "a challenge that is no digest": { code_challenge: challenge.slice(1) },
    };
    for (const client of [(await register()).body, await registerConfidential()]) {
      for (const [name, parameters] of Object.entries(bent)) {
        const asked = { client_id: client.client_id, resource: origin + path, ...parameters };
        const answer = await errorOf(token, asked);
        expect([name, answer.get("error"), answer.get("iss"), answer.get("code")]).toEqual([
          name,
          "invalid_request",
          origin,
          null,
        ]);
      }
    }
  });

  it("refuses a code without a verifier, with a wrong one, and with that of another flow", async () => {
    const { path, token } = await privateNamespace();
    const other = await obtainCode(token, path);
    const wrong = (await pkce()).verifier;
    for (const verifier of [undefined, "", wrong, other.verifier]) {
      const flow = await obtainCode(token, path, { client_id: other.clientId });
      const fields = formOf(flow);
      if (verifier === undefined) delete fields["code_verifier"];
      else fields["code_verifier"] = verifier;
      const { status, body } = await askToken(fields);
      expect([verifier, status]).toEqual([verifier, 400]);
      expect(body.access_token).toBeUndefined();
    }
  });

  it("takes no challenge for its verifier, which is how a downgrade to plain would look", async () => {
    const { path, token } = await privateNamespace();
    const flow = await obtainCode(token, path);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(flow.verifier));
    const challenge = btoa(String.fromCharCode(...new Uint8Array(digest))).replaceAll("+", "-");
    const verifier = challenge.replaceAll("/", "_").replaceAll("=", "");
    expect(await redeem({ ...flow, verifier }, { code_challenge_method: "plain" })).toMatchObject(badGrant);
  });

  it("binds a confidential client's code to its verifier besides its secret", async () => {
    const { path, token } = await privateNamespace();
    const client = await registerConfidential();
    const flow = await obtainCode(token, path, { client_id: client.client_id });
    const secret = { client_secret: client.client_secret };
    expect(await redeem(flow)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(await redeem(flow, { client_secret: `${secret.client_secret}x` })).toMatchObject({ status: 401 });
    expect(await redeem({ ...flow, verifier: (await pkce()).verifier }, secret)).toMatchObject(badGrant);
    expect(await redeem(flow, secret)).toMatchObject({ status: 200 });
  });
});

function formOf({ clientId, resource, verifier, code }: Flow): Record<string, string> {
  const form = { client_id: clientId, code, code_verifier: verifier, redirect_uri: redirectUri, resource };
  return { grant_type: "authorization_code", ...form };
}

describe("a code", () => {
  it("that comes twice at once gives tokens at most once, and those end", async () => {
    const { path, token } = await privateNamespace();
    for (let again = 0; again < 5; again++) {
      const flow = await obtainCode(token, path);
      const answers = await Promise.all([redeem(flow), redeem(flow), redeem(flow)]);
      const won = answers.filter(({ status }) => status === 200);
      expect(won.length).toBeLessThanOrEqual(1);
      expect(answers.filter(({ body }) => body.error === "invalid_grant")).toHaveLength(3 - won.length);
      for (const { body } of won) {
        expect(await opens(path, body.access_token)).toBe(401);
        expect(await refresh(flow.clientId, body.refresh_token)).toMatchObject(badGrant);
      }
    }
  });

  it("that comes again much later still ends what it gave", async () => {
    const { path, token } = await privateNamespace();
    const flow = await obtainCode(token, path);
    const { body } = await redeem(flow);
    const { body: renewed } = await refresh(flow.clientId, body.refresh_token);
    later(30 * minute);
    expect(await opens(path, renewed.access_token)).toBe(200);
    expect(await redeem(flow)).toMatchObject(badGrant);
    expect(await opens(path, body.access_token)).toBe(401);
    expect(await opens(path, renewed.access_token)).toBe(401);
    expect(await refresh(flow.clientId, renewed.refresh_token)).toMatchObject(badGrant);
  });

  it("is good for ten minutes", async () => {
    const { path, token } = await privateNamespace();
    const [early, late] = [await obtainCode(token, path), await obtainCode(token, path)];
    later(9 * minute);
    expect(await redeem(early)).toMatchObject({ status: 200 });
    later(2 * minute);
    expect(await redeem(late)).toMatchObject(badGrant);
  });

  it("is its client's alone, and good for its address alone", async () => {
    const { path, token } = await privateNamespace();
    const flow = await obtainCode(token, path);
    const other = (await register()).body.client_id;
    expect(await redeem({ ...flow, clientId: other })).toMatchObject(badGrant);
    for (const resource of ["/me/mcp", "/mcp", `${path}/`, `${path}/team`, "/api/v1"]) {
      const { status, body } = await redeem({ ...flow, resource: origin + resource });
      expect([resource, status, body.error]).toEqual([resource, 400, "invalid_target"]);
    }
    expect(await redeem(flow, { scope: "skills:publish" })).toMatchObject({
      status: 400,
      body: { error: "invalid_scope" },
    });
    const { body } = await redeem(flow, { scope: "skills:read skills:publish namespace:admin" });
    expect(body.scope).toBe("skills:read");
  });

  it("is no access token and no refresh token, nor are these one", async () => {
    const { path, token } = await privateNamespace();
    const flow = await obtainCode(token, path);
    expect(await opens(path, flow.code)).toBe(401);
    expect(await refresh(flow.clientId, flow.code)).toMatchObject(badGrant);
    const { body } = await redeem(flow);
    expect(await opens(path, body.refresh_token)).toBe(401);
    expect(await refresh(flow.clientId, body.access_token)).toMatchObject(badGrant);
    expect(await redeem({ ...flow, code: body.refresh_token })).toMatchObject(badGrant);
    // None of that was the code once more.
    expect(await opens(path, body.access_token)).toBe(200);
  });

  it("that was made up for somebody's grant does it no harm", async () => {
    const { path, token } = await privateNamespace();
    const flow = await signInAt(token, path);
    const [user, grant] = flow.code.split(":");
    for (const code of [`${user}:${grant}:${"a".repeat(32)}`, `${user}:${grant}`, `${user}:${grant}:`, "::", "%"]) {
      expect((await redeem({ ...flow, code })).status).toBe(400);
    }
    expect(await refresh(flow.clientId, `${user}:${grant}:${"a".repeat(32)}`)).toMatchObject(badGrant);
    expect(await opens(path, flow.tokens.access_token)).toBe(200);
  });

  it("gives nothing once the consent behind it is gone, though nobody redeemed it yet", async () => {
    const { path, token } = await privateNamespace();
    const { body } = await api("GET", "/me", undefined, token);
    const flow = await obtainCode(token, path);
    await env.DB.prepare("UPDATE tokens SET revoked_at = ?1 WHERE id = ?2").bind(Date.now(), body["id"]).run();
    expect(await redeem(flow)).toMatchObject(badGrant);
  });
});

describe("a refresh token", () => {
  it("is taken twice within its grace, and ends the whole sign-in after it", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    const first = await refresh(clientId, tokens.refresh_token);
    later(50_000);
    const second = await refresh(clientId, tokens.refresh_token);
    expect([first.status, second.status]).toEqual([200, 200]);
    later(11_000);
    expect(await refresh(clientId, tokens.refresh_token)).toMatchObject(badGrant);
    for (const { access_token } of [tokens, first.body, second.body]) expect(await opens(path, access_token)).toBe(401);
    expect(await refresh(clientId, second.body.refresh_token)).toMatchObject(badGrant);
  });

  it("ends the whole sign-in however many came after it", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    let last = tokens;
    for (let again = 0; again < 3; again++) {
      last = (await refresh(clientId, last.refresh_token)).body;
      later(2 * minute);
    }
    expect(await opens(path, last.access_token)).toBe(200);
    expect(await refresh(clientId, tokens.refresh_token)).toMatchObject(badGrant);
    expect(await opens(path, last.access_token)).toBe(401);
  });

  it("that a thief overtook within the grace ends what the thief has, once its owner comes with it", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    const owner = await refresh(clientId, tokens.refresh_token);
    const thief = await refresh(clientId, tokens.refresh_token);
    later(10 * minute);
    expect(await opens(path, thief.body.access_token)).toBe(200);
    expect(await refresh(clientId, owner.body.refresh_token)).toMatchObject(badGrant);
    expect(await opens(path, thief.body.access_token)).toBe(401);
    expect(await refresh(clientId, thief.body.refresh_token)).toMatchObject(badGrant);
  });

  it("that comes twice at once leaves one sign-in that goes on", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    const answers = await Promise.all([1, 2, 3].map(() => refresh(clientId, tokens.refresh_token)));
    const next = await Promise.all(answers.map(({ body }) => refresh(clientId, body.refresh_token)));
    expect(next.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("is its client's alone, for its address alone, and widens nothing", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    const other = (await register()).body.client_id;
    expect(await refresh(other, tokens.refresh_token)).toMatchObject(badGrant);
    for (const resource of ["/me/mcp", "/mcp", `${path}/team`, "/api/v1"]) {
      const { status, body } = await refresh(clientId, tokens.refresh_token, { resource: origin + resource });
      expect([resource, status, body.error]).toEqual([resource, 400, "invalid_target"]);
    }
    expect(await refresh(clientId, tokens.refresh_token, { scope: "skills:publish" })).toMatchObject({
      status: 400,
      body: { error: "invalid_scope" },
    });
    const { body } = await refresh(clientId, tokens.refresh_token, { scope: "skills:read skills:publish" });
    expect(body.scope).toBe("skills:read");
    expect(await opens("/me/mcp", body.access_token)).toBe(401);
  });

  it("runs out after a month in which nobody used it", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    later(29 * 24 * 60 * minute);
    const { status, body } = await refresh(clientId, tokens.refresh_token);
    expect(status).toBe(200);
    later(31 * 24 * 60 * minute);
    expect(await refresh(clientId, body.refresh_token)).toMatchObject(badGrant);
  });

  it("of one client is not revoked by another", async () => {
    const { path, token } = await privateNamespace();
    const { tokens, clientId } = await signInAt(token, path);
    const other = (await register()).body.client_id;
    const revoke = (client_id: string, of: string) =>
      send("/revoke", { method: "POST", body: new URLSearchParams({ client_id, token: of }) });
    expect((await revoke(other, tokens.refresh_token)).status).toBe(200);
    expect((await revoke(other, tokens.access_token)).status).toBe(200);
    expect(await opens(path, tokens.access_token)).toBe(200);
    expect((await revoke(clientId, tokens.refresh_token)).status).toBe(200);
    expect(await opens(path, tokens.access_token)).toBe(401);
    expect(await refresh(clientId, tokens.refresh_token)).toMatchObject(badGrant);
  });
});

describe("an access token", () => {
  it("runs out after an hour", async () => {
    const { path, token } = await privateNamespace();
    const { tokens } = await signInAt(token, path);
    later(59 * minute);
    expect(await opens(path, tokens.access_token)).toBe(200);
    later(2 * minute);
    expect(await opens(path, tokens.access_token)).toBe(401);
  });

  it("of another consent stays, though it is the same person's to the same client, when a code comes twice", async () => {
    const { path, token } = await privateNamespace();
    const stolen = await obtainCode(token, path);
    const other = await obtainCode(token, path, { client_id: stolen.clientId });
    const both = [await redeem(stolen), await redeem(other)];
    expect(await redeem(stolen)).toMatchObject(badGrant);
    const statuses = both.map(({ body }) => opens(path, body.access_token));
    expect(await Promise.all(statuses)).toEqual([401, 200]);
  });
});
