import { readFileSync } from "node:fs";

import { termsOf } from "../../../src/domain/search/words.ts";

/**
 * Says what is wrong with the labelled set, a line for each fault, and ends with 1 if there is any. What the bench
 * reports of tier N means something only while no stem is shared, so that this is checked with the stems of the index
 * itself: a change to those may silently turn a paraphrase into a match.
 */
interface Skill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  body: string;
}

interface Query {
  id: string;
  text: string;
  relevant: string[];
  tier: "A" | "N" | "X";
}

const faults: string[] = [];

function expect(holds: boolean, fault: string): void {
  if (!holds) faults.push(fault);
}

function read<T extends { id: string }>(file: string, keys: string): T[] {
  const lines = readFileSync(new URL(file, import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  const rows = lines.map((line) => JSON.parse(line) as T);
  for (const row of rows) expect(Object.keys(row).join() === keys, `${file} ${row.id}: its keys are not ${keys}`);
  expect(new Set(rows.map((row) => row.id)).size === rows.length, `${file}: an id is there twice`);
  return rows;
}

const isTexts = (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === "string");
const within = (text: string, least: number, most: number) => [...text].length >= least && [...text].length <= most;
const repositoryOf = (id: string) => id.split("/")[0]!;

/** Kana are Japanese only; Han characters without any kana are Chinese in a text of this length. */
function languageOf(text: string): "ja" | "zh" | "other" {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  return /\p{Script=Han}/u.test(text) ? "zh" : "other";
}

function checkSkill(skill: Skill): void {
  const says = (fault: string) => `skill ${skill.id}: ${fault}`;
  expect(/^[a-z0-9-]+(\/[a-z0-9-]+){2,}$/.test(skill.id), says("the id is no repository/path/name"));
  expect(/^[a-z0-9]+(-[a-z0-9]+)*$/.test(skill.name) && skill.name.length <= 64, says("the name is not kebab-case"));
  expect(skill.id.endsWith(`/${skill.name}`), says("the id does not end with the name"));
  expect(within(skill.description, 60, 400), says("the description is not 60 to 400 characters long"));
  expect(within(skill.body, 600, 2500), says("the body is not 600 to 2500 characters long"));
  expect(!skill.body.startsWith("---"), says("the body begins with frontmatter"));
  expect(isTexts(skill.tags) && skill.tags.length > 0, says("there are no tags"));
}

/** Runs of five words: fewer are met by chance, as in "use when a" and its like. */
function quotes(text: string, description: string): boolean {
  const words = (of: string) => of.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const said = ` ${words(text).join(" ")} `;
  const written = words(description);
  return written.some((_, at) => at + 5 <= written.length && said.includes(` ${written.slice(at, at + 5).join(" ")} `));
}

function checkQuery(query: Query, skills: ReadonlyMap<string, Skill>): void {
  const says = (fault: string) => `query ${query.id}: ${fault}`;
  expect(["A", "N", "X"].includes(query.tier), says("there is no such tier"));
  expect(query.text.trim() !== "", says("it is empty"));
  expect(
    (query.tier === "X") === (query.relevant.length === 0),
    says("only tier X, and all of it, has nothing relevant"),
  );
  for (const id of query.relevant) {
    const skill = skills.get(id);
    if (skill === undefined) {
      faults.push(says(`there is no skill ${id}`));
      continue;
    }
    if (query.tier === "A") {
      expect(!query.text.toLowerCase().includes(skill.name), says(`it names ${skill.name}`));
      expect(!quotes(query.text, skill.description), says(`it quotes the description of ${skill.name}`));
    }
    if (query.tier === "N") checkNoStem(query, skill);
  }
}

function checkNoStem(query: Query, skill: Skill): void {
  const known = new Set(termsOf(`${skill.name} ${skill.description}`));
  const terms = termsOf(query.text);
  const shared = terms.filter((term) => known.has(term));
  expect(terms.length > 0, `query ${query.id}: only stop-words`);
  expect(shared.length === 0, `query ${query.id} "${query.text}": shares ${shared.join(", ")} with ${skill.name}`);
}

function checkCounts(skills: readonly Skill[], queries: readonly Query[]): void {
  const atLeast = (least: number, count: number, of: string) =>
    expect(count >= least, `there are only ${count} ${of}, of ${least}`);
  const ofTier = (tier: string) => queries.filter((query) => query.tier === tier);
  const perRepository = new Map<string, number>();
  for (const query of ofTier("A")) {
    for (const name of new Set(query.relevant.map(repositoryOf))) {
      perRepository.set(name, (perRepository.get(name) ?? 0) + 1);
    }
  }
  atLeast(72, skills.length, "skills");
  atLeast(9, new Set(skills.map((skill) => repositoryOf(skill.id))).size, "repositories");
  atLeast(130, ofTier("A").length, "queries of tier A");
  atLeast(110, ofTier("N").length, "queries of tier N");
  atLeast(30, ofTier("X").length, "queries of tier X");
  atLeast(8, [...perRepository.values()].filter((count) => count >= 8).length, "repositories with 8 queries of tier A");
  for (const language of ["zh", "ja"]) {
    const written = skills.filter(
      (skill) => languageOf(skill.description) === language && languageOf(skill.body) === language,
    );
    atLeast(3, written.length, `skills in ${language}`);
    atLeast(4, ofTier("A").filter((query) => languageOf(query.text) === language).length, `queries in ${language}`);
  }
  expect(new Set(queries.map((query) => query.text)).size === queries.length, "a query is asked twice");
}

const skills = read<Skill>("skills.jsonl", "id,name,description,tags,body");
const queries = read<Query>("queries.jsonl", "id,text,relevant,tier");
const byId = new Map(skills.map((skill) => [skill.id, skill]));
for (const skill of skills) checkSkill(skill);
for (const query of queries) checkQuery(query, byId);
checkCounts(skills, queries);
for (const fault of faults) console.log(fault);
console.log(`${skills.length} skills, ${queries.length} queries, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
