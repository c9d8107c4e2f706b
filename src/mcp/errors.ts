import type { ProtocolError } from "@modelcontextprotocol/server";

import type { Problem, ProblemCode } from "../domain/problem.ts";

/**
 * Refusals of this door. Those about rights come before any JSON-RPC and have an OAuth-style body (RFC 6750);
 * all others carry a JSON-RPC error, because a client takes an empty 400 or 404 for a server of an older era.
 */
const rpcCodes: Partial<Record<ProblemCode, number>> = {
  parse_error: -32700,
  not_found: -32602,
  internal: -32603,
  not_configured: -32603,
  // Nothing is wrong with the request; JSON-RPC leaves this range to servers.
  rate_limited: -32000,
};
const invalidRequest = -32600;

export function problemResponse(problem: Problem): Response {
  if (problem.code === "unauthorized" || problem.code === "invalid_token") return challenge(problem);
  const code = rpcCodes[problem.code] ?? invalidRequest;
  return errorResponse(problem.status, { code, message: problem.message }, undefined, problem.details.headers);
}

/** The same bytes for a private and an unknown address. */
function challenge(problem: Problem): Response {
  const isInvalid = problem.code === "invalid_token";
  const body = { error: isInvalid ? "invalid_token" : "unauthorized", error_description: problem.message };
  const scheme = isInvalid ? 'Bearer error="invalid_token"' : "Bearer";
  return Response.json(body, { status: 401, headers: { "www-authenticate": scheme, ...problem.details.headers } });
}

/** Without an id when the request's could not be read: 2026-07-28 does not permit null. */
export function errorResponse(
  status: number,
  error: { code: number; message: string },
  id?: string | number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error };
  return Response.json(body, { status, headers });
}

/** What a handler refuses, as the SDK writes it. */
export function protocolErrorResponse({ code, message, data }: ProtocolError, id: string | number): Response {
  return Response.json({ jsonrpc: "2.0", id, error: data === undefined ? { code, message } : { code, message, data } });
}

/** The SDK writes `id: null` where it could not read one; the schema of 2026-07-28 wants it left out. */
export async function withoutNullId(response: Response): Promise<Response> {
  if (response.ok || !response.headers.get("content-type")?.startsWith("application/json")) return response;
  const body = (await response.json()) as Record<string, unknown>;
  if (body["id"] === null) delete body["id"];
  return Response.json(body, response);
}
