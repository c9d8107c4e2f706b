import { env } from "cloudflare:workers";

import { mintSecret } from "../../src/auth/tokens.ts";
import { scopes } from "../../src/domain/principal.ts";
import { api, modern, newToken, publish, seedSkill, send, skillMdOf } from "../harness.ts";
import { signInAt } from "../web/oauth-client.ts";

/**
 * Two tenants. A has a public and a private namespace full of what nobody else may see; whatever is private there says
 * "xylo" somewhere. B has a namespace and every kind of credential for it.
 */
export const [open, closed, gone, den] = ["alpha-open", "alpha-closed", "alpha-gone", "bravo-den"];

/** What a request aims at: things of A, or things like them that nobody ever made. */
export interface Target extends Record<string, string> {
  namespace: string;
  skill: string;
  version: string;
  file: string;
  collection: string;
  server: string;
  tool: string;
  /** Of a file's digest. */
  hex: string;
  tokenId: string;
  memberId: string;
  invitationId: string;
  linkId: string;
  publisherId: string;
  /** Secrets that open nothing any more, or never did. */
  invitation: string;
  link: string;
  words: string;
}

const asked = async (method: string, path: string, body?: unknown, token?: string | null) => {
  const answer = await api(method, path, body, token);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};

async function join(namespace: string, role: string, subject: string) {
  const invitation = await asked("POST", `/namespaces/${namespace}/invitations`, { role, label: "xylo invitation" });
  const person = { issuer: `https://${subject.split("-")[0]}.example`, subject };
  const joined = await asked("POST", `/invitations/${invitation["secret"] as string}`, person, null);
  return {
    secret: invitation["secret"] as string,
    token: joined["token"] as string,
    id: (joined["member"] as { id: string }).id,
  };
}

const secretFiles = (path: string, version: string) => ({
  "SKILL.md": skillMdOf(
    path.split("/").at(-1)!,
    `Xylo description of ${version}\nallowed-tools: mcp__alpha-jobs__xylo_jobs mcp__hidden-jobs__hidden/find_jobs`,
    `# Xylo body ${version}\n`,
  ),
  "notes/xylo-notes.md": `xylo notes of ${path} ${version}\n`,
});

async function publishSecret(namespace: string, path: string, version: string, visibility: string) {
  const query = `?path=${path}&version=${version}&visibility=${visibility}`;
  const answer = await publish(namespace, secretFiles(path, version), query);
  if (answer.status !== 201) throw new Error(`publish ${path}: ${JSON.stringify(answer.body)}`);
}

/** A server is as visible as its namespace; in a public one, the private thing is which skills name its tools. */
async function seedServer(namespace: string) {
  const isOpen = namespace === open;
  const [name, word] = isOpen ? ["alpha-jobs", "Alpha"] : ["hidden-jobs", "Xylo"];
  const tool = { name: isOpen ? "find_jobs" : "hidden/find_jobs", description: `${word} jobs` };
  const tools = [{ ...tool, inputSchema: { type: "object", properties: { words: { description: word } } } }];
  const body = { url: `https://${word.toLowerCase()}.example/mcp`, title: `${word} jobs`, tools };
  await asked("PUT", `/namespaces/${namespace}/servers/${name}`, body);
}

async function seedNamespace(namespace: string): Promise<Target> {
  const at = `/namespaces/${namespace}`;
  for (const version of ["2.0.0", "2.1.0", "2.2.0"]) {
    await publishSecret(namespace, "vault/hidden-plan", version, "private");
  }
  await asked("PATCH", `${at}/skills/vault/hidden-plan/-/releases/2.1.0`, { yanked: true });
  await publishSecret(namespace, "vault/quiet-plan", "2.5.0", "unlisted");
  await publishSecret(namespace, "vault/buried-plan", "2.5.0", "private");
  await asked("DELETE", `${at}/skills/vault/buried-plan`);
  const desk = { title: "Xylo desk", instructions: "Say xylo first.", visibility: "private" };
  const skills = [{ path: "vault/hidden-plan" }, { namespace: den, path: "bravo-skill" }];
  await asked("PUT", `${at}/collections/hidden-desk`, { ...desk, skills });
  await asked("PUT", `${at}/collections/hidden-desk`, { ...desk, skills: skills.toReversed() });
  await seedServer(namespace);
  const token = await asked("POST", `${at}/tokens`, { role: "reader", label: "xylo token" });
  const link = await asked("POST", `${at}/links`, { label: "xylo link", collection: "hidden-desk" });
  const deadLink = await asked("POST", `${at}/links`, { label: "xylo dead link" });
  await asked("DELETE", `${at}/links/${deadLink["id"] as string}`);
  const invitation = await asked("POST", `${at}/invitations`, { role: "admin", label: "xylo open" });
  const claims = { sub: "xylo-job", project_id: "4242" };
  const publisher = { issuer: "https://ci.xylo.example", claims, path: "vault", label: "xylo publisher" };
  const { id: publisherId } = await asked("POST", `${at}/publishers`, publisher);
  const member = await join(namespace, "admin", "xylo-subject");
  await asked("PUT", `${at}/quotas`, { skills: 424_242, bytes: 424_242_424, publishes_a_day: 42_424 });
  const manifest = await asked("GET", `${at}/skills/vault/hidden-plan/-/releases/current/manifest`);
  const files = manifest["files"] as { file: string; digest: string }[];
  return {
    namespace,
    skill: "vault/hidden-plan",
    version: "2.2.0",
    file: "notes/xylo-notes.md",
    collection: "hidden-desk",
    server: namespace === open ? "absent-jobs" : "hidden-jobs",
    tool: namespace === open ? "absent/find_jobs" : "hidden/find_jobs",
    hex: files.find(({ file }) => file.endsWith("notes.md"))!.digest.slice("sha256:".length),
    tokenId: token["id"] as string,
    memberId: member.id,
    invitationId: invitation["id"] as string,
    linkId: link["id"] as string,
    publisherId: publisherId as string,
    invitation: member.secret,
    link: (deadLink["url"] as string).split("/")[4]!,
    words: "xylo hidden plan",
  };
}

