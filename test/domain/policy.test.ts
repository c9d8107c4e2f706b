import { describe, expect, it } from "vitest";

import type { Namespace } from "../../src/domain/names.ts";
import { actions, may } from "../../src/domain/policy.ts";
import type { Action, NamespaceFacts, Resource } from "../../src/domain/policy.ts";
import { scopesOfRole } from "../../src/domain/principal.ts";
import type { Principal, Role, TokenPrincipal } from "../../src/domain/principal.ts";
import { policyTable } from "./policy-table.ts";

const readmes = import.meta.glob<string>("../../README.md", { query: "?raw", import: "default", eager: true });

const mine = "mine" as Namespace;
const facts = (visibility: "public" | "private", name: Namespace = mine): NamespaceFacts => ({ name, visibility });

const self = { issuer: "https://id.example", subject: "self" };

function token(role: Role, more: Partial<TokenPrincipal> = {}): TokenPrincipal {
  const whole = { scopes: scopesOfRole[role], below: "", member: self };
  return { kind: "token", id: "0123456789abcdef", namespace: mine, role, ...whole, ...more };
}

const principals: [string, Principal][] = [
  ["anonymous", { kind: "anonymous" }],
  ["reader", token("reader")],
  ["publisher", token("publisher")],
  ["admin", token("admin")],
  ["operator", { kind: "operator" }],
];

/** What a row of the table is about. "in a private namespace": whatever the visibility of the thing itself. */
const resources: Record<string, Resource[]> = {
  "a public namespace": [{ kind: "namespace", namespace: facts("public") }],
  "a private namespace": [{ kind: "namespace", namespace: facts("private") }],
  "a public skill": [{ kind: "skill", namespace: facts("public"), path: "a/b", visibility: "public" }],
  "an unlisted skill": [{ kind: "skill", namespace: facts("public"), path: "a/b", visibility: "unlisted" }],
  "a private skill": [{ kind: "skill", namespace: facts("public"), path: "a/b", visibility: "private" }],
  "a skill of a private namespace": [
    { kind: "skill", namespace: facts("private"), path: "a/b", visibility: "public" },
    { kind: "skill", namespace: facts("private"), path: "a/b", visibility: "private" },
  ],
  "an unlisted skill of a private namespace": [
    { kind: "skill", namespace: facts("private"), path: "a/b", visibility: "unlisted" },
  ],
  "a public collection": [{ kind: "collection", namespace: facts("public"), name: "c", visibility: "public" }],
  "a private collection": [
    { kind: "collection", namespace: facts("public"), name: "c", visibility: "private" },
    { kind: "collection", namespace: facts("private"), name: "c", visibility: "public" },
    { kind: "collection", namespace: facts("private"), name: "c", visibility: "private" },
  ],
  "a server of a public namespace": [{ kind: "server", namespace: facts("public") }],
  "a server of a private namespace": [{ kind: "server", namespace: facts("private") }],
  "creators = operator": [{ kind: "registry", creators: "operator" }],
  "creators = tokens": [{ kind: "registry", creators: "tokens" }],
  "creators = anyone": [{ kind: "registry", creators: "anyone" }],
};

const ofNamespace = Object.values(resources)
  .flat()
  .filter(({ kind }) => kind !== "registry");
resources["another member"] = [{ kind: "member", namespace: facts("public"), person: { ...self, subject: "another" } }];
resources["oneself"] = [{ kind: "member", namespace: facts("private"), person: self }];
const kinds = Object.keys(resources).filter((kind) => !["another member", "oneself"].includes(kind));
resources["anything of a namespace"] = ofNamespace;

