import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import type { Sessions } from "../../src/live/sessions.ts";
import { origin } from "../harness.ts";
import { recorded } from "../tenants/recorder.ts";

/** A 2025-era client as it opens a session and goes on with it. */
export const versions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

export interface Options {
  token?: string | undefined;
  /** Of the negotiated version; a client of 2025-03-26 sends none. */
  version?: string | undefined;
  session?: string | undefined;
  headers?: Record<string, string>;
  bindings?: Partial<Env>;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: {
    id?: unknown;
    result?: Record<string, unknown>;
    error?: { code: number; message: string };
  };
}

export async function call(method: string, address: string, options: Options, message?: unknown): Promise<Reply> {
  const { token, version, session, headers: more = {}, bindings = {} } = options;
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    ...(message === undefined ? {} : { "content-type": "application/json" }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(version === undefined ? {} : { "mcp-protocol-version": version }),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
    ...more,
  };
  const context = createExecutionContext();
  const init = { method, headers, ...(message === undefined ? {} : { body: JSON.stringify(message) }) };
  const response = await worker.fetch(new Request(origin + address, init), { ...env, ...bindings }, context);
  const text = await response.text();
  await waitOnExecutionContext(context);
  const body = (/^[{[]/.test(text) ? JSON.parse(text) : {}) as Reply["body"];
  return { status: response.status, headers: response.headers, text, body };
}

export function post(
  address: string,
  method: string,
  options: Options = {},
  params: Record<string, unknown> = {},
): Promise<Reply> {
  return call("POST", address, options, { jsonrpc: "2.0", id: 1, method, params });
}

export const client = { name: "test", version: "1" };

export function initialize(
  address: string,
  version: string,
  options: Options = {},
  clientInfo: Record<string, unknown> = client,
): Promise<Reply> {
  return post(address, "initialize", options, { protocolVersion: version, capabilities: {}, clientInfo });
}

/** The id of a new session. */
export async function open(address: string, version: string, options: Options = {}): Promise<string> {
  const { status, headers, text } = await initialize(address, version, options);
  const id = headers.get("mcp-session-id");
  if (status !== 200 || id === null) throw new Error(`no session at ${address}: ${status} ${text}`);
  return id;
}

export function objectOf(id: string): DurableObjectStub<Sessions> {
  return shard(Number(id.split(".")[0]));
}

export function shard(number: number): DurableObjectStub<Sessions> {
  return env.SESSIONS!.getByName(`sessions:${number}`) as unknown as DurableObjectStub<Sessions>;
}

export function randomOf(id: string): string {
  return id.split(".")[1]!;
}

type Methods = Record<string, (...given: unknown[]) => Promise<unknown>>;

/** Bindings that write down each call to D1, R2 and a session's object; `before` may hold one of the last back. */
export function watched(before: (method: string) => Promise<void> | void = () => {}): {
  bindings: Partial<Env>;
  calls: string[];
} {
  const { bindings, calls } = recorded();
  const getByName = (name: string) => {
    const stub = env.SESSIONS!.getByName(name) as unknown as Methods;
    return new Proxy(stub, {
      get:
        (_, method) =>
        async (...given: unknown[]) => {
          calls.push(`sessions ${String(method)}`);
          await before(String(method));
          return stub[String(method)]!(...given);
        },
    });
  };
  return { bindings: { ...bindings, SESSIONS: { getByName } as unknown as DurableObjectNamespace }, calls };
}

/** The calls without their SQL. */
export function kinds(calls: readonly string[]): string[] {
  return calls.map((call) => (call.startsWith("d1") ? "d1" : call));
}
