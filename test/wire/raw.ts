/** JSON-RPC without a client: the official ones drop capabilities and fields that their schemas do not know. */
export type Era = "2026-07-28" | "2025-11-25";
export const eras: readonly Era[] = ["2026-07-28", "2025-11-25"];

export interface RawAnswer {
  result: Record<string, unknown> | undefined;
  error: { code: number; message: string } | undefined;
}

export async function ask(
  address: string,
  era: Era,
  method: string,
  params: Record<string, unknown> = {},
): Promise<RawAnswer> {
  const response = await post(address, era, method, params);
  return (await response.json()) as RawAnswer;
}

export function post(address: string, era: Era, method: string, params: Record<string, unknown>): Promise<Response> {
  const isModern = era === "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return fetch(address, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
      ...(isModern ? { "mcp-method": method } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: isModern ? { ...params, _meta: meta } : params }),
  });
}

/** What a server says of itself, in the handshake of the era. */
export async function greet(address: string, era: Era) {
  const { result } =
    era === "2026-07-28"
      ? await ask(address, era, "server/discover")
      : await ask(address, era, "initialize", {
          protocolVersion: era,
          capabilities: {},
          clientInfo: { name: "raw", version: "1.0.0" },
        });
  return result as { capabilities: Record<string, Record<string, unknown>>; instructions: string };
}

/** The first message on a stream, which is then left. */
export async function firstMessage(response: Response): Promise<Record<string, unknown>> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    text += value ?? "";
    const [, data] = /^data: (.+)\n\n/m.exec(text) ?? [];
    if (data === undefined && !done) continue;
    await reader.cancel();
    return JSON.parse(data!) as Record<string, unknown>;
  }
}
