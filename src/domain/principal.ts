import type { Namespace } from "./names.ts";

/** Who is asking. What they may do is decided in policy.ts, from these facts and nothing else. */
export type Principal =
  | { kind: "anonymous" }
  | TokenPrincipal
  /** Whoever holds a read link: a reader of its namespace, or (`collection`) of one collection of it. */
  | { kind: "link"; id: string; namespace: Namespace; collection: string | undefined }
  | { kind: "operator" };

/** A token, or whoever signed in: with a token, whose rights they then have, or as a person. */
export interface TokenPrincipal {
  kind: "token";
  /** Of the token; "" for a person. */
  id: string;
  /** The sign-in through which it came, which has of those rights what was allowed. */
  grant?: string | undefined;
  /** Undefined for a person who is no member of the namespace that the request is about. */
  namespace: Namespace | undefined;
  role: Role;
  scopes: readonly Scope[];
  /** "", or a path with its closing slash: the token counts for the skills at and below it only. */
  below: string;
  /** The member on whose behalf it was minted. */
  member: Person | undefined;
  /** The trusted publisher for whose job it was minted. */
  publisher?: string | undefined;
}

/** A person, as an OpenID issuer names them. */
export interface Person {
  issuer: string;
  subject: string;
}

/** Each may what the one before it may, and more. */
export const roles = ["reader", "publisher", "admin"] as const;
export type Role = (typeof roles)[number];

/** What a token may be allowed, finer than a role. */
export const scopes = ["skills:read", "skills:publish", "collections:write", "audit:read", "namespace:admin"] as const;
export type Scope = (typeof scopes)[number];

export const scopesOfRole: Readonly<Record<Role, readonly Scope[]>> = {
  reader: ["skills:read"],
  publisher: ["skills:read", "skills:publish", "collections:write"],
  admin: scopes,
};

/** Scopes that make sense for one path; the others concern the whole namespace. */
export const scopesBelowPath: readonly Scope[] = ["skills:read", "skills:publish"];

/** How a principal is written down beside what it did. */
export function formatPrincipal(principal: Principal): string {
  if (principal.kind === "token") {
    if (principal.grant !== undefined) return `grant:${principal.grant}`;
    return principal.id === "" ? `person:${principal.member?.subject}` : `token:${principal.id}`;
  }
  return principal.kind === "link" ? `link:${principal.id}` : principal.kind;
}

/** Somebody who signed in as themselves, and not with a token. */
export function isPerson(principal: Principal): principal is TokenPrincipal & { member: Person } {
  return principal.kind === "token" && principal.id === "" && principal.member !== undefined;
}

export function memberOf(principal: Principal): Person | undefined {
  return principal.kind === "token" ? principal.member : undefined;
}

export function isSamePerson(one: Person | undefined, other: Person): boolean {
  return one !== undefined && one.issuer === other.issuer && one.subject === other.subject;
}
