import { instructedGroups, maxFirstInstructions, maxMcpPages, maxPageEntries } from "../domain/limits.ts";
import { listGroups } from "../storage/finding.ts";
import type { GroupRow } from "../storage/finding.ts";
import { groupKind } from "./groups.ts";
import { listListed } from "./lists.ts";
import type { ListedSkill } from "./lists.ts";
import { hasSkillTools } from "./skill-tools.ts";
import { uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * What a model is told about this address. Some hosts read only the first 512 characters, so those say what this is,
 * how to search and load, with an address that `skills/get` confirms, and the largest groups. What a collection's maker says to agents comes after.
 */
export async function writeInstructions(visit: Visit): Promise<string> {
  const groups = await listGroups(visit.catalog, instructedGroups);
  const { items } = await listListed(visit, "instructions", undefined, 1);
  const { collection } = await visit.catalog.gate();
  const beginning = [
    `${whatIsHere(visit, collection?.title)}: instructions to load when a task needs them.`,
    'Search: search_skills {"query":"fill in a PDF form"}. No cards: nothing fits; ask the user.',
    'Load: load_skill {"uri":"<uri of a card>"}, then read_skill_file, describe_tool.',
  ].join("\n");
  const largest = groupsLine(visit, groups, maxFirstInstructions - beginning.length);
  const room = maxFirstInstructions - beginning.length - largest.length;
  return [
    beginning + example(items[0], room) + largest,
    ...(collection === undefined || collection.instructions === "" ? [] : ["", collection.instructions]),
    "",
    ...(await whatElse(visit)),
  ].join("\n");
}

/** One that is here, for hosts and people who want to see one; none where the groups left no room. */
function example(first: ListedSkill | undefined, room: number): string {
  const text = first === undefined ? "" : ` For example ${uriOf(first)}`;
  return text.length > room ? "" : text;
}

async function whatElse(visit: Visit): Promise<string[]> {
  return [
    "Hosts with the Skills extension: skills/list, skills/get, then resources/read; check size and sha256 of every file.",
    "A uri with @{version} before the skill's name is pinned: its bytes never change.",
    "tools/list and skills/list take a query: plain words; what matches is listed, best first.",
    ...((await hasSkillTools(visit)) ? ["Each skill here is also a tool without arguments, which loads it."] : []),
    `Lists end after ${maxMcpPages * maxPageEntries} skills; search_skills and skills/get reach all of them.`,
  ];
}

/** As many of the largest groups as have room, each with its number of skills. */
function groupsLine(visit: Visit, groups: readonly GroupRow[], room: number): string {
  const label = `\n${groupKind(visit) === "namespace" ? "Namespaces" : "Collections"}: `;
  const ending = "; list_groups has more";
  let line = "";
  for (const [index, { name, skills }] of groups.entries()) {
    const next = `${line}${line === "" ? label : ", "}${name} (${skills})`;
    const isLast = index === groups.length - 1 && groups.length < instructedGroups;
    if (next.length + (isLast ? 1 : ending.length + 1) > room) return line === "" ? "" : `${line}${ending}.`;
    line = next;
  }
  return line === "" ? "" : `${line}${groups.length < instructedGroups ? "" : ending}.`;
}

function whatIsHere({ address }: Visit, title: string | undefined): string {
  if (title !== undefined) return `Agent Skills that "${address.namespace}" picked: ${begunOf(title)}`;
  if (address.namespace !== undefined) return `Agent Skills of "${address.namespace}"`;
  return address.isPersonal ? "Agent Skills that you may read" : "Agent Skills from every public namespace";
}

/** Whole characters of it. */
function begunOf(title: string): string {
  // On one line, and without what would show it otherwise than it is.
  const line = title.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return line.slice(0, maxTitleShown).replace(/[\uD800-\uDBFF]$/, "");
}

/** So that a long title does not push the way to search out of the first 512 characters. */
const maxTitleShown = 64;
