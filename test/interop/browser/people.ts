import { deepEqual, equal, ok } from "node:assert/strict";

import { maxNamespaceLength } from "../../../src/domain/limits.ts";
import { limitsForTests } from "../../limits-for-tests.ts";
import { skill } from "../../wire/library.ts";
import { startOpenIdProvider } from "../../wire/openid-provider.ts";
import type { OpenIdProvider } from "../../wire/openid-provider.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import { startHost } from "../../wire/server.ts";
import { attempt } from "../typescript/attempt.ts";
import type { Client } from "../typescript/attempt.ts";
import type { Stage } from "../stage.ts";
import { namespacesOf } from "./account.ts";
import { skillsAt, startApplication } from "./application.ts";
import type { Application } from "./application.ts";
import type { Chromium } from "./chromium.ts";
import { fits, narrow } from "./narrow.ts";
import { decide } from "./sign-in.ts";
import type { Window } from "./window.ts";

/** A registry with an OpenID provider, whose people are members by their groups and by invitation. */
interface House {
  origin: string;
  operator: RegistryClient;
  provider: OpenIdProvider;
  application: Application;
}

const operatorToken = "operator-token-for-the-browser-0123456789abcdef";
const secrets = { ADMIN_TOKEN: operatorToken, SIGNING_KEY: "signing-key-for-the-browser-0123456789abcdef" };

export async function tryPeople(_: Stage, chromium: Chromium): Promise<void> {
  const client = { client: "Chromium", version: chromium.version, era: "OpenID Connect" };
  const provider = await startOpenIdProvider();
  const { origin, stop } = await startHost({ vars: { ...secrets, ...limitsForTests, ...provider.vars } });
  const application = await startApplication(origin, "A host on this computer");
  const house = { origin, operator: new RegistryClient(origin, operatorToken), provider, application };
  await tryGroups(client, house, chromium);
  await tryInvitation(client, house, chromium);
  await tryWidth(client, house, chromium);
  await application.stop();
  await stop();
  await provider.stop();
}

async function tryGroups(client: Client, house: House, chromium: Chromium): Promise<void> {
  await attempt(client, "sign in at a provider; private skills of two namespaces, by groups", async () => {
    const { origin, operator, provider, application } = house;
    for (const [namespace, group] of [
      ["compilers", "engineering"],
      ["payroll", "staff"],
      ["boardroom", "board"],
    ] as const) {
      await createPrivate(operator, namespace);
      await must(operator.json("PUT", `/namespaces/${namespace}/groups`, { groups: [{ group, role: "reader" }] }));
    }
    provider.people.set("ada", ["engineering", "staff"]);
    const window = await (await chromium.person()).window();
    const asked = application.ask(`${origin}/me/mcp`);
    await window.open(asked.address);
    equal(window.url.pathname, "/sign-in");
    await signInAs(window, "ada", provider);
    await window.mustSay("Allow this application access?", `ada@example.com at ${provider.issuer}`);
    const tokens = await asked.redeem(await decide(window, application, "Allow"));
    const shown = namespacesOf(await skillsAt(asked.resource, tokens));
    deepEqual([...shown].sort(), ["compilers", "payroll"]);
    await window.open(`${origin}/account`);
    await window.mustSay("compilers reader, by the group engineering", "payroll reader, by the group staff");
    window.mustBeContent(origin);
    return "code with PKCE, state and nonce; /me/mcp shows both namespaces, and not the one of another group";
  });
}

async function tryInvitation(client: Client, house: House, chromium: Chromium): Promise<void> {
  await attempt(client, "accept an invitation", async () => {
    const { origin, operator, provider, application } = house;
    await createPrivate(operator, "visitors");
    const made = await must(operator.json("POST", "/namespaces/visitors/invitations", { role: "publisher" }));
    provider.people.set("grace", []);
    const window = await (await chromium.person()).window();
    await window.open(made["page"] as string);
    await window.mustSay("Join the namespace visitors?", "A publisher reads its skills");
    await signInAs(window, "grace", provider, "Sign in to accept");
    await window.mustSay("Join the namespace visitors?", "grace@example.com");
    await window.press("Accept the invitation");
    equal(window.url.pathname, "/account");
    await window.mustSay("visitors publisher");
    const asked = application.ask(`${origin}/me/mcp`);
    await window.open(asked.address);
    const tokens = await asked.redeem(await decide(window, application, "Allow"));
    ok(namespacesOf(await skillsAt(asked.resource, tokens)).has("visitors"));
    window.mustBeContent(origin);
    await window.open(made["page"] as string);
    equal(window.status, 404, await window.describe());
    return "by signing in at the provider; the skills are there at once, and the link is spent";
  });
}

async function tryWidth(client: Client, house: House, chromium: Chromium): Promise<void> {
  await attempt(client, "320 px wide: the pages of such a person", async () => {
    const { origin, operator, provider } = house;
    const namespace = "w".repeat(maxNamespaceLength);
    const person = "somebody-whose-mail-address-is-longer-than-any-line-of-a-phone-and-has-no-place-to-break";
    await operator.createNamespace(namespace, "private");
    await must(operator.json("PATCH", `/namespaces/${namespace}`, { title: person }));
    const made = await must(operator.json("POST", `/namespaces/${namespace}/invitations`, { role: "admin" }));
    provider.people.set(person, []);
    const window = await (await chromium.person()).window();
    await window.page.setViewport(narrow);
    await window.open(`${origin}/sign-in`);
    await fits(window, "Sign in");
    await window.open(made["page"] as string);
    await fits(window, `Join the namespace ${namespace}?`);
    await signInAs(window, person, provider, "Sign in to accept");
    await window.mustSay(person);
    await fits(window, `Join the namespace ${namespace}?`);
    await window.press("Accept the invitation");
    await window.mustSay(person, namespace);
    await fits(window, "Your account");
    await window.open(made["page"] as string);
    await window.mustSay("invitation");
    await fits(window, "There is nothing here");
  });
}

/** Along the provider's own page, and back. */
export async function signInAs(
  window: Window,
  person: string,
  { issuer }: OpenIdProvider,
  link = "Sign in with Example Accounts",
): Promise<void> {
  await window.follow(link);
  equal(window.url.origin, issuer);
  await window.press(`Go on as ${person}`);
}

async function createPrivate(operator: RegistryClient, namespace: string): Promise<void> {
  await operator.createNamespace(namespace, "private");
  await operator.publish(namespace, skill(`plan-of-${namespace}`, "Plan what nobody else may know of yet."));
}

async function must(answer: Promise<Response>): Promise<Record<string, unknown>> {
  const response = await answer;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}
