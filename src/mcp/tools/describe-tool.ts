import * as z from "zod";

import { problem } from "../../domain/problem.ts";
import { formatToolName, parseToolName } from "../../domain/tool-name.ts";
import { findToolCards, findToolDefinition } from "../../storage/servers.ts";
import type { Visit } from "../visit.ts";
import { releaseAt } from "./skill-key.ts";
import type { Tool } from "./tool.ts";

const input = z.strictObject({
  skill: z.string().describe("uri of its SKILL.md"),
  tool: z.string().describe("server/tool"),
});

/** One schema, of a tool that the skill names; any other name is an error, never a guess. */
export const describeTool: Tool = {
  name: "describe_tool",
  title: "Describe a tool",
  description: "The schema of one tool that a skill names. Call the tool at its own server.",
  input,
  output: z.object({ tool: z.string(), url: z.string(), definition: z.looseObject({}) }),
  async call(visit: Visit, { skill, tool }: z.infer<typeof input>) {
    const { key, release } = await releaseAt(visit, skill);
    const served = { ...key, version: release.version };
    const wanted = parseToolName(tool);
    const found = wanted === undefined ? undefined : await findToolDefinition(visit.catalog, served, wanted);
    if (found === undefined) throw await unknownTool(visit, served, tool);
    const definition = JSON.parse(found.definition) as Record<string, unknown>;
    const structuredContent = { tool, url: found.url, definition };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
};

/** Names what would have been right. */
async function unknownTool(visit: Visit, release: Parameters<typeof findToolCards>[1], tool: string) {
  const cards = await findToolCards(visit.catalog, release);
  const listed = cards.filter(({ isListed }) => isListed).map(formatToolName);
  const missing = cards.filter(({ isListed }) => !isListed).map(formatToolName);
  if (missing.includes(tool)) {
    return problem("not_found", `The skill names "${tool}", but no registered server lists it${also(listed)}`);
  }
  if (listed.length === 0) return problem("not_found", "This skill names no tool that a registered server lists");
  return problem("not_found", `This skill does not name "${tool}"; it names: ${listed.join(", ")}`);
}

function also(listed: readonly string[]): string {
  return listed.length === 0 ? "" : `; described can be: ${listed.join(", ")}`;
}
