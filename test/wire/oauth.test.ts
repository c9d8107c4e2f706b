import { IssuerMismatchError } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { Browser, textOf } from "./browser.ts";
import type { Connection } from "./connection.ts";
import { generations, Host } from "./oauth-host.ts";
import type { Generation } from "./oauth-host.ts";
import {
  allowWith,
  createPrivate,
  documentUrl,
  privateAddresses,
  redirectUri,
  secretPlans,
  startWorld,
} from "./oauth-world.ts";
import type { World } from "./oauth-world.ts";
import { RegistryClient } from "./registry-client.ts";
import { verifyAll } from "./source.ts";

/** Signing in over the wire: the official clients' own OAuth code against the built Worker, consent by a script. */
let world: World;
let origin: string;
let token: string;
const namespace = "plans";

beforeAll(async () => {
  world = await startWorld();
  origin = world.machine.origin;
  token = await createPrivate(world.operator, namespace);
});
afterAll(() => world.stop());

const newBrowser = () => new Browser({ endsAt: redirectUri });

async function expectPlans(connection: Connection, of = namespace): Promise<void> {
  const { skills, files } = await verifyAll(connection, of, [secretPlans]);
  expect([skills, files]).toEqual([1, 1]);
}

const registrations = [
  { way: "by its metadata document", clientMetadataUrl: documentUrl },
  { way: "by registering itself", clientMetadataUrl: undefined },
];

describe.each(generations)("$client, negotiated to $protocolVersion,", ({ protocolVersion, generation }) => {
  describe.each(registrations)("known $way,", ({ clientMetadataUrl }) => {
    test.each(privateAddresses)("goes from nothing to a private skill at $kind", async ({ pathOf }) => {
      const host = new Host(generation, origin + pathOf(namespace), { redirectUri, clientMetadataUrl });
      const connection = await host.signIn(allowWith(newBrowser(), token));
      expect(connection.protocolVersion).toBe(protocolVersion);
      await expectPlans(connection);
      const { registered } = host.keeper;
      if (clientMetadataUrl === undefined) expect(registered!.client_id).toMatch(/^[A-Za-z0-9_-]+$/);
      else expect(registered!.client_id).toBe(documentUrl);
      await connection.close();
    });
  });
});

