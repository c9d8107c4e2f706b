import { principalOf, resourceOf } from "../auth/credential.ts";
import { apiAddress, parseMcpAddress } from "../domain/address.ts";
import type { McpAddress } from "../domain/address.ts";
import type { Namespace } from "../domain/names.ts";
import { may } from "../domain/policy.ts";
import { scopes as allScopes, scopesOfRole } from "../domain/principal.ts";
import type { Role, Scope, TokenPrincipal } from "../domain/principal.ts";
import { Catalog } from "../storage/catalog.ts";
import { listMemberships } from "../storage/grants.ts";
import type { SignIn } from "../storage/sign-ins.ts";
import type { Viewer } from "../storage/viewer.ts";

/** What somebody could allow a client at an address, of what it asks for: never more than they have there themselves. */
export interface Allowance {
  granted: readonly Scope[];
  refused: readonly Scope[];
  /** As whom they allow it. */
  principal: TokenPrincipal;
  /** Of the address; undefined: an address of the whole registry. */
  namespace: Namespace | undefined;
  /** Of a person at the API: the namespaces for which they allow it, and what they are there. */
  roles: Readonly<Record<Namespace, Role>> | undefined;
}

/** The addresses that tokens can be for: every MCP address but read links, and the API. */
export function isAudience(origin: string, resource: string): boolean {
  const path = pathIn(origin, resource);
  return path !== undefined && (path === apiAddress || parseMcpAddress(path) !== undefined);
}

/**
 * The audiences whose every name is one by the rules of names. Nothing else is there, so only such an address may stand
 * on a page before anybody was asked: of any other, the link that led there chose the words.
 */
export function isNameable(origin: string, resource: string): boolean {
  const path = pathIn(origin, resource);
  if (path === undefined) return false;
  if (path === apiAddress) return true;
  const address = parseMcpAddress(path);
  return address !== undefined && !address.isAbsent && address.collection !== "";
}

/** Undefined where they have no right at all: what is private and what is not there are alike. */
export async function findAllowance(
  db: D1Database,
  visitor: SignIn,
  { origin, audience, asked }: { origin: string; audience: string; asked: readonly string[] },
): Promise<Allowance | undefined> {
  const path = pathIn(origin, audience)!;
  const wanted = ["skills:read" as const, ...allScopes.filter((one) => one !== "skills:read" && asked.includes(one))];
  const address = path === apiAddress ? "api" : parseMcpAddress(path);
  if (address === undefined) return undefined;
  const found = address === "api" ? await rightsAtApi(db, visitor) : await rightsAtMcp(db, visitor, address);
  if (found === undefined) return undefined;
  const { principal, namespace, scopes, roles } = found;
  const granted = wanted.filter((one) => scopes.includes(one));
  return { granted, refused: wanted.filter((one) => !scopes.includes(one)), principal, namespace, roles };
}

interface Found {
  principal: TokenPrincipal;
  namespace: Namespace | undefined;
  scopes: readonly Scope[];
  roles?: Readonly<Record<Namespace, Role>>;
}

/** Agents only read, whoever they act for. */
const scopesAtMcp: readonly Scope[] = ["skills:read"];

async function rightsAtMcp(db: D1Database, visitor: SignIn, address: McpAddress): Promise<Found | undefined> {
  const { namespace, collection, door, isAbsent } = address;
  if (isAbsent) return undefined;
  const reach = { namespace, collection };
  const gate = await new Catalog(db, viewerOfVisitor(visitor), reach, () => {}).gate();
  const principal = principalOf(seen, gate) as TokenPrincipal;
  if (namespace === undefined) return { principal, namespace, scopes: scopesAtMcp };
  const isAtHome = door === "mcp" || principal.namespace === namespace;
  if (!isAtHome || !may(principal, "read", resourceOf(gate, reach))) return undefined;
  return { principal, namespace, scopes: scopesAtMcp };
}

/** A person may allow what they may do anywhere: in each namespace it counts as far as their role there goes. */
async function rightsAtApi(db: D1Database, visitor: SignIn): Promise<Found | undefined> {
  const reach = { namespace: undefined, collection: undefined };
  const gate = await new Catalog(db, viewerOfVisitor(visitor), reach, () => {}).gate();
  const principal = principalOf(seen, gate) as TokenPrincipal;
  if (visitor.person === undefined) return { principal, namespace: undefined, scopes: principal.scopes };
  const memberships = await listMemberships(db, visitor.person, Date.now());
  if (memberships.length === 0) return undefined;
  const scopes = allScopes.filter((one) => memberships.some(({ role }) => scopesOfRole[role].includes(one)));
  const roles = Object.fromEntries(memberships.map(({ namespace, role }) => [namespace, role]));
  return { principal, namespace: undefined, scopes, roles };
}

export function viewerOfVisitor({ token, person }: SignIn): Viewer {
  const tokenId = token?.id ?? null;
  return {
    everything: false,
    tokenId,
    tokenHash: token?.secretHash ?? null,
    access: null,
    person: person ?? null,
    now: Date.now(),
  };
}

/** The gate has looked at the visitor by itself. */
const seen = { kind: "token", id: "", secretHash: "" } as const;

function pathIn(origin: string, resource: string): string | undefined {
  if (!resource.startsWith(`${origin}/`) || /[?#\\]/.test(resource) || !URL.canParse(resource)) return undefined;
  return new URL(resource).href === resource ? resource.slice(origin.length) : undefined;
}
