import { problem } from "../../domain/problem.ts";
import { candidates, parseSkillUri, skillMd } from "../../domain/uri.ts";
import type { Visit } from "../visit.ts";

/** A skill's address with or without `/SKILL.md`: models drop it, and it cannot mean anything else. */
export function parseSkillKey(uri: string) {
  const parsed = parseSkillUri(uri);
  if (parsed === undefined) return undefined;
  const { namespace } = parsed;
  if (parsed.kind === "pinned") {
    const isSkill = parsed.file === "" || parsed.file === skillMd;
    return isSkill ? { namespace, path: parsed.path, version: parsed.version } : undefined;
  }
  const match = candidates(parsed.segments).find(({ file }) => file === "" || file === skillMd);
  return match === undefined ? undefined : { namespace, path: match.path, version: undefined };
}

export type SkillKey = NonNullable<ReturnType<typeof parseSkillKey>>;

/** The release at a skill's address, with its files. @throws Problem `not_found`, saying how to find an address */
export async function releaseAt(visit: Visit, uri: string) {
  const key = parseSkillKey(uri);
  if (key === undefined) {
    throw problem("not_found", `${uri} is not the address of a skill; it looks like skill://namespace/name/SKILL.md`);
  }
  const found = await visit.catalog.findRelease(key.namespace, key.path, key.version);
  if (found === undefined) throw problem("not_found", `No skill is served at ${uri}; search_skills finds skills`);
  return { key, ...found };
}
