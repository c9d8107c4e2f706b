import * as z from "zod";

import { maxToolFileBytes } from "../../domain/limits.ts";
import { problem } from "../../domain/problem.ts";
import { parseSkillUri } from "../../domain/uri.ts";
import { countRead, readContents } from "../resources.ts";
import type { Visit } from "../visit.ts";
import type { Tool } from "./tool.ts";

export const uriInput = z.strictObject({ uri: z.string().describe("A skill:// address") });

/** One file of a skill, for hosts that cannot read resources. */
export const readSkillFile: Tool = {
  name: "read_skill_file",
  title: "Read a file of a skill",
  description: "Read one file that load_skill listed. Text comes as text, anything else as base64.",
  input: uriInput,
  output: z.object({
    uri: z.string(),
    size: z.int(),
    digest: z.string(),
    mediaType: z.string(),
    text: z.string().optional(),
  }),
  async call(visit: Visit, { uri }: z.infer<typeof uriInput>) {
    const parsed = parseSkillUri(uri);
    const file = parsed === undefined ? undefined : await visit.catalog.findFile(parsed);
    if (parsed === undefined || file === undefined)
      throw problem("not_found", `No file is served at ${uri}; load_skill lists a skill's files`);
    refuseLarge(file, uri);
    const contents = await readContents(visit, uri, file);
    countRead(visit, parsed.namespace, file);
    const facts = { uri, size: file.size, digest: file.digest, mediaType: file.media_type };
    return "text" in contents
      ? { content: [{ type: "text", text: contents.text }], structuredContent: { ...facts, text: contents.text } }
      : { content: [{ type: "resource", resource: contents }], structuredContent: facts };
  },
};

/** @throws Problem `too_large`, pointing to the way that has no such limit */
export function refuseLarge(file: { size: number }, uri: string): void {
  if (file.size <= maxToolFileBytes) return;
  throw problem(
    "too_large",
    `${uri} has ${file.size} bytes; a tool answer holds at most ${maxToolFileBytes}. Read it with resources/read`,
  );
}
