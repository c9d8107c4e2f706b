import type { Asker, AskerSettings } from "../auth/asker.ts";
import { principalOf, requireSecret, resourceOf, isChallenging, viewerOf } from "../auth/credential.ts";
import type { Credential } from "../auth/credential.ts";
import { parseMcpAddress } from "../domain/address.ts";
import type { McpAddress } from "../domain/address.ts";
import { may } from "../domain/policy.ts";
import type { Principal } from "../domain/principal.ts";
import { Problem, problem } from "../domain/problem.ts";
import type { LiveSettings } from "../live/settings.ts";
import type { Blobs } from "../storage/blobs.ts";
import { Catalog } from "../storage/catalog.ts";
import { findLink } from "../storage/links.ts";
import { useOf } from "../storage/token-use.ts";
import type { Gate } from "../storage/gate.ts";
import type { Reach } from "../storage/viewer.ts";
import { Inserts } from "./inserts.ts";
import type { Live } from "./live.ts";
import { Tally } from "./tally.ts";
import type { TallySettings } from "./tally.ts";
import type { Address, Visit } from "./visit.ts";

/**
 * Who is let in to an MCP address. Public addresses never ask for a token; `/me/mcp…`, and what is private or not
 * there, always do, both alike (RFC 9728, protocol.md 5). A registry token of another namespace counts as none.
 */
