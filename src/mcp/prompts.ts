import { decodeLossless } from "../domain/media-type.ts";
import { maxNameLength, maxPrompts } from "../domain/limits.ts";
import { isSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { parseQuery } from "../domain/search/query.ts";
import { skillMd } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import { listListed } from "./lists.ts";
import { searchSkillsHere } from "./search.ts";
import { parseSkillKey } from "./tools/skill-key.ts";
import { freshness, uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * Each listed skill as a prompt, for hosts that show prompts as commands. In a namespace a prompt's name is the skill's
 * path, which is unique there; in a picked list, whose skills come from many, it is the skill's name, unique as well.
 */
const task = { name: "task", description: "What to do with the skill, in plain words", required: false };

/** One prompt for all of them, for hosts that know only prompts: it finds the skill by its name or by the task. */
export const useSkill = {
  name: "use-skill",
  title: "Use a skill",
  description: "Finds the skill that fits a task and loads it; says so when none fits",
  arguments: [
    {
      name: "skill",
      description: "Its name or skill:// address; without it the task is searched for",
      required: false,
    },
    { name: "task", description: "The task in plain words", required: false },
  ],
};

/** `prompts/list`: one page. */
export async function listPrompts(visit: Visit) {
  const { items } = await listListed(visit, "prompts", undefined);
  const prompts = items
    .map((row) => ({
      name: isByPath(visit) ? row.path : row.name,
      title: row.name,
      description: row.description,
      arguments: [task],
    }))
    .filter(({ name }) => name !== useSkill.name);
  return { prompts: [useSkill, ...prompts].slice(0, maxPrompts), ...freshness(visit) };
}

/** `prompts/get`: the SKILL.md as the user's message, with the task behind it when one was given. */
export async function getPrompt(visit: Visit, name: string, given: Record<string, string>) {
  const key = name === useSkill.name ? await findWanted(visit, given) : await findPrompt(visit, name);
  if (key === "nothing fits") return nothingFits(given["task"]!);
  const found =
    key === undefined ? undefined : await visit.catalog.findRelease(key.namespace, key.path, key.pinned ?? undefined);
  if (key === undefined || found === undefined) throw problem("not_found", absent(name, given));
  const file = found.files.find((candidate) => candidate.file === skillMd)!;
  const text = decodeLossless(await visit.blobs.read(file.digest, key.namespace)) ?? "";
  const { version, is_current } = found.release;
  visit.tally.read({ namespace: key.namespace, path: key.path, version, isCurrent: is_current === 1 });
  const heading = `Use the skill ${uriOf(key)} (version ${version}):`;
  const closing = given["task"] === undefined ? [] : [`The task: ${given["task"]}`];
  return answer(found.release.description, [heading, text, ...closing].join("\n\n"));
}

/** @throws Problem `invalid_request` when neither says which, or the task is longer than a query may be */
async function findWanted(visit: Visit, { skill = "", task: sentence = "" }: Record<string, string>) {
  if (skill !== "") {
    const key = parseSkillKey(skill);
    return key === undefined ? findNamed(visit, skill) : { ...key, pinned: key.version ?? null };
  }
  const query = parseQuery(sentence);
  if (query === undefined) throw problem("invalid_request", 'use-skill needs "skill" or "task"');
  const { isAnswer, rows } = await searchSkillsHere(visit, query, { limit: 1 });
  return isAnswer ? rows[0] : ("nothing fits" as const);
}

/** By its path where that is its name here, else by its name, wherever it lies in folders. */
async function findNamed(visit: Visit, name: string): Promise<PromptKey | undefined> {
  const { rows } = await searchSkillsHere(visit, [...name].slice(0, maxNameLength).join(""), { limit: 1 });
  const [first] = rows;
  if (first?.is_exact === 1) return first;
  return findPrompt(visit, name);
}

function absent(name: string, given: Record<string, string>): string {
  if (name !== useSkill.name) return `There is no prompt "${name}" here`;
  return `There is no skill "${given["skill"] ?? ""}" here; completion of the argument "skill" offers what there is`;
}

/** No skill, not even the nearest; the model should not make one up either. */
function nothingFits(sentence: string) {
  const text = `No skill here fits this task. Ask the user how to go on, or go on without a skill.\n\nThe task: ${sentence}`;
  return answer("No skill here fits this task", text);
}

function answer(description: string, text: string) {
  return { description, messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}

interface PromptKey {
  namespace: Namespace;
  path: SkillPath;
  pinned: Version | null;
}

export async function findPrompt(visit: Visit, name: string): Promise<PromptKey | undefined> {
  const { namespace } = visit.address;
  if (isByPath(visit)) return isSkillPath(name) ? { namespace: namespace!, path: name, pinned: null } : undefined;
  const { items } = await listListed(visit, "prompts", undefined);
  return items.find((row) => row.name === name);
}

function isByPath({ address }: Visit): boolean {
  return address.namespace !== undefined && address.collection === undefined;
}
