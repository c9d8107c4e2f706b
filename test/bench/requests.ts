import { packZip } from "../../src/publish/pack.ts";
import { operator } from "./machine.ts";
import type { Shot } from "./load.ts";

/** What the bench asks: MCP requests of both eras as well-behaved clients send them, publishes, and bare routes. */
export const eras = ["2026-07-28", "2025-11-25"] as const;
export type Era = (typeof eras)[number];

const json = { "content-type": "application/json" };

export function mcp(address: string, era: Era, method: string, params: Record<string, unknown>): Shot {
  const isModern = era === "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { roots: {}, sampling: {}, elicitation: { form: {} } },
  };
  const name: Record<string, string> = method === "resources/read" ? { "mcp-name": String(params["uri"]) } : {};
  return {
    path: address,
    headers: {
      ...json,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
      ...(isModern ? { "mcp-method": method, ...name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: isModern ? { ...params, _meta: meta } : params }),
  };
}

export function bare(route: string, question: { namespace?: string; path?: string; file?: string } = {}): Shot {
  return { path: `/bench/${route}`, headers: json, body: JSON.stringify(question) };
}

export function createNamespace(name: string): Shot {
  return api("/namespaces", json, JSON.stringify({ name, visibility: "public" }));
}

export type Files = Record<string, string | Uint8Array>;

export function publish(namespace: string, name: string, files: Files): Shot {
  const all = { "SKILL.md": skillMd(name), ...files };
  const zip = packZip(
    Object.entries(all).map(([path, content]) => ({
      path,
      bytes: typeof content === "string" ? new TextEncoder().encode(content) : content,
      executable: false,
    })),
  );
  return api(`/namespaces/${namespace}/skills`, { "content-type": "application/zip" }, zip);
}

function api(path: string, headers: Record<string, string>, body: string | Uint8Array): Shot {
  return { path: `/api/v1${path}`, headers: { authorization: `Bearer ${operator}`, ...headers }, body };
}

/** A description of the usual length: entries are mostly that. */
export function skillMd(name: string): string {
  const description =
    `What ${name} does, in a sentence or two of the length that authors write, when to use it, for which kind of ` +
    "task, with which inputs, and what comes out of it in the end";
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n\n${"Do this, then that.\n".repeat(150)}`;
}

/** Text with quotes, line ends and letters of two and more bytes, as prose and code have them. */
export function textOf(bytes: number): string {
  const line = 'const greeting = "Grüße aus Köln — 你好"; // a line of code\n';
  const lineBytes = new TextEncoder().encode(line).byteLength;
  const lines = Math.floor(bytes / lineBytes);
  return line.repeat(lines) + "x".repeat(bytes - lines * lineBytes);
}

/** Bytes that no decoder takes for text, the same in every run. */
export function bytesOf(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}
