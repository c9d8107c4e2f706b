import { maxMcpPages, maxPageEntries } from "../domain/limits.ts";
import { listListed } from "./lists.ts";
import { uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * What a model is told about this address. Some hosts read only the first 512 characters, so those say what this is,
 * how to search, how to load, and name one skill that `skills/get` confirms. What a collection's maker says to agents
 * comes after.
 */
export async function writeInstructions(visit: Visit): Promise<string> {
  const { items } = await listListed(visit, "instructions", undefined, 1);
  const first = items[0];
  const { collection } = await visit.catalog.gate();
  const example = first === undefined ? "" : ` One to begin with: ${uriOf(first)}`;
  return [
    `${whatIsHere(visit, collection?.title)}: instructions to load when a task needs them.`,
    'Search: search_skills {"query": "the task in plain words"} returns cards; no cards means nothing fits, so go on without.',
    `Load: load_skill {"uri": "<uri of the best card>"}, then read_skill_file for the files it mentions.${example}`,
    ...(collection === undefined || collection.instructions === "" ? [] : ["", collection.instructions]),
    "",
    "Hosts with the Skills extension: skills/list, skills/get, then resources/read; check size and sha256 of every file.",
    "A uri with @{version} before the skill's name is pinned: its bytes never change.",
    `Lists end after ${maxMcpPages * maxPageEntries} skills; search_skills and skills/get reach all of them.`,
  ].join("\n");
}

function whatIsHere({ address }: Visit, title: string | undefined): string {
  if (title !== undefined) return `Agent Skills that "${address.namespace}" picked: ${title.slice(0, maxTitleShown)}`;
  if (address.namespace !== undefined) return `Agent Skills of "${address.namespace}"`;
  return address.isPersonal ? "Agent Skills that you may read" : "Agent Skills from every public namespace";
}

/** So that a long title does not push the way to search out of the first 512 characters. */
const maxTitleShown = 64;
