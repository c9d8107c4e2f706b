import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { Blobs } from "../../src/storage/blobs.ts";
import { rebuildSome, rebuildStart } from "../../src/publish/reindex.ts";
import type { RebuildPlace } from "../../src/publish/reindex.ts";
import { api, newNamespace, publish, seedSkill, skillMdOf } from "../harness.ts";

/** The index follows whatever happens to skills, and says the same as one that is made from nothing. */
type Row = Record<string, string | number | null>;

const tables = {
  search_docs: "id, kind, namespace, path, version, shelf",
  search_postings: "shelf, term, namespace, doc, impact, head",
  search_terms: "shelf, term, docs",
  search_groups: "shelf, namespace, docs",
};

const rowsOf = async (sql: string): Promise<Row[]> => (await env.DB.prepare(sql).all<Row>()).results;

async function contents(): Promise<Record<string, Row[]>> {
  const entries = Object.entries(tables).map(async ([table, columns]): Promise<[string, Row[]]> => [
    table,
    await rowsOf(`SELECT ${columns} FROM ${table} ORDER BY ${columns}`),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

async function fromNothing(): Promise<Record<string, Row[]>> {
  const columns = tables.search_docs;
  const kept = await contents();
  await env.DB.batch([
    ...Object.keys(tables).map((table) => env.DB.prepare(`DELETE FROM ${table}`)),
    env.DB.prepare(`INSERT INTO search_docs (${columns}) SELECT ${columns} FROM search_due`),
  ]);
  const made = await contents();
  expect(Object.values(kept).map((rows) => rows.length)).toEqual(Object.values(made).map((rows) => rows.length));
  return made;
}

async function expectWhole(): Promise<void> {
  const kept = await contents();
  expect(kept).toEqual(await fromNothing());
}

async function rebuild(): Promise<number> {
  let steps = 0;
  for (let place: RebuildPlace | undefined = rebuildStart; place !== undefined; steps++) {
    place = await rebuildSome(env.DB, new Blobs(env.BLOBS), place);
  }
  return steps;
}

const visibilities = ["public", "unlisted", "private"];
const words = "harbor lantern invoice pipeline orchard glacier ledger beacon walnut comet".split(" ");

/** What may happen to skills, drawn again and again; most of it is refused now and then, which is part of it. */
function operationsOn(space: string, random: (below: number) => number) {
  const path = () => `skill-${random(5)}`;
  const version = () => `1.0.${random(4)}`;
  const skill = (name: string) => `/namespaces/${space}/skills/${name}`;
  const release = (name: string, of: string) => `${skill(name)}/-/releases/${of}`;
  return [
    async () => {
      const [name, description] = [path(), `${words[random(10)]} ${words[random(10)]} ${words[random(10)]}`];
      const text = skillMdOf(name, description, `# ${words[random(10)]}\n`);
      const query = random(2) === 0 ? `?version=${version()}` : "";
      await publish(space, { "SKILL.md": text }, query);
    },
    () => api("PATCH", skill(path()), { visibility: visibilities[random(3)] }),
    () => api("PATCH", skill(path()), { current: version() }),
    () => api("PATCH", release(path(), version()), { yanked: random(2) === 0 }),
    () => (random(3) === 0 ? api("DELETE", skill(path())) : undefined),
    () =>
      api("PUT", `/namespaces/${space}/collections/desk-${random(2)}`, {
        skills: [{ path: "skill-0", version: version() }, { path: "skill-1" }].slice(random(2)),
      }),
    () => api("DELETE", `/namespaces/${space}/collections/desk-${random(2)}`),
    () => api("PATCH", `/namespaces/${space}`, { visibility: visibilities[2 * random(2)] }),
  ];
}

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("the search index", () => {
  it.each([1, 2, 3])("is after any sequence of changes what one made from nothing is (%i)", async (seed) => {
    const random = randomOf(seed);
    const operations = operationsOn(await newNamespace(), random);
    for (let count = 0; count < 80; count++) {
      await operations[random(operations.length)]!();
      if (count % 20 === 19) await expectWhole();
    }
  });

  it("holds what is listed, on the shelf of those who may find it", async () => {
    const space = await newNamespace();
    for (const visibility of visibilities) await seedSkill(space, `is-${visibility}`, {}, `?visibility=${visibility}`);
    const shelves = () => rowsOf(`SELECT path, shelf FROM search_docs WHERE namespace = '${space}' ORDER BY path`);
    expect(await shelves()).toEqual([
      { path: "is-private", shelf: space },
      { path: "is-public", shelf: "" },
    ]);
    await api("PATCH", `/namespaces/${space}`, { visibility: "private" });
    expect((await shelves()).map(({ shelf }) => shelf)).toEqual([space, space]);
    expect(await rowsOf(`SELECT shelf FROM search_groups WHERE namespace = '${space}'`)).toEqual([{ shelf: space }]);
    await api("DELETE", `/namespaces/${space}`);
    expect(await shelves()).toEqual([]);
    expect(await rowsOf(`SELECT term FROM search_terms WHERE shelf = '${space}'`)).toEqual([]);
  });

  it("is mended by a rebuild, whatever happened to it", async () => {
    const space = await newNamespace();
    for (const word of words) await seedSkill(space, `about-${word}`, { "SKILL.md": skillMdOf(`about-${word}`, word) });
    const whole = await contents();
    await env.DB.batch(
      [
        `DELETE FROM search_docs WHERE path = 'about-comet'`,
        `DELETE FROM search_postings WHERE term = 'lantern'`,
        `UPDATE search_terms SET docs = docs + 7 WHERE term LIKE 'w%'`,
        `DELETE FROM search_groups`,
        `INSERT INTO search_postings (shelf, term, namespace, doc, impact, head) VALUES ('', 'stray', '${space}', 999999, 1, 1)`,
        `UPDATE releases SET terms = '{}', indexed = 0 WHERE path = 'about-beacon'`,
      ].map((statement) => env.DB.prepare(statement)),
    );
    expect(await contents()).not.toEqual(whole);
    expect(await rebuild()).toBeGreaterThan(4);
    expect(await contents()).toEqual(whole);
  });
});
