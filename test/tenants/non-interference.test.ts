import { beforeAll, describe, expect, it } from "vitest";

import { formatCursor } from "../../src/domain/cursor.ts";
import { api, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt } from "./answers.ts";
import { eras, message } from "./methods.ts";
import type { Era } from "./methods.ts";

/**
 * Everything public is answered byte for byte as before, whatever private things appear beside it: in the very
 * namespace that is asked, and in another. Recorded before and after, for strangers and for a token of elsewhere.
 */
const [open, hidden, elsewhere] = ["glass-house", "iron-house", "far-house"];
/** What all of the private skills are full of; public ones say it once. */
const word = "marmalade";
const count = 50;

const get = (path: string): Attempt => ({ method: "GET", path });
const api1 = `/api/v1/namespaces/${open}`;
const cursor = (list: string, key: string) => `?cursor=${formatCursor(list, { page: 1, key })}`;
const index = "/.well-known/agent-skills/index.json";
const hello = "public-one";

const plain: Attempt[] = [
  "/api/v1/namespaces",
  `/api/v1/namespaces${cursor("namespaces", "glass")}`,
  `/api/v1/namespaces${cursor("namespaces", open)}`,
  `/api/v1/namespaces/${hidden}`,
  api1,
  `${api1}/skills`,
  `${api1}/skills${cursor(`api-skills:${open}`, "m")}`,
  `${api1}/skills${cursor(`api-skills:${open}`, hello)}`,
  `${api1}/skills?cursor=wrong`,
  `${api1}/skills/${hello}`,
  `${api1}/skills/${hello}/-/releases`,
  `${api1}/skills/${hello}/-/releases/current`,
  `${api1}/skills/${hello}/-/releases/current/manifest`,
  `${api1}/skills/${hello}/-/releases/current/archive.zip`,
  `${api1}/skills/${word}-1`,
  `${api1}/collections`,
  `${api1}/collections/desk`,
  `${api1}/collections/all`,
  `${api1}/collections/secret-desk`,
  `${api1}/servers`,
  `${api1}/servers/jobs`,
  `${api1}/servers/jobs/tools/find`,
  `/api/v1/namespaces/${hidden}/servers`,
  `/api/v1/namespaces/${hidden}/servers/jobs`,
  `${api1}/tokens`,
  `${api1}/members`,
  `${api1}/audit`,
  `${api1}/quotas`,
  index,
  `/${open}${index}`,
  `/${hidden}${index}`,
  `/.well-known/oauth-protected-resource/mcp/${open}`,
  `/.well-known/oauth-protected-resource/mcp/${open}/secret-desk`,
].map(get);

const search = (query: string) => ({ name: "search_skills", arguments: { query, limit: 25 } });
const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };

function messagesAt(path: string, era: Era): Attempt[] {
  const lists = ["skills", "resources"].flatMap((list) => [
    message(path, era, `${list}/list`, {}),
    message(path, era, `${list}/list`, { cursor: formatCursor(`${list}:${open}`, { page: 1, key: "m" }) }),
  ]);
  const uri = `skill://${open}/${hello}/SKILL.md`;
  const secret = `skill://${open}/${word}-1/SKILL.md`;
  return [
    ...lists,
    message(path, era, "initialize", client),
    message(path, era, "server/discover", {}),
    message(path, era, "prompts/list", {}),
    message(path, era, "prompts/get", { name: hello }),
    message(path, era, "prompts/get", { name: `${word}-1` }),
    message(path, era, "tools/list", {}),
    ...["skills/get", "resources/read"].flatMap((method) =>
      [uri, secret].map((one) => message(path, era, method, { uri: one })),
    ),
    message(path, era, "resources/directory/read", { uri: `skill://${open}/${hello}` }),
    ...[word, `${word} ${word}s public`, "public one", "nothing like it"].map((text) =>
      message(path, era, "tools/call", search(text)),
    ),
  ];
}

const addresses = ["/mcp", `/mcp/${open}`, `/mcp/${open}/desk`, `/mcp/${open}/all`, `/mcp/${open}/secret-desk`];
const all = [
  ...plain,
  ...addresses.flatMap((path) => [...eras, ...eras].flatMap((era) => messagesAt(path, era))),
  ...[hidden].flatMap((name) => eras.map((era) => message(`/mcp/${name}`, era, "skills/list", {}))),
];

let stranger: string;
const recordedAs = new Map<string, string[]>();
const askers = (): [string, string | undefined][] => [
  ["anonymous", undefined],
  ["foreign", stranger],
];

/** Without what an answer costs: a page is remembered until its namespace has another revision. */
async function record(token: string | undefined): Promise<string[]> {
  const seen: string[] = [];
  for (const attempt of all) {
    const { status, headers, body } = await ask(attempt, token);
    seen.push(`${attempt.method} ${attempt.path} ${String(attempt.body ?? "")}\n${status}\n${headers}\n${body}`);
  }
  return seen;
}

