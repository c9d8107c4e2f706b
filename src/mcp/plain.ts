import { SERVER_INFO_META_KEY, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { InboundClassificationOutcome, ProtocolError } from "@modelcontextprotocol/server";

import { answering } from "./answering.ts";
import { protocolErrorResponse } from "./errors.ts";
import { readResource } from "./resources.ts";
import { serverInfoOf } from "./server.ts";
import { getSkill, listSkills, readDirectory } from "./skills.ts";
import type { Visit } from "./visit.ts";

/**
 * The short way for the four methods that are nearly all traffic. The SDK's classifier has judged the message already;
 * where nothing is left that could be wrong with it, building a server, a transport and their schemas for one request
 * would decide nothing and cost more than the answer. Anything unusual about a request, even if legal, takes the
 * SDK's way through the same handlers; test/mcp/plain.test.ts holds the answers of both ways against each other.
 */
interface PlainParams {
  uri: string;
  cursor?: string;
}

export interface PlainRequest {
  id: string | number;
  isModern: boolean;
  params: PlainParams;
  serve: (visit: Visit, params: PlainParams) => Promise<object>;
}

interface PlainMethod {
  /** Parameters besides `_meta`: `uri` is a must where it is named, `cursor` never is. */
  params: readonly string[];
  /** SEP-2243: the parameter that the Mcp-Name header repeats. */
  isNamed: boolean;
  serve: PlainRequest["serve"];
}

const methods = new Map<string, PlainMethod>([
  ["skills/list", { params: ["cursor"], isNamed: false, serve: (visit, { cursor }) => listSkills(visit, cursor) }],
  ["skills/get", { params: ["uri"], isNamed: false, serve: (visit, { uri }) => getSkill(visit, uri) }],
  ["resources/read", { params: ["uri"], isNamed: true, serve: (visit, { uri }) => readResource(visit, uri) }],
  [
    "resources/directory/read",
    {
      params: ["uri", "cursor"],
      isNamed: false,
      serve: (visit, { uri, cursor }) => readDirectory(visit, uri, cursor),
    },
  ],
]);

/** Undefined for whatever the SDK had better look at. */
export function findPlain(
  { headers }: Request,
  outcome: InboundClassificationOutcome,
  message: unknown,
): PlainRequest | undefined {
  const isModern = outcome.kind === "modern" && outcome.messageKind === "request";
  const isLegacy = outcome.kind === "legacy" && outcome.reason === "no-claim";
  if (!isModern && !isLegacy) return undefined;
  const { id, method, params = {} } = message as { id: string | number; method: string; params?: unknown };
  const known = methods.get(method);
  if (known === undefined || !hasExactly(params, known.params, isModern)) return undefined;
  const hasGoodHeaders = isModern
    ? areModern(headers, method, known.isNamed ? params.uri : undefined)
    : areLegacy(headers);
  return hasGoodHeaders ? { id, isModern, params, serve: known.serve } : undefined;
}

/** What the SDK would answer, member by member. */
export async function answerPlain(visit: Visit, { id, isModern, params, serve }: PlainRequest): Promise<Response> {
  let result: object;
  try {
    result = await answering((given: PlainParams) => serve(visit, given))(params);
  } catch (error) {
    return protocolErrorResponse(error as ProtocolError, id);
  }
  if (isModern) {
    const { _meta: meta = {} } = result as { _meta?: object };
    const stamped = { ...meta, [SERVER_INFO_META_KEY]: serverInfoOf(visit) };
    result = { ...result, resultType: "complete", _meta: stamped };
  }
  const json = JSON.stringify({ result, jsonrpc: "2.0", id });
  return new Response(visit.inserts.fill(json), { headers: { "content-type": "application/json" } });
}

/** An envelope on a modern request has been checked by the classifier; a legacy one is left to the SDK. */
function hasExactly(params: unknown, names: readonly string[], mayHaveMeta: boolean): params is PlainParams {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return false;
  if (names.includes("uri") && !Object.hasOwn(params, "uri")) return false;
  return Object.entries(params).every(([name, value]) =>
    name === "_meta" ? mayHaveMeta : names.includes(name) && typeof value === "string",
  );
}

/** The classifier compared what is there with the message; that it has to be there is checked here. */
function areModern(headers: Headers, method: string, name: string | undefined): boolean {
  return (
    headers.get("mcp-protocol-version") === "2026-07-28" &&
    headers.get("mcp-method") === method &&
    (name === undefined || headers.get("mcp-name") === name)
  );
}

function areLegacy(headers: Headers): boolean {
  const accept = headers.get("accept") ?? "";
  const version = headers.get("mcp-protocol-version");
  return (
    accept.includes("application/json") &&
    accept.includes("text/event-stream") &&
    (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version))
  );
}