export interface McpBindings extends AskerSettings {
  db: D1Database;
  blobs: Blobs;
  /** Where people reach the registry, e.g. "https://skills.example.com". */
  origin: string;
  /** What streams need; absent where there are no Durable Objects. */
  live: LiveSettings | undefined;
  /** By what strangers are told apart: an address prefix. */
  clientKey: string;
  /** For what may be done after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
  tally: TallySettings;
}

/** @throws Problem before anything of the request but its address and credential was looked at */
export async function openVisit(request: Request, asker: Asker, bindings: McpBindings): Promise<Visit> {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/r/")) return openLink(request, asker, bindings);
  const typed = parseMcpAddress(pathname)!;
  const metadata = `${bindings.origin}/.well-known/oauth-protected-resource${pathname}`;
  const isPersonal = typed.door === "me";
  let credential: Credential;
  try {
    credential = asker.credential();
  } catch (error) {
    // Which other addresses challenge is a question to the database, which junk never reaches.
    throw isPersonal && error instanceof Problem ? withMetadata(error, metadata) : error;
  }
  if (isPersonal && credential.kind === "none") throw withMetadata(unauthorized(), metadata);
  const reach = { namespace: typed.namespace, collection: typed.collection };
  const host = new URL(request.url).host;
  const address = { ...reach, isPersonal, serverName: `${host}${pathname}`, path: pathname };
  const asked = { credential, audience: bindings.origin + pathname };
  return visitOf(address, asked, bindings, admit(typed, credential, reach, metadata));
}

/** The gate's judge: lets the caller in or throws what they get instead. */
function admit(typed: McpAddress, credential: Credential, reach: Reach, metadata: string): (gate: Gate) => void {
  const isPersonal = typed.door === "me";
  const isRoot = reach.namespace === undefined && !typed.isAbsent;
  return (gate) => {
    const challenges = isPersonal || (!isRoot && isChallenging(gate, reach));
    try {
      const principal = principalOf(credential, gate);
      if (isRoot) return;
      if (may(principal, "read", resourceOf(gate, reach)) && (!isPersonal || isAtHome(principal, reach))) return;
      // Whoever signed in for this very address would only be sent to sign in again.
      throw principal.kind === "operator" || credential.kind === "access" ? nothingHere() : unauthorized();
    } catch (error) {
      throw challenges && error instanceof Problem ? withMetadata(error, metadata) : error;
    }
  };
}

/** A personal address is for those who have rights of their own there. */
function isAtHome(principal: Principal, reach: Reach): boolean {
  return principal.kind === "operator" || (principal.kind === "token" && principal.namespace === reach.namespace);
}

/** `/r/{secret}/mcp`: what a dead link opened looks like what no link ever opened. @throws Problem `not_found` */
async function openLink(request: Request, asker: Asker, bindings: McpBindings): Promise<Visit> {
  await checkSentToken(asker.credential(), bindings);
  requireSecret("SIGNING_KEY", bindings.signingKey);
  const credential = asker.link;
  const link = credential === undefined ? undefined : await findLink(bindings.db, credential, Date.now());
  if (credential === undefined || link === undefined) throw nothingHere();
  // The server's name goes into logs and caches of clients, where the secret has no business.
  const path = `/r/${credential.id}/mcp`;
  const serverName = `${new URL(request.url).host}${path}`;
  const reach = { namespace: link.namespace, collection: link.collection };
  const asked = { credential, audience: nowhere };
  return visitOf({ ...reach, isPersonal: false, serverName, path }, asked, bindings, (gate) => {
    if (!may(principalOf(credential, gate), "read", resourceOf(gate, reach))) throw nothingHere();
  });
}

/** A link needs no token; but a bad one is refused everywhere, never silently dropped. */
async function checkSentToken(credential: Credential, bindings: McpBindings): Promise<void> {
  if (credential.kind !== "token" && credential.kind !== "access") return;
  const reach = { namespace: undefined, collection: undefined };
  const catalog = new Catalog(bindings.db, viewerOf(credential, Date.now(), nowhere), reach, (gate) => {
    principalOf(credential, gate);
  });
  await catalog.gate();
}

/** The address that no access token is for. */
const nowhere = "";

interface Asked {
  credential: Credential;
  audience: string;
}

function visitOf(address: Address, asked: Asked, bindings: McpBindings, judge: (gate: Gate) => void): Visit {
  const { credential, audience } = asked;
  const now = Date.now();
  const { db, blobs, clientKey, tally } = bindings;
  const noteUse = (gate: Gate) => {
    const written = useOf(db, gate.token, { now, address: clientKey, agent: tally.userAgent });
    if (written !== undefined) bindings.waitUntil(written);
  };
  const open = (noted: (gate: Gate) => void) =>
    new Catalog(db, viewerOf(credential, Date.now(), audience), address, (gate) => {
      noted(gate);
      judge(gate);
    });
  const catalog = open(noteUse);
  return {
    address,
    catalog,
    blobs,
    inserts: new Inserts(),
    tally: new Tally(address, tally, bindings),
    isModern: false,
    knowsLinks: false,
    isBatched: false,
    isAnonymous: credential.kind === "none",
    session: undefined,
    live: liveOf(credential, bindings, () => open(() => {})),
  };
}

function liveOf(credential: Credential, { live, clientKey }: McpBindings, reopen: () => Catalog): Live | undefined {
  if (live === undefined) return undefined;
  const principal = principalKeyOf(credential, clientKey);
  return { ...live, isOperator: credential.kind === "operator", principal, reopen };
}

/** A sign-in is one principal, however often its access token is renewed. */
function principalKeyOf(credential: Credential, clientKey: string): string {
  switch (credential.kind) {
    case "token":
    case "link":
      return `${credential.kind}:${credential.id}`;
    case "access":
      return `grant:${credential.grantId}`;
    default:
      return credential.kind === "none" ? clientKey : "operator";
  }
}

function unauthorized() {
  return problem("unauthorized", "This address needs a token of its namespace");
}

function nothingHere() {
  return problem("not_found", "There is nothing at this address");
}

/** RFC 9728, section 5.1: where a client learns how to get a token for this address. */
function withMetadata(refusal: Problem, metadata: string): Problem {
  const error = { unauthorized: "", invalid_token: 'error="invalid_token", ' }[refusal.code as string];
  if (error === undefined) return refusal;
  const challenge = `Bearer ${error}resource_metadata="${metadata}", scope="skills:read"`;
  return problem(refusal.code, refusal.message, { headers: { "www-authenticate": challenge } });
}
