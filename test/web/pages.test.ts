import { html } from "hono/html";
import { describe, expect, it } from "vitest";

import { roles, scopes } from "../../src/domain/principal.ts";
import { accountPage } from "../../src/web/account-page.ts";
import type { Account } from "../../src/web/account-page.ts";
import { consentPage } from "../../src/web/consent-page.ts";
import type { Consent } from "../../src/web/consent-page.ts";
import { shownHost, shownText } from "../../src/web/foreign-text.ts";
import { invitationPage } from "../../src/web/invitation-page.ts";
import type { InvitationOffer } from "../../src/web/invitation-page.ts";
import { renderPage } from "../../src/web/layout.ts";
import type { Page } from "../../src/web/layout.ts";
import { messagePage } from "../../src/web/message-page.ts";
import { sentenceOfScope } from "../../src/web/scope-words.ts";
import { signInPage } from "../../src/web/sign-in-page.ts";
import type { SignIn } from "../../src/web/sign-in-page.ts";

/** The pages on which people decide: what they must say, and that nothing which others wrote can change what they are. */
const consent: Consent = {
  client: { name: "Claude Code", id: "https://claude.ai/oauth/client.json", domain: "claude.ai" },
  redirect: { uri: "https://claude.ai/api/mcp/auth_callback", host: "claude.ai", isLoopback: false },
  address: "https://skills.example.com/me/mcp/acme",
  scopes: ["skills:read"],
  roles: undefined,
  isEverywhere: false,
  refusedScopes: [],
  account: 'token "ci" of the namespace acme',
  until: "2027-03-12",
  handle: "handle-of-this-consent",
  returnTo: "/authorize?client_id=a&scope=b",
};
const loopback = { uri: "http://127.0.0.1:33418/callback", host: "127.0.0.1", isLoopback: true };

const signIn: SignIn = {
  returnTo: "/authorize?client_id=a&scope=b",
  problem: "The token is unknown, expired or revoked",
  provider: { name: "Example Accounts", href: "/sign-in/provider?return=%2Faccount" },
  purpose: "to connect an application to https://skills.example.com/me/mcp/acme",
};

const account: Account = {
  account: "ada@example.com at https://accounts.example.com",
  grants: [
    {
      id: "grant-1",
      client: "Claude Code",
      clientDomain: "claude.ai",
      address: "https://skills.example.com/me/mcp/acme",
      scopes: ["skills:read", "skills:publish"],
      createdAt: "2026-11-20T09:12:00.000Z",
      lastUsedAt: "2026-12-01T14:05:00.000Z",
      lastUsedFrom: "203.0.113.0/24",
      expiresAt: "2027-03-12T00:00:00.000Z",
    },
  ],
  next: "/account?before=1-a",
  memberships: [{ namespace: "acme", role: "publisher", via: "engineering" }],
};

const offer: InvitationOffer = {
  namespace: "acme",
  title: "Acme Corporation",
  role: "publisher",
  account: "ada@example.com at https://accounts.example.com",
  path: "/invitations/secret",
  signInHref: undefined,
  expiresAt: "2027-03-12T10:00:00.000Z",
};

const message = {
  title: "This sign-in cannot go on",
  text: "PKCE is needed",
  hint: "Update your application.",
  link: { href: "/account", label: "Your account" },
};

const pages: Record<string, () => Promise<Page>> = {
  consent: () => consentPage(consent),
  "consent with everything": () =>
    consentPage({
      ...consent,
      client: { ...consent.client, domain: undefined },
      redirect: loopback,
      refusedScopes: scopes,
    }),
  "sign-in": () => signInPage(signIn),
  "sign-in without a provider": () => signInPage({ returnTo: "/account" }),
  account: () => accountPage(account),
  "account without anything": () => accountPage({ ...account, grants: [], next: undefined, memberships: [] }),
  invitation: () => invitationPage(offer),
  "invitation before signing in": () => invitationPage({ ...offer, account: undefined, signInHref: "/sign-in" }),
  message: () => messagePage(message),
};

interface Element {
  tag: string;
  attributes: Record<string, string>;
}

