import { createHash } from "node:crypto";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import type { Skill } from "@modelcontextprotocol/client/ext/skills";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as z from "zod";

import type { Entry } from "../../src/domain/entry.ts";

/**
 * The official clients behind one face: what a host that knows the Skills extension does, and what any host does.
 * With the second client, `SkillsClient` does the checking. The first knows no skills, so its requests are written
 * out here and every file is checked by hand.
 */
export interface Connection {
  protocolVersion: string | undefined;
  /** Every page. */
  list(): Promise<Entry[]>;
  get(uri: string): Promise<Entry>;
  /** The bytes of one file, after their size and digest were found to be those of the entry. */
  read(entry: Entry, uri: string): Promise<Uint8Array>;
  readDirectory(uri: string): Promise<Child[]>;
  /** Every page of the ordinary resources. */
  listResources(): Promise<Child[]>;
  host: Host;
  close(): Promise<void>;
}

export interface Child {
  uri: string;
  name?: string | undefined;
  mimeType?: string | undefined;
  size?: number | undefined;
}

/** The methods that both clients have of their own. */
export interface Host {
  getInstructions(): string | undefined;
  listTools(): Promise<{ tools: { name: string; inputSchema: object; outputSchema?: object | undefined }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<ToolAnswer>;
  listPrompts(): Promise<{ prompts: { name: string; description?: string | undefined }[] }>;
  getPrompt(prompt: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
}

export interface ToolAnswer {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean | undefined;
}

export type Connect = (url: string, token?: string) => Promise<Connection>;

export const identity = { name: "test-host", version: "1.0.0" };

const withToken = (token: string | undefined) =>
  token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };

/** Every official client, by the words of the tests. */
export const clients: readonly { client: string; protocolVersion: string; connect: Connect }[] = [
  { client: "the official client", protocolVersion: "2026-07-28", connect: connectSecond("auto") },
  { client: "the official client", protocolVersion: "2025-11-25", connect: connectSecond("legacy") },
  { client: "the official client of the first generation", protocolVersion: "2025-11-25", connect: connectFirst },
];

function connectSecond(mode: "auto" | "legacy"): Connect {
  return async (url, token) => {
    const client = new Client(identity, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), withToken(token)));
    return connectionOfSecond(client);
  };
}

/** Of a client that has connected. */
export function connectionOfSecond(client: Client): Connection {
  const skills = new SkillsClient(client);
  return {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    list: async () => (await skills.list()).skills as unknown as Entry[],
    get: async (uri) => (await skills.get(uri)).skill as unknown as Entry,
    read: async (entry, uri) => {
      const file = await skills.read(entry as unknown as Skill, uri);
      if (!file.verified) throw new Error(`${uri} was not verified`);
      return file.bytes;
    },
    readDirectory: async (uri) => (await skills.readDirectory(uri)).resources,
    listResources: async () => (await client.listResources()).resources,
    host: client,
    close: () => client.close(),
  };
}

const listed = z.looseObject({ skills: z.array(z.unknown()), nextCursor: z.string().optional() });
const got = z.looseObject({ skill: z.unknown() });
const children = z.looseObject({ resources: z.array(z.unknown()), nextCursor: z.string().optional() });

async function connectFirst(url: string, token?: string): Promise<Connection> {
  const client = new FirstClient(identity);
  const transport = new FirstTransport(new URL(url), withToken(token));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return connectionOfFirst(client, transport);
}

/** Of a client that has connected. */
export function connectionOfFirst(client: FirstClient, transport: FirstTransport): Connection {
  const readChildren = async (method: string, params: Record<string, unknown>) =>
    (await pages(client, method, params, children)).flatMap((page) => page.resources as Child[]);
  return {
    protocolVersion: transport.protocolVersion,
    list: async () => (await pages(client, "skills/list", {}, listed)).flatMap((page) => page.skills as Entry[]),
    get: async (uri) => (await client.request({ method: "skills/get", params: { uri } }, got)).skill as Entry,
    read: (entry, uri) => readChecked(client, entry, uri),
    readDirectory: (uri) => readChildren("resources/directory/read", { uri }),
    listResources: () => readChildren("resources/list", {}),
    host: client as unknown as Host,
    close: () => client.close(),
  };
}

async function pages<Page extends { nextCursor?: string | undefined }>(
  client: FirstClient,
  method: string,
  params: Record<string, unknown>,
  schema: z.ZodType<Page>,
): Promise<Page[]> {
  const found: Page[] = [];
  for (let cursor: string | undefined; found.length === 0 || cursor !== undefined; cursor = found.at(-1)!.nextCursor) {
    found.push(await client.request({ method, params: { ...params, ...(cursor && { cursor }) } }, schema));
  }
  return found;
}

async function readChecked(client: FirstClient, entry: Entry, uri: string): Promise<Uint8Array> {
  const expected = entry.resources.find((resource) => resource.uri === uri);
  const { contents } = await client.readResource({ uri });
  const [content] = contents;
  if (expected === undefined || content === undefined || contents.length !== 1 || content.uri !== uri) {
    throw new Error(`${uri} is not a file of ${entry.uri}, or was answered by something else`);
  }
  const bytes = "text" in content ? Buffer.from(content.text, "utf8") : Buffer.from(content.blob, "base64");
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (bytes.byteLength !== expected.size || digest !== expected.digest) {
    throw new Error(`${uri}: ${bytes.byteLength} bytes ${digest}, not ${expected.size} bytes ${expected.digest}`);
  }
  return bytes;
}
