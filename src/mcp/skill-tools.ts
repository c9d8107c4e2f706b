import { listListed } from "./lists.ts";
import type { ListedSkill } from "./lists.ts";
import type { Visit } from "./visit.ts";

/**
 * Each skill of a collection as a tool of its own, where its maker asked for it (`tools: per-skill`): hosts that know
 * only tools then see skills by name. A skill's name has no underscore, so none is taken for a tool of the registry.
 */
export async function hasSkillTools(visit: Visit): Promise<boolean> {
  if (visit.address.collection === undefined) return false;
  return (await visit.catalog.gate()).collection?.tools === "per-skill";
}

/** In the order of the collection; names are unique there. */
export async function listSkillTools(visit: Visit): Promise<ListedSkill[]> {
  if (!(await hasSkillTools(visit))) return [];
  return (await listListed(visit, "tools", undefined)).items;
}

export async function findSkillTool(visit: Visit, name: string): Promise<ListedSkill | undefined> {
  return (await listSkillTools(visit)).find((skill) => skill.name === name);
}