/** As a parser of HTML sees it. */
async function elementsOf(page: Page): Promise<Element[]> {
  const found: Element[] = [];
  const reader = new HTMLRewriter().on("*", {
    element: ({ tagName, attributes }) => {
      found.push({ tag: tagName, attributes: Object.fromEntries([...attributes] as [string, string][]) });
    },
  });
  await reader.transform(new Response(page.html)).text();
  return found;
}

const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };
const decoded = (text: string) => text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!);

/** As a person reads it. */
function wordsOf({ html }: Page): string {
  const body = html
    .slice(html.indexOf("<main>"))
    .replaceAll(/<(?:wbr|\/?bdi|\/?strong|\/?span[^>]*|\/?time[^>]*|\/?code)>/g, "");
  return decoded(body.replaceAll(/<[^>]*>/g, " ")).replaceAll(/\s+/g, " ");
}

const tagsOf = (elements: Element[]) => elements.map(({ tag }) => tag).filter((tag) => tag !== "wbr");
const formsOf = (elements: Element[]) =>
  elements.filter(({ tag }) => tag === "form").map(({ attributes }) => attributes);
const hiddenOf = (elements: Element[], name: string) =>
  elements.filter(({ attributes }) => attributes["type"] === "hidden" && attributes["name"] === name);

describe("every page", () => {
  for (const [name, render] of Object.entries(pages)) {
    it(`forbids everything but its one style: ${name}`, async () => {
      const page = await render();
      const styles = [...page.html.matchAll(/<style>([^<]*)<\/style>/g)];
      expect(styles).toHaveLength(1);
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(styles[0]![1]));
      const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
      const policy = page.csp.split("; ");
      expect(policy.filter((part) => !part.startsWith("form-action "))).toEqual([
        "default-src 'none'",
        `style-src 'sha256-${hash}'`,
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]);
      expect(policy.filter((part) => part.startsWith("form-action 'self'"))).toHaveLength(1);
    });

    it(`runs and loads nothing: ${name}`, async () => {
      const page = await render();
      expect(page.html).not.toMatch(/<script|\sstyle=|\son[a-z]+=|javascript:|url\(|@import/i);
      const elements = await elementsOf(page);
      const loading = elements.filter(({ tag }) => ["script", "img", "link", "iframe", "base", "object"].includes(tag));
      expect(loading).toEqual([]);
      expect(elements.flatMap(({ attributes }) => Object.keys(attributes)).filter((one) => one === "src")).toEqual([]);
      expect(formsOf(elements).filter(({ method, action }) => method !== "post" || !/^\/[^/]/.test(action!))).toEqual(
        [],
      );
    });

    it(`can be read by everybody: ${name}`, async () => {
      const page = await render();
      const elements = await elementsOf(page);
      expect(page.html).toMatch(/^<!doctype html>/);
      expect(page.html).toMatch(/<title>[^<]+ · Skill Registry<\/title>/);
      expect(page.html).toContain('<meta name="viewport" content="width=device-width, initial-scale=1" />');
      expect(page.html).toContain('<meta name="robots" content="noindex" />');
      expect(elements.find(({ tag }) => tag === "html")?.attributes["lang"]).toBe("en");
      const count = (wanted: string) => elements.filter(({ tag }) => tag === wanted).length;
      expect([count("h1"), count("main"), count("title")]).toEqual([1, 1, 1]);
      const labels = elements.filter(({ tag }) => tag === "label").map(({ attributes }) => attributes["for"]);
      const inputs = elements.filter(({ tag, attributes }) => tag === "input" && attributes["type"] !== "hidden");
      expect(inputs.map(({ attributes }) => attributes["id"])).toEqual(labels);
      const ids = elements.map(({ attributes }) => attributes["id"]).filter((id) => id !== undefined);
      expect(new Set(ids).size).toBe(ids.length);
      const named = elements.flatMap(({ attributes }) =>
        [attributes["aria-describedby"], attributes["aria-labelledby"]].flatMap((list) => list?.split(" ") ?? []),
      );
      expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    });
  }
});

