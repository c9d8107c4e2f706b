import { maxPrompts } from "../domain/limits.ts";
import { isSkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { decodeLossless } from "../domain/media-type.ts";
import { movingUri, skillMd } from "../domain/uri.ts";
import { freshness } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * Each listed skill as a prompt, for hosts that show prompts as commands. A prompt's name is the skill's path, which
 * is unique in its namespace. The root address has none: its skills come from many namespaces.
 */
const task = { name: "task", description: "What to do with the skill, in plain words", required: false };

/** `prompts/list`: one page. */
export async function listPrompts(visit: Visit) {
  const { namespace } = visit.address;
  if (namespace === undefined) return { prompts: [], ...freshness(visit) };
  const { items } = await visit.catalog.listSkills(namespace, "", maxPrompts);
  const prompts = items.map((row) => ({
    name: row.path,
    title: row.name,
    description: row.description,
    arguments: [task],
  }));
  return { prompts, ...freshness(visit) };
}

/** `prompts/get`: the SKILL.md as the user's message, with the task behind it when one was given. */
export async function getPrompt(visit: Visit, name: string, given: Record<string, string>) {
  const { namespace } = visit.address;
  const found =
    namespace === undefined || !isSkillPath(name)
      ? undefined
      : await visit.catalog.findRelease(namespace, name, undefined);
  if (namespace === undefined || found === undefined) throw problem("not_found", `There is no prompt "${name}" here`);
  const file = found.files.find((candidate) => candidate.file === skillMd)!;
  const text = decodeLossless(await visit.blobs.read(file.digest)) ?? "";
  const heading = `Use the skill ${movingUri(namespace, found.release.path)} (version ${found.release.version}):`;
  const closing = given["task"] === undefined ? [] : [`The task: ${given["task"]}`];
  return {
    description: found.release.description,
    messages: [
      { role: "user" as const, content: { type: "text" as const, text: [heading, text, ...closing].join("\n\n") } },
    ],
  };
}
