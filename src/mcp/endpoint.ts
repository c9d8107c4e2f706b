import {
  classifyInboundRequest,
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  isJsonContentType,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { InboundClassificationOutcome } from "@modelcontextprotocol/server";

import { askerOf } from "../auth/asker.ts";
import type { Asker } from "../auth/asker.ts";
import { formatProgress } from "../domain/announcement.ts";
import { maxBatchRequests, maxMcpRequestBytes } from "../domain/limits.ts";
import { Problem, problem } from "../domain/problem.ts";
import { readBounded } from "../publish/bounded-body.ts";
import { openVisit } from "./admission.ts";
import type { McpBindings } from "./admission.ts";
import { errorResponse, problemResponse, withoutNullId } from "./errors.ts";
import { writeInstructions } from "./instructions.ts";
import { serveListen } from "./listen.ts";
import { answerPlain, findPlain } from "./plain.ts";
import { buildServer } from "./server.ts";
import type { Greeting } from "./server.ts";
import {
  clientOf,
  endSession,
  joinSession,
  openSession,
  refusalOf,
  refuseMethod,
  sessionNotFound,
} from "./sessions.ts";
import type { Handshake } from "./sessions.ts";
import { hasSkillTools } from "./skill-tools.ts";
import { serveStream } from "./stream.ts";
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
    visit.tally.settle();
    return answer;
  } catch (error) {
    await answer.body?.cancel();
    throw error;
  }
}

/** @throws Problem `rate_limited`, which comes before the gate: too many requests ask nothing of the database. */
async function respond(request: Request, visit: Visit, { meter }: Asker): Promise<Response> {
  try {
    if (request.method === "GET") return await serveStream(request, visit);
    if (request.method === "DELETE") return await endSession(request, visit);
    if (request.method !== "POST") throw await refuseMethod(request, visit);
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
  const isModern = outcome.kind !== "legacy";
  const knowsLinks = isModern || (request.headers.get("mcp-protocol-version") ?? "") >= "2025-06-18";
  const visit = { ...anyVisit, isModern, knowsLinks, isBatched: Array.isArray(message) };
  visit.tally.introduce(visit.isModern, clientInfoIn(message));
  if (outcome.kind !== "legacy") return answerMessage(request, visit, message, outcome);
  if (outcome.reason === "initialize") return serveInitialize(request, visit, message as InitializeRequest);
  const session = await joinSession(request, visit);
  if (session === undefined) return answerMessage(request, visit, message, outcome);
  if (session === "unknown") return sessionNotFound();
  const answer = await answerMessage(request, { ...visit, session }, message, outcome);
  // Whoever has not asked the gate yet asks it now, beside the session and not after it; what it says comes first.
  const [refusal] = await Promise.all([refusalOf(session), visit.catalog.gate().catch(() => {})]);
  visit.tally.introduce(false, await clientOf(session));
  if (refusal === undefined) return answer;
  visit.tally.forget();
  await answer.body?.cancel();
  return refusal;
}

async function answerMessage(
  request: Request,
  visit: Visit,
  message: unknown,
  outcome: InboundClassificationOutcome,
): Promise<Response> {
  const plain = findPlain(request, outcome, message);
  if (plain !== undefined) return answerPlain(visit, plain);
  const greeting = isDiscover(message) ? await greet(visit) : { hasSkillTools: false };
  const response = await (visit.isModern ? serveModern : serveLegacy)(request, visit, message, greeting);
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

async function serveModern(request: Request, visit: Visit, parsedBody: unknown, greeting: Greeting): Promise<Response> {
  if (isListen(parsedBody)) {
    return visit.live === undefined ? refuseListen(parsedBody) : serveListen(request, visit, visit.live, parsedBody);
  }
  const handler = createMcpHandler(() => buildServer(visit, greeting), { legacy: "reject" });
  return withoutNullId(await handler.fetch(request, { parsedBody }));
}

/** 2025-era requests without a session: each POST stands alone and is answered as plain JSON. */
async function serveLegacy(request: Request, visit: Visit, parsedBody: unknown, greeting: Greeting): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  const server = buildServer(visit, greeting);
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    await server.close();
  }
}

/**
 * Opens a session with the answer. Where none can be opened, the answer is the one that promises nothing. An id that
 * came along is not looked at: a client begins anew when it has lost its session, and the one that it may still have
 * ends by itself.
 */
async function serveInitialize(request: Request, visit: Visit, message: InitializeRequest): Promise<Response> {
  const { live } = visit;
  const canOpen = live?.sessions !== undefined;
  // A look of its own, so that both are asked at once. What changes from here on, the client is told or lists itself.
  const [greeting, progress] = await Promise.all([greet(visit), canOpen ? live.reopen().findProgress() : undefined]);
  const answer = (session: Visit["session"]) => serveLegacy(request, { ...visit, session }, message, greeting);
  if (progress === undefined) return answer(undefined);
  const hopeful = await answer("opening");
  const text = await hopeful.text();
  const version = versionIn(text);
  if (version === undefined) return new Response(text, hopeful);
  const id = await openSession(visit, { params: message.params, version, sent: formatProgress(progress) });
  if (id === undefined) return answer(undefined);
  const response = new Response(text, hopeful);
  response.headers.set("mcp-session-id", id);
  return response;
}

interface InitializeRequest {
  params: Handshake["params"];
}

/** Of a 2026-07-28 request, which carries it; clients of 2025 said it once, to their session. */
function clientInfoIn(message: unknown): unknown {
  const { params } = (message ?? {}) as { params?: Record<string, Record<string, unknown> | null> | null };
  return params?.["_meta"]?.[CLIENT_INFO_META_KEY];
}

/** The negotiated version, when the answer is an InitializeResult. */
function versionIn(answer: string): string | undefined {
  return (JSON.parse(answer) as { result?: { protocolVersion: string } }).result?.protocolVersion;
}

async function greet(visit: Visit): Promise<Greeting> {
  const instructions = await writeInstructions(visit);
  return { instructions, hasSkillTools: await hasSkillTools(visit) };
}

/** Besides `initialize` only this handshake carries instructions, so only they pay for the question behind them. */
function isDiscover(message: unknown): boolean {
  return (message as { method?: unknown } | null)?.method === "server/discover";
}

function isListen(message: unknown): message is { id: string | number } {
  return (message as { method?: unknown } | null)?.method === "subscriptions/listen";
}

/** Where nothing can be kept open nothing can be delivered, so the method is one that we do not have. */
function refuseListen(message: { id: string | number }): Response {
  return errorResponse(404, { code: -32601, message: "Method not found" }, message.id);
}
