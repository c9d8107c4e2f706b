import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { maxFileBytes, readChunkBytes } from "../../src/domain/limits.ts";
import { api, eras, newNamespace, rpc, seedSkill, send } from "../harness.ts";

/** SKILL.md takes part of the 16 MiB that a skill may have. */
const largest = maxFileBytes - 4_096;
const encoder = new TextEncoder();

/** Escapes and characters of two, three and four bytes over each border between the pieces that are streamed. */
function largeText(): string {
  const filler = 'Plain words in a row, "quoted" at times, with a backslash \\ and a tab\t.\n';
  const text = filler.repeat(Math.ceil(largest / filler.length)).slice(0, largest);
  const parts: string[] = [];
  let at = 0;
  for (let border = readChunkBytes; border < largest - 100; border += readChunkBytes) {
    const odd = ["é", "你", "🎉", "\\", '"', "\0", "\u001f\r\n"][(border / readChunkBytes) % 7]!;
    const back = (border / readChunkBytes) % 4;
    // What is laid over the border takes as many bytes as it replaces.
    const bytes = encoder.encode(odd).length;
    parts.push(text.slice(at, border - back), odd);
    at = border - back + bytes;
  }
  return [...parts, text.slice(at)].join("");
}

function largeBytes(): Uint8Array {
  const bytes = new Uint8Array(largest - 1);
  let state = 7;
  for (let index = 0; index < bytes.length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

const text = largeText();
const bytes = largeBytes();
let namespace: string;

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "large-text", { "large.txt": text });
  await seedSkill(namespace, "large-bytes", { "large.bin": bytes });
});

const base64 = (value: Uint8Array) => (value as Uint8Array & { toBase64(): string }).toBase64();
const textUri = () => `skill://${namespace}/large-text/large.txt`;
const bytesUri = () => `skill://${namespace}/large-bytes/large.bin`;

async function forgetWhatIsText(): Promise<void> {
  await env.DB.prepare("UPDATE release_files SET is_text = NULL").run();
}

describe.each(eras)("a file of 16 MiB over %s", (era, call) => {
  it("comes out as it went in: text with every escape, whole characters at every border", async () => {
    const { status, result } = await call(`/mcp/${namespace}`, "resources/read", { uri: textUri() });
    const [content] = result!["contents"] as { text: string }[];
    expect([status, content!.text.length]).toEqual([200, text.length]);
    expect(content!.text === text).toBe(true);
  });

  it("comes out as it went in: bytes", async () => {
    const { result } = await call(`/mcp/${namespace}`, "resources/read", { uri: bytesUri() });
    const [content] = result!["contents"] as { blob: string }[];
    expect(content!.blob === base64(bytes)).toBe(true);
  });

  it("is the JSON that JSON.stringify would write, to the byte", async () => {
    for (const uri of [textUri(), bytesUri()]) {
      const isModern = era === "2026-07-28";
      const meta = { "io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": {} };
      const response = await send(`/mcp/${namespace}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": era,
          ...(isModern ? { "mcp-method": "resources/read", "mcp-name": uri } : {}),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: "x",
          method: "resources/read",
          params: isModern ? { uri, _meta: meta } : { uri },
        }),
      });
      const body = await response.text();
      expect(JSON.stringify(JSON.parse(body)) === body).toBe(true);
    }
  });
});

describe("large files", () => {
  it("are read as before where the database does not know whether they are text", async () => {
    await forgetWhatIsText();
    for (const [, call] of eras) {
      const asText = (await call(`/mcp/${namespace}`, "resources/read", { uri: textUri() })).result!["contents"];
      expect((asText as { text: string }[])[0]!.text === text).toBe(true);
      const asBlob = (await call(`/mcp/${namespace}`, "resources/read", { uri: bytesUri() })).result!["contents"];
      expect((asBlob as { blob: string }[])[0]!.blob === base64(bytes)).toBe(true);
    }
  });

  it("come one after the other where one array asks for several (2025-03-26)", async () => {
    const uris = [textUri(), bytesUri(), textUri()];
    const batch = uris.map((uri, id) => ({ jsonrpc: "2.0", id, method: "resources/read", params: { uri } }));
    const { status, body } = await rpc(`/mcp/${namespace}`, batch, {
      headers: { "mcp-protocol-version": "2025-03-26" },
    });
    const answers = body as unknown as { id: number; result: { contents: { text?: string; blob?: string }[] } }[];
    expect([status, answers.length]).toEqual([200, 3]);
    for (const { id, result } of answers) {
      const [content] = result.contents;
      expect(id === 1 ? content!.blob === base64(bytes) : content!.text === text).toBe(true);
    }
  });

  it("are not asked for by the hundred: an array of more than 20 requests is 413", async () => {
    const batch = Array.from({ length: 21 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const headers = { "mcp-protocol-version": "2025-03-26" };
    const { status, error } = await rpc(`/mcp/${namespace}`, batch, { headers });
    expect([status, error?.code]).toEqual([413, -32600]);
    expect((await rpc(`/mcp/${namespace}`, batch.slice(1), { headers })).status).toBe(200);
  });

  it("may be left by the client in the middle", async () => {
    const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: bytesUri() } };
    const response = await send(`/mcp/${namespace}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(message),
    });
    const reader = response.body!.getReader();
    expect((await reader.read()).done).toBe(false);
    await reader.cancel();
    expect((await api("GET", `/namespaces/${namespace}`)).status).toBe(200);
  });
});
