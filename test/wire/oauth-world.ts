import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build, migrate, operator, start } from "../bench/machine.ts";
import type { Machine } from "../bench/machine.ts";
import { Browser, textOf } from "./browser.ts";
import type { SourceSkill } from "./generated-skills.ts";
import { skill } from "./library.ts";
import type { Decide } from "./oauth-host.ts";
import { startOpenIdProvider } from "./openid-provider.ts";
import type { OpenIdProvider } from "./openid-provider.ts";
import { RegistryClient } from "./registry-client.ts";

/**
 * The Worker as it is deployed, for people who sign in: with an OpenID provider, and with hosts that publish metadata
 * documents, all of it on this machine. `wrangler dev` could not be told that a public name is answered here.
 */
export interface World {
  machine: Machine;
  operator: RegistryClient;
  provider: OpenIdProvider;
  /** What the Worker asked other hosts for, but the provider. */
  asked: string[];
  stop(): Promise<void>;
}

/** Nobody listens there: the scripted browser stops at it. */
export const redirectUri = "http://127.0.0.1:33418/callback";
export const documentUrl = "https://client.example.com/oauth/client.json";

export async function startWorld(): Promise<World> {
  const state = await mkdtemp(join(tmpdir(), "oauth-"));
  const provider = await startOpenIdProvider();
  const asked: string[] = [];
  const outside = async (request: Request): Promise<Response> => {
    if (request.url.startsWith(`${provider.issuer}/`)) return fetch(request);
    asked.push(request.url);
    return request.url === documentUrl ? Response.json(document) : new Response(null, { status: 404 });
  };
  const machine = await start(await build("src/index.ts"), state, { vars: provider.vars, outside });
  await migrate(machine.database);
  const stop = async () => {
    await machine.stop();
    await provider.stop();
    await rm(state, { recursive: true, force: true });
  };
  return { machine, operator: new RegistryClient(machine.origin, operator), provider, asked, stop };
}

/** On loopback any port counts, so programs that choose theirs have a document too. */
const document = {
  client_id: documentUrl,
  client_name: "A host with a document",
  redirect_uris: [redirectUri, "http://127.0.0.1/oauth/callback", "http://localhost/oauth/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

export const secretPlans: SourceSkill = skill("secret-plans", "Plan what nobody else may know of yet.", {
  body: "Tell nobody.",
});

/** A private namespace with one skill, which a private collection serves too, and a reader's token. */
export async function createPrivate(
  registry: RegistryClient,
  namespace: string,
  published = secretPlans,
): Promise<string> {
  await registry.createNamespace(namespace, "private");
  await registry.publish(namespace, published);
  const collection = { title: "Team", visibility: "private", skills: [{ path: published.path }] };
  const response = await registry.json("PUT", `/namespaces/${namespace}/collections/team`, collection);
  if (!response.ok) throw new Error(`collection: ${response.status} ${await response.text()}`);
  return registry.mintToken(namespace, "reader");
}

/** Every kind of address at which somebody has to sign in. */
export const privateAddresses = [
  { kind: "the root", pathOf: () => "/me/mcp" },
  { kind: "a namespace", pathOf: (namespace: string) => `/mcp/${namespace}` },
  { kind: "a namespace that is unknown to strangers", pathOf: (namespace: string) => `/me/mcp/${namespace}` },
  { kind: "a collection", pathOf: (namespace: string) => `/mcp/${namespace}/team` },
  { kind: "a collection that is unknown to strangers", pathOf: (namespace: string) => `/me/mcp/${namespace}/team` },
] as const;

/** Signs in with a token, unless the browser is signed in already, reads what is asked, and allows it. */
export function allowWith(browser: Browser, token: string): Decide {
  return async (address) => {
    await browser.open(address);
    if (browser.shown.url.pathname === "/sign-in") await browser.press("Sign in with this token", { token });
    return allow(browser, address);
  };
}

/** The same as somebody whom the provider knows. */
export function allowAs(browser: Browser, person: string): Decide {
  return async (address) => {
    await browser.open(address);
    if (browser.shown.url.pathname === "/sign-in") {
      await browser.follow("Sign in with Example Accounts");
      await browser.press(`Go on as ${person}`);
    }
    return allow(browser, address);
  };
}

async function allow(browser: Browser, address: URL): Promise<URL> {
  const resource = address.searchParams.get("resource")!;
  const text = textOf(browser.shown.html);
  if (!text.includes("Allow this application access?") || !text.includes(resource)) {
    throw new Error(`This does not ask whether to allow ${resource}: ${browser.shown.status} ${text}`);
  }
  return (await browser.press("Allow")).url;
}
