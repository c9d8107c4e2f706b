import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";

import { Problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { logFailure } from "../log.ts";

/** Turns what a handler throws into the protocol's errors; anything unexpected is logged whole and named nowhere. */
export function answering<Request, Result>(handler: (request: Request) => Result | Promise<Result>) {
  return async (request: Request): Promise<Result> => {
    try {
      return await handler(request);
    } catch (error) {
      throw protocolErrorOf(error, request);
    }
  };
}

/** A list that fits one page: any cursor is then from elsewhere. */
export function onlyPage<Result>(params: { cursor?: string | undefined } | undefined, list: () => Result): Result {
  if (params?.cursor === undefined) return list();
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "This list has one page; ask without a cursor");
}

/** Every refusal inside a known method is -32602, and one about an address names it (SEP-2164). */
function protocolErrorOf(error: unknown, request: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (!(error instanceof Problem)) {
    logFailure("mcp", error);
    return new ProtocolError(ProtocolErrorCode.InternalError, "Internal error");
  }
  const params = (request as { params?: { uri?: unknown } }).params ?? (request as { uri?: unknown });
  if (error.code === "not_found" && typeof params.uri === "string") {
    return new ResourceNotFoundError(withoutSecrets(params.uri), error.message);
  }
  return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
}
