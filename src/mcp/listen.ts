import { createMcpHandler } from "@modelcontextprotocol/server";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

import { concerns } from "../domain/announcement.ts";
import { concurrentLookups, maxSubscriptionsPerSession } from "../domain/limits.ts";
import { skillMdOf } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import type { Event, Line } from "../live/line.ts";
import { errorResponse, withoutNullId } from "./errors.ts";
import { openLine } from "./live.ts";
import type { Live } from "./live.ts";
import { buildServer } from "./server.ts";
import { hasSkillTools } from "./skill-tools.ts";
import type { Visit } from "./visit.ts";

/**
 * `subscriptions/listen` (2026-07-28): the SDK does the stream (acknowledgement, filter, subscription id, keep-alive,
 * the result at a graceful end), a line to the address's Feed is its source of events. One handler a request, since
 * what a request may read is its own.
 */
export async function serveListen(
  request: Request,
  visit: Visit,
  live: Live,
  message: ListenRequest,
): Promise<Response> {
  // Rights come before anything that is said about the request.
  await visit.catalog.gate();
  const wanted = addressesIn(message);
  if (wanted !== undefined && wanted.size > maxSubscriptionsPerSession) {
    const limit = `resourceSubscriptions may hold at most ${maxSubscriptionsPerSession} addresses`;
    return errorResponse(200, { code: -32602, message: limit }, message.id);
  }
  const watched = await findServed(visit, wanted ?? new Set());
  const parsedBody = wanted === undefined ? message : withHonoured(message, [...watched.keys()]);
  const { line } = await openLine(visit, live);
  const tellsTools = await hasSkillTools(visit);
  const bus = busOf(line, { watched, tellsTools }, () => void handler.close());
  const handler = createMcpHandler(() => buildServer(visit, { hasSkillTools: tellsTools }), {
    legacy: "reject",
    bus,
    keepAliveMs: live.clocks.keepAliveMs,
  });
  try {
    const response = await withoutNullId(await handler.fetch(request, { parsedBody }));
    const isOpen = response.headers.get("content-type")?.startsWith("text/event-stream") === true && bus.isHeard();
    if (!isOpen) line.close();
    return response;
  } catch (error) {
    line.close();
    throw error;
  }
}

/** A line as the SDK's bus. The SDK lets go of it when the client leaves, and the line with it. */
function busOf(line: Line, heard: Heard, end: () => void): ServerEventBus & { isHeard(): boolean } {
  let isHeard = false;
  return {
    isHeard: () => isHeard,
    publish: () => {
      throw new Error("News come from the Feed; nothing is published here");
    },
    subscribe: (listener) => {
      isHeard = true;
      line.listen((event) => {
        if (event.kind === "ended") end();
        else if (event.kind !== "watch") for (const one of eventsOf(event, heard)) listener(one);
      });
      return () => line.close();
    },
  };
}

/** What a listener is told of. */
export interface Heard {
  watched: ReadonlyMap<string, SkillUri>;
  /** Where each skill is a tool, the list of tools changes with that of skills. */
  tellsTools: boolean;
}

/** After something may have been missed, whatever a client watches may have changed. */
export function eventsOf(
  event: Extract<Event, { kind: "told" | "missed" }>,
  { watched, tellsTools }: Heard,
): ServerEvent[] {
  const isListed = event.kind === "missed" || event.told.isListed;
  const updated = [...watched].filter(([, uri]) => event.kind === "missed" || concerns(event.told, uri));
  return [
    ...(isListed ? [{ kind: "resources_list_changed" as const }] : []),
    ...(isListed && tellsTools ? [{ kind: "tools_list_changed" as const }] : []),
    ...updated.map(([uri]) => ({ kind: "resource_updated" as const, uri })),
  ];
}

interface ListenRequest {
  id: string | number;
  params?: { notifications?: { resourceSubscriptions?: unknown } | null };
}

/** What a client wants to watch, each address once; undefined where that is no list of addresses, which the SDK refuses. */
function addressesIn({ params }: ListenRequest): Set<string> | undefined {
  const wanted = params?.notifications?.resourceSubscriptions;
  if (!Array.isArray(wanted) || !wanted.every((uri) => typeof uri === "string")) return undefined;
  return new Set(wanted);
}

/** The SKILL.md addresses that the caller may read here: what is unknown, elsewhere or private is left out alike. */
async function findServed(visit: Visit, wanted: ReadonlySet<string>): Promise<Map<string, SkillUri>> {
  const asked = [...wanted].flatMap((uri): [string, SkillUri][] => {
    const parsed = skillMdOf(uri);
    return parsed === undefined ? [] : [[uri, parsed]];
  });
  const served = new Map<string, SkillUri>();
  // A few at a time, since each answer holds a whole entry until it is looked at.
  for (let next = 0; next < asked.length; next += concurrentLookups) {
    const some = asked.slice(next, next + concurrentLookups);
    const found = await Promise.all(some.map(([, parsed]) => visit.catalog.findEntry(parsed)));
    for (const [index, [uri, parsed]] of some.entries()) if (found[index] !== undefined) served.set(uri, parsed);
  }
  return served;
}

/** Only what can be delivered is acknowledged. */
function withHonoured(message: ListenRequest, honoured: readonly string[]): ListenRequest {
  const { resourceSubscriptions: _, ...rest } = message.params!.notifications!;
  const notifications = honoured.length === 0 ? rest : { ...rest, resourceSubscriptions: honoured };
  return { ...message, params: { ...message.params, notifications } };
}
