import { deepEqual, equal, notEqual, ok } from "node:assert/strict";

import { attempt } from "../typescript/attempt.ts";
import type { Client } from "../typescript/attempt.ts";
import type { Stage } from "../stage.ts";
import { skillsAt, startApplication } from "./application.ts";
import type { Chromium } from "./chromium.ts";
import { decide, newToken, signIn } from "./sign-in.ts";
import type { Window } from "./window.ts";

/** On a narrow screen, and without a mouse. */
export const narrow = { width: 320, height: 640 };
/** More than any of the pages has to stop at. */
const maxStops = 20;
const longName = "AHostWhoseNameHasNoPlaceToBreakAndGoesOnForLongerThanAnyLineOfAPhone";

export async function tryNarrow(stage: Stage, chromium: Chromium): Promise<void> {
  const client = { client: "Chromium", version: chromium.version, era: "HTTP" };
  await tryWidth(client, stage, chromium);
  await tryKeyboard({ ...client, era: "OAuth 2.1" }, stage, chromium);
}

async function tryWidth(client: Client, stage: Stage, chromium: Chromium): Promise<void> {
  await attempt(client, "320 px wide: no page scrolls sideways", async () => {
    const application = await startApplication(stage.origin, longName);
    const window = await (await chromium.person()).window();
    await window.page.setViewport(narrow);
    const asked = application.ask(`${stage.origin}/me/mcp/${stage.privateNamespace}`, {
      scope: "skills:read skills:publish",
    });
    const seen: string[] = [];
    const look = async (heading: string) => {
      await fits(window, heading);
      seen.push(heading);
    };
    await window.open(asked.address);
    await look("Sign in");
    await signIn(window, "skr_no-such-token-and-a-long-text-that-goes-on-and-on-and-on");
    equal(window.status, 401);
    await look("Sign in");
    await signIn(window, await newToken(stage));
    await look("Allow this application access?");
    await window.page.click("summary");
    await look("Allow this application access?");
    await decide(window, application, "Allow");
    await window.open(`${stage.origin}/account`);
    await look("Your account");
    await window.open(`${stage.origin}/authorize?resource=${encodeURIComponent(asked.resource)}&client_id=${longName}`);
    await look("This sign-in cannot go on");
    await application.stop();
    return [...new Set(seen)].join(", ");
  });
}

/** The page with this heading is as wide as the window, and moves nowhere when somebody tries. */
export async function fits({ page }: Window, heading: string): Promise<void> {
  equal(await page.$eval("h1", ({ textContent }) => textContent), heading);
  const { wide, at } = await page.evaluate(() => {
    scrollTo(10_000, 0);
    return { wide: document.documentElement.scrollWidth, at: scrollX };
  });
  deepEqual([wide, at], [narrow.width, 0], heading);
}

async function tryKeyboard(client: Client, stage: Stage, chromium: Chromium): Promise<void> {
  await attempt(client, "by keyboard alone: sign-in and consent", async () => {
    const application = await startApplication(stage.origin, "A host on this computer");
    const window = await (await chromium.person()).window();
    const asked = application.ask(`${stage.origin}/me/mcp/${stage.privateNamespace}`);
    await window.open(asked.address);
    const first = await tabTo(window, "Registry token");
    await window.page.keyboard.type(await newToken(stage));
    await window.leave(() => window.page.keyboard.press("Enter"));
    await window.mustSay("Allow this application access?");
    const second = await tabTo(window, "Allow");
    ok(second.indexOf("Deny") >= 0, `on the way: ${second.join(", ")}`);
    await window.leave(() => window.page.keyboard.press("Enter"));
    const { url } = application.arrived.at(-1)!;
    ok(Array.isArray(await skillsAt(asked.resource, await asked.redeem(url))));
    await application.stop();
    return `stops: ${[...first, ...second].join(", ")}`;
  });
}

/** Each stop on the way has to be seen: who has no mouse knows by it where they are. */
async function tabTo(window: Window, name: string): Promise<string[]> {
  const stops: string[] = [];
  while (stops.at(-1) !== name) {
    if (stops.length === maxStops) throw new Error(`Tab never comes to "${name}": ${stops.join(", ")}`);
    await window.page.keyboard.press("Tab");
    const { label, outline } = await window.page.evaluate(() => {
      const at = document.activeElement as HTMLElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const label = at instanceof HTMLInputElement ? at.labels?.[0]?.textContent : at.textContent;
      return { label: label ?? at.tagName, outline: `${outlineStyle} ${outlineWidth}` };
    });
    notEqual(outline.split(" ")[0], "none", `"${label}" is not seen to be where the keyboard is`);
    stops.push(label.replaceAll(/\s+/g, " ").trim());
  }
  return stops;
}
