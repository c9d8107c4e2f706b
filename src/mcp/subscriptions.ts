import { maxSubscriptionsPerSession } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { skillMdOf } from "../domain/uri.ts";
import { refusalOf } from "./sessions.ts";
import type { Session } from "./sessions.ts";
import type { Visit } from "./visit.ts";

/** What a 2025-era session wants to hear of: SKILL.md addresses, moving or pinned, that its client may read. */

/** `resources/subscribe`. @throws Problem `not_found`, `invalid_request` past the limit */
export async function subscribe(visit: Visit, session: Session, uri: string) {
  const parsed = skillMdOf(uri);
  const found = parsed === undefined ? undefined : await visit.catalog.findEntry(parsed);
  if (found === undefined) throw problem("not_found", `No skill is served at ${uri}`);
  return change(visit, session, () => session.object.subscribe(session.random, uri, Date.now()));
}

/** `resources/unsubscribe`, also of what is gone by now. @throws Problem `not_found` for what is no such address */
export async function unsubscribe(visit: Visit, session: Session, uri: string) {
  if (skillMdOf(uri) === undefined) throw problem("not_found", `No skill is served at ${uri}`);
  await visit.catalog.gate();
  return change(visit, session, () => session.object.unsubscribe(session.random, uri, Date.now()));
}

/**
 * Nothing changes in a session that does not serve the request: its refusal takes the place of the answer. A stream
 * that is open is told what to look for from now on.
 */
async function change(visit: Visit, session: Session, ask: () => Promise<string[] | "full" | "gone">) {
  if ((await refusalOf(session)) !== undefined) return {};
  const uris = await ask();
  if (uris === "full") {
    throw problem("invalid_request", `A session may subscribe to at most ${maxSubscriptionsPerSession} addresses`);
  }
  if (uris !== "gone") await visit.live?.feeds.watch(visit.address, session.random, uris);
  return {};
}
