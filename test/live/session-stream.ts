import { origin } from "../harness.ts";
import { open, Stream } from "./streams.ts";

/** The GET stream of a session, as clients of 2025 open it. */
const vars = { LIVE_JITTER_MS: "0", LIVE_RECHECK_MS: "60000" };

export interface Options {
  token?: string;
  version?: string;
  headers?: Record<string, string>;
  vars?: Record<string, string>;
}

export async function get(address: string, session: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = {
    accept: "text/event-stream",
    "mcp-session-id": session,
    ...(options.version === undefined ? {} : { "mcp-protocol-version": options.version }),
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    ...options.headers,
  };
  return open(new Request(origin + address, { headers }), { ...vars, ...options.vars });
}

export async function openStream(address: string, session: string, options: Options = {}): Promise<Stream> {
  const response = await get(address, session, options);
  if (response.status !== 200) throw new Error(`GET: ${response.status} ${await response.text()}`);
  return new Stream(response);
}
