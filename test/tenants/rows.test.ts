import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { Catalog } from "../../src/storage/catalog.ts";
import { newNamespace, publish, skillMdOf } from "../harness.ts";

/** How many rows a stranger's question walks in the database, which is time that an answer takes. */
let full: Namespace;
const unknown = "never-made" as Namespace;
/** Those that prove or deny a right, and the one that was asked for; none of the hundred beside it. */
const few = 8;

beforeAll(async () => {
  full = (await newNamespace("private")) as Namespace;
  const names = Array.from({ length: 100 }, (_, index) => `plan-${index}`);
  const folder = Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillMdOf(name)]));
  expect((await publish(full, folder)).status).toBe(201);
});

async function rowsOf(namespace: Namespace, ask: (catalog: Catalog) => Promise<unknown>): Promise<number> {
  let rows = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const { meta } of results) rows += meta.rows_read;
    return results;
  };
  const db = { prepare: (sql: string) => env.DB.prepare(sql), batch } as D1Database;
  const stranger = { everything: false, tokenId: null, tokenHash: null, now: Date.now() };
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
});