const hostile: Record<string, string> = {
  "a script": `<script>alert(1)</script>`,
  "a quote and an image": `"><img src=x onerror=alert(1)>`,
  "an apostrophe and a handler": `' autofocus onfocus='alert(1)`,
  "closing tags": `</title></style></bdi></main><form action=//evil.example>`,
  "entities and a comment": `&lt;script&gt; <!-- ]]>`,
  "changes of direction": "Claude\u202E\u2066\u200F edoC",
  "lines and controls": "one\r\ntwo\u2028three\0\u0007",
  "10,000 characters": "x".repeat(10_000),
  "nothing that can be seen": "\u{E0041}\u200B\uFEFF\u3164",
  "halves of characters": "\uD800 broken \uDFFF",
  nothing: "",
};

/** Of those, what must not reach a reader's eye. */
const hidden = "\u202E\u2066\u200F\u2028\0\u0007\u{E0041}\u200B\uFEFF\u3164";

describe("what others wrote", () => {
  it.each(Object.entries(hostile))("changes no element of any page: %s", async (_, text) => {
    const uri = `https://evil.example/cb?${text.replaceAll(/[\s\p{C}]/gu, "")}`;
    const poisoned: [Promise<Page>, Promise<Page>][] = [
      [
        consentPage({
          ...consent,
          client: { name: text, id: text, domain: text },
          redirect: { uri, host: text, isLoopback: false },
          address: text,
          account: text,
          until: text,
          handle: text,
          returnTo: text,
        }),
        consentPage({ ...consent, until: "soon" }),
      ],
      [
        signInPage({ returnTo: text, problem: text, provider: { name: text, href: text }, purpose: text }),
        signInPage(signIn),
      ],
      [
        accountPage({
          account: text,
          grants: account.grants.map((grant) => ({
            ...grant,
            id: text.toWellFormed(),
            client: text,
            clientDomain: text,
            address: text,
            lastUsedFrom: `${text}.`,
          })),
          next: text,
          memberships: [{ namespace: text, role: "reader", via: text }],
        }),
        accountPage(account),
      ],
      [
        invitationPage({ ...offer, namespace: text, title: `${text}.`, account: text, path: text }),
        invitationPage(offer),
      ],
      [messagePage({ title: text, text, hint: text, link: { href: text, label: text } }), messagePage(message)],
    ];
    for (const [bad, good] of poisoned) {
      const [page, elements] = [await bad, await elementsOf(await bad)];
      const ignored = (tag: string) => tag !== "bdi";
      expect(tagsOf(elements).filter(ignored)).toEqual(tagsOf(await elementsOf(await good)).filter(ignored));
      const attributes = elements.flatMap((element) => Object.keys(element.attributes));
      expect(attributes.filter((name) => /^(?:on|style$|src$|autofocus$)/.test(name))).toEqual([]);
      // Fields and addresses go back as they came; what is read has nothing that cannot be seen.
      const read = page.html.replaceAll(/(?:value|href|action)="[^"]*"/g, "");
      expect([...hidden].filter((character) => read.includes(character))).toEqual([]);
      expect(page.html).not.toContain("<img");
    }
  });

  it("is shown on one line, bounded, and with every hidden character named", () => {
    expect(shownText("  Claude \r\n\t Code ")).toBe("Claude Code");
    expect(shownText("Claude\u202Eedoc\u200B")).toBe("Claude[U+202E]edoc[U+200B]");
    expect(shownText("a\u{E0041}b\u00ADc\uD800d\uE000e\u2800f\0g")).toBe(
      "a[U+E0041]b[U+00AD]c[U+D800]d[U+E000]e[U+2800]f[U+0000]g",
    );
    expect([...shownText("x".repeat(10_000))]).toHaveLength(100);
    expect([...shownText("\u202E".repeat(10_000))]).toHaveLength(100);
    expect(shownText("🦊".repeat(101))).toBe(`${"🦊".repeat(99)}…`);
    expect(shownText("x".repeat(100))).toBe("x".repeat(100));
    expect(shownText(`Z${"\u0337".repeat(50)}algo`)).toBe(`Z${"\u0337".repeat(3)}algo`);
    expect(shownText("Größe 東京 नमस्ते ❤️")).toBe("Größe 東京 नमस्ते ❤");
  });

  it("is a host only with its end, which says whose it is", () => {
    const host = `claude.ai.${"login.".repeat(100)}evil.example`;
    expect(shownHost(host)).toMatch(/^….*\.evil\.example$/);
    expect([...shownHost(host)]).toHaveLength(253);
    expect(shownHost("claude.ai")).toBe("claude.ai");
    expect(shownHost("claude.ai\u202E")).toBe("claude.ai[U+202E]");
  });

  it("goes back in hidden fields as it came", async () => {
    for (const text of Object.values(hostile).filter((one) => one.isWellFormed() && !/[\r\0]/.test(one))) {
      const elements = await elementsOf(await consentPage({ ...consent, handle: text, returnTo: text }));
      const values = [...hiddenOf(elements, "handle"), ...hiddenOf(elements, "return")];
      expect(values.map(({ attributes }) => decoded(attributes["value"]!))).toEqual([text, text]);
    }
  });
});

