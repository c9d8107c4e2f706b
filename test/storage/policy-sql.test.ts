import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { principalOf, viewerOf } from "../../src/auth/credential.ts";
import type { Credential } from "../../src/auth/credential.ts";
import { parseAccessToken } from "../../src/auth/access-token.ts";
import { apiAddress } from "../../src/domain/address.ts";
import { parseSecret } from "../../src/auth/tokens.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { may } from "../../src/domain/policy.ts";
import type { Action, CollectionVisibility, NamespaceVisibility } from "../../src/domain/policy.ts";
import { scopes } from "../../src/domain/principal.ts";
import type { Person, Principal } from "../../src/domain/principal.ts";
import { movingUri, parseSkillUri, pinnedUri } from "../../src/domain/uri.ts";
import type { Version } from "../../src/domain/version.ts";
import { termsOf } from "../../src/domain/search/words.ts";
import { Catalog } from "../../src/storage/catalog.ts";
import { Collections } from "../../src/storage/collections.ts";
import { findSkills } from "../../src/storage/finding.ts";
import { Servers } from "../../src/storage/servers.ts";
import type { Reach } from "../../src/storage/viewer.ts";
import { everyNth } from "../campaigns/scale.ts";
import { api, origin, seedSkill, skillMdOf } from "../harness.ts";
import { signInAt } from "../web/oauth-client.ts";

/** What SQL shows is what `may` allows: for every kind of caller, and everything that can be public or private. */
const namespaces = { public: "sql-public" as Namespace, private: "sql-private" as Namespace };
const version = "1.0.0" as Version;
const visibilities = ["public", "unlisted", "private"] as const;
const skills = visibilities.flatMap((visibility) => [
  { path: `team/${visibility}-one` as SkillPath, visibility, isPinned: true, hasCurrent: true },
  { path: `rest/${visibility}-two` as SkillPath, visibility, isPinned: false, hasCurrent: true },
  { path: `team/${visibility}-void` as SkillPath, visibility, isPinned: false, hasCurrent: false },
]);
type Skill = (typeof skills)[number];
const shown = skills.filter(({ hasCurrent }) => hasCurrent);
const desks: [string, CollectionVisibility][] = [
  ["all-private", "private"],
  ["all-public", "public"],
  ["desk-private", "private"],
  ["desk-public", "public"],
];

interface Caller {
  credential: Credential;
  /** The address that an access token is for. */
  audience: string;
  /** At each namespace: a person is there what their membership makes them. */
  principals: Record<string, Principal>;
  /** Where a read link leads; undefined: the caller may look anywhere. */
  leadsTo: Reach | undefined;
}

const callers = new Map<string, Caller>();

beforeAll(async () => {
  await addCaller("anonymous", { kind: "none" });
  await addCaller("operator", { kind: "operator" });
  for (const visibility of ["public", "private"] as const) await seed(namespaces[visibility], visibility);
  await seedSignIns();
});

/** What a sign-in has behind it: a token, wherever it is good; a person's membership, or all of them. */
async function seedSignIns(): Promise<void> {
  const home = namespaces.private;
  const { body } = await api("POST", `/namespaces/${home}/tokens`, { path: "team" });
  await addSignIn("a token's sign-in at the root", body["token"] as string, "/me/mcp");
  await addSignIn("a token's sign-in at its namespace", body["token"] as string, `/me/mcp/${home}`);
  await addSignIn("a token's sign-in for the API", body["token"] as string, apiAddress);
  for (const [who, places] of Object.entries(memberships)) {
    const person = { issuer: "https://people.example", subject: who };
    for (const [at, role] of Object.entries(places)) await makeMember(at, person, role);
    await addSignIn(`the sign-in of ${who} at the root`, person, "/me/mcp");
    await addSignIn(`the sign-in of ${who} for the API`, person, apiAddress, scopes.join(" "));
    await addSignIn(`the sign-in of ${who} at one namespace`, person, `/mcp/${home}`);
  }
}

const memberships: Record<string, Record<string, string>> = {
  "a member of both": { [namespaces.public]: "reader", [namespaces.private]: "admin" },
  "a member of one": { [namespaces.private]: "publisher" },
};

