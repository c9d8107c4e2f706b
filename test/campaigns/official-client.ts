import { Client } from "@modelcontextprotocol/client";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { SKILLS_EXTENSION_ID, SkillsClient } from "@modelcontextprotocol/client/ext/skills";

import { decodeLossless } from "../../src/domain/media-type.ts";

/**
 * The official client, which is the judge of every accepted entry. It exports none of its checks, so the whole of it
 * runs: it lists, gets and reads as any host does, over a transport that answers from memory with JSON as text. Only
 * the server is ours and simple, which makes a hundred thousand verified reads a minute possible.
 */
export const eras = ["2026-07-28", "2025-11-25"] as const;
export type Era = (typeof eras)[number];

/** What is served: entries as the JSON text that is stored, and the bytes of each file by its address. */
export interface Shelf {
  entries: readonly string[];
  bytes: ReadonlyMap<string, Uint8Array>;
}

export class OfficialClient {
  readonly #shelf: MemoryTransport;
  readonly #skills: SkillsClient;

  private constructor(shelf: MemoryTransport, skills: SkillsClient) {
    this.#shelf = shelf;
    this.#skills = skills;
  }

  static async connect(era: Era): Promise<OfficialClient> {
    const transport = new MemoryTransport(era);
    const mode = era === "2026-07-28" ? "auto" : "legacy";
    const client = new Client({ name: "campaign", version: "1.0.0" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    const negotiated = client.getNegotiatedProtocolVersion();
    if (negotiated !== era) throw new Error(`the client speaks ${negotiated}, not ${era}`);
    return new OfficialClient(transport, new SkillsClient(client));
  }

  /**
   * Lists and gets every entry and reads every file of each.
   * @returns the number of files read
   * @throws what the client throws at the first thing that it does not accept
   */
  async verify(shelf: Shelf): Promise<number> {
    this.#shelf.serve(shelf);
    const { skills } = await this.#skills.list();
    if (skills.length !== shelf.entries.length) throw new Error(`${skills.length} of ${shelf.entries.length} listed`);
    return verifyAll(this.#skills, skills, shelf.bytes);
  }
}

/** Gets each listed skill and reads all of its files; the client throws where size, digest or frontmatter differ. */
export async function verifyAll(
  client: SkillsClient,
  skills: Awaited<ReturnType<SkillsClient["list"]>>["skills"],
  bytes: ReadonlyMap<string, Uint8Array>,
): Promise<number> {
  let count = 0;
  for (const listed of skills) {
    const { skill } = await client.get(listed.uri);
    if (JSON.stringify(skill) !== JSON.stringify(listed)) throw new Error(`${listed.uri} is got otherwise than listed`);
    if (skill.resources === "dynamic") throw new Error(`${skill.uri} has no manifest`);
    for (const { uri } of skill.resources) {
      const file = await client.read(skill, uri);
      const expected = bytes.get(uri);
      if (!file.verified || file.uri !== uri) throw new Error(`${uri} was not verified`);
      if (expected === undefined || !isSame(file.bytes, expected)) throw new Error(`${uri} is not what was uploaded`);
      count++;
    }
  }
  return count;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

interface Request {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
}

class MemoryTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #era: Era;
  #shelf: Shelf = { entries: [], bytes: new Map() };
  #byUri = new Map<string, string>();

  constructor(era: Era) {
    this.#era = era;
  }

  serve(shelf: Shelf): void {
    this.#shelf = shelf;
    this.#byUri = new Map(shelf.entries.map((entry) => [(JSON.parse(entry) as { uri: string }).uri, entry]));
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.();
  }

  async send(message: JSONRPCMessage | JSONRPCMessage[]): Promise<void> {
    const { id, method, params } = message as Request;
    if (id === undefined) return;
    const result = this.#answer(method ?? "", params ?? {});
    const body =
      result === undefined ? `"error":{"code":-32602,"message":"nothing is served there"}` : `"result":${result}`;
    // As text and back, so that the client sees what it would see on the wire.
    const answer = JSON.parse(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${body}}`) as JSONRPCMessage;
    queueMicrotask(() => this.onmessage?.(answer));
  }

  #answer(method: string, params: Record<string, unknown>): string | undefined {
    switch (method) {
      case "server/discover":
        return this.#result(`"supportedVersions":["2026-07-28"],${greeting}`);
      case "initialize":
        return `{"protocolVersion":"2025-11-25",${greeting}}`;
      case "skills/list":
        return this.#result(`"skills":[${this.#shelf.entries.join(",")}]`);
      case "skills/get": {
        const entry = this.#byUri.get(String(params["uri"]));
        return entry === undefined ? undefined : this.#result(`"skill":${entry}`);
      }
      case "resources/read":
        return this.#read(String(params["uri"]));
      default:
        return undefined;
    }
  }

  #read(uri: string): string | undefined {
    const bytes = this.#shelf.bytes.get(uri);
    if (bytes === undefined) return undefined;
    const text = decodeLossless(bytes);
    const content = text === undefined ? { uri, blob: toBase64(bytes) } : { uri, text };
    return this.#result(`"contents":[${JSON.stringify(content)}]`);
  }

  /** With what 2026-07-28 adds to every result; nothing may be cached, since the shelf changes. */
  #result(members: string): string {
    return this.#era === "2026-07-28"
      ? `{"resultType":"complete","ttlMs":0,"cacheScope":"private",${members}}`
      : `{${members}}`;
  }
}

const capabilities = { resources: {}, extensions: { [SKILLS_EXTENSION_ID]: {} } };
const greeting = `"serverInfo":{"name":"memory","version":"1.0.0"},"capabilities":${JSON.stringify(capabilities)}`;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
