import type { ServerEvent } from "@modelcontextprotocol/server";

import { maxWaitingFrames, streamRetryMs } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { parseSkillUri } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import type { Event, Line } from "../live/line.ts";
import type { SessionRow } from "../live/sessions.ts";
import { logFailure } from "../log.ts";
import { eventsOf } from "./listen.ts";
import { hasSkillTools } from "./skill-tools.ts";
import { openLine } from "./live.ts";
import { refusalOf, requireSession, sessionNotFound } from "./sessions.ts";
import type { Live, LiveSession } from "./live.ts";
import type { Visit } from "./visit.ts";

/**
 * The GET stream of a 2025-era session (Streamable HTTP, "Listening for Messages from the Server"): its first byte at
 * once, a comment every so often, and what changed. Events carry as their id how far the address has come, and the
 * session remembers how far its client has been told: whoever comes back behind is told once, at once.
 */
interface StreamSession extends LiveSession {
  read: () => Promise<SessionRow | undefined>;
  noteSent: (sent: number) => Promise<unknown>;
}

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** @throws Problem `method_not_allowed` without a session, `not_acceptable`, `unavailable`, and the gate's */
export async function serveStream(request: Request, visit: Visit): Promise<Response> {
  const session = await requireSession(request, visit);
  if (session === "unknown") return sessionNotFound();
  const [refusal] = await Promise.all([refusalOf(session), visit.catalog.gate()]);
  if (refusal !== undefined) return refusal;
  const standing = await session.standing;
  if (standing.kind !== "open") throw unanswered();
  if (!acceptsStream(request)) {
    throw problem("not_acceptable", "A GET here is answered as text/event-stream, so Accept has to name it");
  }
  const { object, random } = session;
  const read = async () => object.check(random, Date.now());
  return openStream(request, visit, visit.live!, {
    tag: random,
    read,
    isAlive: async () => (await read()) !== undefined,
    noteSent: (sent) => object.noteSent(random, sent, Date.now()),
  });
}

/** Media types are spelled in any case; how much the client likes each does not matter, since there is only one. */
function acceptsStream({ headers }: Request): boolean {
  const types = (headers.get("accept") ?? "").split(",").map((range) => range.split(";")[0]!.trim().toLowerCase());
  return types.some((type) => type === "text/event-stream" || type === "text/*" || type === "*/*");
}

async function openStream(request: Request, visit: Visit, live: Live, session: StreamSession): Promise<Response> {
  const tellsTools = await hasSkillTools(visit);
  const { line, sight } = await openLine(visit, live, session);
  const row = await readBeside(line, session);
  if (row === undefined) return sessionNotFound();
  const known = lastEventIdOf(request) ?? row.sent;
  // Ahead of everything is no place that we named, so such a client is told as well. Who is held to a path counts like
  // a stranger, and is told to list again whenever they come back.
  const isBehind = line.progress !== known || sight.below !== "";
  // Whoever loses the stream before they are told comes back as far behind.
  const goOnAt = known < line.progress ? known : 0;
  const writer = new SseWriter(line, session, { row, tellsTools });
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => writer.start(controller, { isBehind, goOnAt, keepAliveMs: live.clocks.keepAliveMs }),
    cancel: () => writer.close(),
  });
  request.signal.addEventListener("abort", () => writer.close(), { once: true });
  return new Response(body, { headers });
}

/**
 * Read after the dial, because clients subscribe while their stream opens: what they subscribed to before, the session
 * says, and what they subscribe to from here on, the line.
 */
async function readBeside(line: Line, session: StreamSession): Promise<SessionRow | undefined> {
  try {
    const row = await session.read();
    if (row === undefined) line.close();
    return row;
  } catch (error) {
    line.close();
    logFailure("live", error);
    throw unanswered();
  }
}

function unanswered() {
  return problem("unavailable", "The session did not answer; try again");
}

