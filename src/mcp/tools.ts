import * as z from "zod";

import { defaultSearchResults, maxQueryLength, maxSearchResults, maxToolFileBytes } from "../domain/limits.ts";
import { decodeLossless } from "../domain/media-type.ts";
import { problem } from "../domain/problem.ts";
import { queryTerms } from "../domain/query.ts";
import { candidates, movingUri, parseSkillUri, pinnedUri, skillMd } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import { readContents } from "./resources.ts";
import type { Visit } from "./visit.ts";

/**
 * The same catalogue as ordinary tools, for hosts that know only tools. All are read-only and say so; none calls
 * anything on behalf of a skill.
 */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodObject;
  output: z.ZodObject;
  call(visit: Visit, input: never): Promise<ToolAnswer>;
}

/** `content` for hosts that show text only, `structuredContent` for the rest; each says everything. */
export interface ToolAnswer {
  content: (
    | { type: "text"; text: string }
    | { type: "resource"; resource: Record<string, unknown> & { uri: string } }
  )[];
  structuredContent: Record<string, unknown>;
}

const card = z.object({
  uri: z.string().describe("Give this to load_skill"),
  name: z.string(),
  description: z.string(),
  namespace: z.string(),
  score: z.number().min(0).max(1).describe("Share of the query that was met"),
});

const searchInput = z.object({
  query: z
    .string()
    .refine((text) => [...text].length <= maxQueryLength, `query must be at most ${maxQueryLength} characters`)
    .describe('The task in plain words, e.g. "fill in a PDF form"'),
  limit: z.int().min(1).max(maxSearchResults).default(defaultSearchResults).describe("How many cards at most"),
});

const searchSkills: Tool = {
  name: "search_skills",
  title: "Search skills",
  description:
    "Find skills (instructions for a kind of task) by describing the task. Returns cards, best first. No cards means " +
    "that nothing fits: do not load a skill then.",
  input: searchInput,
  output: z.object({ cards: z.array(card), message: z.string() }),
  async call(visit, { query, limit }: z.infer<typeof searchInput>) {
    const terms = queryTerms(query);
    const rows = terms.length === 0 ? [] : await visit.catalog.search(terms, limit);
    const cards = rows.map((row) => ({
      uri: movingUri(row.namespace, row.path),
      name: row.name,
      description: row.description,
      namespace: row.namespace,
      score: row.score,
    }));
    const message =
      cards.length === 0
        ? "Nothing here fits this task. Ask the user, or go on without a skill."
        : "Load the card that fits with load_skill; if none fits, go on without.";
    return answer({ cards, message });
  },
};

const uriInput = z.object({ uri: z.string().describe("A skill:// address") });
const fileFacts = { uri: z.string(), size: z.int(), digest: z.string(), mediaType: z.string() };

const loadSkill: Tool = {
  name: "load_skill",
  title: "Load a skill",
  description:
    "Read a skill's SKILL.md, with the list of its other files (size and sha256) and its pinned address. Follow its " +
    "instructions for the task at hand.",
  input: uriInput,
  output: z.object({
    uri: z.string(),
    pinnedUri: z.string().describe("The same skill under an address whose bytes never change"),
    namespace: z.string(),
    name: z.string(),
    version: z.string(),
    description: z.string(),
    skillMd: z.string(),
    files: z.array(z.object(fileFacts)),
  }),
  async call(visit, { uri }: z.infer<typeof uriInput>) {
    const key = skillOf(uri);
    const { namespace } = key;
    const found = await visit.catalog.findRelease(namespace, key.path, key.version);
    if (found === undefined) throw problem("not_found", `No skill is served at ${uri}; search_skills finds skills`);
    const { release, files } = found;
    const addressOf = (file?: string) =>
      key.version === undefined
        ? movingUri(namespace, release.path, file)
        : pinnedUri(namespace, release.path, release.version, file);
    const main = files.find((file) => file.file === skillMd)!;
    refuseLarge(main, addressOf());
    const text = decodeLossless(await visit.blobs.read(main.digest)) ?? "";
    const listed = files.map((file) => ({
      uri: addressOf(file.file),
      size: file.size,
      digest: file.digest,
      mediaType: file.media_type,
    }));
    const structuredContent = {
      uri: addressOf(),
      pinnedUri: pinnedUri(namespace, release.path, release.version),
      namespace,
      name: release.name,
      version: release.version,
      description: release.description,
      skillMd: text,
      files: listed,
    };
    const manifest = listed.map((file) => `${file.uri} (${file.size} bytes, ${file.digest})`).join("\n");
    return {
      content: [
        { type: "text", text },
        {
          type: "text",
          text: `Files of this skill, version ${release.version}; read_skill_file reads them:\n${manifest}`,
        },
      ],
      structuredContent,
    };
  },
};

const readSkillFile: Tool = {
  name: "read_skill_file",
  title: "Read a file of a skill",
  description: "Read one file that load_skill listed. Text comes as text, anything else as base64.",
  input: uriInput,
  output: z.object({ ...fileFacts, text: z.string().optional() }),
  async call(visit, { uri }: z.infer<typeof uriInput>) {
    const parsed = parseSkillUri(uri);
    const file = parsed === undefined ? undefined : await visit.catalog.findFile(parsed);
    if (file === undefined) throw problem("not_found", `No file is served at ${uri}; load_skill lists a skill's files`);
    refuseLarge(file, uri);
    const contents = await readContents(visit, uri, file);
    const facts = { uri, size: file.size, digest: file.digest, mediaType: file.media_type };
    return "text" in contents
      ? { content: [{ type: "text", text: contents.text }], structuredContent: { ...facts, text: contents.text } }
      : { content: [{ type: "resource", resource: contents }], structuredContent: facts };
  },
};

/** In the order that tools/list shows them: the order of use. */
export const tools: readonly Tool[] = [searchSkills, loadSkill, readSkillFile];

/** A skill's address with or without `/SKILL.md`: models drop it, and it cannot mean anything else. */
function skillOf(uri: string) {
  const parsed = parseSkillUri(uri) ?? undefined;
  const key = parsed === undefined ? undefined : keyOf(parsed);
  if (parsed === undefined || key === undefined) {
    throw problem("not_found", `${uri} is not the address of a skill; it looks like skill://namespace/name/SKILL.md`);
  }
  return { namespace: parsed.namespace, ...key };
}

function keyOf(uri: SkillUri) {
  if (uri.kind === "pinned") {
    return uri.file === "" || uri.file === skillMd ? { path: uri.path, version: uri.version } : undefined;
  }
  const match = candidates(uri.segments).find(({ file }) => file === "" || file === skillMd);
  return match === undefined ? undefined : { path: match.path, version: undefined };
}

function refuseLarge(file: { size: number }, uri: string): void {
  if (file.size <= maxToolFileBytes) return;
  throw problem(
    "too_large",
    `${uri} has ${file.size} bytes; a tool answer holds at most ${maxToolFileBytes}. Read it with resources/read`,
  );
}

function answer(structuredContent: Record<string, unknown>): ToolAnswer {
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}
