import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";

import type { Impacts } from "../../../src/domain/search/impacts.ts";
import { exactTerm, termsToIndex } from "../../../src/domain/search/terms.ts";
import type { LabelledSkill } from "./data.ts";
import { randomOf } from "./measures.ts";

/**
 * A registry of any size out of real texts, in SQL, because 100,000 publishes would take hours. Each made skill says in
 * its head (name, description, tags) what one labelled skill says there, and in its body half of what each of two others
 * says. A word that at most two skills of the set have is spelt in several ways, as many as it takes for the vocabulary
 * to grow as it does with real skills. All other words keep their share, so their postings grow with the registry.
 */
export interface Mixer {
  next(): { name: string; terms: Impacts };
}

/** Skills of the set that have a word, up to which it is rare. */
const rareIn = 2;
/** Heaps' law: distinct words grow with this power of the texts. Measured from 81 to 5,022 real skills: 0.58 to 0.61. */
const heaps = 0.6;

export function mixerOf(donors: readonly Donor[], size: number): Mixer {
  const random = randomOf(11);
  const drawn = (below: number) => Math.floor(random() * below);
  const frequencies = new Map<string, number>();
  for (const { terms } of donors) for (const [term] of terms) count(frequencies, term);
  const spellings = Math.ceil((size / donors.length) ** heaps);
  const spelt = (term: string) => {
    const spelling = frequencies.get(term)! > rareIn ? 0 : drawn(spellings);
    return spelling === 0 ? term : `${term}${spelling}`;
  };
  let made = 0;
  const next = () => {
    const [head, ...bodies] = [0, 1, 2].map(() => donors[drawn(donors.length)]!);
    const name = `${head!.name}-${++made}`;
    const chosen = [
      ...bodies.flatMap(({ terms }) => terms.filter(([, [, inHead]]) => inHead === 0 && random() < 0.5)),
      ...head!.terms.filter(([, [, inHead]]) => inHead > 0),
    ];
    const terms = Object.fromEntries(chosen.map(([term, impacts]) => [spelt(term), impacts]));
    return { name, terms: { ...terms, [String(made)]: [400, 400], [exactTerm(name)]: [0, 0] } as Impacts };
  };
  return { next };
}

export interface Donor {
  name: string;
  terms: [term: string, impacts: [impact: number, head: number]][];
}

