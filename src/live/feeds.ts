import type { Announcement } from "../domain/announcement.ts";
import { announcePausesMs } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { logFailure } from "../log.ts";
import type { Caps, Feed, Listener } from "./feed.ts";

/** The Feeds of every address: which objects share its listeners, how to dial one and how to tell them all. */
export interface Address {
  namespace: Namespace | undefined;
  collection: string | undefined;
}

export interface Shards {
  root: number;
  /** Of each namespace and collection. Raised, new listeners spread over more objects; none is told less. */
  address: number;
}

export class Feeds {
  readonly #objects: DurableObjectNamespace<Feed>;
  readonly #shards: Shards;

  constructor(objects: DurableObjectNamespace<Feed>, shards: Shards) {
    this.#objects = objects;
    this.#shards = shards;
  }

  /** An open socket to a Feed of the address; a number of seconds to wait where it has no room. */
  async dial(address: Address, listener: Listener, caps: Caps): Promise<WebSocket | { retrySeconds: number }> {
    // All streams of a session lie in one object, which knows the newest of them.
    const shard = hashOf(listener.session ?? crypto.randomUUID()) % this.#shardsOf(address);
    const response = await this.#stub(address, shard).fetch("https://feed/", {
      headers: { upgrade: "websocket", "x-listener": JSON.stringify({ listener, caps }) },
    });
    if (response.webSocket === null) return { retrySeconds: Number(response.headers.get("retry-after") ?? 1) };
    response.webSocket.accept();
    return response.webSocket;
  }

  announce(address: Address, announcement: Announcement): Promise<void> {
    return this.#tellAll(address, (feed) => feed.announce(announcement));
  }

  recheck(address: Address, namespace: Namespace | undefined): Promise<void> {
    return this.#tellAll(address, (feed) => feed.recheck(namespace));
  }

  watch(address: Address, session: string, uris: readonly string[]): Promise<void> {
    return this.#tellAll(address, (feed) => feed.watch(session, uris));
  }

  endSession(address: Address, session: string): Promise<void> {
    return this.#tellAll(address, (feed) => feed.endSession(session));
  }

  async countListeners(address: Address): Promise<number> {
    const counts = await Promise.all(this.#stubs(address).map((feed) => feed.countListeners()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async #tellAll(address: Address, tell: (feed: DurableObjectStub<Feed>) => Promise<unknown>): Promise<void> {
    await Promise.all(this.#stubs(address).map((feed) => tellPatiently(() => tell(feed))));
  }

  #stubs(address: Address): DurableObjectStub<Feed>[] {
    return Array.from({ length: this.#shardsOf(address) }, (_, shard) => this.#stub(address, shard));
  }

  #stub({ namespace, collection }: Address, shard: number): DurableObjectStub<Feed> {
    const name = namespace === undefined ? "root" : [namespace, collection].filter(Boolean).join("/");
    return this.#objects.getByName(`feed:${name}:${shard}`);
  }

  #shardsOf({ namespace }: Address): number {
    return namespace === undefined ? this.#shards.root : this.#shards.address;
  }
}

/** News are no promise of a change, which is made by now: what cannot be told is logged, and lines find out alone. */
async function tellPatiently(tell: () => Promise<unknown>): Promise<void> {
  for (const pauseMs of [...announcePausesMs, undefined]) {
    try {
      await tell();
      return;
    } catch (error) {
      if (pauseMs === undefined) logFailure("live", error);
      else await new Promise((done) => setTimeout(done, pauseMs));
    }
  }
}

function hashOf(text: string): number {
  let hash = 0;
  for (const char of text) hash = (Math.imul(hash, 31) + char.codePointAt(0)!) >>> 0;
  return hash;
}
