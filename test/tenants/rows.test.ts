import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { Catalog } from "../../src/storage/catalog.ts";
import { Servers } from "../../src/storage/servers.ts";
import { api, newNamespace, publish, skillMdOf } from "../harness.ts";

/** How many rows a stranger's question walks in the database, which is time that an answer takes. */
let full: Namespace;
const unknown = "never-made" as Namespace;
/** Those that prove or deny a right, and the one that was asked for; none of the hundred beside it. */
const few = 10;

beforeAll(async () => {
  full = (await newNamespace("private")) as Namespace;
  const names = Array.from({ length: 100 }, (_, index) => `plan-${index}`);
  const tools = "allowed-tools: mcp__jobs__tool-7 mcp__jobs__lost";
  const folder = Object.fromEntries(
    names.map((name) => [`${name}/SKILL.md`, skillMdOf(name, `What ${name} does\n${tools}`)]),
  );
  expect((await publish(full, folder)).status).toBe(201);
  const listed = names.map((_, index) => ({ name: `tool-${index}`, inputSchema: { type: "object" } }));
  const servers = ["jobs", ...names.slice(0, 40)];
  for (const name of servers) {
    const body = { url: "https://mcp.example", tools: name === "jobs" ? listed : [] };
    expect((await api("PUT", `/namespaces/${full}/servers/${name}`, body)).status).toBe(201);
  }
});

async function rowsOf(namespace: Namespace, ask: (catalog: Catalog) => Promise<unknown>): Promise<number> {
  let rows = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const { meta } of results) rows += meta.rows_read;
    return results;
  };
  const db = { prepare: (sql: string) => env.DB.prepare(sql), batch } as D1Database;
  const stranger = { everything: false, tokenId: null, tokenHash: null, access: null, person: null, now: Date.now() };
  await ask(new Catalog(db, stranger, { namespace, collection: undefined }, () => {}));
  return rows;
}

describe("a private namespace, however full,", () => {
  const questions: [string, (namespace: Namespace) => (catalog: Catalog) => Promise<unknown>][] = [
    ["the list of entries", (namespace) => (catalog) => catalog.listEntries(namespace, "", 100)],
    ["the list of skills", (namespace) => (catalog) => catalog.listSkills(namespace, "", 100)],
    ["the list of all skills", (namespace) => (catalog) => catalog.listAllSkills(namespace, "", 100)],
    ["one skill", (namespace) => (catalog) => catalog.findSkill(namespace, "plan-7" as SkillPath)],
  ];

  it.each(questions)("has a stranger's question for %s walk no more than a few rows", async (_, questionAt) => {
    const [inFull, inUnknown] = [await rowsOf(full, questionAt(full)), await rowsOf(unknown, questionAt(unknown))];
    expect(inFull).toBeLessThanOrEqual(inUnknown + few);
  });

  const jobs = (namespace: Namespace) => ({ namespace, name: "jobs" });
  const aboutServers: [string, (servers: Servers, namespace: Namespace) => Promise<unknown>][] = [
    ["the list of servers", (servers, namespace) => servers.list(namespace, "", 100)],
    ["a server", (servers, namespace) => servers.find(namespace, "jobs")],
    ["its tools", (servers, namespace) => servers.listTools(namespace, "jobs", 0, 100)],
    ["one of its tools", (servers, namespace) => servers.findTool(namespace, "jobs", "tool-7")],
    ["who names a tool", (servers, namespace) => servers.listUses(jobs(namespace), ["tool-7"], 100)],
    ["what is missing", (servers, namespace) => servers.listUses(jobs(namespace), undefined, 100)],
  ];

  it.each(aboutServers)("has a stranger's question for %s walk no more than a few rows", async (_, question) => {
    const rowsAt = async (namespace: Namespace) => {
      let rows = 0;
      const all = async (sql: string, parameters: unknown[]) => {
        const answer = await env.DB.prepare(sql)
          .bind(...parameters)
          .all();
        rows += answer.meta.rows_read;
        return answer;
      };
      const prepare = (sql: string) => ({ bind: (...parameters: unknown[]) => ({ all: () => all(sql, parameters) }) });
      const stranger = {
        everything: false,
        tokenId: null,
        tokenHash: null,
        access: null,
        person: null,
        now: Date.now(),
      };
      await question(new Servers({ prepare } as unknown as D1Database, stranger), namespace);
      return rows;
    };
    expect(await rowsAt(full)).toBeLessThanOrEqual((await rowsAt(unknown)) + few);
  });
});
