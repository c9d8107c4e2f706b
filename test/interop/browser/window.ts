import type { ElementHandle, HTTPResponse, Page } from "puppeteer-core";

/**
 * A window of the browser and what a person does in it: reads, presses what has a name, types, goes back. Elements are
 * found by role and name as a screen reader is told them, so what is found there could also be heard.
 */
export class Window {
  readonly page: Page;
  /** What the browser complained of: what a policy forbade, what did not load. */
  readonly complaints: { text: string; address: string }[] = [];
  #answer: HTTPResponse | null = null;

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(15_000);
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) {
        this.complaints.push({ text: message.text(), address: message.location().url ?? "" });
      }
    });
  }

  get url(): URL {
    return new URL(this.page.url());
  }

  /** Of the page that is shown. */
  get status(): number {
    return this.#answer?.status() ?? 0;
  }

  async open(address: string): Promise<void> {
    this.#answer = await this.page.goto(address);
  }

  /** Clicks a button, and waits for the page that it leads to. */
  async press(name: string): Promise<void> {
    const button = await this.find("button", name);
    await this.leave(() => button.click());
  }

  async follow(name: string): Promise<void> {
    const link = await this.find("link", name);
    await this.leave(() => link.click());
  }

  /** As from the clipboard: the whole text at once, into the field that was clicked. */
  async paste(label: string, text: string): Promise<void> {
    await this.page.bringToFront();
    const field = await this.page.$(`aria/${label}`);
    if (field === null) throw new Error(`No field "${label}" on ${await this.describe()}`);
    await field.click();
    await this.page.keyboard.sendCharacter(text);
  }

  async back(): Promise<void> {
    this.#answer = await this.page.goBack();
  }

  /** Whatever is done leads to another page, which is waited for. */
  async leave(act: () => Promise<void>): Promise<void> {
    const [answer] = await Promise.all([this.page.waitForNavigation(), act()]);
    this.#answer = answer;
  }

  async find(role: "button" | "link", name: string): Promise<ElementHandle> {
    // A window behind another one draws nothing, and so has nothing to be found.
    await this.page.bringToFront();
    const found = await this.page.$(`aria/${name}[role="${role}"]`);
    if (found === null) throw new Error(`No ${role} "${name}" on ${await this.describe()}`);
    return found as ElementHandle;
  }

  /** What can be read, on one line. */
  async text(): Promise<string> {
    const text = await this.page.evaluate(() => document.body.innerText);
    return text.replaceAll(/\s+/g, " ").trim();
  }

  /** @throws Error with what the page says instead */
  async mustSay(...texts: readonly string[]): Promise<void> {
    const said = await this.text();
    const missing = texts.find((text) => !said.includes(text));
    if (missing !== undefined) throw new Error(`It does not say "${missing}": ${await this.describe()}`);
  }

  /** @throws Error with what the browser complained of at pages of the origin, or without saying where */
  mustBeContent(origin: string): void {
    const heard = this.complaints.filter(({ address }) => address === "" || address.startsWith(`${origin}/`));
    if (heard.length > 0) throw new Error(`The browser complains: ${heard.map(({ text }) => text).join("; ")}`);
  }

  async describe(): Promise<string> {
    return `${this.status} ${this.page.url()}: ${(await this.text()).slice(0, 400)}`;
  }
}
