import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import * as z from "zod";

import { Problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { registryTools } from "./tool-list.ts";
import { findSkillTool } from "./skill-tools.ts";
import { load } from "./tools/load-skill.ts";
import { uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/** `tools/call`: an unknown tool is a protocol error; bad arguments and refusals are results the model can read. */
export async function callTool(visit: Visit, name: string, given: Record<string, unknown>): Promise<CallToolResult> {
  const tool = registryTools.find((candidate) => candidate.name === name);
  if (tool === undefined) return callSkillTool(visit, name, given);
  const input = tool.input.safeParse(given);
  if (!input.success) return refusal(z.prettifyError(input.error));
  return answered(() => tool.call(visit, input.data as never) as Promise<CallToolResult>);
}

/** A skill of a collection that offers each of its skills as a tool. */
async function callSkillTool(visit: Visit, name: string, given: Record<string, unknown>): Promise<CallToolResult> {
  const skill = await findSkillTool(visit, name);
  if (skill === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${withoutSecrets(name)}`);
  }
  if (Object.keys(given).length > 0) return refusal(`${name} takes no arguments`);
  return answered(() => load(visit, uriOf(skill), undefined) as Promise<CallToolResult>);
}

async function answered(call: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Problem) return refusal(error.message);
    throw error;
  }
}

function refusal(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}
