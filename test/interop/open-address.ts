import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";

import { Browser } from "../wire/browser.ts";

/**
 * What programs find as the user's browser (`xdg-open`, $BROWSER): somebody who signs in with the token in PERSON_TOKEN,
 * allows what is asked, and comes to the address at which the program listens. With `--withdraw` and the registry's
 * origin: the same person, who takes back all of it at the account page.
 */
const token = process.env["PERSON_TOKEN"]!;

export async function withdrawAll(origin: string, token: string): Promise<number> {
  const browser = new Browser();
  await browser.open(`${origin}/sign-in`);
  await browser.press("Sign in with this token", { token });
  let count = 0;
  for (; browser.shown.html.includes("/revoke"); count += 1) await browser.press("Withdraw");
  return count;
}

async function allow(address: URL): Promise<string> {
  const browser = new Browser();
  await browser.open(address);
  if (browser.shown.url.pathname === "/sign-in") await browser.press("Sign in with this token", { token });
  // A person takes longer than a program that opens its listener after the browser.
  await becomesOpen(new URL(address.searchParams.get("redirect_uri")!));
  const { url, status } = await browser.press("Allow");
  return `${url.origin}${url.pathname} (${status})`;
}

async function becomesOpen({ hostname, port }: URL): Promise<void> {
  for (let attempt = 1; attempt <= 100; attempt += 1) {
    const socket = connect(Number(port), hostname);
    const isOpen = await new Promise<boolean>((done) => {
      socket.once("connect", () => done(true)).once("error", () => done(false));
    });
    socket.destroy();
    if (isOpen) return;
    await setTimeout(100);
  }
}

if (import.meta.main) {
  const [first, origin] = process.argv.slice(2);
  if (first === "--withdraw") console.log(await withdrawAll(origin!, token));
  else console.error(`The browser is at ${await allow(new URL(first!))}`);
}
