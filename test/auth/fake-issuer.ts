import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTPayload } from "jose";
import { vi } from "vitest";

/** An issuer of the tests' own: its documents are answered by a stub of fetch, so nothing leaves the machine. */
export class FakeIssuer {
  readonly origin: string;
  /** What its key set shows. */
  shown: JWK[] = [];
  /** Replaces or adds members of the discovery document; undefined removes one. */
  document: Record<string, unknown> = {};
  /** Answers instead, by path. */
  readonly answers = new Map<string, () => Response | Promise<Response>>();
  /** Paths, in the order in which they were asked for. */
  readonly asked: string[] = [];
  isDown = false;
  readonly #keys = new Map<string, { key: CryptoKey; alg: string }>();
  #last = "";

  constructor(origin: string) {
    this.origin = origin;
  }

  /** A new key, which signs from now on; `isShown` false: the key set does not have it yet. */
  async addKey(kid: string, { alg = "ES256", isShown = true } = {}): Promise<JWK> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
    this.#keys.set(kid, { key: privateKey, alg });
    this.#last = kid;
    if (isShown) this.shown.push(jwk);
    return jwk;
  }

  /** `header`: members of the protected header to replace; undefined removes one. */
  async sign(claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
    const { key, alg } = this.#keys.get(typeof header["kid"] === "string" ? header["kid"] : this.#last)!;
    const protectedHeader = { alg, kid: this.#last, typ: "JWT", ...header };
    const crit = Object.fromEntries(((header["crit"] ?? []) as string[]).map((name) => [name, true]));
    return new SignJWT({ iss: this.origin, ...claims }).setProtectedHeader(protectedHeader).sign(key, { crit });
  }

  async answer(url: URL): Promise<Response> {
    this.asked.push(url.pathname);
    if (this.isDown) throw new Error("connect ECONNREFUSED");
    const prefix = new URL(this.origin).pathname.replace(/\/$/, "");
    const path = url.pathname.slice(prefix.length);
    const custom = this.answers.get(path);
    if (custom !== undefined) return custom();
    if (path === "/keys") return Response.json({ keys: this.shown });
    if (path !== "/.well-known/openid-configuration") return Response.json({}, { status: 404 });
    const jwks_uri = `${this.origin.replace(/\/$/, "")}/keys`;
    return Response.json({ issuer: this.origin, jwks_uri, ...this.document });
  }
}

/** From now on these answer, and whoever else is asked cannot be reached. Gives back who else was asked. */
export function stubIssuers(...issuers: FakeIssuer[]): string[] {
  const strangers: string[] = [];
  vi.stubGlobal("fetch", async (input: string) => {
    const url = new URL(input);
    const issuer = issuers.find(({ origin }) => new URL(origin).host === url.host);
    if (issuer !== undefined) return issuer.answer(url);
    strangers.push(input);
    throw new Error("getaddrinfo ENOTFOUND");
  });
  return strangers;
}
