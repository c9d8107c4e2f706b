import type { Scope } from "../domain/principal.ts";

/** What each scope lets an application do, for whoever is to allow it. */
export const sentenceOfScope: Readonly<Record<Scope, string>> = {
  "skills:read": "Read skills, also private ones, at this address",
  "skills:publish": "Publish skills and new versions of them, withdraw versions, and change who can see a skill",
  "collections:write": "Create, change and delete collections",
  "audit:read": "Read the audit log: who did what, when and from where",
  "namespace:admin": "Manage the namespace: its members, tokens, links and settings, and delete skills or all of it",
};

/** The same in as few words as fit beside others. */
export const labelOfScope: Readonly<Record<Scope, string>> = {
  "skills:read": "Read skills",
  "skills:publish": "Publish skills",
  "collections:write": "Change collections",
  "audit:read": "Read the audit log",
  "namespace:admin": "Manage the namespace",
};
