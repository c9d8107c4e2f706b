import {
  classifyInboundRequest,
  createMcpHandler,
  isJsonContentType,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { InboundClassificationOutcome } from "@modelcontextprotocol/server";

import { askerOf } from "../auth/asker.ts";
import type { Asker } from "../auth/asker.ts";
import { maxBatchRequests, maxMcpRequestBytes } from "../domain/limits.ts";
import { Problem, problem } from "../domain/problem.ts";
import { readBounded } from "../publish/bounded-body.ts";
import { openVisit } from "./admission.ts";
import type { McpBindings } from "./admission.ts";
import { errorResponse, problemResponse, withoutNullId } from "./errors.ts";
import { writeInstructions } from "./instructions.ts";
import { answerPlain, findPlain } from "./plain.ts";
import { buildServer } from "./server.ts";
import { chargeMessage } from "./toll.ts";
import type { Visit } from "./visit.ts";

/**
 * One MCP address (Streamable HTTP): who asks, whether the address may be seen, which era. The order is that of
 * protocol.md 1.4: rights before JSON-RPC, then content type, size, JSON, shape and era, then dispatch.
 *
 * The gate rides with the first question a handler asks, so a plain read costs one D1 call. Where no handler asked,
 * it runs by itself, and where it refuses, the refusal replaces whatever answer was prepared: private and unknown
 * addresses thus answer every request alike.
 */
export async function serveMcp(request: Request, bindings: McpBindings): Promise<Response> {
  const asker = await askerOf(request, bindings);
  try {
    return await admitted(request, await openVisit(request, asker, bindings), asker);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return problemResponse(asker.meter === undefined ? error : await asker.meter.refusalOf(error));
  }
}

async function admitted(request: Request, visit: Visit, asker: Asker): Promise<Response> {
  const answer = await respond(request, visit, asker);
  try {
    await visit.catalog.gate();
    return answer;
  } catch (error) {
    await answer.body?.cancel();
    throw error;
  }
}

/** @throws Problem `rate_limited`, which comes before the gate: too many requests ask nothing of the database. */
async function respond(request: Request, visit: Visit, { meter }: Asker): Promise<Response> {
  try {
    if (request.method !== "POST") throw problem("method_not_allowed", "Send POST", { headers: { allow: "POST" } });
    const message = await readMessage(request);
    if (meter !== undefined) await chargeMessage(meter, message);
    return await dispatch(request, visit, message);
  } catch (error) {
    if (error instanceof Problem && error.code !== "rate_limited") return problemResponse(error);
    throw error;
  }
}

async function readMessage(request: Request): Promise<unknown> {
  if (!isJsonContentType(request.headers.get("content-type"))) {
    throw problem("unsupported_media_type", "Content-Type must be application/json");
  }
  const body = await readBounded(request.body, maxMcpRequestBytes, () =>
    problem("too_large", `A request may have at most ${maxMcpRequestBytes} bytes`),
  );
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw problem("parse_error", "The body is not valid JSON");
  }
}

async function dispatch(request: Request, anyVisit: Visit, message: unknown): Promise<Response> {
  if (Array.isArray(message) && message.length > maxBatchRequests) {
    throw problem("too_large", `An array may hold at most ${maxBatchRequests} requests; send them one by one`);
  }
  const outcome = classify(request, message);
  const visit = { ...anyVisit, isModern: outcome.kind !== "legacy", isBatched: Array.isArray(message) };
  const plain = findPlain(request, outcome, message);
  if (plain !== undefined) return answerPlain(visit, plain);
  const instructions = needsInstructions(message) ? await writeInstructions(visit) : undefined;
  const response = await (visit.isModern ? serveModern : serveLegacy)(request, visit, message, instructions);
  if (visit.inserts.isEmpty) return response;
  return new Response(visit.inserts.fill(await response.text()), response);
}

/** The SDK's own judgement of the message and its era, which createMcpHandler would come to as well. */
function classify({ method, headers }: Request, body: unknown): InboundClassificationOutcome {
  const [version, name] = [headers.get("mcp-protocol-version"), headers.get("mcp-method")];
  return classifyInboundRequest({
    httpMethod: method,
    body,
    ...(version === null ? {} : { protocolVersionHeader: version }),
    ...(name === null ? {} : { mcpMethodHeader: name }),
  });
}

async function serveModern(
  request: Request,
  visit: Visit,
  parsedBody: unknown,
  instructions: string | undefined,
): Promise<Response> {
  const handler = createMcpHandler(() => buildServer(visit, instructions), { legacy: "reject" });
  const response = await withoutNullId(await handler.fetch(request, { parsedBody }));
  return isListen(parsedBody) && response.ok ? refuseListen(response, parsedBody) : response;
}

/** 2025-era requests without a session: each POST stands alone and is answered as plain JSON. */
async function serveLegacy(
  request: Request,
  visit: Visit,
  parsedBody: unknown,
  instructions: string | undefined,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  const server = buildServer(visit, instructions);
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    await server.close();
  }
}

/** Only the two handshakes carry instructions, so only they pay for the question behind them. */
function needsInstructions(message: unknown): boolean {
  const method = (message as { method?: unknown } | null)?.method;
  return method === "initialize" || method === "server/discover";
}

function isListen(message: unknown): message is { id: string | number } {
  return (message as { method?: unknown } | null)?.method === "subscriptions/listen";
}

/** The SDK answers every valid listen; until something can be delivered, the method is one that we do not have. */
async function refuseListen(response: Response, message: { id: string | number }): Promise<Response> {
  await response.body?.cancel();
  return errorResponse(404, { code: -32601, message: "Method not found" }, message.id);
}
