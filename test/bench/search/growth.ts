import { cp } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";

import { maxJudgedDocuments, maxPickedSkills, maxPostingsRead } from "../../../src/domain/limits.ts";
import { maxQuestionTerms } from "../../../src/domain/limits.ts";
import { send } from "../load.ts";
import { migrate, start } from "../machine.ts";
import type { Bundle, Machine } from "../machine.ts";
import { median, table, whole } from "../report.ts";
import { createNamespace } from "../requests.ts";
import { askAgain } from "./ask-again.ts";
import type { LabelledSet } from "./data.ts";
import { publishAll } from "./library.ts";
import type { Donor } from "./multiply.ts";
import { mean } from "./measures.ts";
import { checkIndex, donorOf, mixerOf, multiply, openDatabase } from "./multiply.ts";
import type { Answer } from "./report.ts";

/**
 * `npm run bench -- search --sizes 1000,10000,100000`: what a search reads and how long its SQL takes as the registry
 * grows. A workerd for each size; every question is put to all of them in turn, because this machine is never quiet.
 */
interface Question {
  kind: string;
  place: { namespace?: string; collection?: string };
  text: string;
}

interface Grown {
  size: number;
  machine: Machine;
  questions: Question[];
  bytes: Map<string, number>;
  seconds: number;
}

/** Published as anybody would; the others are made of what the set says. */
const published = 300;
const namespaces = Array.from({ length: 20 }, (_, index) => `grown-${String(index).padStart(2, "0")}`);
const asked = namespaces[7]!;
const collection = "picked";
const commonWords = 20;
const maxQueryLength = 512;
const rounds = 5;

export async function reportSearchGrowth(
  { bundle, state, set }: { bundle: Bundle; state: string; set: LabelledSet },
  sizes: readonly number[],
  say: (text: string) => void,
): Promise<void> {
  await publishBase(bundle, `${state}/base`, set);
  const donors = set.skills.map((skill) => donorOf(skill));
  const grown: Grown[] = [];
  try {
    for (const size of sizes) {
      grown.push(await grow({ bundle, state, set, donors }, size));
      say(describe(grown.at(-1)!));
    }
    say(report(grown, await measure(grown)));
  } finally {
    for (const { machine } of grown) await machine.stop();
  }
}

async function publishBase(bundle: Bundle, state: string, set: LabelledSet): Promise<void> {
  const machine = await start(bundle, state);
  try {
    await migrate(machine.database);
    await publishAll(machine.origin, set.skills.slice(0, published), () => {});
    for (const namespace of namespaces) await send(machine.origin, createNamespace(namespace));
  } finally {
    await machine.stop();
  }
}

async function grow(
  { bundle, state, set, donors }: { bundle: Bundle; state: string; set: LabelledSet; donors: readonly Donor[] },
  size: number,
): Promise<Grown> {
  const began = performance.now();
  const own = `${state}/${size}`;
  await cp(`${state}/base`, own, { recursive: true });
  const database = await openDatabase(own);
  const trigger = database.prepare("SELECT sql FROM sqlite_master WHERE name = 'search_docs_shelved'").get();
  multiply(database, namespaces, size, mixerOf(donors, size));
  checkIndex(database, (trigger as { sql: string }).sql);
  fillCollection(database);
  const questions = questionsFor(database, set);
  const bytes = bytesOf(database);
  database.exec("PRAGMA journal_mode = WAL");
  database.close();
  const seconds = (performance.now() - began) / 1000;
  return { size, machine: await start(bundle, own), questions, bytes, seconds };
}

function fillCollection(database: DatabaseSync): void {
  database.exec(`
    INSERT INTO collections (namespace, name, title, instructions, visibility, is_all, edition, revision, stamp,
        created_at, updated_at) VALUES ('${asked}', '${collection}', '', '', 'public', 0, 1, 1, '', 0, 0);
    INSERT INTO collection_items (namespace, collection, position, skill_namespace, skill_path, version)
      SELECT '${asked}', '${collection}', row_number() OVER (), namespace, path, NULL
      FROM (SELECT namespace, path FROM search_docs ORDER BY (id * 7919) % 100003 LIMIT ${maxPickedSkills})`);
}

