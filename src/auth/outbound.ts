import { outsideFault } from "../domain/outside.ts";

/**
 * The one way in which the registry asks another host: for JSON, over https, at an address that others chose. Nothing
 * of ours goes along but what the caller of this adds by name, no redirect is followed, and neither a slow nor an
 * endless answer costs more than was agreed.
 */
export interface OutboundOptions {
  /** Where people reach us: never asked itself, and when it is loopback, loopback may be asked. */
  ownOrigin: string;
  maxBytes: number;
  /** For everything, from the connection to the last byte of the body. */
  timeoutMs: number;
  /** Posted as a form; absent: a GET. */
  form?: URLSearchParams;
  /** The header Authorization, for a host that the operator named. */
  authorization?: string;
}

export interface OutboundAnswer {
  /** 200 to 299 or 400 and more; the caller decides what it thinks of an error. */
  status: number;
  headers: Headers;
  /** Parsed JSON, of whatever form. */
  body: unknown;
}

export type OutboundReason =
  | "address"
  | "unreachable"
  | "redirect"
  | "media_type"
  | "too_large"
  | "too_slow"
  | "not_json";

/** Why there is no answer; the message is a sentence about the other host that may be shown to whoever named it. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;

  constructor(reason: OutboundReason, message: string) {
    super(message);
    this.name = "OutboundError";
    this.reason = reason;
  }
}

const userAgent = "skill-registry";
const jsonType = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i;

/** @throws OutboundError */
export async function fetchJson(url: string, options: OutboundOptions): Promise<OutboundAnswer> {
  const fault = outsideFault(url, options.ownOrigin);
  if (fault !== undefined) throw new OutboundError("address", `The address "${url.slice(0, 200)}" ${fault}`);
  const { host } = new URL(url);
  return inTime(host, options.timeoutMs, async (signal) => {
    const response = await ask(url, options, signal);
    const text = await readAcceptable(host, response, options.maxBytes);
    return { status: response.status, headers: response.headers, body: parse(host, text) };
  });
}

async function ask(url: string, { form, authorization }: OutboundOptions, signal: AbortSignal): Promise<Response> {
  const headers = new Headers({ accept: "application/json", "user-agent": userAgent });
  if (authorization !== undefined) headers.set("authorization", authorization);
  const body = form === undefined ? {} : { method: "POST", body: form };
  try {
    // What a cache keeps of an issuer's keys could outlive the key.
    return await fetch(url, { ...body, headers, signal, redirect: "manual", cache: "no-store" });
  } catch {
    throw new OutboundError("unreachable", `${new URL(url).host} cannot be reached`);
  }
}

/** The body as text, once its status and type are good. A body that is not read is cancelled, or it would go on. */
async function readAcceptable(host: string, response: Response, maxBytes: number): Promise<string> {
  const { status, headers, body } = response;
  const type = headers.get("content-type") ?? "";
  const isRedirect = status >= 300 && status < 400;
  const refusal = isRedirect
    ? new OutboundError("redirect", `${host} answered with a redirect (${status}), which is not followed`)
    : jsonType.test(type)
      ? undefined
      : new OutboundError("media_type", `${host} answered ${status} with "${type.slice(0, 100)}" instead of JSON`);
  if (refusal === undefined) return readText(host, body, maxBytes);
  await body?.cancel().catch(() => {});
  throw refusal;
}

/** What a content-length claims is believed by nobody; the bytes are counted as they come. */
async function readText(host: string, body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let text = "";
  let bytes = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.byteLength;
      if (bytes > maxBytes) throw new OutboundError("too_large", `${host} answered with more than ${maxBytes} bytes`);
      text += decoder.decode(part.value, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    reader.cancel().catch(() => {});
    if (error instanceof OutboundError) throw error;
    if (error instanceof TypeError) throw new OutboundError("not_json", `${host} answered with what is not UTF-8`);
    throw new OutboundError("unreachable", `${host} broke off its answer`);
  }
}

function parse(host: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new OutboundError("not_json", `${host} answered with what is not JSON`);
  }
}

/** A host that ignores the end of its time is left behind: nobody waits for it, whether or not its answer stops. */
async function inTime<T>(host: string, timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new OutboundError("too_slow", `${host} did not answer within ${timeoutMs} ms`));
      controller.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(controller.signal), end]);
  } finally {
    clearTimeout(timer);
  }
}
