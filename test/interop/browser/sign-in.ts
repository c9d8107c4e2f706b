import { deepEqual, equal, ok } from "node:assert/strict";

import { RegistryClient } from "../../wire/registry-client.ts";
import { attempt } from "../typescript/attempt.ts";
import type { Client } from "../typescript/attempt.ts";
import type { Stage } from "../stage.ts";
import { skillsAt, startApplication } from "./application.ts";
import type { Application, Asked } from "./application.ts";
import type { Chromium, Person } from "./chromium.ts";
import type { Window } from "./window.ts";

/** From an application to its answer, in one window, with a registry token. */
export async function trySignIn(stage: Stage, chromium: Chromium): Promise<void> {
  const client = { client: "Chromium", version: chromium.version, era: "OAuth 2.1" };
  const application = await startApplication(stage.origin, "A host on this computer");
  const way = { stage, chromium, application, resource: `${stage.origin}/me/mcp/${stage.privateNamespace}` };
  await tryAllow(client, way);
  await tryDeny(client, way);
  await tryWrong(client, way);
  await tryNames(client, way);
  await application.stop();
}

interface Way {
  stage: Stage;
  chromium: Chromium;
  application: Application;
  resource: string;
}

async function tryAllow(client: Client, { stage, chromium, application, resource }: Way): Promise<void> {
  const tried = "without scripts: from an application's address by a pasted token to Allow, and back";
  await attempt(client, tried, async () => {
    const person = await chromium.person();
    const window = await person.window();
    const asked = application.ask(resource);
    await reachConsent(window, asked, stage.readerToken);
    await window.mustSay("A host on this computer", resource, "This computer");
    await hasGuardedCookie(person);
    const answer = await decide(window, application, "Allow");
    const tokens = await asked.redeem(answer);
    const skills = await skillsAt(resource, tokens);
    deepEqual(skills, [`skill://${stage.privateNamespace}/inner-secret/SKILL.md`]);
    window.mustBeContent(stage.origin);
    return "code, state and iss came; the token lists the private skill";
  });
}

async function tryDeny(client: Client, { stage, chromium, application, resource }: Way): Promise<void> {
  await attempt(client, "Deny", async () => {
    const window = await (await chromium.person()).window();
    const asked = application.ask(resource);
    await reachConsent(window, asked, stage.readerToken);
    isError(await decide(window, application, "Deny"), "access_denied", { asked, stage });
    window.mustBeContent(stage.origin);
    return "error=access_denied came back, with state and iss, and no code";
  });
}

async function tryWrong(client: Client, { stage, chromium, application, resource }: Way): Promise<void> {
  await attempt(client, "an application that asks for what cannot be", async () => {
    const window = await (await chromium.person()).window();
    const asked = application.ask(resource, { code_challenge_method: "plain" });
    await window.open(asked.address);
    // Straight from the form of the sign-in page, whose policy lets no redirect leave.
    await signIn(window, stage.readerToken);
    await window.mustSay("The application asked for something that cannot be");
    await window.follow("Go back to the application");
    isError(arrivedAt(window, application), "invalid_request", { asked, stage });
    await window.open(asked.address);
    isError(arrivedAt(window, application), "invalid_request", { asked, stage });
    equal(application.arrived.filter(({ url }) => url.searchParams.get("state") === asked.state).length, 2);
    return "told by a link after the sign-in form, and at once when signed in; error=invalid_request came back";
  });
}

async function tryNames(client: Client, { stage, chromium, resource }: Way): Promise<void> {
  await attempt(client, "applications that call this machine localhost and [::1]", async () => {
    for (const host of ["localhost", "[::1]"]) {
      const application = await startApplication(stage.origin, "A host on this computer", host);
      const window = await (await chromium.person()).window();
      const asked = application.ask(resource);
      await reachConsent(window, asked, stage.readerToken);
      ok(Array.isArray(await skillsAt(resource, await asked.redeem(await decide(window, application, "Allow")))), host);
      window.mustBeContent(stage.origin);
      await application.stop();
    }
    return "the policy of the consent page lets the browser go there";
  });
}

function isError({ searchParams }: URL, error: string, { asked, stage }: { asked: Asked; stage: Stage }): void {
  const names = ["error", "state", "iss", "code"];
  deepEqual(
    names.map((name) => searchParams.get(name)),
    [error, asked.state, stage.origin, null],
  );
}

/** Each of its own is an account of its own. */
export function newToken({ origin, operatorToken, privateNamespace }: Stage): Promise<string> {
  return new RegistryClient(origin, operatorToken).mintToken(privateNamespace, "reader");
}

/** Opens the application's address, signs in with a token, and stands before the question. */
export async function reachConsent(window: Window, asked: Asked, token: string): Promise<void> {
  await window.open(asked.address);
  equal(window.url.pathname, "/sign-in");
  await window.mustSay(`to connect an application to ${asked.resource}`);
  await signIn(window, token);
  await window.mustSay("Allow this application access?");
}

export async function signIn(window: Window, token: string): Promise<void> {
  await window.paste("Registry token", token);
  await window.press("Sign in with this token");
}

/** Presses the button, and gives back with what the browser arrived at the application. */
export async function decide(window: Window, application: Application, decision: "Allow" | "Deny"): Promise<URL> {
  const before = application.arrived.length;
  await window.press(decision);
  await window.mustSay("You may close this window");
  equal(application.arrived.length, before + 1);
  return arrivedAt(window, application);
}

function arrivedAt(window: Window, application: Application): URL {
  const { url, headers } = application.arrived.at(-1)!;
  equal(url.href, window.url.href);
  // What the application asked for, and whatever else stood in the address, is nothing that others need to know.
  equal(headers.referer, undefined);
  return url;
}

/** As the browser keeps it: no script reads it, no other host sets it, and no other site's request carries it. */
async function hasGuardedCookie({ context }: Person): Promise<void> {
  const cookies = await context.cookies();
  const cookie = cookies.find(({ name }) => name === "__Host-skill-registry");
  ok(cookie !== undefined, `kept only ${cookies.map(({ name }) => name).join(", ")}`);
  const { secure, httpOnly, sameSite, path, domain } = cookie;
  deepEqual(
    { secure, httpOnly, sameSite, path, domain },
    {
      secure: true,
      httpOnly: true,
      sameSite: "Lax",
      path: "/",
      domain: "localhost",
    },
  );
}
