import { decodeLossless } from "../domain/media-type.ts";
import { maxPrompts } from "../domain/limits.ts";
import { isSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { skillMd } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import { listListed } from "./lists.ts";
import { freshness, uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * Each listed skill as a prompt, for hosts that show prompts as commands. In a namespace a prompt's name is the skill's
 * path, which is unique there; in a picked list, whose skills come from many, it is the skill's name, unique as well.
 */
const task = { name: "task", description: "What to do with the skill, in plain words", required: false };

/** `prompts/list`: one page. */
export async function listPrompts(visit: Visit) {
  const { items } = await listListed(visit, "prompts", undefined);
  const prompts = items.slice(0, maxPrompts).map((row) => ({
    name: isByPath(visit) ? row.path : row.name,
    title: row.name,
    description: row.description,
    arguments: [task],
  }));
  return { prompts, ...freshness(visit) };
}

/** `prompts/get`: the SKILL.md as the user's message, with the task behind it when one was given. */
export async function getPrompt(visit: Visit, name: string, given: Record<string, string>) {
  const key = await findPrompt(visit, name);
  const found =
    key === undefined ? undefined : await visit.catalog.findRelease(key.namespace, key.path, key.pinned ?? undefined);
  if (key === undefined || found === undefined) throw problem("not_found", `There is no prompt "${name}" here`);
  const file = found.files.find((candidate) => candidate.file === skillMd)!;
  const text = decodeLossless(await visit.blobs.read(file.digest, key.namespace)) ?? "";
  const { version, is_current } = found.release;
  visit.tally.read({ namespace: key.namespace, path: key.path, version, isCurrent: is_current === 1 });
  const heading = `Use the skill ${uriOf(key)} (version ${found.release.version}):`;
  const closing = given["task"] === undefined ? [] : [`The task: ${given["task"]}`];
  return {
    description: found.release.description,
    messages: [
      { role: "user" as const, content: { type: "text" as const, text: [heading, text, ...closing].join("\n\n") } },
    ],
  };
}

interface PromptKey {
  namespace: Namespace;
  path: SkillPath;
  pinned: Version | null;
}

async function findPrompt(visit: Visit, name: string): Promise<PromptKey | undefined> {
  const { namespace } = visit.address;
  if (isByPath(visit)) return isSkillPath(name) ? { namespace: namespace!, path: name, pinned: null } : undefined;
  const { items } = await listListed(visit, "prompts", undefined);
  return items.find((row) => row.name === name);
}

function isByPath({ address }: Visit): boolean {
  return address.namespace !== undefined && address.collection === undefined;
}
