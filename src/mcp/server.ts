import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, Server } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import * as z from "zod";

import { Problem } from "../domain/problem.ts";
import { logFailure } from "../log.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import { getSkill, listSkills, readDirectory } from "./skills.ts";
import { tools } from "./tools.ts";
import type { Tool } from "./tools.ts";
import { freshness } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * What one request's server offers. The SDK does the protocol (both eras, envelopes, versions); every method is ours,
 * because its own catalogue checks each entry again on each request. Nothing here outlives the request.
 */
export const registryVersion = "0.1.0";

/** Neither `listChanged` nor `subscribe`: nothing would be sent yet, and a promise kept by nobody misleads clients. */
const capabilities = {
  tools: {},
  resources: {},
  prompts: {},
  extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } },
};

const pageParams = z.looseObject({ cursor: z.string().optional() });
const uriParams = z.looseObject({ uri: z.string() });
const directoryParams = z.looseObject({ uri: z.string(), cursor: z.string().optional() });

export function buildServer(visit: Visit, instructions: string | undefined): Server {
  const server = new Server(
    { name: visit.address.serverName, title: "Skill registry", version: registryVersion },
    {
      capabilities,
      cacheHints: { "server/discover": freshness(visit), "tools/list": freshness(visit, 0) },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  server.setRequestHandler(
    "skills/list",
    { params: pageParams },
    answering((params) => listSkills(visit, params.cursor)),
  );
  server.setRequestHandler(
    "skills/get",
    { params: uriParams },
    answering((params) => getSkill(visit, params.uri)),
  );
  server.setRequestHandler(
    "resources/directory/read",
    { params: directoryParams },
    answering((params) => readDirectory(visit, params.uri, params.cursor)),
  );
  server.setRequestHandler(
    "resources/list",
    answering(({ params }) => listResources(visit, params?.cursor)),
  );
  server.setRequestHandler(
    "resources/templates/list",
    answering(({ params }) => onlyPage(params, listTemplates(visit))),
  );
  server.setRequestHandler(
    "resources/read",
    answering(({ params }) => readResource(visit, params.uri)),
  );
  server.setRequestHandler(
    "prompts/list",
    answering(({ params }) => listPrompts(visit, params?.cursor)),
  );
  server.setRequestHandler(
    "prompts/get",
    answering(({ params }) => getPrompt(visit, params.name, params.arguments ?? {})),
  );
  server.setRequestHandler(
    "tools/list",
    answering(({ params }) => onlyPage(params, { tools: toolList() })),
  );
  server.setRequestHandler(
    "tools/call",
    answering(({ params }) => callTool(visit, params.name, params.arguments ?? {})),
  );
  return server;
}

/** Turns what a handler throws into the protocol's errors; anything unexpected is logged whole and named nowhere. */
function answering<Request, Result>(handler: (request: Request) => Result | Promise<Result>) {
  return async (request: Request): Promise<Result> => {
    try {
      return await handler(request);
    } catch (error) {
      throw protocolErrorOf(error, request);
    }
  };
}

function protocolErrorOf(error: unknown, request: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (!(error instanceof Problem)) {
    logFailure("mcp", error);
    return new ProtocolError(ProtocolErrorCode.InternalError, "Internal error");
  }
  const params = (request as { params?: { uri?: unknown } }).params ?? (request as { uri?: unknown });
  const uri = params.uri;
  if (error.code === "not_found" && typeof uri === "string") {
    return new ResourceNotFoundError(uri, error.message);
  }
  return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
}

/** Lists that fit one page: any cursor is then from elsewhere. */
function onlyPage<Result>(params: { cursor?: string | undefined } | undefined, result: Result): Result {
  if (params?.cursor === undefined) return result;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "This list has one page; ask without a cursor");
}

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

let listed: ReturnType<typeof describeTool>[] | undefined;

/** The schemas never change, so one isolate writes them out once. */
function toolList() {
  listed ??= tools.map(describeTool);
  return listed;
}

function describeTool({ name, title, description, input, output }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: z.toJSONSchema(input, { io: "input" }) as { type: "object" },
    outputSchema: z.toJSONSchema(output, { io: "output" }) as { type: "object" },
    annotations: { title, ...hints },
  };
}

/** `tools/call`: an unknown tool is a protocol error, bad arguments and refusals are results the model can read. */
async function callTool(visit: Visit, name: string, given: Record<string, unknown>): Promise<CallToolResult> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
  const input = tool.input.safeParse(given);
  if (!input.success) return refusal(z.prettifyError(input.error));
  try {
    return (await tool.call(visit, input.data as never)) as CallToolResult;
  } catch (error) {
    if (error instanceof Problem) return refusal(error.message);
    throw error;
  }
}

function refusal(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}
