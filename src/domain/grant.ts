import type { SkillPath } from "./names.ts";
import { problem } from "./problem.ts";
import { roles, scopesBelowPath, scopesOfRole } from "./principal.ts";
import type { Role, Scope } from "./principal.ts";

/** What a token is to be allowed, as stored: a role, or scopes of its own under the least role that has them. */
export interface Grant {
  role: Role;
  /** Undefined: those of the role. */
  explicitScopes: readonly Scope[] | undefined;
  /** "", or a path with its closing slash. */
  below: string;
}

export interface WantedGrant {
  role: Role | undefined;
  scopes: readonly Scope[] | undefined;
  path: SkillPath | undefined;
}

/** @throws Problem `invalid_request` for rights that contradict each other */
export function readGrant({ role, scopes, path }: WantedGrant): Grant {
  if (role !== undefined && scopes !== undefined) {
    throw problem("invalid_request", "A token has a role or scopes, not both; leave one of them out");
  }
  const below = path === undefined ? "" : `${path}/`;
  if (scopes !== undefined) return grantOf(["skills:read", ...scopes], below);
  const wanted = role ?? "publisher";
  if (path === undefined) return { role: wanted, explicitScopes: undefined, below };
  if (wanted === "admin") {
    throw problem(
      "invalid_request",
      "A token with a path cannot be admin, which concerns the whole namespace; use publisher",
    );
  }
  return grantOf(
    scopesOfRole[wanted].filter((scope) => scopesBelowPath.includes(scope)),
    below,
  );
}

export function scopesOf({ role, explicitScopes }: Pick<Grant, "role" | "explicitScopes">): readonly Scope[] {
  return explicitScopes ?? scopesOfRole[role];
}

function grantOf(wanted: readonly Scope[], below: string): Grant {
  const explicitScopes = [...new Set(wanted)];
  const tooWide = explicitScopes.find((scope) => !scopesBelowPath.includes(scope));
  if (below !== "" && tooWide !== undefined) {
    const rule = `A token with a path may have ${scopesBelowPath.join(" and ")}`;
    throw problem("invalid_request", `${rule}; "${tooWide}" concerns the whole namespace, so leave out one of them`);
  }
  const role = roles.find((name) => explicitScopes.every((scope) => scopesOfRole[name].includes(scope)))!;
  return { role, explicitScopes, below };
}
