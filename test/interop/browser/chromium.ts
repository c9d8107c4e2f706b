import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import puppeteer from "puppeteer-core";
import type { Browser, BrowserContext } from "puppeteer-core";

import { Window } from "./window.ts";

/** The Chromium that the machine has. One that is root in a CI may install Debian's, for a bounded time. */
const names = ["chromium", "chromium-browser", "google-chrome"];
const updateWithinMs = 60_000;
const installWithinMs = 150_000;

export interface Chromium {
  version: string;
  /** A person with cookies of their own; their pages run no script unless that is said. */
  person(): Promise<Person>;
  close(): Promise<void>;
}

export interface Person {
  context: BrowserContext;
  /** Another window of the same browser, with the same cookies. */
  window(options?: { scripts?: boolean }): Promise<Window>;
}

/** Undefined where there is none and none can be installed. */
export function findChromium(): string | undefined {
  const found = installed();
  if (found !== undefined || process.env["CI"] !== "1" || process.getuid?.() !== 0) return found;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (timeout: number, ...parameters: string[]) =>
    spawnSync("apt-get", ["-qq", ...parameters], { stdio: "ignore", env, timeout, killSignal: "SIGKILL" });
  apt(updateWithinMs, "update");
  apt(installWithinMs, "install", "-y", "--no-install-recommends", "chromium");
  return installed();
}

function installed(): string | undefined {
  return names.find((name) => spawnSync(name, ["--version"]).status === 0);
}

export async function openChromium(name: string): Promise<Chromium> {
  const home = await mkdtemp(join(tmpdir(), "interop-browser-"));
  const { stdout } = spawnSync("which", [name], { encoding: "utf8" });
  const browser = await puppeteer.launch({
    executablePath: stdout.trim(),
    // Over a pipe, at whose end it ends too, however this process ends.
    pipe: true,
    userDataDir: join(home, "profile"),
    // As root there is no sandbox; all that it opens is ours.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    env: { ...process.env, HOME: home },
  });
  return {
    version: versionOf(await browser.version()),
    person: () => newPerson(browser),
    close: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function newPerson(browser: Browser): Promise<Person> {
  const context = await browser.createBrowserContext();
  const window = async ({ scripts = false } = {}) => {
    const page = await context.newPage();
    await page.setJavaScriptEnabled(scripts);
    return new Window(page);
  };
  return { context, window };
}

/** `HeadlessChrome/156.0.8078.114` */
function versionOf(text: string): string {
  return /[\d.]+$/.exec(text)?.[0] ?? text;
}
