import { formatSessionId, mintPlace, parseSessionId, placeOwner } from "../auth/session-id.ts";
import type { SessionHolder, SessionPlace } from "../auth/session-id.ts";
import { maxClientInfoLength } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { Problem } from "../domain/problem.ts";
import { stranger } from "../live/sessions.ts";
import type { SessionRow, Sessions } from "../live/sessions.ts";
import { logFailure } from "../log.ts";
import { errorResponse } from "./errors.ts";
import type { Live } from "./live.ts";
import type { Visit } from "./visit.ts";

/**
 * Sessions of 2025-era clients. `initialize` opens one; a request that names one is checked against it beside its work,
 * so that it waits for no further round trip. A session proves no right: the gate decides who may read, each time. So
 * where its object does not answer, a read is served all the same, and only what would change the session fails.
 */
export interface Session extends SessionPlace {
  object: DurableObjectStub<Sessions>;
  /** Known once the object has answered; it was asked when the request came. */
  standing: Promise<Standing>;
}

export type Standing =
  | { kind: "open"; row: SessionRow }
  | { kind: "ended" }
  /** The request names a version other than the negotiated one. */
  | { kind: "other-version"; negotiated: string; named: string }
  | { kind: "unanswered" };

export interface Handshake {
  /** Of the `initialize` request, as the client sent them. */
  params: { clientInfo?: { name?: unknown; version?: unknown } } | undefined;
  /** As the InitializeResult says. */
  version: string;
  /** How far the client has been told when the session begins. */
  sent: number;
}

/** The id that the client gets; undefined where no session can be kept, or there is no room for one right now. */
export async function openSession(visit: Visit, { params, version, sent }: Handshake): Promise<string | undefined> {
  const { live } = visit;
  if (live?.sessions === undefined) return undefined;
  const { count, signingKey } = live.sessions;
  const owner = await placeOwner(live.principal, count, signingKey);
  const place = mintPlace(owner.shard);
  const holder = holderOf(visit, live);
  const client = { clientName: textOf(params?.clientInfo?.name), clientVersion: textOf(params?.clientInfo?.version) };
  const session = { random: place.random, ...holder, ...client, version, sent, owner: owner.key, now: Date.now() };
  try {
    if (!(await live.sessions.at(place.shard).open(session))) return undefined;
    return await formatSessionId(place, holder, signingKey);
  } catch (error) {
    logFailure("live", error);
    return undefined;
  }
}

/**
 * The session that a request names, whose check is under way from here on; "unknown" when the id is not one that this
 * registry gave to this caller at this address, for which nobody is asked; undefined for a request without one.
 */
export async function joinSession(request: Request, visit: Visit): Promise<Session | "unknown" | undefined> {
  const text = request.headers.get("mcp-session-id");
  const { live } = visit;
  if (text === null || live?.sessions === undefined) return undefined;
  const place = await parseSessionId(text, holderOf(visit, live), live.sessions.signingKey);
  if (place === undefined) return "unknown";
  const object = live.sessions.at(place.shard);
  return { ...place, object, standing: checkSession(object, place.random, request) };
}

/** Why the session does not serve this request; undefined when it does. */
export async function refusalOf(session: Session): Promise<Response | undefined> {
  const standing = await session.standing;
  if (standing.kind === "ended") return sessionNotFound();
  if (standing.kind !== "other-version") return undefined;
  const message = `MCP-Protocol-Version is ${standing.named}, but this session speaks ${standing.negotiated}`;
  return errorResponse(400, { code: -32600, message });
}

/** What the client said of itself, where the session's object has answered. */
export async function clientOf(session: Session): Promise<{ name: string; version: string } | undefined> {
  const standing = await session.standing;
  if (standing.kind !== "open") return undefined;
  return { name: standing.row.clientName, version: standing.row.clientVersion };
}

/** `DELETE`: the id is dead everywhere, and its streams end. @throws Problem `method_not_allowed`, and the gate's */
export async function endSession(request: Request, visit: Visit): Promise<Response> {
  const session = await requireSession(request, visit);
  if (session === "unknown") return sessionNotFound();
  const [refusal] = await Promise.all([refusalOf(session), visit.catalog.gate()]);
  if (refusal !== undefined) return refusal;
  if (!(await session.object.end(session.random))) return sessionNotFound();
  await visit.live?.feeds.endSession(visit.address, session.random);
  return new Response(null, { status: 204 });
}

/**
 * What `GET` and `DELETE` are about. 2026-07-28 has no sessions, so to name one with it is to name another version.
 * @throws Problem `method_not_allowed`
 */
export async function requireSession(request: Request, visit: Visit): Promise<Session | "unknown"> {
  const session = await joinSession(request, visit);
  if (session === undefined) throw methodNotAllowed("POST");
  return session;
}

/** Of a method that nobody has here: a session that serves the request has more methods than those without one. */
export async function refuseMethod(request: Request, visit: Visit): Promise<Problem> {
  const session = await joinSession(request, visit);
  const isOpen = session !== undefined && session !== "unknown" && (await session.standing).kind === "open";
  return methodNotAllowed(isOpen ? "GET, POST, DELETE" : "POST");
}

function methodNotAllowed(allow: string): Problem {
  return problem("method_not_allowed", "Send POST", { headers: { allow } });
}

/** 404 tells clients of 2025 to begin anew, whatever the reason. */
export function sessionNotFound(): Response {
  const message = "Session not found: it ended, ran out or belongs elsewhere; send initialize again, without its id";
  return errorResponse(404, { code: -32001, message });
}

/** Never throws, since the answer may be refused before anybody waits for this. */
async function checkSession(
  object: DurableObjectStub<Sessions>,
  random: string,
  { headers }: Request,
): Promise<Standing> {
  try {
    const row = await object.check(random, Date.now());
    if (row === undefined) return { kind: "ended" };
    const named = headers.get("mcp-protocol-version");
    if (named === null || named === row.version) return { kind: "open", row };
    return { kind: "other-version", negotiated: row.version, named };
  } catch (error) {
    logFailure("live", error);
    return { kind: "unanswered" };
  }
}

/** All strangers are one principal: an agent's address may change while its session lasts. */
function holderOf({ address, isAnonymous }: Visit, { principal }: Live): SessionHolder {
  return { path: address.path, principal: isAnonymous ? stranger : principal };
}

function textOf(given: unknown): string {
  return typeof given === "string" ? given.slice(0, maxClientInfoLength).toWellFormed() : "";
}
