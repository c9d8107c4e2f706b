import type { Finding } from "./finding.ts";
import { withoutSecrets } from "./redact.ts";
import { maxEchoedLength } from "./limits.ts";

/**
 * Every way the program can say no, in one table. Doors translate a Problem: the API to RFC 9457 problem details
 * with the HTTP status, the MCP door to a JSON-RPC error. The codes are part of the API and never change meaning.
 */
const table = {
  parse_error: { status: 400, title: "The body is not valid JSON" },
  invalid_request: { status: 400, title: "The request is not valid" },
  invalid_namespace: { status: 400, title: "The namespace is not valid" },
  invalid_path: { status: 400, title: "The skill path is not valid" },
  invalid_version: { status: 400, title: "The version is not valid" },
  invalid_cursor: { status: 400, title: "The cursor is not valid here" },
  unauthorized: { status: 401, title: "A token is needed" },
  invalid_token: { status: 401, title: "The token is not valid" },
  forbidden: { status: 403, title: "The token does not allow this" },
  quota_exceeded: { status: 403, title: "A quota of the namespace is used up" },
  host_refused: { status: 403, title: "The Host header names another server" },
  origin_refused: { status: 403, title: "The Origin is not allowed" },
  not_found: { status: 404, title: "There is nothing here" },
  method_not_allowed: { status: 405, title: "The method is not allowed here" },
  namespace_exists: { status: 409, title: "The namespace is taken" },
  namespace_similar: { status: 409, title: "The name looks like one that is taken" },
  last_admin: { status: 409, title: "A namespace with members keeps one admin" },
  member_exists: { status: 409, title: "This person is a member already" },
  token_ended: { status: 409, title: "The token has ended" },
  edition_moved: { status: 409, title: "The collection changed meanwhile" },
  snapshot_moved: { status: 409, title: "The server changed meanwhile" },
  path_conflict: { status: 409, title: "Another skill lies on this path" },
  version_exists: { status: 409, title: "The version exists with other bytes" },
  release_yanked: { status: 409, title: "The release is yanked" },
  receipt_exists: { status: 409, title: "A request with this Idempotency-Key was answered meanwhile" },
  idempotency_key_reused: { status: 422, title: "The Idempotency-Key belongs to another request" },
  busy: { status: 503, title: "Somebody is at the same thing right now; try again" },
  not_acceptable: { status: 406, title: "The answer cannot have an accepted type" },
  too_large: { status: 413, title: "The request is too large" },
  unsupported_media_type: { status: 415, title: "The content type is not supported" },
  invalid_collection: { status: 422, title: "The collection has errors" },
  invalid_server: { status: 422, title: "The server has errors" },
  rate_limited: { status: 429, title: "Too many requests" },
  invalid_release: { status: 422, title: "The release has errors" },
  unavailable: { status: 503, title: "There is no room right now" },
  internal: { status: 500, title: "Internal error" },
  not_configured: { status: 503, title: "The server lacks a secret that this needs" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof table;

export interface ProblemDetails {
  /** What is wrong with this very request, as a sentence with the offending value and the limit by name. */
  detail?: string;
  findings?: readonly Finding[];
  /** What a sign-in would have to be allowed for it. */
  scopes?: readonly string[];
  /** Headers that belong to the answer, e.g. Retry-After or Allow. */
  headers?: Readonly<Record<string, string>>;
}

/** An expected refusal. Anything else that is thrown is a bug, is logged whole and answered as `internal`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails = {}) {
    super(withoutSecrets(details.detail ?? table[code].title));
    this.name = "Problem";
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return table[this.code].status;
  }

  get title(): string {
    return table[this.code].title;
  }
}

/** A text of the request as an error may repeat it: a body of 64 KiB can be one made-up name. */
export function echo(text: string): string {
  const whole = text.toWellFormed();
  return whole.length <= maxEchoedLength ? whole : `${whole.slice(0, maxEchoedLength).toWellFormed()}…`;
}

export function problem(code: ProblemCode, detail?: string, more: Omit<ProblemDetails, "detail"> = {}): Problem {
  return new Problem(code, detail === undefined ? more : { detail, ...more });
}
