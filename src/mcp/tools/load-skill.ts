import * as z from "zod";

import { decodeLossless } from "../../domain/media-type.ts";
import { problem } from "../../domain/problem.ts";
import { candidates, movingUri, parseSkillUri, pinnedUri, skillMd } from "../../domain/uri.ts";
import type { SkillUri } from "../../domain/uri.ts";
import type { FileRow, ReleaseRow } from "../../storage/catalog.ts";
import type { Visit } from "../visit.ts";
import { refuseLarge, uriInput } from "./read-skill-file.ts";
import type { Tool, ToolAnswer } from "./tool.ts";

const output = z.object({
  uri: z.string(),
  pinnedUri: z.string().describe("The same skill under an address whose bytes never change"),
  namespace: z.string(),
  name: z.string(),
  version: z.string(),
  description: z.string(),
  skillMd: z.string(),
  files: z.array(z.object({ uri: z.string(), size: z.int(), digest: z.string(), mediaType: z.string() })),
});

/** SKILL.md with the list of its files, in one call and one snapshot. */
export const loadSkill: Tool = {
  name: "load_skill",
  title: "Load a skill",
  description:
    "Read a skill's SKILL.md, with the list of its files (size and sha256) and its pinned address. Follow its " +
    "instructions for the task at hand.",
  input: uriInput,
  output,
  async call(visit: Visit, { uri }: z.infer<typeof uriInput>) {
    const key = keyOf(parseSkillUri(uri));
    if (key === undefined) {
      throw problem("not_found", `${uri} is not the address of a skill; it looks like skill://namespace/name/SKILL.md`);
    }
    const found = await visit.catalog.findRelease(key.namespace, key.path, key.version);
    if (found === undefined) throw problem("not_found", `No skill is served at ${uri}; search_skills finds skills`);
    const main = found.files.find((file) => file.file === skillMd)!;
    refuseLarge(main, uri);
    const text = decodeLossless(await visit.blobs.read(main.digest, key.namespace)) ?? "";
    return describe(key, found.release, found.files, text);
  },
};

type SkillKey = NonNullable<ReturnType<typeof keyOf>>;

/** A skill's address with or without `/SKILL.md`: models drop it, and it cannot mean anything else. */
function keyOf(uri: SkillUri | undefined) {
  if (uri === undefined) return undefined;
  const { namespace } = uri;
  if (uri.kind === "pinned") {
    return uri.file === "" || uri.file === skillMd ? { namespace, path: uri.path, version: uri.version } : undefined;
  }
  const match = candidates(uri.segments).find(({ file }) => file === "" || file === skillMd);
  return match === undefined ? undefined : { namespace, path: match.path, version: undefined };
}

/** Addresses in the answer are spelt as the question was: pinned or moving. */
function describe(key: SkillKey, release: ReleaseRow, files: readonly FileRow[], text: string): ToolAnswer {
  const { namespace, path } = key;
  const addressOf = (file?: string) =>
    key.version === undefined ? movingUri(namespace, path, file) : pinnedUri(namespace, path, release.version, file);
  const listed = files.map((file) => ({
    uri: addressOf(file.file),
    size: file.size,
    digest: file.digest,
    mediaType: file.media_type,
  }));
  const manifest = listed.map((file) => `${file.uri} (${file.size} bytes, ${file.digest})`).join("\n");
  return {
    content: [
      { type: "text", text },
      { type: "text", text: `Files of version ${release.version}, for read_skill_file:\n${manifest}` },
    ],
    structuredContent: {
      uri: addressOf(),
      pinnedUri: pinnedUri(namespace, path, release.version),
      namespace,
      name: release.name,
      version: release.version,
      description: release.description,
      skillMd: text,
      files: listed,
    },
  };
}