/** What a publish would index of a skill. */
export function donorOf(skill: LabelledSkill): Donor {
  const terms = termsToIndex({ ...skill, path: skill.name, triggers: [], examples: [] });
  const name = skill.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return {
    name: name.slice(0, 40).replaceAll(/^-|-$/g, "") || "x",
    terms: Object.entries(terms).filter(([term]) => !term.startsWith("=")),
  };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The file of the Worker's D1 while no workerd has it open. */
export async function openDatabase(stateDirectory: string): Promise<DatabaseSync> {
  const names = await readdir(stateDirectory, { recursive: true });
  for (const name of names.filter((name) => name.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(stateDirectory, name), { enableForeignKeyConstraints: false });
    const isOurs = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'search_docs'").get() !== undefined;
    if (isOurs) return database;
    database.close();
  }
  throw new Error(`No database of the registry lies in ${stateDirectory}`);
}

/**
 * Adds skills to these namespaces in turn until there are `size`. The index is written in its own order and not by the
 * triggers, which would write each page of it hundreds of times; `checkIndex` compares a sample with what they write.
 */
export function multiply(database: DatabaseSync, namespaces: readonly string[], size: number, mixer: Mixer): void {
  database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000");
  database.exec("DROP TRIGGER search_docs_shelved");
  addSkills(database, namespaces, size, mixer);
  database.exec(`
    INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
      SELECT id, kind, namespace, path, version, shelf FROM search_due WHERE id NOT IN (SELECT id FROM search_docs);
    DELETE FROM search_postings; DELETE FROM search_terms; DELETE FROM search_groups;
    INSERT INTO search_postings (shelf, term, namespace, doc, impact, head)
      SELECT d.shelf, t.key, d.namespace, d.id, t.value ->> 0, t.value ->> 1
      FROM search_docs d CROSS JOIN releases r ON r.id = d.id CROSS JOIN json_each(r.terms) t ORDER BY 1, 2, 3, 4;
    INSERT INTO search_terms (shelf, term, docs)
      SELECT shelf, term, count(*) FROM search_postings GROUP BY shelf, term
      UNION ALL SELECT shelf, '', count(*) FROM search_docs GROUP BY shelf;
    INSERT INTO search_groups (shelf, namespace, docs)
      SELECT shelf, namespace, count(*) FROM search_docs GROUP BY shelf, namespace;`);
}

type Row = Record<string, SQLInputValue>;

/** Whole rows of a published skill, under another name wherever the name occurs. */
function addSkills(database: DatabaseSync, namespaces: readonly string[], size: number, mixer: Mixer): void {
  const current = "SELECT s.* FROM skills s WHERE s.current IS NOT NULL ORDER BY s.namespace, s.path LIMIT 1";
  const skill = database.prepare(current).get() as Row;
  const release = database
    .prepare("SELECT * FROM releases WHERE namespace = ? AND path = ? AND version = ?")
    .get(skill["namespace"]!, skill["path"]!, skill["current"]!) as Row;
  const address = `${String(skill["namespace"])}/${String(skill["path"])}`;
  const insertSkill = inserter(database, "skills", skill);
  const insertRelease = inserter(database, "releases", release);
  const there = database.prepare("SELECT count(*) AS there FROM skills").get() as { there: number };
  database.exec("BEGIN");
  for (let index = there.there; index < size; index++) {
    const namespace = namespaces[index % namespaces.length]!;
    const { name, terms } = mixer.next();
    const renamed = (column: string) => String(release[column]).replaceAll(address, `${namespace}/${name}`);
    insertSkill({ ...skill, namespace, path: name });
    insertRelease({
      ...release,
      id: null,
      namespace,
      path: name,
      name,
      terms: JSON.stringify(terms),
      entry: renamed("entry"),
      pinned_entry: renamed("pinned_entry"),
    });
  }
  database.exec("COMMIT");
}

function inserter(database: DatabaseSync, table: string, row: Row): (row: Row) => void {
  const columns = Object.keys(row);
  const places = columns.map(() => "?").join(", ");
  const statement = database.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
  return (values) => void statement.run(...columns.map((column) => values[column]!));
}

const sampleSize = 40;

/** Takes documents out and puts them in again as a publish would: nothing may differ, and between nothing be left. */
export function checkIndex(database: DatabaseSync, triggerSql: string): void {
  database.exec(triggerSql);
  const ids = database.prepare("SELECT id FROM search_docs ORDER BY (id * 7919) % 100003 LIMIT ?").all(sampleSize);
  const read = (id: SQLInputValue) => JSON.stringify(database.prepare(indexOf).all(id));
  database.exec("PRAGMA journal_mode = MEMORY; BEGIN");
  for (const { id } of ids as { id: number }[]) {
    const before = read(id);
    database.prepare("CREATE TEMP TABLE one AS SELECT * FROM search_docs WHERE id = ?").run(id);
    database.prepare("DELETE FROM search_docs WHERE id = ?").run(id);
    const between = database.prepare(postingsOf).get(id) as { rows: number };
    database.exec("INSERT INTO search_docs SELECT * FROM one; DROP TABLE one");
    if (between.rows > 0 || before.length < 100 || read(id) !== before) throw new Error(`The index differs at ${id}`);
  }
  database.exec("ROLLBACK");
}

/** What the index has of a document: its postings and how often each of its terms is counted. */
const indexOf = `
SELECT p.*, t.docs FROM releases r CROSS JOIN json_each(r.terms) j
CROSS JOIN search_postings p ON p.shelf = '' AND p.term = j.key AND p.namespace = r.namespace AND p.doc = r.id
CROSS JOIN search_terms t ON t.shelf = '' AND t.term = j.key
WHERE r.id = ? ORDER BY p.term`;

const postingsOf = `
SELECT count(*) AS rows FROM releases r CROSS JOIN json_each(r.terms) j
CROSS JOIN search_postings p ON p.shelf = '' AND p.term = j.key AND p.namespace = r.namespace AND p.doc = r.id
WHERE r.id = ?`;
