import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { Browser, textOf } from "./browser.ts";
import { skill } from "./library.ts";
import { generations, Host } from "./oauth-host.ts";
import type { Generation } from "./oauth-host.ts";
import { allowAs, createPrivate, redirectUri, startWorld } from "./oauth-world.ts";
import type { World } from "./oauth-world.ts";

/** People who sign in at an OpenID provider, over the wire: what its groups, and invitations, let their clients see. */
let world: World;
let origin: string;
const [engineering, support, closed] = ["engineering", "support", "closed"];

beforeAll(async () => {
  world = await startWorld();
  origin = world.machine.origin;
  for (const namespace of [engineering, support, closed]) {
    // The root shows one skill of each name.
    await createPrivate(
      world.operator,
      namespace,
      skill(`plans-of-${namespace}`, "Plan what nobody else may know of."),
    );
  }
  await mapGroup(engineering, "engineers", "reader");
  await mapGroup(support, "helpers", "publisher");
  world.provider.people.set("ada", ["engineers", "helpers", "unknown"]);
  world.provider.people.set("ben", []);
});
afterAll(() => world.stop());

const newBrowser = () => new Browser({ endsAt: redirectUri });

async function mapGroup(namespace: string, group: string, role: string): Promise<void> {
  const body = { groups: [{ group, role }] };
  const response = await world.operator.json("PUT", `/namespaces/${namespace}/groups`, body);
  expect(response.status).toBe(200);
}

async function listedBy(host: Host): Promise<string[]> {
  const connection = (await host.connect())!;
  const listed = (await connection.list()).map(({ uri }) => uri).sort();
  await connection.close();
  return listed;
}

const plansOf = (...namespaces: string[]) => namespaces.map((one) => `skill://${one}/plans-of-${one}/SKILL.md`);
const hostAt = (path: string, generation: Generation = "auto") => new Host(generation, origin + path, { redirectUri });

describe.each(generations)("a person with $client, negotiated to $protocolVersion,", ({ generation }) => {
  test("sees at the root what the groups of the provider let them see, and no more", async () => {
    world.provider.people.set("ada", ["engineers", "helpers", "unknown"]);
    const [host, browser] = [hostAt("/me/mcp", generation), newBrowser()];
    await (await host.signIn(allowAs(browser, "ada"))).close();
    expect(await listedBy(host)).toEqual(plansOf(engineering, support));

    const refused = hostAt(`/me/mcp/${closed}`, generation);
    await refused.connect();
    await browser.open(refused.keeper.asked!);
    expect(textOf(browser.shown.html)).toContain("You have no rights at this address");
    expect(textOf(browser.shown.html)).not.toContain("Plan what nobody else");
  });

  test("sees no more what belongs to a group that they left, once they sign in again", async () => {
    world.provider.people.set("ada", ["engineers", "helpers"]);
    const browser = newBrowser();
    const [root, namespace] = [hostAt("/me/mcp", generation), hostAt(`/mcp/${support}`, generation)];
    for (const host of [root, namespace]) await (await host.signIn(allowAs(browser, "ada"))).close();
    expect(await listedBy(namespace)).toEqual(plansOf(support));

    world.provider.people.set("ada", ["engineers"]);
    const later = newBrowser();
    await later.open(`${origin}/account`);
    await later.follow("Sign in with Example Accounts");
    await later.press("Go on as ada");
    expect(later.shown.url.href).toBe(`${origin}/account`);
    expect(textOf(later.shown.html)).toContain("by the group engineers");
    expect(textOf(later.shown.html)).not.toContain("by the group helpers");

    expect(await listedBy(root)).toEqual(plansOf(engineering));
    expect(await statusOf(namespace)).toBe(401);
    // Its client is sent to the person once more, who has nothing to allow there any more.
    expect(await namespace.connect()).toBeUndefined();
    await later.open(namespace.keeper.asked!);
    expect(textOf(later.shown.html)).toContain("You have no rights at this address");
  });
});

describe("a person whom no group makes a member", () => {
  test("becomes one by an invitation that they accept on its page, and their client sees it from then on", async () => {
    const [host, browser] = [hostAt("/me/mcp"), newBrowser()];
    await (await host.signIn(allowAs(browser, "ben"))).close();
    expect(await listedBy(host)).toEqual([]);

    const invited = await world.operator.json("POST", `/namespaces/${closed}/invitations`, { role: "reader" });
    const { page } = (await invited.json()) as { page: string };
    // From the mail, in a browser that knows nobody yet.
    const fresh = newBrowser();
    await fresh.open(page);
    expect(textOf(fresh.shown.html)).toContain(`Join the namespace ${closed}?`);
    await fresh.follow("Sign in to accept");
    await fresh.press("Go on as ben");
    expect(fresh.shown.url.href).toBe(page);
    await fresh.press("Accept the invitation");
    expect(fresh.shown.url.href).toBe(`${origin}/account`);
    expect(textOf(fresh.shown.html)).toContain(`${closed} reader`);

    expect(await listedBy(host)).toEqual(plansOf(closed));
    expect((await fresh.open(page)).status).toBe(404);
  });

  test("is signed in by no answer that another browser asked for", async () => {
    const [attacker, victim] = [newBrowser(), newBrowser()];
    await attacker.open(`${origin}/sign-in`);
    await attacker.follow("Sign in with Example Accounts");
    const answer = await answerTo(attacker);
    await victim.open(answer);
    expect([victim.shown.status, textOf(victim.shown.html)]).toEqual([
      400,
      expect.stringContaining("You are not signed in"),
    ]);
    await victim.open(`${origin}/account`);
    expect(victim.shown.url.pathname).toBe("/sign-in");
  });
});

/** What the provider answers to the browser, caught before it gets there. */
async function answerTo(browser: Browser): Promise<string> {
  const { html, url } = browser.shown;
  const asked = /name="asked" value="([^"]*)"/.exec(html)![1]!.replaceAll("&amp;", "&");
  const body = new URLSearchParams({ asked, person: "ben" });
  const response = await fetch(new URL("/authorize", url), { method: "POST", body, redirect: "manual" });
  return response.headers.get("location")!;
}

async function statusOf(host: Host): Promise<number> {
  const response = await fetch(`${origin}/mcp/${support}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${host.keeper.kept!.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "skills/list" }),
  });
  await response.text();
  return response.status;
}
