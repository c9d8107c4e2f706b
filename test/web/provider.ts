import { env } from "cloudflare:workers";

import { forgetIssuers } from "../../src/auth/issuer-keys.ts";
import { FakeIssuer, stubIssuers } from "../auth/fake-issuer.ts";
import { origin } from "../harness.ts";
import type { Person, Shown } from "./person.ts";

/** The operator's OpenID provider, of the tests' own: whoever is named in `next` signs in there. */
export class FakeProvider extends FakeIssuer {
  /** Claims of the ID token that comes next, over those of a good one; undefined removes one. */
  next: Record<string, unknown> = { sub: "ada" };
  /** What it was sent at its token endpoint. */
  readonly redeemed: URLSearchParams[] = [];
  #nonces = new Map<string, string>();

  /** Is the provider from now on; nothing else can be reached. */
  async install(): Promise<string[]> {
    // It may have been one for another test file, with other keys.
    forgetIssuers();
    this.shown = [];
    await this.addKey("first", { alg: "RS256" });
    this.document = {
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      authorization_response_iss_parameter_supported: true,
    };
    Object.assign(env, {
      OIDC_ISSUER: this.origin,
      OIDC_CLIENT_ID: "registry",
      OIDC_CLIENT_SECRET: "a secret of theirs",
    });
    return stubIssuers(this);
  }

  /** A person goes there and comes back, signed in. */
  async signIn(person: Person, returnTo = "/account", claims: Record<string, unknown> = this.next): Promise<Shown> {
    const away = await person.open(`/sign-in/provider?return=${encodeURIComponent(returnTo)}`);
    return person.open(this.cameBack(away, claims));
  }

  /** Where the provider sends the browser, with a code for the claims. */
  cameBack({ location }: Shown, claims: Record<string, unknown> = this.next): string {
    const asked = new URL(location!);
    const [state, nonce] = [asked.searchParams.get("state")!, asked.searchParams.get("nonce")!];
    const code = crypto.randomUUID();
    this.#nonces.set(code, nonce);
    this.answers.set("/token", () => this.#redeem(code, claims));
    return `/sign-in/callback?${new URLSearchParams({ code, state, iss: this.origin }).toString()}`;
  }

  async #redeem(code: string, claims: Record<string, unknown>): Promise<Response> {
    const now = Math.floor(Date.now() / 1_000);
    const good = { aud: "registry", nonce: this.#nonces.get(code)!, iat: now, exp: now + 300 };
    return Response.json({
      id_token: await this.sign({ ...good, ...claims }),
      token_type: "Bearer",
      access_token: "x",
    });
  }
}

export const callback = `${origin}/sign-in/callback`;