describe("the official client", () => {
  const signedInAt = async (generation: Generation, path = `/mcp/${namespace}`, clientMetadataUrl?: string) => {
    const own = await world.operator.mintToken(namespace, "reader");
    const [host, browser] = [new Host(generation, origin + path, { redirectUri, clientMetadataUrl }), newBrowser()];
    const decide = allowWith(browser, own);
    return { host, browser, own, decide, connection: await host.signIn(decide) };
  };

  test("takes an answer from nobody but the issuer that it asked", async () => {
    for (const bend of [
      (answer: URL) => answer.searchParams.set("iss", "https://issuer.example.com"),
      (answer: URL) => answer.searchParams.set("iss", `${origin}/`),
      (answer: URL) => answer.searchParams.delete("iss"),
    ]) {
      const host = new Host("auto", `${origin}/mcp/${namespace}`, { redirectUri });
      const { answer, finish } = await host.begin(allowWith(newBrowser(), token));
      expect(answer.searchParams.get("iss")).toBe(origin);
      const bent = new URL(answer);
      bend(bent);
      await expect(finish(bent)).rejects.toThrow(IssuerMismatchError);
      expect(host.keeper.kept).toBeUndefined();
      await finish(answer);
      expect(host.keeper.kept).toBeDefined();
    }
  });

  test("is told where the person denies, and gets nothing", async () => {
    const host = new Host("auto", `${origin}/mcp/${namespace}`, { redirectUri });
    const browser = newBrowser();
    const { answer, finish } = await host.begin(async (address) => {
      await browser.open(address);
      await browser.press("Sign in with this token", { token });
      return (await browser.press("Deny")).url;
    });
    expect(answer.searchParams.get("code")).toBeNull();
    await expect(finish(answer)).rejects.toThrow(/access_denied|denied/i);
    expect(host.keeper.kept).toBeUndefined();
  });

  describe.each(generations)("negotiated to $protocolVersion ($generation)", ({ generation }) => {
    test("refreshes by itself when its token has run out, and nobody is asked", async () => {
      const { host, connection } = await signedInAt(generation);
      const before = host.keeper.kept!;
      await expire(before.access_token);
      await expectPlans(connection);
      const after = host.keeper.kept!;
      expect(host.keeper.asked).toBeUndefined();
      expect(after.access_token).not.toBe(before.access_token);
      expect(after.refresh_token).not.toBe(before.refresh_token);
      expect((await statusWith(before.access_token)).status).toBe(401);

      await expire(after.access_token);
      await connection.close();
      await expectPlans((await host.connect())!);
      expect(host.keeper.asked).toBeUndefined();
    });

    test("refreshes for several requests at once, each of which succeeds", async () => {
      const { host, connection } = await signedInAt(generation);
      await expire(host.keeper.kept!.access_token);
      const listed = await Promise.all(Array.from({ length: 8 }, () => connection.list()));
      expect(listed.map((skills) => skills.length)).toEqual(Array.from({ length: 8 }, () => 1));
      // Whichever of the answers the client kept last, with it it goes on.
      await expire(host.keeper.kept!.access_token);
      await expectPlans(connection);
      expect(host.keeper.asked).toBeUndefined();
      await connection.close();
    });

    test("has to sign in again once a refresh token came that was used before, for one of two holders stole it", async () => {
      const { host, connection, decide } = await signedInAt(generation);
      const stolen = host.keeper.kept!.refresh_token;
      await expire(host.keeper.kept!.access_token);
      await expectPlans(connection);
      const { access_token } = host.keeper.kept!;
      await run(`UPDATE oauth_spent SET spent_at = spent_at - 120000 WHERE grant_id = ?1`, stolen.split(":")[1]!);
      const { status, error } = await refresh(host.keeper.registered!.client_id, stolen);
      expect([status, error]).toEqual([400, "invalid_grant"]);
      expect((await statusWith(access_token)).status).toBe(401);
      await expectSentToSignIn(host, connection);
      await host.finishWith(decide);
      await expectPlans((await host.connect())!);
    });

    test("has to sign in again once its refresh token has run out", async () => {
      const { host, connection } = await signedInAt(generation);
      const { access_token } = host.keeper.kept!;
      const [user, grant] = access_token.split(":");
      // Before the access token, or a stream that the client is opening would still refresh it.
      await run(`UPDATE oauth_records SET expires_at = 1 WHERE key = ?1`, `grant:${user}:${grant}`);
      await expire(access_token);
      await expectSentToSignIn(host, connection);
    });

    test.each([
      { name: "A host of the tests", clientMetadataUrl: undefined },
      { name: "A host with a document", clientMetadataUrl: documentUrl },
    ])("is out at once when $name is withdrawn on the account page", async ({ name, clientMetadataUrl }) => {
      const path = `/me/mcp/${namespace}/team`;
      const { host, browser, connection, decide } = await signedInAt(generation, path, clientMetadataUrl);
      const { access_token, refresh_token } = host.keeper.kept!;
      await browser.open(`${origin}/account`);
      expect(textOf(browser.shown.html)).toContain(name);
      expect(textOf(browser.shown.html)).toContain(origin + path);
      await browser.press("Withdraw");
      expect([browser.shown.url.pathname, textOf(browser.shown.html)]).toEqual([
        "/account",
        expect.stringContaining("Applications with access None."),
      ]);
      const { status, challenge } = await statusWith(access_token, path);
      expect([status, challenge]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
      expect(await refresh(host.keeper.registered!.client_id, refresh_token)).toEqual({
        status: 400,
        error: "invalid_grant",
      });
      await expectSentToSignIn(host, connection);
      await host.finishWith(decide);
      await expectPlans((await host.connect())!);
    });
  });

  test.each(["refresh_token", "access_token"] as const)(
    "ends with its %s what it was allowed (RFC 7009)",
    async (kind) => {
      const { host, connection } = await signedInAt("auto");
      const tokens = host.keeper.kept!;
      const metadata = (await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()) as {
        revocation_endpoint: string;
      };
      const body = new URLSearchParams({ token: tokens[kind], client_id: host.keeper.registered!.client_id });
      const response = await fetch(metadata.revocation_endpoint, { method: "POST", body });
      expect(response.status).toBe(200);
      expect((await statusWith(tokens.access_token)).status).toBe(401);
      if (kind === "refresh_token") {
        await expectSentToSignIn(host, connection);
        return;
      }
      // What an access token was, its refresh token may be again: the client wanted to be rid of that one only.
      await expectPlans(connection);
      expect(host.keeper.kept!.access_token).not.toBe(tokens.access_token);
    },
  );

  test("is out when the token ends with which the person signed in", async () => {
    const { host, own, connection } = await signedInAt("auto");
    const [, id] = own.split("_");
    expect((await world.operator.json("DELETE", `/namespaces/${namespace}/tokens/${id}`)).ok).toBe(true);
    expect((await statusWith(host.keeper.kept!.access_token)).status).toBe(401);
    await expectSentToSignIn(host, connection);
  });
});

describe("two accounts side by side", () => {
  test("each see their own at the same address, and neither the other's", async () => {
    const mine = "mine-alone";
    const own = await createPrivate(world.operator, mine);
    const options = { redirectUri, clientMetadataUrl: documentUrl };
    const both = [
      { of: namespace, host: new Host("auto", `${origin}/me/mcp`, options), browser: newBrowser(), with: token },
      { of: mine, host: new Host("first", `${origin}/me/mcp`, options), browser: newBrowser(), with: own },
    ];
    const connections = await Promise.all(both.map((one) => one.host.signIn(allowWith(one.browser, one.with))));
    for (const [index, { of }] of both.entries()) {
      await expectPlans(connections[index]!, of);
      await connections[index]!.close();
    }
    const other = new Host("auto", `${origin}/me/mcp/${mine}`, options);
    await other.connect();
    const { html } = await both[0]!.browser.open(other.keeper.asked!);
    expect(textOf(html)).toContain("You have no rights at this address");

    const { host, browser } = both[0]!;
    await browser.open(`${origin}/account`);
    for (let left = browser.shown; left.html.includes("Withdraw");) left = await browser.press("Withdraw");
    expect((await statusWith(host.keeper.kept!.access_token, "/me/mcp")).status).toBe(401);
    expect((await statusWith(both[1]!.host.keeper.kept!.access_token, "/me/mcp")).status).toBe(200);
  });
});

describe("`wrangler dev`, as npm start runs it,", () => {
  const registry = inject("registry");

  test.each([
    { name: "localhost", generation: "auto" },
    { name: "127.0.0.1", generation: "first" },
  ] as const)("lets the official client ($generation) sign in at $name", async ({ name, generation }) => {
    const own = `dev-${generation}`;
    const address = new URL(`${registry.origin}/me/mcp/${own}`);
    address.hostname = name;
    const token = await createPrivate(new RegistryClient(registry.origin, registry.operatorToken), own);
    const host = new Host(generation, address.href, { redirectUri });
    const connection = await host.signIn(allowWith(newBrowser(), token));
    await expectPlans(connection, own);
    await connection.close();
  });
});

test("the registry asked no other host than that of the metadata document, and that once", () => {
  expect(world.asked).toEqual([documentUrl]);
});

/** Moves the end of an access token into the past. */
async function expire(accessToken: string): Promise<void> {
  const [user, grant] = accessToken.split(":");
  await run(`UPDATE oauth_records SET expires_at = 1 WHERE substr(key, 1, length(?1)) = ?1`, `token:${user}:${grant}:`);
}

async function run(sql: string, ...values: string[]): Promise<void> {
  await world.machine.database
    .prepare(sql)
    .bind(...values)
    .run();
}

async function refresh(clientId: string, refreshToken: string): Promise<{ status: number; error: string }> {
  const body = new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    client_id: clientId,
  });
  const response = await fetch(`${origin}/token`, { method: "POST", body });
  const { error } = (await response.json()) as { error: string };
  return { status: response.status, error };
}

/** What the next request with the token would meet. */
async function statusWith(accessToken: string, path = `/mcp/${namespace}`) {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${accessToken}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "skills/list" }),
  });
  await response.text();
  return { status: response.status, challenge: response.headers.get("www-authenticate") };
}

async function expectSentToSignIn(host: Host, connection: Connection): Promise<void> {
  await expect(connection.list()).rejects.toThrow();
  expect(host.keeper.asked?.pathname).toBe("/authorize");
  await connection.close();
}