/** A client's own word for how far it came counts before the session's, which may be ahead of what arrived. */
function lastEventIdOf(request: Request): number | undefined {
  const id = request.headers.get("last-event-id");
  return id !== null && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

const methodOf: Partial<Record<ServerEvent["kind"], string>> = {
  resources_list_changed: "notifications/resources/list_changed",
  tools_list_changed: "notifications/tools/list_changed",
};

class SseWriter {
  readonly #line: Line;
  readonly #session: StreamSession;
  readonly #row: SessionRow;
  readonly #tellsTools: boolean;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #timer: ReturnType<typeof setInterval> | null = null;
  #watched: ReadonlyMap<string, SkillUri>;
  /** How far the client was told, how far at the last sign of life, and what of it the session remembers. */
  #sent: number;
  #atLastTick: number;
  #noted: number;

  constructor(line: Line, session: StreamSession, { row, tellsTools }: { row: SessionRow; tellsTools: boolean }) {
    this.#line = line;
    this.#session = session;
    this.#row = row;
    this.#tellsTools = tellsTools;
    this.#watched = watchedOf(row.subscriptions);
    [this.#sent, this.#atLastTick, this.#noted] = [row.sent, row.sent, row.sent];
  }

  start(
    controller: ReadableStreamDefaultController<Uint8Array>,
    { isBehind, goOnAt, keepAliveMs }: { isBehind: boolean; goOnAt: number; keepAliveMs: number },
  ): void {
    this.#controller = controller;
    // Only 2025-11-25 knows an event that only names where a client may go on; older clients would read it as one.
    const isPrimed = this.#row.version >= "2025-11-25";
    const progress = this.#line.progress;
    this.#write(
      isPrimed
        ? `id: ${isBehind ? goOnAt : progress}\nretry: ${streamRetryMs}\ndata: \n\n`
        : `retry: ${streamRetryMs}\n: open\n\n`,
    );
    if (isBehind) this.#tell({ kind: "missed", progress });
    else this.#sent = progress;
    this.#line.listen((event) => this.#tell(event));
    this.#timer = setInterval(() => this.#keepAlive(), keepAliveMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#line.close();
    const controller = this.#controller;
    this.#controller = undefined;
    try {
      controller?.close();
    } catch {
      // The client closed it already.
    }
  }

  #tell(event: Event): void {
    if (event.kind === "ended") return this.close();
    if (event.kind === "watch") {
      this.#watched = watchedOf(event.uris);
      return;
    }
    const events = eventsOf(event, { watched: this.#watched, tellsTools: this.#tellsTools });
    for (const [index, one] of events.entries()) {
      const message =
        one.kind === "resource_updated"
          ? { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: one.uri } }
          : { jsonrpc: "2.0", method: methodOf[one.kind] };
      // Only the last of several says how far the client came, so that losing the rest is noticed.
      const id = index === events.length - 1 ? `id: ${event.progress}\n` : "";
      this.#write(`event: message\n${id}data: ${JSON.stringify(message)}\n\n`);
    }
    this.#sent = event.progress;
  }

  /** What was written before the last sign of life has arrived, or the stream would be known to be broken by now. */
  #keepAlive(): void {
    this.#write(": keep-alive\n\n");
    const arrived = this.#atLastTick;
    this.#atLastTick = this.#sent;
    if (arrived <= this.#noted) return;
    this.#noted = arrived;
    // Remembered too little, a client is told once more than it needs.
    this.#session.noteSent(arrived).catch((error: unknown) => logFailure("live", error));
  }

  #write(text: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if ((controller.desiredSize ?? 0) < -maxWaitingFrames) return this.close();
    try {
      controller.enqueue(this.#encoder.encode(text));
    } catch {
      this.close();
    }
  }
}

function watchedOf(uris: readonly string[]): ReadonlyMap<string, SkillUri> {
  return new Map(
    uris.flatMap((uri): [string, SkillUri][] => {
      const parsed = parseSkillUri(uri);
      return parsed === undefined ? [] : [[uri, parsed]];
    }),
  );
}
