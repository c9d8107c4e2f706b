import type { Namespace } from "./names.ts";
import { isSamePerson, scopesOfRole } from "./principal.ts";
import type { Person, Principal, Scope, TokenPrincipal } from "./principal.ts";

/**
 * The whole policy: `may` decides, every door asks it. What SQL shows must be what `may` allows; a test compares the
 * two for every principal and visibility. Callers pass `undefined` for what is absent, so that a private and an absent
 * thing lead to the same answers.
 */
export type NamespaceVisibility = "public" | "private";
export type CollectionVisibility = "public" | "private";
export type SkillVisibility = "public" | "unlisted" | "private";

export interface NamespaceFacts {
  name: Namespace;
  visibility: NamespaceVisibility;
}

/** Who may create namespaces: the operator alone, whoever publishes all over a namespace, or anybody. */
export const namespaceCreators = ["operator", "tokens", "anyone"] as const;
export type NamespaceCreators = (typeof namespaceCreators)[number];

export type Resource =
  | { kind: "registry"; creators: NamespaceCreators }
  | { kind: "namespace"; namespace: NamespaceFacts }
  | { kind: "skill"; namespace: NamespaceFacts; path: string; visibility: SkillVisibility }
  | { kind: "collection"; namespace: NamespaceFacts; name: string; visibility: CollectionVisibility }
  /** A companion server: as visible as its namespace. */
  | { kind: "server"; namespace: NamespaceFacts }
  | { kind: "member"; namespace: NamespaceFacts; person: Person };

export const actions = [
  /** Open an address, read a skill or collection whose address is known. */
  "read",
  /** Find it in lists, search and prompts. */
  "list",
  /** See the publisher's view: also what is unlisted or has no current release. For a namespace: all of it. */
  "survey",
  /** Publish, yank, move `current`, change visibility; for a namespace: somewhere in it. */
  "publish",
  "delete-skill",
  "curate-collections",
  /** Companion servers belong to all of a namespace, so a token that is held to a path may not. */
  "register-servers",
  "read-audit",
  /** What agents searched and read, about all of a namespace. */
  "see-statistics",
  /** Title, description, visibility, deletion. */
  "manage-namespace",
  "manage-tokens",
  "manage-members",
  /** Everybody may remove themselves, with a token that has no path and all scopes of its role. */
  "remove-member",
  "manage-links",
  "set-quotas",
  /** Which groups of the operator's provider are members: who could say so could list skills before all of its people. */
  "map-groups",
  "create-namespace",
] as const;
export type Action = (typeof actions)[number];

const scopeOf: Readonly<Partial<Record<Action, Scope>>> = {
  survey: "skills:read",
  publish: "skills:publish",
  "delete-skill": "namespace:admin",
  "curate-collections": "collections:write",
  "register-servers": "skills:publish",
  "read-audit": "audit:read",
  "see-statistics": "namespace:admin",
  "manage-namespace": "namespace:admin",
  "manage-tokens": "namespace:admin",
  "manage-members": "namespace:admin",
  "remove-member": "namespace:admin",
  "manage-links": "namespace:admin",
};

/** All that a sign-in has to be allowed for an action; what no scope opens is not in it. */
export function scopesFor(action: Action): readonly Scope[] {
  const scope = scopeOf[action];
  return scope === undefined || scope === "skills:read" ? ["skills:read"] : ["skills:read", scope];
}

export function may(principal: Principal, action: Action, resource: Resource | undefined): boolean {
  // No list shows what is unlisted, not even to those who own it.
  if (action === "list" && resource?.kind === "skill" && resource.visibility === "unlisted") return false;
  if (resource === undefined) return false;
  if (principal.kind === "operator") return true;
  if (resource.kind === "registry") return action === "create-namespace" && mayCreate(principal, resource.creators);
  if (isMember(principal, resource)) return isAllowedToMember(principal, action, resource);
  return (action === "read" || action === "list") && isPublic(resource);
}

function mayCreate(principal: Principal, creators: NamespaceCreators): boolean {
  if (creators === "anyone") return true;
  if (creators === "operator" || principal.kind !== "token") return false;
  // Whoever creates a namespace is its admin for long; a job is trusted with some minutes in one that there is.
  const isOfJob = principal.publisher !== undefined;
  return !isOfJob && principal.below === "" && principal.scopes.includes("skills:publish");
}

type Insider = Extract<Principal, { kind: "token" | "link" }>;

/** Whether the principal has rights of its own here; a credential of another namespace counts as none. */
function isMember(principal: Principal, resource: Exclude<Resource, { kind: "registry" }>): principal is Insider {
  if (principal.kind !== "token" && principal.kind !== "link") return false;
  if (principal.namespace !== resource.namespace.name) return false;
  if (principal.kind === "link") {
    // Which skills a collection holds is a question to the database, asked in the same statement.
    if (resource.kind === "server") return principal.collection === undefined;
    return resource.kind !== "collection" || [undefined, resource.name].includes(principal.collection);
  }
  // What a token with a path sees of collections and servers is what strangers see: they are about what lies elsewhere.
  if (resource.kind === "collection" || resource.kind === "server") return principal.below === "";
  return resource.kind !== "skill" || `${resource.path}/`.startsWith(principal.below);
}

function isAllowedToMember(principal: Insider, action: Action, resource: Resource): boolean {
  if (action === "read" || action === "list") return resource.kind !== "member";
  if (principal.kind === "link") return false;
  const isAboutAll =
    action === "register-servers" ||
    action === "see-statistics" ||
    (action === "survey" && resource.kind === "namespace");
  if (isAboutAll && principal.below !== "") return false;
  if (action === "remove-member" && resource.kind === "member") {
    if (isWhole(principal) && isSamePerson(principal.member, resource.person)) return true;
  }
  const scope = scopeOf[action];
  return scope !== undefined && principal.scopes.includes(scope);
}

/** A membership ends with a token that stands for the person, not with one that was cut for a job. */
function isWhole({ below, role, scopes }: TokenPrincipal): boolean {
  return below === "" && scopesOfRole[role].every((scope) => scopes.includes(scope));
}

/** Nobody hands on what they do not have, be it as a token, a role or an invitation. */
export function mayGrant(principal: Principal, scopes: readonly Scope[]): boolean {
  if (principal.kind === "operator") return true;
  return principal.kind === "token" && scopes.every((scope) => principal.scopes.includes(scope));
}

/** Private wins over what is inside it. */
function isPublic(resource: Exclude<Resource, { kind: "registry" }>): boolean {
  if (resource.namespace.visibility === "private" || resource.kind === "member") return false;
  return resource.kind === "namespace" || resource.kind === "server" || resource.visibility !== "private";
}