const rows = policyTable
  .trim()
  .split("\n")
  .slice(2)
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe("the policy", () => {
  it("is a table in which every action stands", () => {
    const named = new Set(rows.flatMap(([names]) => names!.split(", ").map((name) => name.replaceAll("`", ""))));
    expect([...named].sort()).toEqual([...actions].sort());
  });

  it("is the table that the README shows", () => {
    expect(readmes["../../README.md"]).toContain(policyTable.trim());
  });

  it.each(rows)("%s: %s", (names, what, ...cells) => {
    for (const name of names!.split(", ").map((text) => text.replaceAll("`", "") as Action)) {
      for (const about of what!.split("; ")) {
        expect(resources[about], about).toBeDefined();
        for (const resource of resources[about]!) {
          const found = principals.map(([, principal]) => (may(principal, name, resource) ? "yes" : ""));
          expect([name, about, ...found]).toEqual([name, about, ...cells]);
        }
      }
    }
  });

  it("covers every action about everything it can be about", () => {
    const covered = new Set(
      rows.flatMap(([names, what]) =>
        names!.split(", ").flatMap((name) => {
          const about = what === "anything of a namespace" ? kinds : what!.split("; ");
          return about.map((one) => `${name.replaceAll("`", "")} ${one}`);
        }),
      ),
    );
    const missing = actions.flatMap((action) =>
      kinds.flatMap((about) => {
        const isAllowedToSomebody = resources[about]!.some((resource) =>
          principals.some(([kind, principal]) => kind !== "operator" && may(principal, action, resource)),
        );
        return isAllowedToSomebody && !covered.has(`${action} ${about}`) ? [`${action}: ${about}`] : [];
      }),
    );
    expect(missing).toEqual([]);
  });

  it("allows nobody anything with what is not there", () => {
    for (const [, principal] of principals) {
      expect(actions.filter((action) => may(principal, action, undefined))).toEqual([]);
    }
  });

  it("counts a token of another namespace as none", () => {
    const foreign = token("admin", { namespace: "other" as Namespace });
    for (const [about, list] of Object.entries(resources)) {
      for (const resource of list.filter(({ kind }) => kind !== "registry")) {
        const of = (principal: Principal) => actions.filter((action) => may(principal, action, resource));
        expect([about, of(foreign)]).toEqual([about, of({ kind: "anonymous" })]);
      }
    }
  });

  it("holds a token with a path to the skills at and below it", () => {
    const held = token("publisher", { scopes: ["skills:read", "skills:publish"], below: "a/b/" });
    const skill = (path: string): Resource => ({
      kind: "skill",
      namespace: facts("private"),
      path,
      visibility: "private",
    });
    const open = ["a/b", "a/b/c", "a/b/c/d"].map((path) => may(held, "publish", skill(path)));
    expect(open).toEqual([true, true, true]);
    for (const path of ["a", "a/bc", "a/b-c", "b/a/b", "a/c"]) {
      expect([path, may(held, "publish", skill(path)), may(held, "read", skill(path))]).toEqual([path, false, false]);
    }
    expect(may(held, "read", { kind: "namespace", namespace: facts("private") })).toBe(true);
    const collection = (visibility: "public" | "private"): Resource => ({
      kind: "collection",
      namespace: facts("public"),
      name: "c",
      visibility,
    });
    expect(actions.filter((action) => may(held, action, collection("private")))).toEqual([]);
    expect(actions.filter((action) => may(held, action, collection("public")))).toEqual(["read", "list"]);
    const server = (visibility: "public" | "private"): Resource => ({ kind: "server", namespace: facts(visibility) });
    expect(actions.filter((action) => may(held, action, server("private")))).toEqual([]);
    expect(actions.filter((action) => may(held, action, server("public")))).toEqual(["read", "list"]);
    expect(may(held, "register-servers", { kind: "namespace", namespace: facts("public") })).toBe(false);
    expect(may(held, "create-namespace", { kind: "registry", creators: "tokens" })).toBe(false);
  });

  it("lets nobody end a membership with a token that has less than its role", () => {
    const oneself: Resource = { kind: "member", namespace: facts("private"), person: self };
    const of = (more: Partial<TokenPrincipal>) => may(token("publisher", more), "remove-member", oneself);
    expect(of({})).toBe(true);
    expect(of({ below: "a/" })).toBe(false);
    expect(of({ scopes: ["skills:read", "skills:publish"] })).toBe(false);
  });

  it("gives a token with scopes what they name", () => {
    const auditor = token("reader", { scopes: ["skills:read", "audit:read"] });
    const about: Resource = { kind: "namespace", namespace: facts("private") };
    expect(actions.filter((action) => may(auditor, action, about))).toEqual(["read", "list", "survey", "read-audit"]);
  });

  it("lets a read link read, and only where it leads", () => {
    const link = (collection: string | undefined): Principal => ({
      kind: "link",
      id: "x",
      namespace: mine,
      collection,
    });
    const inner: Resource = { kind: "collection", namespace: facts("private"), name: "c", visibility: "private" };
    const of = (principal: Principal, resource: Resource) => actions.filter((one) => may(principal, one, resource));
    expect(of(link(undefined), inner)).toEqual(["read", "list"]);
    expect(of(link("c"), inner)).toEqual(["read", "list"]);
    expect(of(link("d"), inner)).toEqual([]);
    const server: Resource = { kind: "server", namespace: facts("private") };
    expect([of(link(undefined), server), of(link("c"), server)]).toEqual([["read", "list"], []]);
    expect(of(link(undefined), { kind: "namespace", namespace: facts("private", "other" as Namespace) })).toEqual([]);
    expect(of(link(undefined), { kind: "registry", creators: "tokens" })).toEqual([]);
  });
});
