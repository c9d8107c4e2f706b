import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import * as z from "zod";

import { Problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { loadSkill } from "./tools/load-skill.ts";
import { readSkillFile } from "./tools/read-skill-file.ts";
import { searchSkills } from "./tools/search-skills.ts";
import type { Tool } from "./tools/tool.ts";
import { freshness } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * The same catalogue as ordinary tools, for hosts that know only tools; in the order in which an agent uses them,
 * which is also the order in which they are listed.
 */
const tools: readonly Tool[] = [searchSkills, loadSkill, readSkillFile];

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

let described: ReturnType<typeof describe>[] | undefined;

/** `tools/list`: the schemas never change, so one isolate writes them out once. Never to be kept by the client. */
export function listTools(visit: Visit) {
  described ??= tools.map(describe);
  return { tools: described, ...freshness(visit, 0) };
}

/** `tools/call`: an unknown tool is a protocol error; bad arguments and refusals are results the model can read. */
export async function callTool(visit: Visit, name: string, given: Record<string, unknown>): Promise<CallToolResult> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${withoutSecrets(name)}`);
  }
  const input = tool.input.safeParse(given);
  if (!input.success) return refusal(z.prettifyError(input.error));
  try {
    return (await tool.call(visit, input.data as never)) as CallToolResult;
  } catch (error) {
    if (error instanceof Problem) return refusal(error.message);
    throw error;
  }
}

function describe({ name, title, description, input, output }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: z.toJSONSchema(input, { io: "input" }) as { type: "object" },
    outputSchema: z.toJSONSchema(output, { io: "output" }) as { type: "object" },
    annotations: { title, ...hints },
  };
}

function refusal(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}
