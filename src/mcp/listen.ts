import { createMcpHandler } from "@modelcontextprotocol/server";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

import { concerns } from "../domain/announcement.ts";
import { parseSkillUri, skillMdOf } from "../domain/uri.ts";
import type { SkillUri } from "../domain/uri.ts";
import type { Event, Line } from "../live/line.ts";
import { withoutNullId } from "./errors.ts";
import { openLine } from "./live.ts";
import type { Live } from "./live.ts";
import { buildServer } from "./server.ts";
import type { Visit } from "./visit.ts";

/**
 * `subscriptions/listen` (2026-07-28): the SDK does the stream (acknowledgement, filter, subscription id, keep-alive,
 * the result at a graceful end), a line to the address's Feed is its source of events. One handler a request, since
 * what a request may read is its own.
 */
export async function serveListen(request: Request, visit: Visit, live: Live, message: object): Promise<Response> {
  const parsedBody = withHonoured(message);
  const watched = watchedIn(parsedBody);
  const { line } = await openLine(visit, live);
  const bus = busOf(line, watched, () => void handler.close());
  const handler = createMcpHandler(() => buildServer(visit, undefined), {
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
function busOf(
  line: Line,
  watched: ReadonlyMap<string, SkillUri>,
  end: () => void,
): ServerEventBus & { isHeard(): boolean } {
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
        else if (event.kind !== "watch") for (const one of eventsOf(event, watched)) listener(one);
      });
      return () => line.close();
    },
  };
}

/** After something may have been missed, whatever a client watches may have changed. */
export function eventsOf(
  event: Extract<Event, { kind: "told" | "missed" }>,
  watched: ReadonlyMap<string, SkillUri>,
): ServerEvent[] {
  const isListed = event.kind === "missed" || event.told.isListed;
  const updated = [...watched].filter(([, uri]) => event.kind === "missed" || concerns(event.told, uri));
  return [
    ...(isListed ? [{ kind: "resources_list_changed" as const }] : []),
    ...updated.map(([uri]) => ({ kind: "resource_updated" as const, uri })),
  ];
}

interface Filter {
  resourceSubscriptions?: unknown;
}

/** Only what can be delivered is acknowledged: of the addresses those of a SKILL.md, each once. */
function withHonoured(message: object): object {
  const { params } = message as { params?: { notifications?: Filter } };
  const wanted = params?.notifications?.resourceSubscriptions;
  if (params?.notifications === undefined || !Array.isArray(wanted)) return message;
  const honoured = [...new Set(wanted.filter((uri) => typeof uri === "string" && skillMdOf(uri) !== undefined))];
  const { resourceSubscriptions: _, ...rest } = params.notifications;
  const notifications = honoured.length === 0 ? rest : { ...rest, resourceSubscriptions: honoured };
  return { ...message, params: { ...params, notifications } };
}

function watchedIn(message: object): Map<string, SkillUri> {
  const { params } = message as { params?: { notifications?: { resourceSubscriptions?: string[] } } };
  const uris = params?.notifications?.resourceSubscriptions ?? [];
  return new Map(uris.map((uri) => [uri, parseSkillUri(uri)!]));
}