/** The same in everything that a caller could tell, but nobody ever made it. */
async function absentLike(target: Target): Promise<Target> {
  const key = env.SIGNING_KEY!;
  return {
    namespace: target.namespace === open ? open : "absent-place",
    skill: "vault/absent-plan",
    version: "7.7.7",
    file: "notes/absent-file.md",
    collection: "absent-desk",
    server: "absent-jobs",
    tool: "absent/find_jobs",
    hex: "ab".repeat(32),
    tokenId: "a".repeat(16),
    memberId: "b".repeat(16),
    invitationId: "c".repeat(16),
    linkId: "d".repeat(16),
    publisherId: "e".repeat(16),
    invitation: (await mintSecret("ski", key)).text,
    link: (await mintSecret("skl", key)).text,
    words: "void absent plan",
  };
}

/** The ways in which a thing can be private, in the order of the cases. */
export const ways = [
  "a private namespace",
  "a private skill of a public namespace",
  "a public skill of a private namespace",
  "an unlisted skill of a private namespace",
  "an older version of a private skill",
  "a yanked version of a private skill",
  "a deleted skill",
  "a private skill that a public collection picked when it was public",
  "a namespace that was deleted",
] as const;

export interface Case {
  aimed: Target;
  absent: Target;
}

export interface World {
  cases: Case[];
  /** Of B: they live, and open nothing of A's. */
  foreign: Record<string, string>;
  /** They open nothing anywhere. */
  dead: Record<string, string>;
  /** B's own read link, which lives. */
  link: string;
  /** What nobody but A may ever read. */
  markers: string[];
}

export async function seedWorld(): Promise<World> {
  const describe = { title: "Alpha", description: "Where alpha keeps things" };
  await asked("POST", "/namespaces", { name: open, visibility: "public", ...describe });
  await asked("POST", "/namespaces", {
    name: closed,
    visibility: "private",
    title: "Xylo title",
    description: "Xylo text",
  });
  await asked("POST", "/namespaces", { name: den, visibility: "public", title: "Bravo" });
  await seedSkill(den, "bravo-skill");
  await seedSkill(open, "alpha-hello");
  const plan = await seedNamespace(open);
  const shut = await seedNamespace(closed);
  await asked("POST", "/namespaces", { name: gone, visibility: "public", title: "Xylo gone" });
  const buried = await seedNamespace(gone);
  await asked("DELETE", `/namespaces/${gone}`);
  await publishSecret(closed, "vault/plain-plan", "2.5.0", "public");
  const picked = await seedPicks();
  const [foreign, link] = await seedForeign();
  const dead = await seedDead();
  const absentOpen = await absentLike(plan);
  const absentShut = await absentLike(shut);
  const of = (base: Target, more: Partial<Target>) => ({
    aimed: { ...base, ...more } as Target,
    absent: base === plan ? absentOpen : absentShut,
  });
  const other = (name: string) => ({ skill: `vault/${name}`, version: "2.5.0" });
  const cases: Case[] = [
    of(shut, {}),
    of(plan, {}),
    of(shut, other("plain-plan")),
    of(shut, other("quiet-plan")),
    of(plan, { version: "2.0.0" }),
    of(plan, { version: "2.1.0" }),
    of(plan, other("buried-plan")),
    of(plan, picked),
    of(buried, other("quiet-plan")),
  ];
  const ids = [plan, shut, buried].flatMap((t) => [
    t.hex,
    t.tokenId,
    t.memberId,
    t.invitationId,
    t.linkId,
    t.publisherId,
    t.link,
    t.invitation,
  ]);
  return { cases, foreign, dead, link, markers: ["xylo", "Xylo", "42424", "424,24", closed, gone, ...ids] };
}

