import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

import { attempt } from "../typescript/attempt.ts";
import type { Client } from "../typescript/attempt.ts";
import type { Stage } from "../stage.ts";
import { skillsAt, startApplication, userAgent } from "./application.ts";
import type { Application } from "./application.ts";
import type { Chromium } from "./chromium.ts";
import { decide, newToken, reachConsent, signIn } from "./sign-in.ts";
import type { Window } from "./window.ts";

/** What a person does afterwards, and with several windows. */
export async function tryAccount(stage: Stage, chromium: Chromium): Promise<void> {
  const client = { client: "Chromium", version: chromium.version, era: "OAuth 2.1" };
  const application = await startApplication(stage.origin, "A host on this computer");
  await tryWithdrawal(client, stage, { chromium, application });
  await trySideBySide(client, stage, { chromium, application });
  await tryBack(client, stage, { chromium, application });
  await application.stop();
}

interface Tools {
  chromium: Chromium;
  application: Application;
}

const usedWithinMs = 5_000;

async function tryWithdrawal(client: Client, stage: Stage, { chromium, application }: Tools): Promise<void> {
  const account = `${stage.origin}/account`;
  await attempt(client, "the account page: where and when it was used, withdraw, sign out", async () => {
    const person = await chromium.person();
    const window = await person.window();
    const asked = application.ask(`${stage.origin}/me/mcp/${stage.privateNamespace}`);
    await reachConsent(window, asked, await newToken(stage));
    const tokens = await asked.redeem(await decide(window, application, "Allow"));
    await window.open(account);
    await window.mustSay("A host on this computer", asked.resource, "Last used Never");
    ok(Array.isArray(await skillsAt(asked.resource, tokens)));
    const used = await readUse(window, account);
    match(used, new RegExp(`^Last used \\d+ \\w+ \\d{4}, \\d\\d:\\d\\d UTC from ${userAgent}, `));
    await window.press("Withdraw access of A host on this computer");
    await window.mustSay("Applications with access None.");
    equal(await skillsAt(asked.resource, tokens), 401);
    const refreshed = await asked.refresh(tokens);
    deepEqual([refreshed.status, ((await refreshed.json()) as { error: string }).error], [400, "invalid_grant"]);
    await window.press("Sign out");
    for (const go of [() => window.back(), () => window.open(account)]) {
      await go();
      equal(window.url.pathname, "/sign-in", await window.describe());
    }
    deepEqual(await person.context.cookies(), []);
    window.mustBeContent(stage.origin);
    return `used ${/from .+$/.exec(used)![0]}; withdrawn, the access token is refused at once`;
  });
}

/** Written down after the answer, so a person may be faster. */
async function readUse(window: Window, account: string): Promise<string> {
  const end = Date.now() + usedWithinMs;
  for (;;) {
    await window.open(account);
    const used = /Last used .*? (?=Ends|$)/.exec(`${await window.text()} `)?.[0].trim() ?? "";
    if (used !== "Last used Never" || Date.now() > end) return used;
    await setTimeout(100);
  }
}

async function trySideBySide(client: Client, stage: Stage, { chromium, application }: Tools): Promise<void> {
  await attempt(client, "two windows side by side, and another account in one of them", async () => {
    const person = await chromium.person();
    const [left, right] = [await person.window(), await person.window()];
    const resource = `${stage.origin}/me/mcp`;
    const [first, second] = [application.ask(resource), application.ask(resource)];
    for (const [window, asked] of [
      [left, first],
      [right, second],
    ] as const) {
      await window.open(asked.address);
      equal(window.url.pathname, "/sign-in");
    }
    const token = await newToken(stage);
    for (const window of [left, right]) await signIn(window, token);
    for (const [window, asked] of [
      [left, first],
      [right, second],
    ] as const) {
      const skills = await skillsAt(resource, await asked.redeem(await decide(window, application, "Allow")));
      ok(namespacesOf(skills).has(stage.privateNamespace), `${skills}`);
    }
    return switchAccount(stage, application, { left, right });
  });
}

/** What the left window asks was asked of somebody else. */
async function switchAccount(stage: Stage, application: Application, windows: { left: Window; right: Window }) {
  const { left, right } = windows;
  const resource = `${stage.origin}/me/mcp`;
  const [first, second] = [application.ask(resource), application.ask(resource)];
  await left.open(first.address);
  await right.open(second.address);
  for (const window of [left, right]) await window.mustSay(`of the namespace ${stage.privateNamespace}`);
  await right.press("Use another account");
  equal(right.url.pathname, "/sign-in");
  await right.mustSay(`to connect an application to ${resource}`);
  await signIn(right, stage.publisherToken);
  await right.mustSay("Allow this application access?", `of the namespace ${stage.namespace}`);
  const before = application.arrived.length;
  await left.press("Allow");
  await left.mustSay("no longer signed in as whom this page was shown to");
  equal(application.arrived.length, before);
  const skills = await skillsAt(resource, await second.redeem(await decide(right, application, "Allow")));
  const shown = namespacesOf(skills);
  ok(shown.has(stage.namespace) && !shown.has(stage.privateNamespace), `${skills}`);
  return "both get their token; Allow of the first account is refused once the other one is signed in";
}

/** `skill://acme/review/SKILL.md` is of acme. */
export function namespacesOf(skills: string[] | number): Set<string> {
  if (typeof skills === "number") throw new Error(`Refused with ${skills}`);
  return new Set(skills.map((uri) => uri.split("/")[2]!));
}

async function tryBack(client: Client, stage: Stage, { chromium, application }: Tools): Promise<void> {
  await attempt(client, "the back button after Allow", async () => {
    const person = await chromium.person();
    const window = await person.window();
    const asked = application.ask(`${stage.origin}/me/mcp/${stage.privateNamespace}`);
    await reachConsent(window, asked, await newToken(stage));
    const answer = await decide(window, application, "Allow");
    const before = application.arrived.length;
    await window.back();
    await window.mustSay("Allow this application access?");
    equal(application.arrived.length, before);
    const account = await person.window();
    await account.open(`${stage.origin}/account`);
    equal((await account.page.$$('form[action$="/revoke"]')).length, 1);
    ok(Array.isArray(await skillsAt(asked.resource, await asked.redeem(answer))));
    const again = await decide(window, application, "Allow");
    notEqual(again.searchParams.get("code"), answer.searchParams.get("code"));
    return "asks anew; nothing is allowed until Allow is pressed again";
  });
}
