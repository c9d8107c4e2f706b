import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { newNamespace, newToken, origin, seedSkill } from "../harness.ts";
import { allow, authorizePath, obtainCode, pkce, redeem, redirectUri, register } from "./oauth-client.ts";
import { Person } from "./person.ts";
import type { Shown } from "./person.ts";

/** Codes and browsers led to where nobody wanted them: likenesses of addresses that are allowed, and foreign ones. */
afterEach(() => void vi.unstubAllGlobals());

const claude = "https://claude.ai/api/mcp/auth_callback";
const chatgpt = "https://chatgpt.com/connector/oauth/abc123";

const likenesses: Record<string, string> = {
  "a trailing dot": "https://claude.ai./api/mcp/auth_callback",
  "another host as userinfo": "https://claude.ai@evil.example/api/mcp/auth_callback",
  "userinfo before the host": "https://evil@claude.ai/api/mcp/auth_callback",
  "userinfo with a password": "https://claude.ai:443@evil.example/api/mcp/auth_callback",
  "a fragment": `${claude}#x`,
  "an empty fragment": `${claude}#`,
  "a folder up": "https://claude.ai/api/mcp/x/../auth_callback",
  "a folder up, encoded": "https://claude.ai/api/mcp/x/%2e%2e/auth_callback",
  "this folder, encoded": "https://claude.ai/api/mcp/%2e/auth_callback",
  "an encoded letter": "https://claude.ai/api/mcp/auth%5Fcallback",
  "an encoded slash": "https://claude.ai/api/mcp%2Fauth_callback",
  "two slashes": "https://claude.ai//api/mcp/auth_callback",
  "a slash at the end": `${claude}/`,
  "a longer path": `${claude}/evil`,
  "a backslash": "https://claude.ai\\@evil.example/api/mcp/auth_callback",
  "backslashes for slashes": "https:\\\\claude.ai\\api\\mcp\\auth_callback",
  "the host in another case": "https://CLAUDE.ai/api/mcp/auth_callback",
  "the path in another case": "https://claude.ai/API/mcp/auth_callback",
  "the scheme in another case": "HTTPS://claude.ai/api/mcp/auth_callback",
  "a port": "https://claude.ai:8443/api/mcp/auth_callback",
  "its own port": "https://claude.ai:443/api/mcp/auth_callback",
  "a query": `${claude}?next=https://evil.example`,
  "an empty query": `${claude}?`,
  "http for https": "http://claude.ai/api/mcp/auth_callback",
  "a longer host": "https://claude.ai.evil.example/api/mcp/auth_callback",
  "a subdomain": "https://evil.claude.ai/api/mcp/auth_callback",
  "a letter that only looks alike": "https://сlaude.ai/api/mcp/auth_callback",
  "a space before": ` ${claude}`,
  "a line end after": `${claude}\n`,
  "a tab inside": "https://cla\tude.ai/api/mcp/auth_callback",
  "no scheme": "//claude.ai/api/mcp/auth_callback",
  "a path only": "/api/mcp/auth_callback",
  "two folders of a connector": "https://chatgpt.com/connector/oauth/a/b",
  "a folder up from a connector": "https://chatgpt.com/connector/oauth/..",
  "an encoded folder up from a connector": "https://chatgpt.com/connector/oauth/%2e%2e",
  "a connector without a name": "https://chatgpt.com/connector/oauth/",
  "a script": "javascript:alert(1)//127.0.0.1/",
  data: "data:text/html,<script>alert(1)</script>",
  "a program's scheme": "evil:callback",
};

const loopbackLikenesses: Record<string, string> = {
  "userinfo on loopback": "http://user@127.0.0.1:33418/callback",
  "loopback as userinfo": "http://127.0.0.1:33418@evil.example/callback",
  "a host that begins like loopback": "http://127.0.0.1.evil.example:33418/callback",
  "a host that begins like localhost": "http://localhost.evil.example/callback",
  "a subdomain of localhost": "http://evil.localhost:33418/callback",
  "localhost with a dot": "http://localhost.:33418/callback",
  "a short spelling of loopback": "http://127.1:33418/callback",
  "loopback as a number": "http://2130706433:33418/callback",
  "loopback in octal": "http://0177.0.0.1:33418/callback",
  "loopback in hexadecimal": "http://0x7f.0.0.1:33418/callback",
  "loopback in another case": "http://LOCALHOST:33418/callback",
  "loopback as IPv6 of IPv4": "http://[::ffff:127.0.0.1]:33418/callback",
  "every address of this machine": "http://0.0.0.0:33418/callback",
  "the rest of the loopback net": "http://127.0.0.2:33418/callback",
  "a fragment on loopback": `${redirectUri}#x`,
  "a backslash on loopback": "http://127.0.0.1:33418\\callback",
  "a folder up on loopback": "http://127.0.0.1:33418/x/../callback",
  "this folder on loopback": "http://127.0.0.1:33418/./callback",
  "an encoded folder up on loopback": "http://127.0.0.1:33418/x/%2e%2e/callback",
  "an encoded dot on loopback": "http://127.0.0.1:33418/%2E/callback",
  "a port that is none": "http://127.0.0.1:99999/callback",
  "a port with a zero before": "http://127.0.0.1:033418/callback",
};

