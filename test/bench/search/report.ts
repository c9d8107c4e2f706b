import { median, table } from "../report.ts";
import type { Machine } from "../machine.ts";
import { askAgain } from "./ask-again.ts";
import { libraryOf } from "./data.ts";
import type { LabelledQuery, LabelledSet } from "./data.ts";
import { publishAll } from "./library.ts";
import type { Library } from "./library.ts";
import { areaUnderCurve, mean, ndcgAt, randomOf, recallAt } from "./measures.ts";

/**
 * `npm run bench -- search`: how good the ranking is, how well it knows when nothing fits, and what it costs, over the
 * built Worker and its D1. The same three settings for every set: all skills together, libraries of 200 (what fits and
 * random others), and each repository as a library of its own, asked its own queries and everybody else's.
 */
export interface Answer {
  isAnswer: boolean;
  confidence: number;
  /** `namespace/path`, best first. */
  ranked: string[];
  rowsRead: number;
  sqlMs: number;
}

/** Code points; a host has to shorten what is longer. */
const maxQueryLength = 512;
const librarySize = 200;
const minQueries = 5;
const places = 10;

export async function reportSearch(machine: Machine, set: LabelledSet, say: (line: string) => void): Promise<void> {
  const began = performance.now();
  const library = await publishAll(machine.origin, set.skills, () => {});
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  say(`${library.keyOf.size} skills published in ${seconds} s, ${library.refused} refused`);
  const run: Run = { machine, set, library };
  const rows: string[][] = [];
  for (const [name, queries] of kindsOf(run)) {
    rows.push(await reportAll(run, name, queries), await reportSmall(run, name, queries));
  }
  say(table(["queries", "R@1", "R@5", "R@10", "nDCG@10", "answered", "ms", "p95", "rows read"], rows));
  await reportAbstention(run, say);
}

interface Run {
  machine: Machine;
  set: LabelledSet;
  library: Library;
}

/** Each tier, and of the first those in Chinese and Japanese, whose words no stemmer knows. */
function kindsOf(run: Run): [string, LabelledQuery[]][] {
  const tiers = [...new Set(run.set.queries.map(({ tier }) => tier))].sort();
  const kinds = tiers.map((tier): [string, LabelledQuery[]] => [`tier ${tier}`, answerable(run, tier)]);
  const isJapanese = (text: string) => /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
  const isChinese = (text: string) => /\p{Script=Han}/u.test(text) && !isJapanese(text);
  const first = answerable(run, "A");
  const languages: [string, LabelledQuery[]][] = [
    ["in Chinese", first.filter(({ text }) => isChinese(text))],
    ["in Japanese", first.filter(({ text }) => isJapanese(text))],
  ];
  return [...kinds, ...languages].filter(([, queries]) => queries.length > 0);
}

function answerable({ set, library }: Run, tier: string): LabelledQuery[] {
  return set.queries.filter(
    (query) => query.tier === tier && query.relevant.length > 0 && query.relevant.every((id) => library.keyOf.has(id)),
  );
}

async function reportAll(run: Run, name: string, queries: readonly LabelledQuery[]): Promise<string[]> {
  const answers: Answer[] = [];
  for (const { text } of queries) answers.push(await ask(run, text, {}));
  return rowOf(`${name} (${queries.length}), all ${run.library.keyOf.size} skills`, { run, queries, answers });
}

/** A collection is what holds such a library; its rows are put in place directly, since a list has at most 100. */
async function reportSmall(run: Run, name: string, queries: readonly LabelledQuery[]): Promise<string[]> {
  const random = randomOf(7);
  const ids = [...run.library.keyOf.keys()];
  const answers: Answer[] = [];
  for (const { text, relevant } of queries) {
    const members = new Set(relevant);
    while (members.size < Math.min(librarySize, ids.length)) members.add(ids[Math.floor(random() * ids.length)]!);
    const place = await fillCollection(run, [...members]);
    answers.push(await ask(run, text, place));
  }
  return rowOf(`${name} (${queries.length}), libraries of ${librarySize}`, { run, queries, answers });
}