describe("where a form may lead", () => {
  const policyFor = async (...formTargets: string[]) => {
    const { csp } = await renderPage({ title: "A", body: html`<h1>A</h1>`, formTargets });
    return csp.split("; ").find((part) => part.startsWith("form-action"));
  };

  it("is here, and where the page says", async () => {
    expect(await policyFor()).toBe("form-action 'self'");
    expect(await policyFor("https://claude.ai", "http://127.0.0.1:33418", "http://localhost:1")).toBe(
      "form-action 'self' https://claude.ai http://127.0.0.1:33418 http://localhost:1",
    );
  });

  it("is a port of any host for an IPv6 address, which a policy cannot write", async () => {
    expect(await policyFor("http://[::1]:33418")).toBe("form-action 'self' http://*:33418");
    expect(await policyFor("http://[::1]")).toBe("form-action 'self' http://*");
  });

  it("is a program on the device by its own scheme", async () => {
    expect(await policyFor("cursor:")).toBe("form-action 'self' cursor:");
  });

  it.each([
    "https://claude.ai/",
    "https://claude.ai/path",
    "https://claude.ai:443",
    "https://Claude.ai",
    "https://user@claude.ai",
    "https://claude.ai?x",
    "https://claude.ai https://evil.example",
    "https://claude.ai; script-src *",
    "https://a;script-src",
    "https://a,b",
    "https://*",
    "https://*.example",
    "https://clаude.ai",
    "http://1.1",
    "*",
    "null",
    "'unsafe-inline'",
    "",
    "http:",
    "https:",
    "data:",
    "blob:",
    "javascript:",
    "file:///tmp",
    "cursor://callback",
    "ftp://example.com",
  ])("is refused: %j", async (target) => {
    await expect(policyFor(target)).rejects.toThrow("no origin");
  });
});