/** Only where what was registered is something else. */
const loopbackOthers: Record<string, string> = {
  "another loopback host": "http://localhost:33418/callback",
  "the other loopback address": "http://[::1]:33418/callback",
  "another path on loopback": "http://127.0.0.1:33418/other",
  "a longer path on loopback": "http://127.0.0.1:33418/callback/x",
  "two slashes on loopback": "http://127.0.0.1:33418//callback",
  "an encoded letter on loopback": "http://127.0.0.1:33418/c%61llback",
  "a query on loopback": `${redirectUri}?x=1`,
  "https on loopback": "https://127.0.0.1:33418/callback",
  "the path in another case on loopback": "http://127.0.0.1:33418/Callback",
};

const each = (table: Record<string, string>) => Object.entries(table);

async function reader() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  const person = new Person();
  const token = await newToken(namespace, "reader");
  await person.signIn(token);
  return { person, token, resource: `${origin}/mcp/${namespace}`, path: `/mcp/${namespace}` };
}

/** What is shown to the person, and leads nowhere. */
function staysHere({ status, location, html }: Shown): void {
  expect([status, location]).toEqual([400, null]);
  expect(html).toContain("This sign-in cannot go on");
  expect(html).not.toMatch(/<a\b[^>]*href="(?!\/[^/])/);
}

describe("a redirect address", () => {
  it("cannot be registered where it only looks like one that is allowed", async () => {
    for (const [name, uri] of [...each(likenesses), ...each(loopbackLikenesses)]) {
      const { status, body } = await register({ redirect_uris: [uri] });
      expect([name, status, body.error]).toEqual([name, 400, "invalid_redirect_uri"]);
    }
  });

  it("that only looks like one that is allowed is left out where others are registered", async () => {
    const bad = [...each(likenesses), ...each(loopbackLikenesses)].map(([, uri]) => uri);
    for (let at = 0; at < bad.length; at += 10) {
      const { status, body } = await register({ redirect_uris: [...bad.slice(at, at + 10), claude] });
      expect([status, body.redirect_uris]).toEqual([201, [claude]]);
    }
  });

  it("is compared to the letter at the authorization endpoint", async () => {
    const { person, resource } = await reader();
    const { body } = await register({ redirect_uris: [claude, chatgpt, redirectUri] });
    const { challenge } = await pkce();
    const asked = { client_id: body.client_id, resource, code_challenge: challenge };
    for (const uri of [claude, chatgpt, redirectUri, "http://127.0.0.1:50000/callback"]) {
      expect((await person.open(authorizePath({ ...asked, redirect_uri: uri }))).status).toBe(200);
    }
    for (const [name, uri] of [...each(likenesses), ...each(loopbackLikenesses), ...each(loopbackOthers)]) {
      const shown = await person.open(authorizePath({ ...asked, redirect_uri: uri }));
      expect([name, shown.status]).toEqual([name, 400]);
      staysHere(shown);
      // Nor does an error go there that would else go to the client.
      staysHere(await person.open(authorizePath({ ...asked, redirect_uri: uri, response_type: "token" })));
    }
    staysHere(await person.open(authorizePath({ ...asked, redirect_uri: undefined })));
    staysHere(
      await person.open(`${authorizePath({ ...asked, redirect_uri: claude })}&redirect_uri=https://evil.example`),
    );
  });

  it("of another client is none of this one's, though both are known", async () => {
    const { person, resource } = await reader();
    const { body } = await register({ redirect_uris: [claude] });
    const { challenge } = await pkce();
    const asked = { client_id: body.client_id, resource, code_challenge: challenge };
    staysHere(await person.open(authorizePath({ ...asked, redirect_uri: chatgpt })));
    staysHere(await person.open(authorizePath({ ...asked, redirect_uri: redirectUri })));
  });

  it("is compared to the letter at the token endpoint", async () => {
    const { token, path } = await reader();
    const client_id = (await register({ redirect_uris: [redirectUri, claude] })).body.client_id;
    const flow = await obtainCode(token, path, { client_id });
    const others = [
      ...each(loopbackLikenesses),
      ...each(loopbackOthers),
      ["registered, but not used", claude] as const,
    ];
    for (const [name, redirect_uri] of [...others, ["another port", "http://127.0.0.1:50000/callback"] as const]) {
      const { status, body } = await redeem(flow, { redirect_uri });
      expect([name, status, body.error]).toEqual([name, 400, "invalid_grant"]);
    }
    expect(await redeem(flow)).toMatchObject({ status: 200 });
  });

  it("on loopback is answered at the port that is asked for, with or without a path", async () => {
    const { person, resource } = await reader();
    const uris = ["http://127.0.0.1", "http://[::1]:7/callback", "http://localhost/callback?x=1"];
    const { body } = await register({ redirect_uris: uris });
    for (const uri of ["http://127.0.0.1:5000", "http://127.0.0.1:5000/", "http://[::1]/callback", uris[2]!]) {
      const { challenge } = await pkce();
      const asked = { client_id: body.client_id, redirect_uri: uri, resource, code_challenge: challenge };
      const { status, location } = await allow(person, await person.open(authorizePath(asked)));
      expect([uri, status, location?.startsWith(uri)]).toEqual([uri, 303, true]);
    }
  });

  it("that the operator no longer lists gets no code any more, nor an error", async () => {
    const { person, resource } = await reader();
    const uri = "https://host.example/callback";
    const { body } = await register();
    const key = `client:${body.client_id}`;
    await env.DB.prepare("UPDATE oauth_records SET value = json_set(value, '$.redirectUris[0]', ?2) WHERE key = ?1")
      .bind(key, uri)
      .run();
    const asked = { client_id: body.client_id, redirect_uri: uri, resource };
    staysHere(await person.open(authorizePath({ ...asked, code_challenge: (await pkce()).challenge })));
    staysHere(await person.open(authorizePath(asked)));
    staysHere(await person.open(authorizePath({ ...asked, response_type: "token" })));
  });
});

describe("nobody is led away", () => {
  it("by an authorization request of an unknown client, whatever is wrong with it besides", async () => {
    const { person, resource } = await reader();
    for (const client_id of ["nobody", "", undefined, "a".repeat(2_000), "../client", "https://evil.example/c.json"]) {
      for (const more of [{}, { response_type: "token" }, { code_challenge_method: "plain" }, { resource: "x" }]) {
        vi.stubGlobal("fetch", () => Promise.reject(new Error("getaddrinfo ENOTFOUND")));
        const shown = await person.open(
          authorizePath({ client_id, redirect_uri: "https://evil.example/", resource, ...more }),
        );
        staysHere(shown);
      }
    }
  });

  it("before they are signed in: every request leads to the sign-in page, or nowhere", async () => {
    const { resource } = await reader();
    const { body } = await register();
    const asked = { client_id: body.client_id, resource, redirect_uri: "https://evil.example/" };
    const stranger = new Person();
    const shown = await stranger.open(authorizePath(asked));
    expect([shown.status, shown.location?.split("?")[0]]).toEqual([303, "/sign-in"]);
    staysHere(await stranger.open(authorizePath({ ...asked, resource: "https://evil.example/mcp" })));
  });

  it("by an error without the issuer's name, nor does an answer lack it", async () => {
    const { person, resource } = await reader();
    const { body } = await register({ redirect_uris: [`${redirectUri}?iss=https://evil.example&error=no&state=old`] });
    const uri = body.redirect_uris[0]!;
    const { challenge } = await pkce();
    const asked = { client_id: body.client_id, redirect_uri: uri, resource, state: "mine", code_challenge: challenge };
    const bad = await person.open(authorizePath({ ...asked, response_type: "token" }));
    const good = await allow(person, await person.open(authorizePath(asked)));
    const denied = await allow(person, await person.open(authorizePath(asked)), "deny");
    for (const { location } of [bad, good, denied]) {
      const answer = new URL(location!);
      expect([answer.searchParams.getAll("iss"), answer.searchParams.getAll("state")]).toEqual([[origin], ["mine"]]);
    }
    expect(new URL(denied.location!).searchParams.get("error")).toBe("access_denied");
  });

  const elsewhere = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "/account\\..\\..\\evil.example",
    "/\t/evil.example",
    "/account\n//evil.example",
    "///evil.example",
    "/.//evil.example",
    "/account/..//evil.example",
    "/account/../../evil.example",
    "/account/%2e%2e//evil.example",
    "/authorize/../r/secret/mcp",
    "/authorizes?x",
    "/authorize@evil.example",
    "/accounts",
    "javascript:alert(1)",
    "data:text/html,x",
    "http:evil.example",
    `${origin}@evil.example`,
    `${origin}.evil.example/account`,
    "/api/v1/me",
    "/sign-out",
    `/account/${"x".repeat(10_000)}`,
    "",
  ];

  it("by what a link to the sign-in page or to its forms names as the place to return to", async () => {
    const { token } = await reader();
    for (const place of elsewhere) {
      const person = new Person();
      const page = await person.open(`/sign-in?return=${encodeURIComponent(place)}`);
      expect(page.html).toContain('name="return" value="/account"');
      const inside = (await person.submit("/sign-in", { token, return: place })).location;
      const out = (await person.submit("/sign-out", { return: place })).location;
      expect([place, inside, out]).toEqual([place, "/account", "/sign-in?return=%2Faccount"]);
    }
  });
});