/** Real tasks at each kind of address, and at all of it the worst that can be asked: nothing but the commonest words. */
function questionsFor(database: DatabaseSync, set: LabelledSet): Question[] {
  const tasks = set.queries.filter(({ tier }) => tier === "A").map(({ text }) => text);
  const words = `SELECT term FROM search_terms WHERE shelf = '' AND term GLOB '[a-z][a-z]*'
    AND NOT term GLOB '*[^a-z]*' ORDER BY docs DESC LIMIT ?`;
  const common = (database.prepare(words).all(maxQuestionTerms) as { term: string }[]).map(({ term }) => term);
  const places = [
    ["tasks, everything", {}],
    [`tasks, a namespace of a ${namespaces.length}th`, { namespace: asked }],
    [`tasks, a collection of ${maxPickedSkills}`, { namespace: asked, collection }],
  ] as const;
  return [
    ...places.flatMap(([kind, place]) => tasks.map((text) => ({ kind, place, text }))),
    ...common.slice(0, commonWords).map((text) => ({ kind: "one of the commonest words", place: {}, text })),
    { kind: `the ${common.length} commonest words at once`, place: {}, text: common.join(" ") },
  ];
}

/** What the tables take that grow with every skill, and the whole file. */
function bytesOf(database: DatabaseSync): Map<string, number> {
  const rows = database
    .prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat WHERE aggregate = 1 GROUP BY name")
    .all() as { name: string; bytes: number }[];
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

function describe({ size, bytes, seconds }: Grown): string {
  const all = [...bytes.values()].reduce((sum, value) => sum + value, 0);
  const kib = (names: readonly string[]) =>
    (names.reduce((sum, name) => sum + (bytes.get(name) ?? 0), 0) / size / 1024).toFixed(1);
  return (
    `${whole(size)} skills made in ${whole(seconds)} s, a sample of the index as the triggers write it; ` +
    `${whole(all / 2 ** 20)} MiB. KiB a skill: postings ${kib(["search_postings"])}, ` +
    `words ${kib(["search_terms"])}, documents ${kib(["search_docs", "sqlite_autoindex_search_docs_1"])}, ` +
    `releases with their terms ${kib(["releases"])}`
  );
}

/** Of some rounds the mean for each question, since D1 tells whole milliseconds. */
async function measure(grown: readonly Grown[]): Promise<Map<string, Answer[]>> {
  const answers = new Map<string, Answer[]>();
  for (let index = 0; index < grown[0]!.questions.length; index++) {
    const own: Answer[][] = grown.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (const [place, { machine, questions }] of grown.entries()) {
        own[place]!.push(await ask(machine, questions[index]!));
      }
    }
    for (const [place, { size, questions }] of grown.entries()) {
      const key = `${questions[index]!.kind} ${size}`;
      const sqlMs = mean(own[place]!.map((answer) => answer.sqlMs));
      answers.set(key, [...(answers.get(key) ?? []), { ...own[place]![0]!, sqlMs }]);
    }
  }
  return answers;
}

async function ask({ origin }: Machine, { place, text }: Question): Promise<Answer> {
  const query = [...text].slice(0, maxQueryLength).join("");
  const response = await askAgain(`${origin}/bench/search`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...place, query, limit: 10 }),
  });
  if (!response.ok) throw new Error(`search: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

function report(grown: readonly Grown[], answers: ReadonlyMap<string, Answer[]>): string {
  const kinds = [...new Set(grown[0]!.questions.map(({ kind }) => kind))];
  const rows = kinds.flatMap((kind) => {
    const of = (size: number) => answers.get(`${kind} ${size}`)!;
    const first = of(grown[0]!.size);
    return grown.map(({ size }) => rowOf(`${kind} (${first.length}), ${whole(size)}`, of(size), first));
  });
  return [
    table(["questions, skills", "ms", "p95", "rows read", "p95", "most", "ms : first", "rows : first"], rows),
    "",
    "What bounds them: to find documents at most " +
      `${whole(maxPostingsRead)} postings (maxPostingsRead), counted from the rarest word on, ` +
      "but always all of that one, some five rows each; to order them " +
      `${maxJudgedDocuments} documents (maxJudgedDocuments) and all that tie with the last of them, with each of at ` +
      `most ${maxQuestionTerms} words (maxQuestionTerms); in a collection its ${maxPickedSkills} skills ` +
      "(maxPickedSkills) with each of the words.",
  ].join("\n");
}

function rowOf(name: string, own: readonly Answer[], first: readonly Answer[]): string[] {
  const times = own.map(({ sqlMs }) => sqlMs);
  const rows = own.map(({ rowsRead }) => rowsRead);
  const times0 = median(first.map(({ sqlMs }) => sqlMs));
  const rows0 = median(first.map(({ rowsRead }) => rowsRead));
  return [
    name,
    median(times).toFixed(1),
    high(times).toFixed(1),
    whole(median(rows)),
    whole(high(rows)),
    whole(Math.max(...rows)),
    (median(times) / times0).toFixed(2),
    (median(rows) / rows0).toFixed(2),
  ];
}

function high(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)]!;
}
