/**
 * A person's browser, driven by a script that presses buttons by what is written on them. Of a real one it has what
 * these flows could break on: cookies by host, with `Secure`, `SameSite` and Max-Age; `Origin` and `Sec-Fetch-Site` as
 * the Fetch standard computes them along redirects; and `form-action`, which Chrome applies to those redirects too.
 */
export interface BrowserOptions {
  /** The redirect address of a client that listens nowhere: there the browser stops, with the answer in its address. */
  endsAt?: string;
}

export interface Shown {
  url: URL;
  status: number;
  html: string;
}

interface Cookie {
  value: string;
  sameSite: string;
}

interface Navigation {
  method: "GET" | "POST";
  body?: URLSearchParams;
  /** The page that led here; undefined: the person typed the address, or another program opened it. */
  from?: URL;
  /** Of the page that holds the form. */
  formAction?: string;
}

const maxRedirects = 10;

export class Browser {
  readonly #endsAt: string | undefined;
  readonly #cookies = new Map<string, Map<string, Cookie>>();
  #shown: Shown | undefined;
  #formAction: string | undefined;

  constructor({ endsAt }: BrowserOptions = {}) {
    this.#endsAt = endsAt;
  }

  get shown(): Shown {
    if (this.#shown === undefined) throw new Error("Nothing has been opened");
    return this.#shown;
  }

  /** As a client does, or as a person who types it. */
  open(address: string | URL): Promise<Shown> {
    return this.#navigate(new URL(address), { method: "GET" });
  }

  /** Follows the link on which this is written. */
  follow(label: string): Promise<Shown> {
    const { html, url } = this.shown;
    for (const [, attributes, inner] of html.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/g)) {
      if (!textOf(inner!).includes(label)) continue;
      return this.#navigate(new URL(attributeIn(attributes!, "href")!, url), { method: "GET", from: url });
    }
    throw this.#lacks(`a link "${label}"`);
  }

  /** Presses the button on which this is written, after filling in its form. */
  press(label: string, filledIn: Readonly<Record<string, string>> = {}): Promise<Shown> {
    const { html, url } = this.shown;
    for (const [, attributes, inner] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)) {
      const buttons = [...inner!.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/g)];
      const button = buttons.find(([, , text]) => textOf(text!).includes(label));
      if (button === undefined) continue;
      const body = new URLSearchParams(fieldsIn(inner!));
      for (const [name, value] of Object.entries(filledIn)) {
        if (!new RegExp(`<input\\b[^>]*\\bname="${name}"`).test(inner!)) throw this.#lacks(`a field "${name}"`);
        body.set(name, value);
      }
      const name = attributeIn(button[1]!, "name");
      if (name !== undefined) body.set(name, attributeIn(button[1]!, "value") ?? "");
      const action = new URL(attributeIn(attributes!, "action") ?? "", url);
      const formAction = this.#formAction;
      return this.#navigate(action, {
        method: "POST",
        body,
        from: url,
        ...(formAction === undefined ? {} : { formAction }),
      });
    }
    throw this.#lacks(`a button "${label}"`);
  }

  async #navigate(start: URL, { method, body, from, formAction }: Navigation): Promise<Shown> {
    let [url, asked] = [start, body === undefined ? { method } : { method, body }];
    const chain: URL[] = [];
    for (let count = 0; count <= maxRedirects; count += 1) {
      requireAllowed(url, formAction, from);
      if (this.#endsAt !== undefined && url.href.startsWith(this.#endsAt))
        return this.#show({ url, status: 0, html: "" });
      requireLoopback(url);
      chain.push(url);
      const response = await fetch(url, {
        ...asked,
        redirect: "manual",
        headers: this.#headers(chain, asked.method, from),
      });
      for (const line of response.headers.getSetCookie()) this.#keep(url, line);
      const location = response.headers.get("location");
      const html = await response.text();
      if (response.status < 300 || response.status > 399 || location === null) {
        this.#formAction = /form-action ([^;]*)/.exec(response.headers.get("content-security-policy") ?? "")?.[1];
        return this.#show({ url, status: response.status, html });
      }
      // What was posted is not posted again.
      [url, asked] = [new URL(location, url), { method: "GET" }];
    }
    throw new Error(`${start.href} leads on and on`);
  }

  #show(shown: Shown): Shown {
    this.#shown = shown;
    return shown;
  }

  #headers(chain: readonly URL[], method: string, from: URL | undefined): Record<string, string> {
    const [url, site] = [chain.at(-1)!, siteOf(chain, from)];
    const cookies = [...(this.#cookies.get(url.hostname) ?? [])].filter(
      // Lax: what another site leads to may know the person, what it posts may not.
      ([, { sameSite }]) => site !== "cross-site" || (sameSite === "lax" && method === "GET") || sameSite === "none",
    );
    return {
      accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
      "sec-fetch-dest": "document",
      "sec-fetch-mode": "navigate",
      "sec-fetch-site": site,
      ...(cookies.length === 0 ? {} : { cookie: cookies.map(([name, { value }]) => `${name}=${value}`).join("; ") }),
      ...(method === "POST" ? { origin: from?.origin ?? "null" } : {}),
    };
  }

  /** Loopback counts as secure; a cookie belongs to a host, whatever its port. */
  #keep(url: URL, line: string): void {
    const [pair = "", ...attributes] = line.split(/;\s*/);
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    const told = new Map(attributes.map((one) => one.toLowerCase().split("=") as [string, string | undefined]));
    const isHostOnly = told.has("secure") && told.get("path") === "/" && !told.has("domain");
    if (name.startsWith("__Host-") && !isHostOnly) throw new Error(`A browser refuses the cookie ${line}`);
    if (!told.has("httponly")) throw new Error(`Scripts could read the cookie ${name}`);
    const jar = this.#cookies.get(url.hostname) ?? new Map<string, Cookie>();
    if (Number(told.get("max-age") ?? 1) <= 0) jar.delete(name);
    else jar.set(name, { value, sameSite: told.get("samesite") ?? "lax" });
    this.#cookies.set(url.hostname, jar);
  }

  #lacks(what: string): Error {
    const { url, status, html } = this.shown;
    return new Error(`There is not ${what} at ${url.href} (${status}): ${textOf(html).slice(0, 1_000)}`);
  }
}

