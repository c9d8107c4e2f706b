import { DurableObject } from "cloudflare:workers";

import { merge, toldTo } from "../domain/announcement.ts";
import type { Announcement, Sight, Told } from "../domain/announcement.ts";
import { burstWindowMs, feedRetrySeconds } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";

/**
 * The listeners of one address (or of a share of them), each a socket that hibernates: an object with listeners and no
 * news is not in memory and costs nothing. What a listener may read stands in its socket's attachment, so that nothing
 * is asked when news come. The first news of a burst go out at once, the rest of it together.
 *
 * A Feed keeps nothing. Where it dies its sockets die with it; lines dial again and tell their clients to list again.
 */
export interface Listener {
  sight: Sight;
  /** Whose listener it is: a token, or an address prefix for strangers. Counted against one cap. */
  principal: string;
  /** Of a 2025-era session; of its streams only the newest is told anything. */
  session?: string;
}

interface Attachment extends Listener {
  /** Grows with every socket of the object's life and beyond. */
  openedAt: number;
}

/** What a Feed sends down a line. */
export type Message =
  | { kind: "told"; told: Told }
  /** Rights changed: ask again whether you may listen. */
  | { kind: "recheck" }
  /** A newer stream of the session is told from now on. */
  | { kind: "superseded" }
  /** The session watches other addresses than before. */
  | { kind: "watch"; uris: readonly string[] };

export interface Caps {
  listeners: number;
  perPrincipal: number;
  perSession: number;
}

export class Feed extends DurableObject {
  /** News since the last that went out, while a burst lasts. */
  #waiting: Announcement[] | undefined;

  /** A listener's socket. 503 where there are too many; the listener comes in a header, the caps as well. */
  override async fetch(request: Request): Promise<Response> {
    const { listener, caps } = JSON.parse(request.headers.get("x-listener")!) as { listener: Listener; caps: Caps };
    this.#makeRoom(listener, caps);
    if (this.#isFull(listener, caps)) {
      return new Response(null, { status: 503, headers: { "retry-after": String(feedRetrySeconds) } });
    }
    const { 0: theirs, 1: ours } = new WebSocketPair();
    if (listener.session !== undefined) {
      for (const older of this.ctx.getWebSockets(listener.session)) sendTo(older, { kind: "superseded" });
    }
    const tags = [`principal:${listener.principal}`, ...(listener.session === undefined ? [] : [listener.session])];
    this.ctx.acceptWebSocket(ours, tags);
    ours.serializeAttachment({ ...listener, openedAt: this.#nextPlace() } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** Tells everybody who may know. */
  announce(announcement: Announcement): void {
    if (this.ctx.getWebSockets().length === 0) return;
    if (this.#waiting !== undefined) {
      this.#waiting.push(announcement);
      return;
    }
    this.#tell([announcement]);
    this.#openWindow();
  }

  /** Has lines ask for their rights again: all of them, or those whose token is of the namespace. */
  recheck(namespace: Namespace | undefined): void {
    for (const socket of this.ctx.getWebSockets()) {
      const { sight } = attachmentOf(socket);
      if (namespace === undefined || sight.namespace === namespace) sendTo(socket, { kind: "recheck" });
    }
  }

  /** Tells the streams of a session what it watches now. */
  watch(session: string, uris: readonly string[]): void {
    for (const socket of this.ctx.getWebSockets(session)) sendTo(socket, { kind: "watch", uris });
  }

  /** Ends the streams of a session that ended. */
  endSession(session: string): void {
    for (const socket of this.ctx.getWebSockets(session)) socket.close(endedCode, "the session ended");
  }

  countListeners(): number {
    return this.ctx.getWebSockets().length;
  }

  override webSocketMessage(): void {
    // Lines have nothing to say.
  }

  override webSocketClose(socket: WebSocket): void {
    socket.close();
  }

  #isFull({ principal }: Listener, caps: Caps): boolean {
    const { ctx } = this;
    return (
      ctx.getWebSockets().length >= caps.listeners ||
      ctx.getWebSockets(`principal:${principal}`).length >= caps.perPrincipal
    );
  }

  /** A session that opens one stream too many loses its oldest: clients that reconnect must not be locked out. */
  #makeRoom({ session }: Listener, caps: Caps): void {
    if (session === undefined) return;
    const streams = this.ctx.getWebSockets(session).sort((a, b) => placeOf(a) - placeOf(b));
    for (const socket of streams.slice(0, Math.max(0, streams.length - caps.perSession + 1))) {
      socket.close(endedCode, "a newer stream took its place");
    }
  }

  #nextPlace(): number {
    return 1 + this.ctx.getWebSockets().reduce((last, socket) => Math.max(last, placeOf(socket)), 0);
  }

  #openWindow(): void {
    this.#waiting = [];
    setTimeout(() => {
      const rest = this.#waiting ?? [];
      this.#waiting = undefined;
      if (rest.length === 0) return;
      this.#tell(rest);
      this.#openWindow();
    }, burstWindowMs);
  }

  /** Listeners with one sight get one text, which is written once. */
  #tell(announcements: readonly Announcement[]): void {
    const texts = new Map<string, string | undefined>();
    const newest = newestOfSessions(this.ctx.getWebSockets());
    for (const socket of this.ctx.getWebSockets()) {
      const { sight, session, openedAt } = attachmentOf(socket);
      if (session !== undefined && newest.get(session) !== openedAt) continue;
      const key = JSON.stringify(sight);
      if (!texts.has(key)) texts.set(key, textFor(sight, announcements));
      const text = texts.get(key);
      if (text !== undefined) sendTo(socket, text);
    }
  }
}

/** The close code that says: do not dial again. */
export const endedCode = 4000;

function textFor(sight: Sight, announcements: readonly Announcement[]): string | undefined {
  const told = announcements.flatMap((announcement) => toldTo(sight, announcement) ?? []);
  return told.length === 0 ? undefined : JSON.stringify({ kind: "told", told: merge(told) } satisfies Message);
}

function newestOfSessions(sockets: readonly WebSocket[]): Map<string, number> {
  const newest = new Map<string, number>();
  for (const socket of sockets) {
    const { session, openedAt } = attachmentOf(socket);
    if (session !== undefined) newest.set(session, Math.max(openedAt, newest.get(session) ?? 0));
  }
  return newest;
}

function attachmentOf(socket: WebSocket): Attachment {
  return socket.deserializeAttachment() as Attachment;
}

/** Between its acceptance and its attachment a socket has none. */
function placeOf(socket: WebSocket): number {
  return (socket.deserializeAttachment() as Attachment | null)?.openedAt ?? 0;
}

/** A socket that closes right now takes nothing more; its line notices by itself. */
function sendTo(socket: WebSocket, message: Message | string): void {
  try {
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  } catch {
    socket.close();
  }
}
