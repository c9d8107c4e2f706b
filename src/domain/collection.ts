import type { Finding } from "./finding.ts";
import { fileFinding } from "./finding.ts";
import { nameOf } from "./names.ts";
import type { Namespace, SkillPath } from "./names.ts";
import type { CollectionVisibility, SkillVisibility } from "./policy.ts";
import type { Version } from "./version.ts";

/** A curated list of skills: the address that a team gives its agents. */
export interface CollectionContent {
  title: string;
  /** What its maker tells agents, added to the server's instructions. */
  instructions: string;
  visibility: CollectionVisibility;
  /** In the order in which agents see them; "all": every listed skill of the collection's namespace. */
  skills: "all" | readonly CollectionItem[];
  /** Absent: those of the registry only. */
  tools?: "per-skill";
}

/** Which tools a collection's address lists: those of the registry, or one for each of its skills as well. */
export type CollectionTools = "registry" | "per-skill";

/** A skill of any namespace. `version` null: it follows current. */
export interface CollectionItem {
  namespace: Namespace;
  path: SkillPath;
  version: Version | null;
}

/** What is known of an item's skill to whoever makes the collection; undefined: nothing that they may read. */
export interface KnownSkill {
  visibility: SkillVisibility;
  current: Version | null;
  /** Of the version that the item pins. */
  isPublished: boolean;
  isYanked: boolean;
}

/** Everything that is wrong with a list of skills, each with its place; `file` is the place, e.g. "skills[3]". */
export function checkItems(items: readonly CollectionItem[], known: readonly (KnownSkill | undefined)[]): Finding[] {
  const placeOfName = new Map<string, number>();
  return items.flatMap((item, index) => {
    const name = nameOf(item.path);
    const first = placeOfName.get(name);
    if (first === undefined) placeOfName.set(name, index);
    const wrong = first === undefined ? faultOf(item, known[index]) : sameName(name, first);
    return wrong === undefined ? [] : [fileFinding("error", wrong.code, `skills[${index}]`, wrong)];
  });
}

interface Fault {
  code: string;
  message: string;
  fix: string;
}

function faultOf({ namespace, path, version }: CollectionItem, skill: KnownSkill | undefined): Fault | undefined {
  const what = `"${namespace}/${path}"`;
  if (skill === undefined) {
    return {
      code: "skill_unknown",
      message: `There is no skill ${what} that you may read.`,
      fix: "Check the address.",
    };
  }
  if (skill.visibility === "unlisted") {
    const fix = "Make it public or private, or give its address to whoever needs it.";
    return { code: "skill_unlisted", message: `${what} is unlisted, so no list may show it.`, fix };
  }
  if (version !== null && !skill.isPublished) {
    return { code: "version_unknown", message: `${what} has no version ${version}.`, fix: "Name one of its versions." };
  }
  if (version !== null && skill.isYanked) {
    return { code: "version_yanked", message: `${what} ${version} is yanked.`, fix: "Pin another version." };
  }
  if (version === null && skill.current === null) {
    return { code: "no_current", message: `${what} has no current release.`, fix: "Pin a version, or publish one." };
  }
  return undefined;
}

function sameName(name: string, first: number): Fault {
  return {
    code: "name_twice",
    message: `A skill named "${name}" is at skills[${first}] already; agents tell skills of a list apart by name.`,
    fix: "Leave one of them out.",
  };
}