async function makeMember(namespace: string, { issuer, subject }: Person, role: string): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by) VALUES (?1, ?2, ?3, ?4, ?5, 1, 'x')`,
  )
    .bind(`${namespace} ${subject}`, namespace, issuer, subject, role)
    .run();
}

async function addSignIn(name: string, who: string | Person, path: string, scope = "skills:read"): Promise<void> {
  const { tokens } = await signInAt(who, path, { scope });
  const access = await parseAccessToken(tokens.access_token, env.SIGNING_KEY!);
  await addCaller(name, { kind: "access", ...access! }, undefined, origin + path);
}

async function seed(namespace: Namespace, visibility: NamespaceVisibility): Promise<void> {
  const at = `/namespaces/${namespace}`;
  await api("POST", "/namespaces", { name: namespace, visibility });
  for (const { path, hasCurrent } of skills) {
    const name = path.split("/")[1]!;
    const named = skillMdOf(name, `What ${name} does\nallowed-tools: mcp__jobs__find mcp__jobs__lost`);
    await seedSkill(namespace, name, { "SKILL.md": named }, `?path=${path}&visibility=public`);
    if (!hasCurrent) await api("PATCH", `${at}/skills/${path}/-/releases/1.0.0`, { yanked: true });
  }
  const items = shown.map(({ path, isPinned }) => ({ path, version: isPinned ? version : null }));
  for (const [name, visible] of desks) {
    const picked = name.startsWith("all") ? "all" : items;
    const { status } = await api("PUT", `${at}/collections/${name}`, { visibility: visible, skills: picked });
    expect(status).toBe(201);
  }
  const tools = [{ name: "find", inputSchema: { type: "object" } }];
  await api("PUT", `${at}/servers/jobs`, { url: "https://mcp.example", tools });
  for (const { path, visibility } of skills) await api("PATCH", `${at}/skills/${path}`, { visibility });
  const grants = {
    reader: { role: "reader" },
    publisher: { role: "publisher" },
    admin: { role: "admin" },
    scoped: { scopes: ["audit:read"] },
    "held to a path": { path: "team" },
  };
  for (const [name, grant] of Object.entries(grants)) {
    const { body } = await api("POST", `${at}/tokens`, grant);
    const parsed = await parseSecret("skr", body["token"] as string, env.SIGNING_KEY!);
    await addCaller(`${name} of ${namespace}`, { kind: "token", ...parsed! });
  }
  for (const collection of [undefined, "desk-private", "all-public"]) {
    const { body } = await api("POST", `${at}/links`, { collection });
    const parsed = await parseSecret("skl", (body["url"] as string).split("/")[4]!, env.SIGNING_KEY!);
    const reach = { namespace, collection };
    await addCaller(`link to ${namespace} ${collection ?? ""}`, { kind: "link", ...parsed! }, reach);
  }
}

async function addCaller(name: string, credential: Credential, leadsTo?: Reach, audience = ""): Promise<void> {
  const principals: Record<string, Principal> = {};
  for (const namespace of Object.values(namespaces)) {
    const catalog = lookOf({ credential, audience }, { namespace, collection: undefined });
    principals[namespace] = principalOf(credential, await catalog.gate());
  }
  callers.set(name, { credential, audience, principals, leadsTo });
}

/** Lets everybody in: what is asked here is what SQL shows, not what a door lets through before. */
function lookOf(caller: Pick<Caller, "credential" | "audience">, reach: Reach): Catalog {
  return new Catalog(env.DB, viewerOf(caller.credential, Date.now(), caller.audience), reach, () => {});
}

const all = Object.entries(namespaces) as [NamespaceVisibility, Namespace][];
const tokens = ["reader", "publisher", "admin", "scoped", "held to a path"];
const names = [
  "anonymous",
  "operator",
  ...all.flatMap(([, name]) => tokens.map((kind) => `${kind} of ${name}`)),
  ...all.flatMap(([, name]) => ["", "desk-private", "all-public"].map((end) => `link to ${name} ${end}`)),
  ...["at the root", "at its namespace", "for the API"].map((where) => `a token's sign-in ${where}`),
  ...Object.keys(memberships).flatMap((who) =>
    ["at the root", "for the API", "at one namespace"].map((where) => `the sign-in of ${who} ${where}`),
  ),
];

const factsOf = ([visibility, name]: (typeof all)[number]) => ({ name, visibility });

/** The paths of skills for which `may` says yes. */
function allowed(principal: Principal, action: Action, place: (typeof all)[number], among: readonly Skill[]): string[] {
  const namespace = factsOf(place);
  return among
    .filter(({ path, visibility }) => may(principal, action, { kind: "skill", namespace, path, visibility }))
    .map(({ path }) => path)
    .sort();
}

const pathsOf = (rows: readonly { path: string }[]) => rows.map(({ path }) => path).sort();

