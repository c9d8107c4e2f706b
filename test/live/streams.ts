import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { origin } from "../harness.ts";

/** Open streams as a client holds them: frames one by one, and the certainty that nothing came. */
export interface Frame {
  event?: string;
  id?: string;
  retry?: string;
  comment?: string;
  data?: string;
}

export type Message = Record<string, unknown>;

/** Long against every delay inside the Worker, short against a person's patience. */
const quietMs = 300;
const deadlineMs = 10_000;

export class Stream {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #frames: Frame[] = [];
  #text = "";
  #pending: Promise<void> | undefined;
  isEnded = false;

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next frame of any kind; undefined when the stream ended. */
  async frame(withinMs: number = deadlineMs): Promise<Frame | undefined> {
    const until = Date.now() + withinMs;
    while (this.#frames.length === 0 && !this.isEnded) {
      this.#pending ??= this.#pull();
      const left = until - Date.now();
      if (left <= 0 || !(await within(this.#pending, left))) throw new Error(`no frame within ${withinMs} ms`);
      this.#pending = undefined;
    }
    return this.#frames.shift();
  }

  /** The next message. */
  async next(withinMs: number = deadlineMs): Promise<Message> {
    for (;;) {
      const frame = await this.frame(withinMs);
      if (frame === undefined) throw new Error("the stream ended");
      if (frame.data !== undefined && frame.data !== "") return JSON.parse(frame.data) as Message;
    }
  }

  /** Fails if a message comes. */
  async quiet(): Promise<void> {
    let message: Message | undefined;
    try {
      message = await this.next(quietMs);
    } catch (error) {
      if (/no frame/.test(String(error))) return;
      throw error;
    }
    throw new Error(`told although nothing was to be told: ${JSON.stringify(message)}`);
  }

  /** Resolves when the stream has ended, with the messages that came before. */
  async ended(withinMs: number = deadlineMs): Promise<Message[]> {
    const messages: Message[] = [];
    for (let frame = await this.frame(withinMs); frame !== undefined; frame = await this.frame(withinMs)) {
      if (frame.data !== undefined && frame.data !== "") messages.push(JSON.parse(frame.data) as Message);
    }
    return messages;
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  async #pull(): Promise<void> {
    const { value, done } = await this.#reader.read();
    if (done) {
      this.isEnded = true;
      return;
    }
    this.#text += value;
    const parts = this.#text.split("\n\n");
    this.#text = parts.pop()!;
    this.#frames.push(...parts.map(readFrame));
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [undefined, undefined, ""];
    if (name === "") frame.comment = value;
    else if (name === "event" || name === "id" || name === "retry" || name === "data") frame[name] = value;
  }
  return frame;
}

async function within(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const late = new Promise<boolean>((done) => {
    timer = setTimeout(() => done(false), ms);
  });
  const isInTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return isInTime;
}

export interface ListenOptions {
  token?: string;
  id?: string | number;
  vars?: Partial<Env>;
}

export async function listen(
  address: string,
  notifications: Record<string, unknown>,
  { token, id = 1, vars = {} }: ListenOptions = {},
): Promise<Response> {
  const method = "subscriptions/listen";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { notifications, _meta: meta } });
  return open(new Request(origin + address, { method: "POST", headers, body }), vars);
}

export async function openListen(
  address: string,
  notifications: Record<string, unknown>,
  options: ListenOptions = {},
): Promise<Stream> {
  const response = await listen(address, notifications, options);
  if (response.status !== 200) throw new Error(`listen: ${response.status} ${await response.text()}`);
  return new Stream(response);
}

/** Without waiting for what the Worker does after its answer: a stream's work ends with the stream. */
export async function open(request: Request, vars: Partial<Env> = {}): Promise<Response> {
  return worker.fetch(request, { ...env, ...vars } as Env, createExecutionContext());
}