describe("the consent page", () => {
  it("says who asks, at which address access is sent where, for whom, and until when", async () => {
    const page = await consentPage(consent);
    const words = wordsOf(page);
    expect(words).toContain("Claude Code of claude.ai");
    expect(words).toContain("It chose its name itself");
    expect(words).toContain("Access is sent to claude.ai");
    expect(words).toContain("For the address https://skills.example.com/me/mcp/acme");
    expect(words).toContain('You are signed in as token "ci" of the namespace acme');
    expect(words).toContain("It ends by itself 12 March 2027");
    expect(words).toContain(sentenceOfScope["skills:read"]);
    expect(words).toContain("no answer is remembered");
    expect(page.html).toContain('<a href="/account">');
    expect(page.html).toContain('<time datetime="2027-03-12">');
    expect(words).not.toMatch(/nobody has checked|listening|another host|asked for more/);
  });

  it("lets deny be as easy as allow, and sends the handle with either", async () => {
    const elements = await elementsOf(await consentPage(consent));
    const buttons = elements.filter(({ attributes }) => attributes["name"] === "decision");
    expect(buttons.map(({ tag, attributes }) => [tag, attributes["value"]])).toEqual([
      ["button", "deny"],
      ["button", "approve"],
    ]);
    expect(hiddenOf(elements, "handle").map(({ attributes }) => attributes["value"])).toEqual([consent.handle]);
    expect(formsOf(elements).map(({ action }) => action)).toEqual(["/sign-out", "/authorize"]);
    expect(hiddenOf(elements, "return").map(({ attributes }) => decoded(attributes["value"]!))).toEqual([
      consent.returnTo,
    ]);
    expect(elements.filter(({ attributes }) => "checked" in attributes || "autofocus" in attributes)).toEqual([]);
  });

  it("says that nobody has checked the name of a client that named itself", async () => {
    const words = wordsOf(await consentPage({ ...consent, client: { name: "Claude", id: "x", domain: undefined } }));
    expect(words).toContain("Claude This application named itself; nobody has checked the name.");
    const nameless = wordsOf(await consentPage({ ...consent, client: { name: " ", id: "x", domain: undefined } }));
    expect(nameless).toContain("An application without a name");
  });

  it("warns of this computer, of another host than the client's, and of programs that claim a scheme", async () => {
    const local = await consentPage({ ...consent, redirect: loopback });
    expect(wordsOf(local)).toContain(
      "This computer (127.0.0.1) Any program on this computer could be listening there.",
    );
    expect(local.csp).toContain("form-action 'self' http://127.0.0.1:33418;");
    const redirect = { uri: "https://other.example/cb", host: "other.example", isLoopback: false };
    const elsewhere = await consentPage({ ...consent, redirect });
    expect(wordsOf(elsewhere)).toContain("other.example This is another host than the application's own.");
    const program = { uri: "cursor://anysphere.cursor/callback", host: "anysphere.cursor", isLoopback: false };
    const installed = await consentPage({ ...consent, redirect: program });
    expect(wordsOf(installed)).toContain("A program on this device, whichever opens cursor: addresses");
    expect(installed.csp).toContain("form-action 'self' cursor:;");
  });

  it("lets the policy name the redirect's origin and nothing else of it", async () => {
    const redirect = { uri: "https://evil.example/%3Bscript-src/'*'", host: "evil.example", isLoopback: false };
    const { csp } = await consentPage({ ...consent, redirect });
    expect(csp).toContain("form-action 'self' https://evil.example; frame-ancestors");
  });

  it("has a sentence for every scope, and keeps apart what is asked for in vain", async () => {
    const words = wordsOf(
      await consentPage({ ...consent, scopes: scopes.slice(0, 2), refusedScopes: scopes.slice(2) }),
    );
    const [given, refused] = words.split("It asked for more, which you cannot give here");
    for (const scope of scopes.slice(0, 2)) expect(given).toContain(sentenceOfScope[scope]);
    for (const scope of scopes.slice(2)) expect(refused).toContain(sentenceOfScope[scope]);
    expect(new Set(Object.values(sentenceOfScope)).size).toBe(scopes.length);
  });

  it("shows a hostile label of a token with the namespace that it belongs to", async () => {
    const label = `ci" of the namespace other\u202E${"x".repeat(200)}`;
    const words = wordsOf(await consentPage({ ...consent, account: `token "${label}" of the namespace acme` }));
    expect(words).toContain("other[U+202E]xxx");
    expect(words).toContain('x" of the namespace acme Use another account');
  });
});

describe("the sign-in page", () => {
  it("offers the provider first, and takes a token that no browser keeps", async () => {
    const page = await signInPage(signIn);
    const elements = await elementsOf(page);
    const words = wordsOf(page);
    expect(words).toContain("Sign in to connect an application to https://skills.example.com/me/mcp/acme");
    expect(words.indexOf("Sign in with Example Accounts")).toBeLessThan(words.indexOf("Registry token"));
    expect(words).toContain("begins with skr_");
    const input = elements.find(({ attributes }) => attributes["name"] === "token")!;
    expect(input.attributes).toMatchObject({ type: "password", autocomplete: "off", required: "" });
    expect(input.attributes["value"]).toBeUndefined();
    expect(formsOf(elements).map(({ action }) => action)).toEqual(["/sign-in"]);
    expect(hiddenOf(elements, "return").map(({ attributes }) => decoded(attributes["value"]!))).toEqual([
      signIn.returnTo,
    ]);
  });

  it("says what was wrong where a screen reader hears it", async () => {
    const elements = await elementsOf(await signInPage(signIn));
    const input = elements.find(({ attributes }) => attributes["name"] === "token")!;
    expect(input.attributes).toMatchObject({ "aria-invalid": "true", "aria-describedby": "token-problem token-help" });
    expect(elements.find(({ attributes }) => attributes["role"] === "alert")?.attributes["id"]).toBe("token-problem");
    const before = await elementsOf(await signInPage({ returnTo: "/account" }));
    expect(before.filter(({ attributes }) => "aria-invalid" in attributes || "role" in attributes)).toEqual([]);
  });
});

