import { Server } from "@modelcontextprotocol/server";
import * as z from "zod";

import { answering, onlyPage } from "./answering.ts";
import { complete } from "./completion.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import type { Session } from "./sessions.ts";
import { getSkill, listSkills, readDirectory } from "./skills.ts";
import { metaPrefix } from "./tools/tool.ts";
import { subscribe, unsubscribe } from "./subscriptions.ts";
import { listTools } from "./tool-list.ts";
import { callTool } from "./tools.ts";
import { freshness } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * What one request's server offers. The SDK does the protocol (both eras, envelopes, versions); every method is ours,
 * because its own catalogue checks each entry again on each request. Nothing here outlives the request.
 */
const registryVersion = "0.1.0";

export function serverInfoOf(visit: Visit) {
  return { name: visit.address.serverName, title: "Skill registry", version: registryVersion };
}

/** `listChanged` and `subscribe` only where they will be delivered: a promise kept by nobody misleads clients. */
function capabilitiesOf(visit: Visit, hasSkillTools: boolean) {
  const isTold = visit.live !== undefined && (visit.isModern || visit.session !== undefined);
  return {
    // SEP-1821; no schema knows it yet, and the official clients drop it.
    tools: { filtering: true, ...(isTold && hasSkillTools ? { listChanged: true } : {}) },
    completions: {},
    // Ours: `query` on skills/list.
    experimental: { [`${metaPrefix}/skills-list-query`]: {} },
    resources: isTold ? { listChanged: true, subscribe: true } : {},
    prompts: {},
    extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } },
  };
}

/**
 * Schemas of our own for the base methods too: the SDK's refuse with -32603 and a dump, ours with -32602 and a
 * sentence.
 */
const pageParams = z.looseObject({ cursor: z.string().optional() });
const queryParams = z.looseObject({ cursor: z.string().optional(), query: z.string().optional() });
const toolListParams = queryParams.extend({ limit: z.int().min(1).optional() });
const uriParams = z.looseObject({ uri: z.string() });
const callParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() });
const promptParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() });
const completeParams = z.looseObject({
  ref: z.union([
    z.looseObject({ type: z.literal("ref/prompt"), name: z.string() }),
    z.looseObject({ type: z.literal("ref/resource"), uri: z.string() }),
  ]),
  argument: z.object({ name: z.string(), value: z.string() }),
});
const directoryParams = z.looseObject({ uri: z.string(), cursor: z.string().optional() });

/** What only a handshake says, or a request to listen. */
export interface Greeting {
  instructions?: string | undefined;
  /** Whether the list of tools changes with the skills here. */
  hasSkillTools: boolean;
}

export function buildServer(visit: Visit, { instructions, hasSkillTools }: Greeting): Server {
  const server = new Server(serverInfoOf(visit), {
    capabilities: capabilitiesOf(visit, hasSkillTools),
    cacheHints: { "server/discover": freshness(visit) },
    ...(instructions === undefined ? {} : { instructions }),
  });
  serveSkills(server, visit);
  serveResources(server, visit);
  serveToolsAndPrompts(server, visit);
  return server;
}

function serveSkills(server: Server, visit: Visit): void {
  const list = answering((params: z.infer<typeof queryParams>) => listSkills(visit, params.cursor, params.query));
  const get = answering((params: z.infer<typeof uriParams>) => getSkill(visit, params.uri));
  const directory = answering((params: z.infer<typeof directoryParams>) =>
    readDirectory(visit, params.uri, params.cursor),
  );
  server.setRequestHandler("skills/list", { params: queryParams }, list);
  server.setRequestHandler("skills/get", { params: uriParams }, get);
  server.setRequestHandler("resources/directory/read", { params: directoryParams }, directory);
}

function serveResources(server: Server, visit: Visit): void {
  const list = answering((params: z.infer<typeof pageParams>) => listResources(visit, params.cursor));
  const templates = answering((params: z.infer<typeof pageParams>) => onlyPage(params, () => listTemplates(visit)));
  const read = answering((params: z.infer<typeof uriParams>) => readResource(visit, params.uri));
  server.setRequestHandler("resources/list", { params: pageParams }, list);
  server.setRequestHandler("resources/templates/list", { params: pageParams }, templates);
  server.setRequestHandler("resources/read", { params: uriParams }, read);
  if (visit.session !== undefined && visit.session !== "opening") serveSubscriptions(server, visit, visit.session);
}

/** Without a session nothing could be told later, so the two are methods that we do not have. */
function serveSubscriptions(server: Server, visit: Visit, session: Session): void {
  const add = answering((params: z.infer<typeof uriParams>) => subscribe(visit, session, params.uri));
  const remove = answering((params: z.infer<typeof uriParams>) => unsubscribe(visit, session, params.uri));
  server.setRequestHandler("resources/subscribe", { params: uriParams }, add);
  server.setRequestHandler("resources/unsubscribe", { params: uriParams }, remove);
}

function serveToolsAndPrompts(server: Server, visit: Visit): void {
  const tools = answering((params: z.infer<typeof toolListParams>) => listTools(visit, params));
  const call = answering((params: z.infer<typeof callParams>) => callTool(visit, params.name, params.arguments ?? {}));
  const prompts = answering((params: z.infer<typeof pageParams>) => onlyPage(params, () => listPrompts(visit)));
  const get = answering((params: z.infer<typeof promptParams>) =>
    getPrompt(visit, params.name, params.arguments ?? {}),
  );
  server.setRequestHandler("tools/list", { params: toolListParams }, tools);
  server.setRequestHandler("tools/call", { params: callParams }, call);
  server.setRequestHandler("prompts/list", { params: pageParams }, prompts);
  server.setRequestHandler("prompts/get", { params: promptParams }, get);
  server.setRequestHandler(
    "completion/complete",
    { params: completeParams },
    answering((params: z.infer<typeof completeParams>) => complete(visit, params)),
  );
}