async function fillCollection({ machine, library }: Run, ids: readonly string[]) {
  const [namespace] = [...library.namespaceOf.values()];
  const collection = "library";
  const keys = ids.map((id) => library.keyOf.get(id)!);
  const bind = (sql: string, ...values: unknown[]) =>
    machine.database
      .prepare(sql)
      .bind(...values)
      .run();
  await bind(
    `INSERT OR IGNORE INTO collections (namespace, name, title, instructions, visibility, is_all, edition, revision,
       stamp, created_at, updated_at) VALUES (?1, ?2, '', '', 'public', 0, 1, 1, '', 0, 0)`,
    namespace,
    collection,
  );
  await bind(`DELETE FROM collection_items WHERE namespace = ?1 AND collection = ?2`, namespace, collection);
  await bind(
    `INSERT INTO collection_items (namespace, collection, position, skill_namespace, skill_path, version)
     SELECT ?1, ?2, key, substr(value, 1, instr(value, '/') - 1), substr(value, instr(value, '/') + 1), NULL
     FROM json_each(?3)`,
    namespace,
    collection,
    JSON.stringify(keys),
  );
  return { namespace: namespace!, collection };
}

function rowOf(
  name: string,
  { run, queries, answers }: { run: Run; queries: readonly LabelledQuery[]; answers: readonly Answer[] },
): string[] {
  const over = (measure: (ranked: readonly string[], relevant: readonly string[]) => number) =>
    (100 * mean(answers.map(({ ranked }, index) => measure(ranked, keysOf(run, queries[index]!))))).toFixed(1);
  const times = answers.map(({ sqlMs }) => sqlMs).sort((a, b) => a - b);
  return [
    name,
    over((ranked, relevant) => recallAt(1, ranked, relevant)),
    over((ranked, relevant) => recallAt(5, ranked, relevant)),
    over((ranked, relevant) => recallAt(10, ranked, relevant)),
    over((ranked, relevant) => ndcgAt(10, ranked, relevant)),
    `${((100 * answers.filter(({ isAnswer }) => isAnswer).length) / answers.length).toFixed(0)} %`,
    median(times).toFixed(1),
    times[Math.floor(times.length * 0.95)]!.toFixed(1),
    median(answers.map(({ rowsRead }) => rowsRead)).toFixed(0),
  ];
}

function keysOf({ library }: Run, { relevant }: LabelledQuery): string[] {
  return relevant.map((id) => library.keyOf.get(id)!);
}

/** Each repository with enough queries: what fits is its own, what does not is everybody else's and what fits nowhere. */
async function reportAbstention(run: Run, say: (line: string) => void): Promise<void> {
  const queries = answerable(run, "A");
  const nothing = run.set.queries.filter(({ relevant }) => relevant.length === 0);
  const libraries = Map.groupBy(queries, ({ relevant }) => libraryOf(relevant[0]!));
  const all = { fitting: [] as Answer[], foreign: [] as Answer[] };
  const areas: number[] = [];
  for (const [repository, own] of libraries) {
    if (own.length < minQueries) continue;
    const others = queries.filter(({ relevant }) => !relevant.some((id) => libraryOf(id) === repository));
    const place = { namespace: run.library.namespaceOf.get(repository)! };
    const fitting: Answer[] = [];
    const foreign: Answer[] = [];
    for (const { text } of own) fitting.push(await ask(run, text, place));
    for (const { text } of others) foreign.push(await ask(run, text, place));
    areas.push(areaUnderCurve(fitting.map(confidenceOf), foreign.map(confidenceOf)));
    all.fitting.push(...fitting);
    all.foreign.push(...foreign);
  }
  if (areas.length > 0) {
    const pooled = areaUnderCurve(all.fitting.map(confidenceOf), all.foreign.map(confidenceOf));
    say(
      `Abstention over ${areas.length} libraries, ${all.fitting.length} fitting and ${all.foreign.length} foreign ` +
        `questions: AUC ${pooled.toFixed(3)} pooled, ${mean(areas).toFixed(3)} mean of libraries; answered ` +
        `${shareAnswered(all.fitting)} of the fitting, ${shareAnswered(all.foreign)} of the foreign`,
    );
  }
  if (nothing.length === 0) return;
  const answers: Answer[] = [];
  for (const { text } of nothing) answers.push(await ask(run, text, {}));
  say(`Queries that nothing fits, all skills: ${shareAnswered(answers)} of ${answers.length} answered`);
}

const confidenceOf = ({ confidence }: Answer) => confidence;

function shareAnswered(answers: readonly Answer[]): string {
  return `${((100 * answers.filter(({ isAnswer }) => isAnswer).length) / answers.length).toFixed(1)} %`;
}

async function ask(
  { machine }: Run,
  text: string,
  place: { namespace?: string; collection?: string },
): Promise<Answer> {
  const query = [...text].slice(0, maxQueryLength).join("");
  const response = await askAgain(`${machine.origin}/bench/search`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...place, query, limit: places }),
  });
  if (!response.ok) throw new Error(`search: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}
