import { exportSPKI, SignJWT, UnsecuredJWT, generateKeyPair, exportJWK, importJWK } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { discover, forgetIssuers, IssuerError } from "../../src/auth/issuer-keys.ts";
import { issuerIn, JwtRefused, verifyJwt } from "../../src/auth/jwt.ts";
import type { JwtRules } from "../../src/auth/jwt.ts";
import { OutboundError } from "../../src/auth/outbound.ts";
import { issuerKeysStaleMs, issuerKeysTtlMs, issuerPauseMs, maxIssuerQuestions } from "../../src/domain/limits.ts";
import { FakeIssuer, stubIssuers } from "./fake-issuer.ts";

const now = Date.UTC(2027, 0, 1);
const seconds = now / 1_000;
const audience = "https://skills.example.com";
const discovery = "/.well-known/openid-configuration";

let issuer: FakeIssuer;
let strangers: string[];

beforeEach(async () => {
  forgetIssuers();
  issuer = new FakeIssuer("https://issuer.example.com");
  await issuer.addKey("first");
  strangers = stubIssuers(issuer);
});

afterEach(() => {
  expect(strangers).toEqual([]);
  vi.unstubAllGlobals();
});

const good = { aud: audience, sub: "job", iat: seconds, exp: seconds + 300 };

async function verify(token: string, more: Partial<JwtRules> = {}) {
  return verifyJwt(token, { issuer: issuer.origin, audience, ownOrigin: audience, now, ...more });
}

/** What is wrong with a token, in a word. */
async function faultOf(token: string, more: Partial<JwtRules> = {}): Promise<string> {
  const error = await verify(token, more).then(
    () => new Error("it is good"),
    (thrown: unknown) => thrown as Error,
  );
  if (error instanceof JwtRefused) return error.fault;
  return error instanceof OutboundError || error instanceof IssuerError ? error.name : String(error);
}

describe("a token that another issuer signed", () => {
  it.each(["RS256", "PS256", "ES256", "EdDSA"])("counts when it is signed with %s", async (alg) => {
    await issuer.addKey("other", { alg });
    expect(await verify(await issuer.sign(good))).toMatchObject({ sub: "job", iss: issuer.origin });
  });

  it("counts when its one audience stands in a list", async () => {
    expect(await faultOf(await issuer.sign({ ...good, aud: [audience] }))).toBe("Error: it is good");
  });

  it("counts without the name of a key where the issuer has one only", async () => {
    expect(await faultOf(await issuer.sign(good, { kid: undefined }))).toBe("Error: it is good");
    await issuer.addKey("second");
    forgetIssuers();
    expect(await faultOf(await issuer.sign(good, { kid: undefined }))).toBe("key");
  });

  it("is refused unsigned (alg none), without a question", async () => {
    const token = new UnsecuredJWT({ iss: issuer.origin, ...good }).encode();
    expect(await faultOf(token)).toBe("algorithm");
    const [, payload] = token.split(".");
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = btoa(JSON.stringify({ alg })).replaceAll("=", "");
      expect(await faultOf(`${header}.${payload}.`)).toBe("algorithm");
    }
    expect(issuer.asked).toEqual([]);
  });

  it("is refused when the public key was its secret (HS256), in each form of the key", async () => {
    const jwk = await issuer.addKey("rsa", { alg: "RS256" });
    const pem = await exportSPKI((await importJWK(jwk, "RS256", { extractable: true })) as CryptoKey);
    for (const secret of [pem, `${pem}\n`, JSON.stringify(jwk), jwk.n!]) {
      const forged = new SignJWT({ iss: issuer.origin, ...good }).setProtectedHeader({ alg: "HS256", kid: "rsa" });
      expect(await faultOf(await forged.sign(new TextEncoder().encode(secret)))).toBe("algorithm");
    }
    expect(issuer.asked).toEqual([]);
  });

  it("is refused when it brings its own key or names where to find one", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    for (const header of [{ jwk }, { jku: "https://evil.example/keys" }, { x5u: "https://evil.example/keys" }]) {
      const forged = new SignJWT({ iss: issuer.origin, ...good });
      const token = await forged.setProtectedHeader({ alg: "ES256", kid: "first", ...header }).sign(privateKey);
      expect(await faultOf(token)).toBe("signature");
    }
  });

  it("is refused when a byte of it changed", async () => {
    const [header, , signature] = (await issuer.sign(good)).split(".");
    const payload = btoa(JSON.stringify({ iss: issuer.origin, ...good, sub: "other" })).replaceAll("=", "");
    expect(await faultOf(`${header}.${payload}.${signature}`)).toBe("signature");
  });

  it("is refused with extensions that nobody here understands", async () => {
    expect(await faultOf(await issuer.sign(good, { crit: ["urn:example:x"], "urn:example:x": 1 }))).toBe("malformed");
  });

  it.each([
    ["of another issuer", { iss: "https://other.example.com" }, "issuer"],
    ["of the issuer in another spelling", { iss: "https://issuer.example.com/" }, "issuer"],
    ["of no issuer", { iss: undefined }, "issuer"],
    ["for another audience", { aud: "https://other.example.com" }, "audience"],
    ["for an audience that begins with ours", { aud: `${audience}.evil.example` }, "audience"],
    ["for ours with a slash", { aud: `${audience}/` }, "audience"],
    ["for others besides us", { aud: [audience, "https://other.example.com"] }, "audience"],
    ["for us twice", { aud: [audience, audience] }, "audience"],
    ["for nobody", { aud: undefined }, "malformed"],
    ["for an empty list", { aud: [] }, "audience"],
    ["that has run out", { exp: seconds - 31 }, "expired"],
    ["that never runs out", { exp: undefined }, "malformed"],
    ["that runs out in words", { exp: "never" as unknown as number }, "malformed"],
    ["that was issued at no time", { iat: undefined }, "malformed"],
    ["that does not count yet", { nbf: seconds + 31 }, "not_yet"],
    ["that was issued in the future", { iat: seconds + 31 }, "not_yet"],
    ["that was issued too long ago", { iat: seconds - 631 }, "expired"],
  ])("is refused %s", async (_, claims, fault) => {
    expect(await faultOf(await issuer.sign({ ...good, ...claims }), { maxAgeMs: 600_000 })).toBe(fault);
  });

  it.each([
    ["has just run out", { exp: seconds - 29 }],
    ["begins at once", { nbf: seconds + 29, iat: seconds + 29 }],
  ])("counts when by our clock it %s", async (_, claims) => {
    expect(await faultOf(await issuer.sign({ ...good, ...claims }), { maxAgeMs: 600_000 })).toBe("Error: it is good");
  });

  it.each(["at+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt"])("is refused as %s", async (typ) => {
    expect(await faultOf(await issuer.sign(good, { typ }))).toBe("malformed");
  });

  it.each(["", "a", "a.b", "a.b.c", "..", "eyJ.eyJ.x", "é.é.é"])("is refused as no token: %j", async (text) => {
    expect(issuerIn(text)).toBeUndefined();
    expect(await faultOf(text)).toBe("malformed");
    expect(issuer.asked).toEqual([]);
  });

  it("is refused when it is longer than any honest one", async () => {
    expect(await faultOf(await issuer.sign({ ...good, filler: "a".repeat(20_000) }))).toBe("malformed");
    expect(issuer.asked).toEqual([]);
  });

  it("is the issuer's word once its signature is good, and before that nobody's", async () => {
    const expired = await verify(await issuer.sign({ ...good, exp: seconds - 300 })).catch((error: unknown) => error);
    expect((expired as JwtRefused).payload).toMatchObject({ sub: "job" });
    const [header, payload] = (await issuer.sign({ ...good, exp: seconds - 300 })).split(".");
    const forged = await verify(`${header}.${payload}.${"A".repeat(86)}`).catch((error: unknown) => error);
    expect((forged as JwtRefused).payload).toBeUndefined();
  });
});

