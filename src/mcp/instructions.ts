import { maxMcpPages, maxPageEntries } from "../domain/limits.ts";
import { movingUri } from "../domain/uri.ts";
import { listedNamespace } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * What a model is told about this address. Some hosts read only the first 512 characters, so those say what this is,
 * how to search, how to load, and name one skill that `skills/get` confirms.
 */
export async function writeInstructions(visit: Visit): Promise<string> {
  const { namespace } = visit.address;
  const { items } = await visit.catalog.listSkills(listedNamespace(visit.address), "", 1);
  const first = items[0];
  const what = namespace === undefined ? "Agent Skills from every public namespace" : `Agent Skills of "${namespace}"`;
  const example = first === undefined ? "" : ` One to begin with: ${movingUri(first.namespace, first.path)}`;
  return [
    `${what}: instructions to load when a task needs them.`,
    'Search: search_skills {"query": "the task in plain words"} returns cards; no cards means nothing fits, so go on without.',
    `Load: load_skill {"uri": "<uri of the best card>"}, then read_skill_file for the files it mentions.${example}`,
    "",
    "Hosts with the Skills extension: skills/list, skills/get, then resources/read; check size and sha256 of every file.",
    "A uri with @{version} before the skill's name is pinned: its bytes never change.",
    `Lists end after ${maxMcpPages * maxPageEntries} skills; search_skills and skills/get reach all of them.`,
  ].join("\n");
}