async function found(among: readonly Skill[], ask: (skill: Skill) => Promise<unknown>): Promise<string[]> {
  const paths: string[] = [];
  for (const skill of among) {
    const answer = await ask(skill);
    if (Array.isArray(answer) ? answer.length > 0 : answer !== undefined) paths.push(skill.path);
  }
  return paths.sort();
}

/** What can be read under an address, by every question that reads. */
async function readThrough(catalog: () => Catalog, namespace: Namespace, isPinned: boolean) {
  const uriOf = ({ path }: Skill, file?: string) =>
    parseSkillUri(isPinned ? pinnedUri(namespace, path, version, file) : movingUri(namespace, path, file))!;
  const among = isPinned ? skills : shown;
  return {
    findEntry: await found(among, (skill) => catalog().findEntry(uriOf(skill))),
    findFile: await found(among, (skill) => catalog().findFile(uriOf(skill))),
    listDirectory: await found(among, (skill) => catalog().listDirectory(uriOf(skill, ""))),
    findRelease: await found(among, ({ path }) =>
      catalog().findRelease(namespace, path, isPinned ? version : undefined),
    ),
  };
}

const everyWay = (paths: string[]) => ({
  findEntry: paths,
  findFile: paths,
  listDirectory: paths,
  findRelease: paths,
});

/** A read link leads to one place, so that is the only place where what it shows is asked. */
const placesOf = ({ leadsTo }: Caller) =>
  leadsTo === undefined ? everyNth(all, 2) : all.filter(([, name]) => leadsTo.namespace === name);
const words = { terms: termsOf("one two"), exact: "=none" };
const searchable = (limit: number, catalog: Catalog) => findSkills(catalog, words, { limit });