describe("the account page", () => {
  it("tells of each application where, what and when, and takes its access back by a form", async () => {
    const page = await accountPage(account);
    const words = wordsOf(page);
    expect(words).toContain("Signed in as ada@example.com at https://accounts.example.com");
    expect(words).toContain("Claude Code of claude.ai Withdraw access of Claude Code");
    expect(words).toContain("Address https://skills.example.com/me/mcp/acme");
    expect(words).toContain("May Read skills Publish skills");
    expect(words).toContain("Allowed 20 November 2026, 09:12 UTC");
    expect(words).toContain("Last used 1 December 2026, 14:05 UTC from 203.0.113.0/24");
    expect(words).toContain("Ends 12 March 2027, 00:00 UTC");
    expect(words).toContain("acme publisher, by the group engineering");
    expect(page.html).toContain('<time datetime="2026-12-01T14:05:00.000Z">');
    expect(page.html).toContain('<a href="/account?before=1-a">');
    const forms = formsOf(await elementsOf(page));
    expect(forms.map(({ action }) => action)).toEqual(["/sign-out", "/account/grants/grant-1/revoke"]);
  });

  it("says what was never used, has no end, or whose name nobody has checked", async () => {
    const [grant] = account.grants;
    const unused = { ...grant!, clientDomain: undefined, lastUsedAt: null, lastUsedFrom: null, expiresAt: null };
    const words = wordsOf(await accountPage({ ...account, grants: [unused] }));
    expect(words).toContain("Claude Code Its name was not checked");
    expect(words).toContain("Last used Never");
    expect(words).not.toContain("Ends");
  });

  it("says so when nothing has access", async () => {
    const words = wordsOf(await accountPage({ ...account, grants: [], next: undefined, memberships: [] }));
    expect(words).toContain("Applications with access None.");
    expect(words).not.toContain("Namespaces");
  });
});

describe("the invitation page", () => {
  it.each(roles)("says whose namespace it is and what one may do there: %s", async (role) => {
    const page = await invitationPage({ ...offer, role });
    const words = wordsOf(page);
    expect(words).toContain("Join the namespace acme?");
    expect(words).toContain("acme, titled Acme Corporation");
    expect(words).toMatch(new RegExp(`Your role ${role} An? ${role} reads`));
    expect(words).toContain("12 March 2027, 10:00 UTC");
    expect(words).toContain("agents that you connect to /me/mcp are shown the skills of this namespace");
    expect(words).toContain("You are signed in as ada@example.com");
    expect(formsOf(await elementsOf(page)).map(({ action }) => action)).toEqual([offer.path]);
  });

  it("cannot be accepted before signing in as a person", async () => {
    const before = await invitationPage({ ...offer, account: undefined, signInHref: "/sign-in/provider?return=x" });
    expect(formsOf(await elementsOf(before))).toEqual([]);
    expect(before.html).toContain('href="/sign-in/provider?return=x"');
    const nowhere = await invitationPage({ ...offer, account: undefined });
    expect(formsOf(await elementsOf(nowhere))).toEqual([]);
    expect(wordsOf(nowhere)).toContain("nobody can sign in as a person");
  });
});

describe("the message page", () => {
  it("says what happened, what to do, and where to go on", async () => {
    const page = await messagePage(message);
    expect(wordsOf(page)).toContain(`${message.title} ${message.text} ${message.hint} ${message.link.label}`);
    expect(page.html).toContain('href="/account"');
    const short = await messagePage({ title: "Done", text: "It is." });
    expect(wordsOf(short).trim()).toBe("Done It is.");
  });
});