async function seedOpen(): Promise<void> {
  for (const name of [open, elsewhere, "registry"]) await api("POST", "/namespaces", { name, visibility: "public" });
  for (const name of ["alpha-first", hello, "zulu-last"]) await seedSkill(open, name);
  await publish(open, { "SKILL.md": skillMdOf("orange-jam", `How to cook ${word} of oranges`) });
  // So many that lists have a second page, whose cursor must not tell what lies between.
  const names = Array.from({ length: 100 }, (_, index) => `page-${index}`);
  const folder = Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillMdOf(name)]));
  expect((await publish(open, folder)).status).toBe(201);
  const skills = [{ path: hello }, { path: "orange-jam", version: "1.0.0" }];
  await api("PUT", `/namespaces/${open}/collections/desk`, { skills });
  await api("PUT", `/namespaces/${open}/collections/all`, { skills: "all" });
  await registerServer(open);
  const featured = [{ namespace: open, path: hello }];
  await api("PUT", "/namespaces/registry/collections/featured", { skills: featured });
}

async function registerServer(namespace: string, title = "Jobs"): Promise<void> {
  const tools = [{ name: "find", description: `${title}, found by their words`, inputSchema: { type: "object" } }];
  const url = "https://mcp.example/jobs";
  const { status } = await api("PUT", `/namespaces/${namespace}/servers/jobs`, { title, url, tools });
  expect(status).toBe(201);
}

/** Before, between and behind the public ones in every order that a list has. */
async function publishInSecret(): Promise<void> {
  await api("POST", "/namespaces", { name: hidden, visibility: "private", title: word, description: word });
  for (let place = 1; place <= count; place++) {
    const name = place % 3 === 0 ? `a-${word}-${place}` : `${word}-${place}`;
    // Each names a tool of the server that strangers see, and that it lacks.
    const tools = `allowed-tools: mcp__jobs__find mcp__jobs__${word}`;
    const files = { "SKILL.md": skillMdOf(name, `${word} ${word}s public one ${word}\n${tools}`) };
    const visibility = place % 5 === 0 ? "unlisted" : "private";
    const answers = [
      await publish(open, files, `?visibility=${visibility}`),
      await publish(hidden, files, "?visibility=public"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  }
}

async function manageInSecret(): Promise<void> {
  await registerServer(hidden, word);
  const secret = { visibility: "private", title: word, instructions: word };
  for (const name of [open, hidden]) {
    const skills = [{ path: `${word}-1` }, { namespace: open, path: hello }];
    await api("PUT", `/namespaces/${name}/collections/secret-desk`, { ...secret, skills });
    await api("PUT", `/namespaces/${name}/collections/a-secret`, { ...secret, skills: "all" });
    await newToken(name, "admin");
    await api("POST", `/namespaces/${name}/links`, { label: word, collection: "secret-desk" });
    const { body } = await api("POST", `/namespaces/${name}/invitations`, { role: "admin", label: word });
    const person = { issuer: "https://id.example", subject: word };
    const joined = await api("POST", `/invitations/${body["secret"] as string}`, person, null);
    expect(joined.status).toBe(201);
    await api("PUT", `/namespaces/${name}/quotas`, { skills: 9_999, bytes: null, publishes_a_day: null });
  }
  await api("PATCH", `/namespaces/${open}/skills/${word}-2/-/releases/1.0.0`, { yanked: true });
  await api("DELETE", `/namespaces/${open}/skills/${word}-4`);
}

beforeAll(async () => {
  await seedOpen();
  stranger = await newToken(elsewhere, "admin");
  await api("GET", "/me", undefined, stranger);
  for (const [who, token] of askers()) recordedAs.set(who, await record(token));
  await publishInSecret();
  await manageInSecret();
});

describe("after fifty private skills, unlisted ones, collections, tokens and members appeared", () => {
  it.each(["anonymous", "foreign"])("%s callers are answered byte for byte as before", async (who) => {
    const token = who === "foreign" ? stranger : undefined;
    const before = recordedAs.get(who)!;
    const after = await record(token);
    expect(before.length).toBeGreaterThan(200);
    expect(after.filter((answer, place) => answer !== before[place])).toEqual([]);
  });

  it("the recording saw what is public, found by the word that the private ones are full of", () => {
    const before = recordedAs.get("anonymous")!.join("\n");
    expect(before).toContain("orange-jam");
    expect(before).toContain('"score":0.5');
    expect(before).toContain('"nextCursor"');
    expect(before).toContain('"next_cursor":"');
  });

  it("those who may see more do see it, so that there was something to hide", async () => {
    const token = await newToken(open, "reader");
    const { body } = await api("GET", `/namespaces/${open}/skills`, undefined, token);
    expect(body["skills"]).toHaveLength(100);
    expect(JSON.stringify(body["skills"])).toContain(`a-${word}-3"`);
  });
});