describe.each(names)("%s", (name) => {
  it("reads of a namespace what the policy allows, moving and pinned", async () => {
    const caller = callers.get(name)!;
    if (caller.leadsTo?.collection !== undefined) return;
    for (const place of placesOf(caller)) {
      const reaches = caller.leadsTo === undefined ? [undefined, place[1]] : [place[1]];
      for (const namespace of reaches) {
        const catalog = () => lookOf(caller, { namespace, collection: undefined });
        const moving = allowed(caller.principals[place[1]]!, "read", place, shown);
        const pinned = allowed(caller.principals[place[1]]!, "read", place, skills);
        expect([place, await readThrough(catalog, place[1], false)]).toEqual([place, everyWay(moving)]);
        expect([place, await readThrough(catalog, place[1], true)]).toEqual([place, everyWay(pinned)]);
        expect(await found(skills, ({ path }) => catalog().findSkill(place[1], path))).toEqual(pinned);
        const releases = async ({ path }: Skill) => (await catalog().listReleases(place[1], path, undefined, 9)).items;
        expect(await found(skills, releases)).toEqual(pinned);
      }
    }
  });

  it("finds in the lists and searches of a namespace what the policy allows", async () => {
    const caller = callers.get(name)!;
    if (caller.leadsTo?.collection !== undefined) return;
    for (const place of placesOf(caller)) {
      const catalog = () => lookOf(caller, { namespace: place[1], collection: undefined });
      const listed = allowed(caller.principals[place[1]]!, "list", place, shown);
      const surveyed = [
        ...new Set([...allowed(caller.principals[place[1]]!, "survey", place, skills), ...listed]),
      ].sort();
      expect([place, pathsOf((await catalog().listEntries(place[1], "", 99)).items)]).toEqual([place, listed]);
      expect([place, pathsOf((await catalog().listSkills(place[1], "", 99)).items)]).toEqual([place, listed]);
      expect([place, pathsOf((await catalog().listAllSkills(place[1], "", 99)).items)]).toEqual([place, surveyed]);
      expect([place, pathsOf(await searchable(99, catalog()))]).toEqual([place, listed]);
    }
  });

  it("finds in a search of everything what the policy allows", async () => {
    const caller = callers.get(name)!;
    if (caller.leadsTo !== undefined) return;
    const everywhere = { namespace: undefined, collection: undefined };
    const rows = await searchable(99, lookOf(caller, everywhere));
    const listed = all.flatMap((place) => allowed(caller.principals[place[1]]!, "list", place, shown));
    expect(pathsOf(rows)).toEqual(listed.sort());
  });

  it("sees and opens the collections that the policy allows", async () => {
    const caller = callers.get(name)!;
    const collections = new Collections(env.DB, viewerOf(caller.credential, Date.now(), caller.audience));
    for (const place of placesOf(caller)) {
      const namespace = factsOf(place);
      const mayDo = (action: Action) =>
        desks
          .filter(([name, visibility]) =>
            may(caller.principals[place[1]]!, action, { kind: "collection", namespace, name, visibility }),
          )
          .map(([name]) => name);
      const listed = (await collections.list(place[1], "", 99)).items.map((row) => row.name);
      expect([place, listed]).toEqual([place, mayDo("list")]);
      const opened: string[] = [];
      for (const [desk] of desks) if ((await collections.find(place[1], desk)) !== undefined) opened.push(desk);
      expect([place, opened]).toEqual([place, mayDo("read")]);
    }
  });

  it("sees the servers that the policy allows, their tools, and the listed skills that name them", async () => {
    const caller = callers.get(name)!;
    const servers = new Servers(env.DB, viewerOf(caller.credential, Date.now(), caller.audience));
    for (const place of placesOf(caller)) {
      const principal = caller.principals[place[1]]!;
      const allows = (action: Action) => may(principal, action, { kind: "server", namespace: factsOf(place) });
      expect([place, (await servers.list(place[1], "", 9)).length]).toEqual([place, allows("list") ? 1 : 0]);
      expect([place, (await servers.find(place[1], "jobs"))?.tools]).toEqual([place, allows("read") ? 1 : undefined]);
      const cards = (await servers.listTools(place[1], "jobs", 0, 9)).map((tool) => tool.name);
      expect([place, cards]).toEqual([place, allows("read") ? ["find"] : []]);
      const definition = await servers.findTool(place[1], "jobs", "find");
      expect([place, definition !== undefined]).toEqual([place, allows("read")]);
      const server = { namespace: place[1], name: "jobs" };
      const listed = [...allowed(principal, "list", place, shown), ...allowed(principal, "survey", place, shown)];
      const uses = allows("read") ? [...new Set(listed)].sort() : [];
      expect([place, pathsOf((await servers.listUses(server, ["find"], 99)).items)]).toEqual([place, uses]);
      expect([place, pathsOf((await servers.listUses(server, undefined, 99)).items)]).toEqual([place, uses]);
    }
  });

  it.each(desks)(
    "is shown of the collection %s what the policy allows of it and of what it holds",
    async (desk, visible) => {
      const caller = callers.get(name)!;
      const { leadsTo } = caller;
      if (leadsTo !== undefined && leadsTo.collection !== undefined && leadsTo.collection !== desk) return;
      for (const place of placesOf(caller)) {
        const namespace = factsOf(place);
        const principal = caller.principals[place[1]]!;
        const isOpen = may(principal, "list", { kind: "collection", namespace, name: desk, visibility: visible });
        const listed = isOpen ? allowed(principal, "list", place, shown) : [];
        const picks = { namespace: place[1], collection: desk, ownFirst: false };
        const catalog = () => lookOf(caller, { namespace: place[1], collection: desk });
        expect([place, pathsOf((await catalog().listPickedEntries(picks, undefined, 99)).items)]).toEqual([
          place,
          listed,
        ]);
        expect([place, pathsOf(await catalog().listPickedSkills(picks, undefined, 99))]).toEqual([place, listed]);
        const isAll = desk.startsWith("all");
        const held = isAll ? skills.filter((skill) => skill.visibility !== "unlisted") : shown;
        const heldMoving = held.filter((skill) => skill.hasCurrent && (isAll || !skill.isPinned));
        const moving = allowed(principal, "read", place, heldMoving);
        const pinned = allowed(principal, "read", place, held);
        expect([place, await readThrough(catalog, place[1], false)]).toEqual([place, everyWay(moving)]);
        expect([place, await readThrough(catalog, place[1], true)]).toEqual([place, everyWay(pinned)]);
        const found = pathsOf(await searchable(99, catalog()));
        expect([place, found.sort()]).toEqual([place, [...listed].sort()]);
      }
    },
  );

  it("has first at a personal address what is its own", async () => {
    const caller = callers.get(name)!;
    if (caller.leadsTo !== undefined) return;
    const picks = { namespace: "registry" as Namespace, collection: "featured", ownFirst: true };
    const rows = await lookOf(caller, { namespace: undefined, collection: undefined }).listPickedSkills(
      picks,
      undefined,
      99,
    );
    const listed = all.flatMap((place) => {
      const principal = caller.principals[place[1]]!;
      if (principal.kind !== "token" || principal.namespace !== place[1]) return [];
      return allowed(principal, "list", place, shown).filter((path) => `${path}/`.startsWith(principal.below));
    });
    // Two namespaces of one person have skills of the same names here, of which a list shows one.
    expect(pathsOf(rows)).toEqual([...new Set(listed)].sort());
  });
});
