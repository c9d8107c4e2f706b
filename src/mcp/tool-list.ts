import * as z from "zod";

import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { parseQuery } from "../domain/search/query.ts";
import { rankTexts } from "../domain/search/rank-texts.ts";
import { listSkillTools } from "./skill-tools.ts";
import { describeTool } from "./tools/describe-tool.ts";
import { listGroupsTool } from "./tools/list-groups.ts";
import { loadSkill } from "./tools/load-skill.ts";
import { readSkillFile } from "./tools/read-skill-file.ts";
import { searchSkills } from "./tools/search-skills.ts";
import { searchTools } from "./tools/search-tools.ts";
import type { Tool } from "./tools/tool.ts";
import { freshness, listName } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * The same catalogue as ordinary tools, for hosts that know only tools; in the order in which an agent uses them,
 * which is also the order in which they are listed.
 */
export const registryTools: readonly Tool[] = [
  searchSkills,
  loadSkill,
  readSkillFile,
  listGroupsTool,
  searchTools,
  describeTool,
];

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** A tool as it is listed. */
interface ListedTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: { type: "object" };
  outputSchema?: { type: "object" };
  annotations: object;
}

let described: ListedTool[] | undefined;

export interface ToolListParams {
  cursor?: string | undefined;
  /** SEP-1821: only tools that match, best first. */
  query?: string | undefined;
  /** How many tools at most, over all pages. */
  limit?: number | undefined;
}

/**
 * `tools/list`: always the same order, and complete where nobody asked for less. With a query what is listed is always
 * a part of that, so that a tool found is a tool that can be called. Never to be kept by the client, which would take
 * one query's list for another's.
 */
export async function listTools(visit: Visit, { cursor, query, limit }: ToolListParams) {
  const wanted = query === undefined ? undefined : parseQuery(query);
  const all = await allTools(visit);
  const matching = wanted === undefined ? all : rankTools(all, wanted);
  const tools = limit === undefined ? matching : matching.slice(0, limit);
  const list = listName(visit.address, `tools ${JSON.stringify([wanted ?? null, limit ?? null])}`);
  return { ...pageOf(tools, list, cursor), ...freshness(visit, 0) };
}

async function allTools(visit: Visit): Promise<ListedTool[]> {
  // The schemas never change, so one isolate writes them out once.
  described ??= registryTools.map(describe);
  const skills = await listSkillTools(visit);
  return [...described, ...skills.map(describeSkill)];
}

function rankTools(tools: readonly ListedTool[], query: string): ListedTool[] {
  return rankTexts(query, tools).map((index) => tools[index]!);
}

/** A page begins behind the tool that the page before ended with. */
function pageOf(tools: readonly ListedTool[], list: string, cursor: string | undefined) {
  const position = cursor === undefined ? undefined : parseCursor(list, cursor);
  const start = position === undefined ? 0 : tools.findIndex((tool) => tool.name === position.key) + 1;
  if (position !== undefined && start === 0) {
    throw problem(
      "invalid_cursor",
      "What the page before ended with is not in this list; start again without a cursor",
    );
  }
  const page = tools.slice(start, start + maxPageEntries);
  if (start + page.length >= tools.length) return { tools: page };
  const next = { page: (position?.page ?? 0) + 1, key: page.at(-1)!.name };
  return { tools: page, nextCursor: formatCursor(list, next) };
}

function describe({ name, title, description, input, output }: Tool): ListedTool {
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, "input"),
    outputSchema: schemaOf(output, "output"),
    annotations: hints,
  };
}

const noArguments = { type: "object", additionalProperties: false } as const;

function describeSkill({ name, description }: { name: string; description: string }): ListedTool {
  return { name, description, inputSchema: noArguments, annotations: hints };
}

/** Every host pays for each word of it, so what says nothing is left out. */
function schemaOf(schema: z.ZodObject, io: "input" | "output"): { type: "object" } {
  const { $schema: _, additionalProperties, ...rest } = z.toJSONSchema(schema, { io });
  // Only for what is sent to us it matters that nothing else may be there.
  if (io === "input" && additionalProperties === false) Object.assign(rest, { additionalProperties });
  return JSON.parse(JSON.stringify(rest, (key, value: unknown) => (isIdle(key, value) ? undefined : value))) as {
    type: "object";
  };
}

function isIdle(key: string, value: unknown): boolean {
  return (
    (key === "additionalProperties" && typeof value === "object") ||
    value === Number.MAX_SAFE_INTEGER ||
    value === Number.MIN_SAFE_INTEGER
  );
}
