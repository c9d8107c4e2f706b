import type { Progress, Told } from "../domain/announcement.ts";
import { formatProgress } from "../domain/announcement.ts";
import { maxRedials } from "../domain/limits.ts";
import { logFailure } from "../log.ts";
import { endedCode } from "./feed.ts";
import type { Message } from "./feed.ts";

/**
 * One client's line to a Feed, held by the request that serves the client's stream. It outlives the Feed: when the
 * socket goes (a deploy, an eviction, a crash) it dials again at a random moment and says that something may have been
 * missed. And it needs no Feed to be right: at every recheck it asks the database whether it may still listen and how
 * far things have come, so that what no Feed told is found out all the same.
 */
export interface LineOptions {
  dial: () => Promise<WebSocket | { retrySeconds: number }>;
  /** Undefined: the caller may not listen any more. */
  recheck: () => Promise<Standing | undefined>;
  standing: Standing;
  recheckMs: number;
  jitterMs: number;
}

/** How far the address has come for this caller, and when their right ends by itself (milliseconds since 1970). */
export interface Standing {
  progress: Progress;
  expiresAt: number;
}

export type Event =
  | { kind: "told"; told: Told; progress: number }
  /** Something may have been missed: list again. */
  | { kind: "missed"; progress: number }
  /** What the session watches from now on. */
  | { kind: "watch"; uris: readonly string[] }
  /** The last one: no more will come. */
  | { kind: "ended" };

export class Line {
  readonly #options: LineOptions;
  #socket: WebSocket | undefined;
  #progress: Progress;
  #expiresAt: number;
  /** Another stream of the session is told in its place. */
  #isSuperseded = false;
  /** Messages one after the other: what follows a recheck waits for its outcome. */
  #turn: Promise<void> = Promise.resolve();
  #listener: ((event: Event) => void) | undefined;
  /** What came before anybody listened. */
  #early: Event[] = [];
  #isClosed = false;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(socket: WebSocket, options: LineOptions) {
    this.#options = options;
    this.#progress = options.standing.progress;
    this.#expiresAt = options.standing.expiresAt;
    this.#attach(socket);
    this.#timer = setInterval(() => void this.#lookForMissed(), options.recheckMs);
  }

  get progress(): number {
    return formatProgress(this.#progress);
  }

  listen(listener: (event: Event) => void): void {
    this.#listener = listener;
    for (const event of this.#early.splice(0)) listener(event);
  }

  /** Frees the socket on both sides; nothing comes after it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#socket?.close(1000);
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as Message;
      this.#turn = this.#turn.then(() => this.#take(message));
    });
    socket.addEventListener("close", ({ code }) => {
      if (this.#isClosed || this.#socket !== socket) return;
      this.#socket = undefined;
      if (code === endedCode) this.#end();
      else void this.#redial();
    });
    socket.addEventListener("error", () => socket.close());
  }

  async #take(message: Message): Promise<void> {
    if (message.kind === "watch") return this.#emit(message);
    if (message.kind === "superseded") {
      this.#isSuperseded = true;
      return;
    }
    if (message.kind === "recheck") {
      if ((await this.#ask()) === undefined) this.#end();
      return;
    }
    // Nobody says when a right runs out, so it is looked at before anything is told.
    if (Date.now() >= this.#expiresAt) return this.#end();
    this.#isSuperseded = false;
    const { told } = message;
    const { publicRevision, revision } = this.#progress;
    this.#progress = {
      publicRevision: Math.max(publicRevision, told.publicRevision),
      revision: Math.max(revision, told.revision ?? 0),
    };
    this.#emit({ kind: "told", told, progress: this.progress });
  }

  async #lookForMissed(): Promise<void> {
    const before = this.progress;
    const progress = await this.#ask();
    if (progress === "unknown" || this.#isClosed) return;
    if (progress === undefined) return this.#end();
    // What a Feed told meanwhile is in `progress` already.
    if (!this.#isSuperseded && formatProgress(progress) > Math.max(before, this.progress)) this.#missed(progress);
  }

  async #redial(): Promise<void> {
    for (let attempt = 0; attempt < maxRedials && !this.#isClosed; attempt++) {
      await new Promise((done) => setTimeout(done, Math.random() * this.#options.jitterMs));
      if (this.#isClosed) return;
      const socket = await this.#options.dial().catch((error: unknown) => logFailure("live", error));
      if (socket === undefined || !(socket instanceof WebSocket)) continue;
      if (this.#isClosed) return socket.close(1000);
      this.#attach(socket);
      const progress = await this.#ask();
      if (progress === undefined) return this.#end();
      return this.#missed(progress === "unknown" ? this.#progress : progress);
    }
    this.#end();
  }

  /** A database that does not answer right now is no reason to end a stream. */
  async #ask(): Promise<Progress | undefined | "unknown"> {
    try {
      const standing = await this.#options.recheck();
      if (standing !== undefined) this.#expiresAt = standing.expiresAt;
      return standing?.progress;
    } catch (error) {
      logFailure("live", error);
      return "unknown";
    }
  }

  #missed(progress: Progress): void {
    this.#progress = progress;
    this.#emit({ kind: "missed", progress: this.progress });
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#emit({ kind: "ended" });
    this.close();
  }

  #emit(event: Event): void {
    if (this.#isClosed) return;
    if (this.#listener === undefined) this.#early.push(event);
    else this.#listener(event);
  }
}