/** B picked a skill of A in public; then A hid it. */
async function seedPicks() {
  await publishSecret(open, "vault/once-plan", "2.5.0", "public");
  const skills = ["bravo-skill", `${open}/alpha-hello`, `${open}/vault/once-plan`].map((text) => {
    const [first, ...rest] = text.split("/");
    return rest.length === 0 ? { path: first } : { namespace: first, path: rest.join("/") };
  });
  await asked("PUT", `/namespaces/${den}/collections/bravo-desk`, { title: "Bravo desk", skills });
  await asked("PATCH", `/namespaces/${open}/skills/vault/once-plan`, { visibility: "private" });
  return { skill: "vault/once-plan", version: "2.5.0" };
}

/** Whom `join` made a member of B. */
const bravo = { issuer: "https://bravo.example", subject: "bravo-subject" };

async function seedForeign(): Promise<[Record<string, string>, string]> {
  const mint = async (body: Record<string, unknown>) =>
    (await asked("POST", `/namespaces/${den}/tokens`, body))["token"] as string;
  const link = await asked("POST", `/namespaces/${den}/links`, {});
  const foreign = {
    "a reader's token of another tenant": await newToken(den, "reader"),
    "a publisher's": await newToken(den, "publisher"),
    "an admin's": await newToken(den, "admin"),
    "one held to a path that the other tenant has too": await mint({ role: "publisher", path: "vault" }),
    "one with scopes": await mint({ scopes: ["audit:read", "collections:write", "namespace:admin"] }),
    "a member's": (await join(den, "admin", "bravo-subject")).token,
    "a sign-in's for the API": (await signInAt(await newToken(den, "admin"), "/api/v1", { scope: scopes.join(" ") }))
      .tokens.access_token,
    "a person's for the API": (await signInAt(bravo, "/api/v1", { scope: scopes.join(" ") })).tokens.access_token,
  };
  // The first use of a token is written down, which is a call that later uses do not cost.
  for (const token of Object.values(foreign)) await asked("GET", "/me", undefined, token);
  const forAgents = {
    "a sign-in's for agents": (await signInAt(await newToken(den, "reader"), "/me/mcp")).tokens.access_token,
    "a person's for agents": (await signInAt(bravo, "/me/mcp")).tokens.access_token,
  };
  for (const token of Object.values(forAgents)) await modern("/me/mcp", "tools/list", {}, { token });
  await send(new URL(link["index"] as string).pathname);
  return [{ ...foreign, ...forAgents }, (link["url"] as string).split("/")[4]!];
}

async function seedDead(): Promise<Record<string, string>> {
  const at = `/namespaces/${closed}/tokens`;
  const mint = async () => {
    const { id, token } = await asked("POST", at, { role: "admin", label: "xylo dead" });
    return { id: id as string, token: token as string };
  };
  const [revoked, expired, rotated, living] = [await mint(), await mint(), await mint(), await mint()];
  await asked("DELETE", `${at}/${revoked.id}`);
  await env.DB.prepare(`UPDATE tokens SET expires_at = 1 WHERE id = ?1`).bind(expired.id).run();
  await asked("POST", `${at}/${rotated.id}/rotate`, { overlap_hours: 0 });
  const gone = await join(closed, "admin", "xylo-gone");
  await asked("DELETE", `/namespaces/${closed}/members/${gone.id}`);
  const link = await asked("POST", `/namespaces/${closed}/links`, { label: "xylo as token" });
  const withdrawn = await signInAt(living.token, "/api/v1", { scope: "skills:read namespace:admin" });
  await env.DB.prepare(`DELETE FROM grants WHERE token_id = ?1`).bind(living.id).run();
  const flipped = `${living.token.slice(0, -1)}${living.token.endsWith("0") ? "1" : "0"}`;
  const key = env.SIGNING_KEY!;
  return {
    "a revoked token": revoked.token,
    "an expired token": expired.token,
    "a token that was rotated out": rotated.token,
    "the token of a member who was removed": gone.token,
    "a token that the key signed and nobody minted": (await mintSecret("skr", key)).text,
    "a living token with a wrong check": flipped,
    "a sign-in's that was withdrawn": withdrawn.tokens.access_token,
    "a refresh token": withdrawn.tokens.refresh_token,
    "a living token's id under another secret": (await mintSecret("skr", key)).text.replace(
      /_[0-9a-f]{16}_/,
      `_${living.id}_`,
    ),
    "a living token without its check": living.token.slice(0, living.token.lastIndexOf("_")),
    "a living read link as a token": (link["url"] as string).split("/")[4]!,
    "a living read link with the name of a token": (link["url"] as string).split("/")[4]!.replace("skl_", "skr_"),
    "the operator's token in another case": env.ADMIN_TOKEN!.toUpperCase(),
    junk: "junk",
  };
}
