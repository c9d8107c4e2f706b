import type { Sight } from "../domain/announcement.ts";
import { feedRetrySeconds } from "../domain/limits.ts";
import { Problem, problem } from "../domain/problem.ts";
import { Line } from "../live/line.ts";
import type { Standing } from "../live/line.ts";
import type { LiveSettings } from "../live/settings.ts";
import type { Catalog } from "../storage/catalog.ts";
import type { Gate } from "../storage/gate.ts";
import type { Visit } from "./visit.ts";

/** What a stream needs beyond one request: the Feeds, its clocks, and the right to look again and again. */
export interface Live extends LiveSettings {
  isOperator: boolean;
  /** Whose stream it is: a token, a link, the operator, or an address prefix for strangers. */
  principal: string;
  /** A look at the same address with the same credential as it is now, to be admitted anew. */
  reopen: () => Catalog;
}

/**
 * A line to the Feed of the address, for a caller who was admitted to it. The object is dialled before the caller hears
 * anything, so that nothing falls between an answer and the first news.
 * @throws Problem `unavailable` with Retry-After when there is no room
 */
export async function openLine(visit: Visit, live: Live, session?: LiveSession): Promise<{ line: Line; sight: Sight }> {
  const sight = sightOf(await visit.catalog.gate(), live);
  const listener = { sight, principal: live.principal, ...(session === undefined ? {} : { session: session.tag }) };
  const dial = () => live.feeds.dial(visit.address, listener, live.caps);
  const socket = await dial();
  if (!(socket instanceof WebSocket)) throw noRoom(socket.retrySeconds);
  try {
    // Read after the dial: what changes from here on, the Feed tells.
    const standing = await look(live, session);
    // Ended between the look before the dial and this one.
    if (standing === undefined) throw problem("not_found", "The session or the right to listen here ended meanwhile");
    const { recheckMs, jitterMs } = live.clocks;
    const line = new Line(socket, { dial, recheck: () => look(live, session), standing, recheckMs, jitterMs });
    return { line, sight };
  } catch (error) {
    socket.close(1000);
    throw error;
  }
}

/** A session's stream ends with it, and keeps it alive; `isAlive` counts as a use. */
export interface LiveSession {
  tag: string;
  isAlive: () => Promise<boolean>;
}

/** Undefined when the caller is not let in any more, or the session is over. */
async function look(live: Live, session: LiveSession | undefined): Promise<Standing | undefined> {
  try {
    const catalog = live.reopen();
    const [progress, isAlive] = await Promise.all([catalog.findProgress(), session?.isAlive() ?? true]);
    const { token } = await catalog.gate();
    return isAlive ? { progress, expiresAt: token?.expiresAt ?? Number.POSITIVE_INFINITY } : undefined;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function sightOf(gate: Gate, live: Live): Sight {
  return {
    everything: live.isOperator,
    namespace: gate.token?.namespace ?? null,
    below: gate.token?.below ?? "",
  };
}

function noRoom(seconds: number) {
  return problem("unavailable", "Too many clients listen here; try again later, or list again from time to time", {
    headers: { "retry-after": String(seconds || feedRetrySeconds) },
  });
}