/** Fetch metadata, section 2.3: how far from the initiator the request has been on its way. */
function siteOf(chain: readonly URL[], from: URL | undefined): string {
  if (from === undefined) return "none";
  if (chain.some((url) => !isSameSite(url, from))) return "cross-site";
  return chain.every((url) => url.origin === from.origin) ? "same-origin" : "same-site";
}

/** Enough for loopback: one host under any port is one site. */
function isSameSite(one: URL, other: URL): boolean {
  return one.protocol === other.protocol && one.hostname === other.hostname;
}

/** Nothing of these tests leaves the machine. */
function requireLoopback({ protocol, hostname, href }: URL): void {
  const isLoopback = protocol === "http:" && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  if (!isLoopback) throw new Error(`The browser was led to ${href}`);
}

function requireAllowed(url: URL, formAction: string | undefined, from: URL | undefined): void {
  if (formAction === undefined) return;
  const isAllowed = formAction
    .split(" ")
    .some((source) =>
      source === "'self'" ? url.origin === from?.origin : [url.origin, url.protocol].includes(source),
    );
  if (!isAllowed) throw new Error(`form-action ${formAction} does not let the form lead to ${url.href}`);
}

function fieldsIn(form: string): [string, string][] {
  const inputs = [...form.matchAll(/<input\b([^>]*)>/g)].map(([, attributes]) => attributes!);
  return inputs.map((one) => [attributeIn(one, "name") ?? "", attributeIn(one, "value") ?? ""]);
}

function attributeIn(attributes: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return value === undefined ? undefined : decoded(value);
}

/** What is read on the screen. */
export function textOf(html: string): string {
  const visible = html
    .replaceAll(/<(style|svg|title)\b[\s\S]*?<\/\1>/g, " ")
    .replaceAll(/<\/?(?:wbr|span|bdi|strong|code)\b[^>]*>/g, "")
    .replaceAll(/<[^>]*>/g, " ");
  return decoded(visible).replaceAll(/\s+/g, " ").trim();
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function decoded(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name]!);
}
