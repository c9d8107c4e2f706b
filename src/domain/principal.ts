import type { Namespace } from "./names.ts";

/**
 * Who is asking, and the whole policy: `may` decides, every door asks it. A row of a private and an absent
 * namespace must lead to the same answers, so callers pass `undefined` for both when nothing may be known.
 */
export type Role = "reader" | "publisher" | "admin";
export type NamespaceVisibility = "public" | "private";
export type SkillVisibility = "public" | "unlisted" | "private";

export type Principal =
  | { kind: "anonymous" }
  | { kind: "token"; id: string; namespace: Namespace; role: Role }
  | { kind: "operator" };

export type Action = "read" | "publish" | "administer" | "create-namespace";

export interface NamespaceFacts {
  name: Namespace;
  visibility: NamespaceVisibility;
}

const actionsOfRole: Readonly<Record<Role, readonly Action[]>> = {
  reader: ["read"],
  publisher: ["read", "publish"],
  admin: ["read", "publish", "administer"],
};

/** Whether the principal may do this in the namespace; a token of another namespace counts as anonymous. */
export function may(principal: Principal, action: Action, namespace: NamespaceFacts | undefined): boolean {
  if (principal.kind === "operator") return true;
  if (action === "create-namespace" || namespace === undefined) return false;
  if (principal.kind === "token" && principal.namespace === namespace.name) {
    return actionsOfRole[principal.role].includes(action);
  }
  return action === "read" && namespace.visibility === "public";
}

/** How a principal is written down beside what it did. */
export function formatPrincipal(principal: Principal): string {
  return principal.kind === "token" ? `token:${principal.id}` : principal.kind;
}

export function tokenIdOf(principal: Principal): string | undefined {
  return principal.kind === "token" ? principal.id : undefined;
}
