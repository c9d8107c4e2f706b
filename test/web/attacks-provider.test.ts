import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { CompactSign, exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from "jose";
import type { JWK, JWTPayload } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { forgetIssuers } from "../../src/auth/issuer-keys.ts";
import worker from "../../src/index.ts";
import { FakeIssuer } from "../auth/fake-issuer.ts";
import { origin } from "../harness.ts";
import { Person } from "./person.ts";
import type { Shown } from "./person.ts";

/** Signing in at the operator's OpenID provider with tokens that it did not write, or wrote for something else. */
const clientId = "registry-at-the-provider";
const clientSecret = "secret-of-the-registry-at-the-provider";
const issuerUrl = "https://accounts.example";
const vars = { OIDC_ISSUER: issuerUrl, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };

let issuer: FakeIssuer;
/** What was asked of whom, but for the issuer's documents. */
let asked: { url: string; form: URLSearchParams; authorization: string | null }[];
/** What the token endpoint answers. */
let answer: () => Response | Promise<Response>;
let publicKey: JWK;

beforeEach(async () => {
  forgetIssuers();
  issuer = new FakeIssuer(issuerUrl);
  publicKey = await issuer.addKey("key-1", { alg: "RS256" });
  issuer.document = { authorization_endpoint: `${issuerUrl}/authorize`, token_endpoint: `${issuerUrl}/token` };
  asked = [];
  answer = () => Response.json({}, { status: 500 });
  vi.stubGlobal("fetch", async (input: string, init: RequestInit = {}) => {
    const url = new URL(input);
    const isDocument = url.origin === issuerUrl && url.pathname !== "/token";
    if (isDocument) return issuer.answer(url);
    const headers = new Headers(init.headers);
    const form = new URLSearchParams(String(init.body ?? ""));
    asked.push({ url: input, form, authorization: headers.get("authorization") });
    if (input !== `${issuerUrl}/token`) throw new Error("getaddrinfo ENOTFOUND");
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function sendWith(bindings: Record<string, string>, path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const response = await worker.fetch(new Request(origin + path, init), { ...env, ...bindings }, context);
  await waitOnExecutionContext(context);
  return response;
}

const newPerson = () => new Person((path, init) => sendWith(vars, path, init));
const seconds = () => Math.floor(Date.now() / 1_000);

interface Begun {
  person: Person;
  parameters: URLSearchParams;
  state: string;
  claims: JWTPayload;
}

/** Sent to the provider, which would sign in somebody called `sub`. */
async function begin(sub = "ada", person = newPerson(), returnTo = "/account"): Promise<Begun> {
  const { location, status, html } = await person.open(`/sign-in/provider?return=${encodeURIComponent(returnTo)}`);
  expect(status, html).toBe(303);
  const url = new URL(location!);
  expect(url.origin + url.pathname).toBe(`${issuerUrl}/authorize`);
  const nonce = url.searchParams.get("nonce")!;
  const claims = { sub, aud: clientId, nonce, iat: seconds(), exp: seconds() + 300 };
  return { person, parameters: url.searchParams, state: url.searchParams.get("state")!, claims };
}

const callback = (person: Person, parameters: Record<string, string>): Promise<Shown> =>
  person.open(`/sign-in/callback?${new URLSearchParams(parameters).toString()}`);

async function finish({ person, state }: Begun, token: unknown): Promise<Shown> {
  answer = () => Response.json({ id_token: token, access_token: "x", token_type: "Bearer" });
  return callback(person, { state, code: "code-of-the-provider" });
}

const signIns = async () => (await env.DB.prepare("SELECT count(*) AS n FROM sign_ins").first<{ n: number }>())!.n;

/** Nobody is signed in, and the person reads it here. */
async function isRefused(work: () => Promise<Shown>, name: string): Promise<Shown> {
  const before = await signIns();
  const shown = await work();
  expect([name, shown.status, shown.location]).toEqual([name, 400, null]);
  expect(shown.html).toContain("You are not signed in");
  expect(shown.headers.getSetCookie().filter((line) => /^__Host-skill-registry=[^;]/.test(line))).toEqual([]);
  expect(await signIns()).toBe(before);
  return shown;
}

const encoded = (value: object | string) =>
  btoa(typeof value === "string" ? value : JSON.stringify(value))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const bytesOf = (text: string) => new TextEncoder().encode(text);

async function hmacWith(key: Uint8Array, claims: JWTPayload, header: object = {}): Promise<string> {
  const protectedHeader = { alg: "HS256", kid: "key-1", typ: "JWT", ...header };
  return new CompactSign(bytesOf(JSON.stringify({ iss: issuerUrl, ...claims })))
    .setProtectedHeader(protectedHeader)
    .sign(key);
}

describe("whom the provider signed in", () => {
  it("is signed in here, with PKCE and the secret sent to nobody else", async () => {
    const begun = await begin("ada");
    const shown = await finish(begun, await issuer.sign(begun.claims));
    expect([shown.status, shown.location]).toEqual([303, "/account"]);
    expect((await begun.person.open("/account")).html).toContain("ada at https://accounts.example");
    const [{ form, authorization, url }] = asked as [(typeof asked)[number]];
    expect([asked.length, url, authorization]).toEqual([
      1,
      `${issuerUrl}/token`,
      `Basic ${btoa(`${clientId}:${clientSecret}`)}`,
    ]);
    const digest = await crypto.subtle.digest("SHA-256", bytesOf(form.get("code_verifier")!));
    expect(encoded(String.fromCharCode(...new Uint8Array(digest)))).toBe(begun.parameters.get("code_challenge"));
    expect(begun.parameters.get("code_challenge_method")).toBe("S256");
    expect(begun.parameters.has("client_secret")).toBe(false);
    expect(form.get("redirect_uri")).toBe(`${origin}/sign-in/callback`);
  });
});

describe("an ID token is refused", () => {
  const claimsOf: Record<string, (claims: JWTPayload) => JWTPayload> = {
    "of another issuer": (claims) => ({ ...claims, iss: "https://evil.example" }),
    "of an issuer with a slash more": (claims) => ({ ...claims, iss: `${issuerUrl}/` }),
    "of an issuer in another case": (claims) => ({ ...claims, iss: "https://ACCOUNTS.example" }),
    "without an issuer": (claims) => ({ ...claims, iss: undefined }),
    "for another client": (claims) => ({ ...claims, aud: "another-client" }),
    "for several clients": (claims) => ({ ...claims, aud: [clientId, "another-client"] }),
    "for nobody": (claims) => ({ ...claims, aud: undefined }),
    "that has run out": (claims) => ({ ...claims, iat: seconds() - 700, exp: seconds() - 100 }),
    "that never runs out": (claims) => ({ ...claims, exp: undefined }),
    "that does not count yet": (claims) => ({ ...claims, nbf: seconds() + 600 }),
    "of another sign-in": (claims) => ({ ...claims, nonce: "0".repeat(32) }),
    "of no sign-in": (claims) => ({ ...claims, nonce: undefined }),
    "whose nonce is no text": (claims) => ({ ...claims, nonce: [claims["nonce"]] }),
    "that names nobody": (claims) => ({ ...claims, sub: undefined }),
    "whose name is empty": (claims) => ({ ...claims, sub: "" }),
    "whose name is no text": (claims) => ({ ...claims, sub: 7 as unknown as string }),
    "whose name is longer than any": (claims) => ({ ...claims, sub: "a".repeat(256) }),
  };
  for (const [name, bend] of Object.entries(claimsOf)) {
    it(name, async () => {
      const begun = await begin();
      const token = await issuer.sign(bend(begun.claims));
      await isRefused(() => finish(begun, token), name);
    });
  }

  const forged: Record<string, (claims: JWTPayload) => Promise<string> | string> = {
    "with `alg: none`": (claims) => `${encoded({ alg: "none" })}.${encoded({ iss: issuerUrl, ...claims })}.`,
    "with `alg: none` in other letters": (claims) =>
      `${encoded({ alg: "nOnE" })}.${encoded({ iss: issuerUrl, ...claims })}.`,
    "with `alg: none` and our key's name": (claims) =>
      `${encoded({ alg: "none", kid: "key-1", typ: "JWT" })}.${encoded({ iss: issuerUrl, ...claims })}.`,
    "with no algorithm": (claims) => `${encoded({ kid: "key-1" })}.${encoded({ iss: issuerUrl, ...claims })}.`,
    "signed with HS256 and the public key as PEM": async (claims) => {
      const pem = await exportSPKI((await importJWK(publicKey, "RS256")) as CryptoKey);
      return hmacWith(bytesOf(pem), claims);
    },
    "signed with HS256 and the public key as JWK": (claims) => hmacWith(bytesOf(JSON.stringify(publicKey)), claims),
    "signed with HS256 and the modulus": (claims) => hmacWith(bytesOf(publicKey.n!), claims),
    "signed with HS256 and our client secret": (claims) => hmacWith(bytesOf(clientSecret), claims),
    "signed with a key of the same name": async (claims) => {
      const { privateKey } = await generateKeyPair("RS256");
      return new SignJWT({ iss: issuerUrl, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "key-1", typ: "JWT" })
        .sign(privateKey);
    },
    "signed with a key that it brings along": async (claims) => {
      const { privateKey, publicKey: own } = await generateKeyPair("RS256", { extractable: true });
      return new SignJWT({ iss: issuerUrl, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "key-1", jwk: await exportJWK(own) })
        .sign(privateKey);
    },
    "that says where its key is": async (claims) => {
      const { privateKey } = await generateKeyPair("RS256");
      const jku = "https://evil.example/keys";
      return new SignJWT({ iss: issuerUrl, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "other", jku, x5u: jku })
        .sign(privateKey);
    },
    "whose claims were changed": async (claims) => {
      const [header, , signature] = (await issuer.sign({ ...claims, sub: "mallory" })).split(".");
      return `${header}.${encoded({ iss: issuerUrl, ...claims, sub: "admin" })}.${signature}`;
    },
    "without its signature": async (claims) => (await issuer.sign(claims)).replace(/[^.]*$/, ""),
    "that is an access token": (claims) => issuer.sign(claims, { typ: "at+jwt" }),
    "that is a logout token": (claims) => issuer.sign(claims, { typ: "logout+jwt" }),
    "with a demand that nobody knows": (claims) => issuer.sign(claims, { crit: ["urn:demand"], "urn:demand": true }),
    "that is none": () => "not.a.token",
    "that is empty": () => "",
  };
  for (const [name, forge] of Object.entries(forged)) {
    it(name, async () => {
      const begun = await begin("admin");
      const token = await forge(begun.claims);
      await isRefused(() => finish(begun, token), name);
      expect(asked.map(({ url }) => url)).toEqual([`${issuerUrl}/token`]);
    });
  }

  it("signed with a secret that the key set shows by mistake", async () => {
    issuer.shown.push({ kty: "oct", kid: "shared", k: encoded("a secret that everybody can read now"), alg: "HS256" });
    const begun = await begin();
    const token = await hmacWith(bytesOf("a secret that everybody can read now"), begun.claims, { kid: "shared" });
    await isRefused(() => finish(begun, token), "oct");
  });

  it("when there is none, or the provider says something else", async () => {
    const others: Record<string, () => Response> = {
      "no token": () => Response.json({ access_token: "x" }),
      "a token that is no text": () => Response.json({ id_token: { sub: "ada" } }),
      "an error": () => Response.json({ error: "invalid_grant" }, { status: 400 }),
      "no JSON": () => new Response("<html>"),
      "a redirect": () => new Response(null, { status: 302, headers: { location: "https://evil.example/token" } }),
      "more than anybody says": () => Response.json({ id_token: "x".repeat(200_000) }),
    };
    for (const [name, other] of Object.entries(others)) {
      const begun = await begin();
      answer = other;
      await isRefused(() => callback(begun.person, { state: begun.state, code: "c" }), name);
    }
    expect(asked.filter(({ url }) => url !== `${issuerUrl}/token`)).toEqual([]);
  });
});

describe("an answer of the provider", () => {
  it("that another browser asked for signs nobody in, and its code is sent nowhere", async () => {
    const attacker = await begin("mallory");
    const token = await issuer.sign(attacker.claims);
    const [fresh, busy] = [newPerson(), (await begin("ada")).person];
    for (const victim of [fresh, busy]) {
      await isRefused(() => finish({ ...attacker, person: victim }, token), "another browser");
    }
    expect(asked).toEqual([]);
    // Nor is it the attacker's cookie alone that counts.
    const cookies = attacker.person.cookies.replace(attacker.state, "f".repeat(32));
    const response = await sendWith(vars, `/sign-in/callback?state=${attacker.state}&code=c`, {
      headers: { cookie: cookies },
    });
    expect([response.status, asked]).toEqual([400, []]);
  });

  it("counts once", async () => {
    const begun = await begin();
    const token = await issuer.sign(begun.claims);
    expect((await finish(begun, token)).status).toBe(303);
    await isRefused(() => finish(begun, token), "again");
    expect(asked).toHaveLength(1);
  });

  it("with no state, a made-up one or another's, is none", async () => {
    const [one, other] = [await begin("ada"), await begin("bob")];
    const bad = [
      "",
      "x",
      "0".repeat(32),
      one.state.toUpperCase().replace(/[^A-F]/g, "A"),
      `${one.state}0`,
      other.state,
    ];
    const prefix = one.state.slice(0, 8) + "0".repeat(24);
    for (const state of [...bad, prefix]) {
      await isRefused(() => callback(one.person, { state, code: "c" }), state);
    }
    await isRefused(() => callback(one.person, { code: "c" }), "none");
    expect(asked).toEqual([]);
  });

  it("in the name of another provider is none, so that our code goes to no other (RFC 9207)", async () => {
    for (const iss of ["https://evil.example", `${issuerUrl}/`, "", "https://ACCOUNTS.example"]) {
      const { person, state } = await begin();
      await isRefused(() => callback(person, { state, code: "c", iss }), iss);
    }
    expect(asked).toEqual([]);
    const begun = await begin();
    answer = async () => Response.json({ id_token: await issuer.sign(begun.claims) });
    const { status } = await callback(begun.person, { state: begun.state, code: "c", iss: issuerUrl });
    expect(status).toBe(303);
  });

  it("without a name is none where the provider says that it always gives it", async () => {
    issuer.document["authorization_response_iss_parameter_supported"] = true;
    const { person, state } = await begin();
    await isRefused(() => callback(person, { state, code: "c" }), "no iss");
    expect(asked).toEqual([]);
  });

  it("that is an error is shown as text", async () => {
    const { person, state } = await begin();
    const error = `<script>alert(1)</script>`;
    const shown = await isRefused(() => callback(person, { state, error }), "error");
    expect(shown.html).not.toContain("<script");
    expect(asked).toEqual([]);
  });

  it("leads on to our own pages only", async () => {
    for (const place of [
      "https://evil.example/",
      "//evil.example",
      "/\\evil.example",
      "/account/../../evil",
      "/api/v1",
    ]) {
      const begun = await begin("ada", newPerson(), place);
      expect((await finish(begun, await issuer.sign(begun.claims))).location).toBe("/account");
    }
    const begun = await begin();
    const name = `__Host-skill-registry-provider-${begun.state.slice(0, 8)}`;
    const cookie = begun.person.cookies
      .split("; ")
      .map((pair) =>
        pair.startsWith(name)
          ? pair.replace(encodeURIComponent("/account"), encodeURIComponent("//evil.example"))
          : pair,
      )
      .join("; ");
    expect(cookie).toContain("evil.example");
    answer = async () => Response.json({ id_token: await issuer.sign(begun.claims) });
    const path = `/sign-in/callback?state=${begun.state}&code=c`;
    const response = await sendWith(vars, path, { headers: { cookie }, redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/account"]);
  });

  it("is waited for ten minutes, by the one browser", async () => {
    const response = await sendWith(vars, "/sign-in/provider", { redirect: "manual" });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-skill-registry-provider-[0-9a-f]{8}=[^;]+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
      ),
    ]);
  });
});

describe("a provider", () => {
  const documents: Record<string, Record<string, unknown>> = {
    "whose document names another issuer": { issuer: "https://evil.example" },
    "whose token endpoint is inside": { token_endpoint: "https://169.254.169.254/token" },
    "whose token endpoint is on our own host": { token_endpoint: `${origin}/token` },
    "whose keys are inside": { jwks_uri: "https://10.0.0.1/keys" },
    "whose keys are read without TLS": { jwks_uri: "http://accounts.example/keys" },
    "whose authorization endpoint is a script": { authorization_endpoint: "javascript:alert(1)" },
    "without an authorization endpoint": { authorization_endpoint: undefined },
  };
  for (const [name, document] of Object.entries(documents)) {
    it(`${name} is not asked, and nobody is sent there`, async () => {
      Object.assign(issuer.document, document);
      await isRefused(() => newPerson().open("/sign-in/provider"), name);
      expect(asked).toEqual([]);
    });
  }

  it("that is not set up, or only half, is not there", async () => {
    for (const missing of Object.keys(vars)) {
      const half = { ...vars, [missing]: "" };
      for (const path of ["/sign-in/provider", `/sign-in/callback?state=${"0".repeat(32)}&code=c`]) {
        expect([missing, (await sendWith(half, path, { redirect: "manual" })).status]).toEqual([missing, 404]);
      }
    }
    expect(asked).toEqual([]);
  });
});