describe("the keys of an issuer", () => {
  it("are asked for once, and again after their time", async () => {
    const token = await issuer.sign({ ...good, exp: seconds + 100_000 });
    await verify(token);
    await verify(token, { now: now + issuerKeysTtlMs - 1 });
    expect(issuer.asked).toEqual([discovery, "/keys"]);
    await verify(token, { now: now + issuerKeysTtlMs });
    expect(issuer.asked).toHaveLength(4);
  });

  it("are asked for again when a token names an unknown one, once a minute (rotation)", async () => {
    await verify(await issuer.sign(good));
    await issuer.addKey("second", { isShown: false });
    const token = await issuer.sign(good);
    expect(await faultOf(token)).toBe("key");
    // Just asked: the first question counts.
    expect(issuer.asked).toHaveLength(2);
    expect(await faultOf(token, { now: now + issuerPauseMs })).toBe("key");
    expect(issuer.asked).toHaveLength(4);
    await issuer.addKey("third");
    const rotated = await issuer.sign(good);
    for (let tries = 0; tries < 20; tries++) {
      expect(await faultOf(rotated, { now: now + 2 * issuerPauseMs - 1 })).toBe("key");
    }
    expect(issuer.asked).toHaveLength(4);
    expect(await faultOf(rotated, { now: now + 2 * issuerPauseMs })).toBe("Error: it is good");
  });

  it("that the issuer withdrew count no longer, once it was asked", async () => {
    const old = await issuer.sign(good);
    await verify(old);
    issuer.shown = [];
    await issuer.addKey("second");
    await verify(await issuer.sign(good), { now: now + issuerPauseMs });
    expect(await faultOf(old, { now: now + issuerPauseMs })).toBe("key");
  });

  it("count on while the issuer does not answer, but not for ever", async () => {
    const token = await issuer.sign({ ...good, exp: seconds + 1_000_000 });
    await verify(token);
    issuer.isDown = true;
    const end = now + issuerKeysTtlMs + issuerKeysStaleMs;
    expect(await faultOf(token, { now: end - 1 })).toBe("Error: it is good");
    expect(await faultOf(token, { now: end })).toBe("OutboundError");
    issuer.isDown = false;
    expect(await faultOf(token, { now: end })).toBe("Error: it is good");
  });

  it("are had by fifty who begin at once, for few questions", async () => {
    const token = await issuer.sign(good);
    const faults = await Promise.all(Array.from({ length: 50 }, () => faultOf(token)));
    expect(new Set(faults)).toEqual(new Set(["Error: it is good"]));
    expect(issuer.asked).toHaveLength(2 * maxIssuerQuestions);
  });

  it("are not asked for without end of an issuer that is down", async () => {
    issuer.isDown = true;
    const token = await issuer.sign(good);
    for (let tries = 0; tries < 20; tries++) await faultOf(token);
    expect(issuer.asked).toHaveLength(maxIssuerQuestions);
  });

  it("never are secrets that the issuer shows, nor keys for encryption, nor weak ones", async () => {
    const secret = { kty: "oct", k: btoa("secret").replaceAll("=", ""), kid: "oct" };
    issuer.shown = [secret, { ...issuer.shown[0], use: "enc" } as never];
    expect(await faultOf(await issuer.sign(good))).toBe("key");
  });

  it.each([
    ["names another issuer", { issuer: "https://other.example.com" }, "IssuerError"],
    ["names the issuer with a slash", { issuer: "https://issuer.example.com/" }, "IssuerError"],
    ["names no issuer", { issuer: undefined }, "IssuerError"],
    ["has no jwks_uri", { jwks_uri: undefined }, "IssuerError"],
    ["has a jwks_uri that is no text", { jwks_uri: ["https://issuer.example.com/keys"] }, "IssuerError"],
    ["points inside (an address)", { jwks_uri: "https://169.254.169.254/keys" }, "IssuerError"],
    ["points inside (loopback)", { jwks_uri: "http://localhost:8787/keys" }, "IssuerError"],
    ["points inside (a name)", { jwks_uri: "https://metadata.google.internal/keys" }, "IssuerError"],
    ["points to ourselves", { jwks_uri: `${audience}/keys` }, "IssuerError"],
    ["points to http", { jwks_uri: "http://issuer.example.com/keys" }, "IssuerError"],
    ["has an inner token endpoint", { token_endpoint: "https://10.0.0.1/token" }, "IssuerError"],
  ])("are not had from a document that %s", async (_, document, fault) => {
    issuer.document = document;
    expect(await faultOf(await issuer.sign(good))).toBe(fault);
  });

  it.each([
    ["redirects", () => Response.redirect("https://issuer.example.com/other", 302)],
    ["is too large", () => Response.json({ keys: [], filler: "a".repeat(70_000) })],
    ["is an error", () => Response.json({ keys: [] }, { status: 500 })],
    ["is text", () => new Response(`{"keys":[]}`, { headers: { "content-type": "text/plain" } })],
    ["is no object", () => Response.json([])],
    ["has no list", () => Response.json({ keys: "all" })],
    ["is not JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
  ])("are not had from a key set that %s", async (_, make) => {
    issuer.answers.set("/keys", make);
    expect(await faultOf(await issuer.sign(good))).toMatch(/^(?:OutboundError|IssuerError)$/);
  });

  it("are not waited for without end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      issuer.answers.set("/keys", () => new Promise<Response>(() => {}));
      const fault = faultOf(await issuer.sign(good));
      await vi.waitFor(() => expect(issuer.asked).toContain("/keys"));
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await fault).toBe("OutboundError");
    } finally {
      vi.useRealTimers();
    }
  });

  it("survive what is no key among them", async () => {
    issuer.shown = [null, 7, "key", {}, { kty: "RSA" }, ...issuer.shown] as never;
    expect(await faultOf(await issuer.sign(good))).toBe("Error: it is good");
  });
});

