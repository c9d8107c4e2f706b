import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

import type { Frame } from "puppeteer-core";

import { attempt } from "../typescript/attempt.ts";
import type { Client } from "../typescript/attempt.ts";
import type { Stage } from "../stage.ts";
import { skillsAt, startApplication } from "./application.ts";
import type { Application, Tokens } from "./application.ts";
import type { Chromium, Person } from "./chromium.ts";
import { formThatSendsItself, framesOf, startOtherSite } from "./other-site.ts";
import type { OtherSite } from "./other-site.ts";
import { decide, newToken, reachConsent } from "./sign-in.ts";
import type { Window } from "./window.ts";

/** Somebody who is signed in and has allowed an application something, and what other sites try with their browser. */
interface Victim {
  stage: Stage;
  person: Person;
  application: Application;
  resource: string;
  tokens: Tokens;
}

export async function tryOtherSites(stage: Stage, chromium: Chromium): Promise<void> {
  const client = { client: "Chromium", version: chromium.version, era: "HTTP" };
  const site = await startOtherSite();
  const application = await startApplication(stage.origin, "A host on this computer");
  const resource = `${stage.origin}/me/mcp/${stage.privateNamespace}`;
  const person = await chromium.person();
  const window = await person.window();
  const asked = application.ask(resource);
  await reachConsent(window, asked, await newToken(stage));
  const tokens = await asked.redeem(await decide(window, application, "Allow"));
  const victim = { stage, person, application, resource, tokens };
  await tryFrames(client, victim, site);
  await tryForms(client, victim, site);
  await application.stop();
  await site.stop();
}

async function tryFrames(client: Client, { stage, person, application, resource }: Victim, site: OtherSite) {
  await attempt(client, "frames of /authorize, /sign-in and /account in pages of other origins", async () => {
    const asked = application.ask(resource);
    const framed = [asked.address, `${stage.origin}/sign-in`, `${stage.origin}/account`];
    const own = site.show("<p>A page of the other site itself</p>");
    const page = site.show(framesOf([own, ...framed]));
    for (const [kind, origin] of Object.entries(site.origins)) {
      const window = await person.window({ scripts: true });
      const answering = framed.map((one) => window.page.waitForResponse((response) => response.url() === one));
      await window.open(origin + page);
      const statuses = (await Promise.all(answering)).map((response) => response.status());
      const [first, ...others] = await Promise.all(window.page.frames().slice(1).map(shownIn));
      // What a frame shows can be seen from here.
      deepEqual(first, { address: origin + own, text: "A page of the other site itself" });
      equal(others.length, framed.length);
      for (const { address, text } of others) {
        equal(address, "chrome-error://chromewebdata/");
        ok(!text.includes("Skill Registry"), text);
      }
      // The registry did answer: with pages for whom the cookie says it is, or by way of its sign-in.
      for (const status of statuses) ok([200, 303].includes(status), `${framed.join()}: ${statuses.join()}`);
      if (kind === "same site") equal(statuses.at(-1), 200);
      const refusals = window.complaints.filter(({ text }) => text.includes("frame-ancestors 'none'"));
      equal(refusals.length, framed.length, JSON.stringify(window.complaints));
    }
    return "of another port of this host, to which the cookie goes along, and of another host: nothing is shown";
  });
}

/** A page is loaded before what stands in for a frame that was refused. */
async function shownIn(frame: Frame): Promise<{ address: string; text: string }> {
  const giveUpAt = Date.now() + 10_000;
  while (frame.url() === "" && Date.now() < giveUpAt) await setTimeout(20);
  return { address: frame.url(), text: await frame.evaluate(() => document.body.innerText.trim()) };
}

async function tryForms(client: Client, victim: Victim, site: OtherSite): Promise<void> {
  await attempt(
    client,
    "forms of other sites that send themselves: to allow, sign in, withdraw, sign out",
    async () => {
      const { stage, person, application, resource, tokens } = victim;
      const window = await person.window();
      await window.open(application.ask(resource).address);
      await window.mustSay("Allow this application access?");
      // As if all that is secret on our pages were known to others: only where the form comes from is wrong.
      const handle = await window.page.$eval('input[name="handle"]', ({ value }) => value);
      const revoke = await addressOfWithdrawal(victim);
      const forms: [string, Record<string, string>][] = [
        ["/authorize", { handle, decision: "approve" }],
        ["/authorize", { handle, decision: "deny" }],
        ["/sign-in", { token: stage.publisherToken, return: "/account" }],
        [revoke, {}],
        ["/sign-out", {}],
      ];
      const before = application.arrived.length;
      for (const [origin, isSandboxed, seen] of [
        [site.origins["same site"], false, { site: "same-site", hasCookie: true }],
        [site.origins["another site"], false, { site: "cross-site", hasCookie: false }],
        [site.origins["same site"], true, { site: "cross-site", hasCookie: false }],
      ] as const) {
        for (const [path, fields] of forms) {
          const page = site.show(formThatSendsItself(stage.origin + path, fields), isSandboxed);
          deepEqual(await sentBy(person, origin + page), { status: 403, ...seen }, `${path} from ${origin}`);
        }
      }
      await isUnchanged(victim);
      equal(application.arrived.length, before);
      deepEqual(await skillsAt(resource, tokens), [`skill://${stage.privateNamespace}/inner-secret/SKILL.md`]);
      // The handle was good all along.
      await decide(window, application, "Allow");
      return "each is refused with 403, also with cookie and with what is secret in our forms; nothing changed";
    },
  );
}

/** Opens the page, whose script does the rest, and says what the browser sent and how the registry answered. */
async function sentBy(person: Person, address: string) {
  const { page } = await person.window({ scripts: true });
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === "POST"),
    // Its script leaves it while it is still being opened.
    page.goto(address).catch(() => {}),
  ]);
  const headers = answer.request().headers();
  const hasCookie = headers["cookie"]?.includes("__Host-skill-registry=") ?? false;
  await page.close();
  return { status: answer.status(), site: headers["sec-fetch-site"], hasCookie };
}

async function addressOfWithdrawal(victim: Victim): Promise<string> {
  const window = await openAccount(victim);
  const actions = await window.page.$$eval('form[action$="/revoke"]', (forms) => forms.map(({ action }) => action));
  equal(actions.length, 1);
  return new URL(actions[0]!).pathname;
}

async function isUnchanged(victim: Victim): Promise<void> {
  const window = await openAccount(victim);
  await window.mustSay(`of the namespace ${victim.stage.privateNamespace}`);
  equal((await window.page.$$('form[action$="/revoke"]')).length, 1);
}

async function openAccount({ stage, person }: Victim): Promise<Window> {
  const window = await person.window();
  await window.open(`${stage.origin}/account`);
  await window.mustSay("Applications with access");
  return window;
}