describe("discovery", () => {
  it("gives the endpoints, at an issuer with a path too", async () => {
    const tenant = new FakeIssuer("https://login.example.com/tenant/v2.0");
    tenant.document = { authorization_endpoint: "https://login.example.com/tenant/authorize" };
    stubIssuers(tenant);
    expect(await discover(tenant.origin, { ownOrigin: audience, now })).toMatchObject({
      issuer: tenant.origin,
      jwks_uri: "https://login.example.com/tenant/v2.0/keys",
      authorization_endpoint: "https://login.example.com/tenant/authorize",
      token_endpoint: undefined,
    });
    expect(tenant.asked).toEqual(["/tenant/v2.0/.well-known/openid-configuration", "/tenant/v2.0/keys"]);
  });

  it("takes an issuer whose name ends with a slash by that name", async () => {
    const slashed = new FakeIssuer("https://login.example.com/");
    stubIssuers(slashed);
    expect((await discover(slashed.origin, { ownOrigin: audience, now })).issuer).toBe("https://login.example.com/");
    expect(slashed.asked[0]).toBe(discovery);
  });

  it("asks loopback for a registry on loopback", async () => {
    const local = new FakeIssuer("http://localhost:9000");
    stubIssuers(local);
    const at = (ownOrigin: string) => discover(local.origin, { ownOrigin, now });
    await expect(at(audience)).rejects.toThrow(OutboundError);
    expect((await at("http://localhost:8787")).jwks_uri).toBe("http://localhost:9000/keys");
  });
});
