import { createHash } from "node:crypto";

import type { Entry } from "../domain/entry.ts";
import { misfitsOf } from "../domain/fit.ts";
import type { Importer, Misfit } from "../domain/fit.ts";
import { skillMd } from "../domain/uri.ts";

/**
 * Walks an MCP address as an importer does: what it declares, its tools, the pages of its list, each entry by its
 * address, and every file, whose bytes are held against the manifest. ChatGPT speaks 2025-11-25 and begins with
 * `initialize`; Claude Code asks for skills only at 2026-07-28. Nothing is written; at most `maxPages` pages are read.
 */
export interface Walk {
  importer: Importer;
  skills: number;
  files: number;
  /** What it would decline, and why; empty: it takes everything. */
  misfits: Misfit[];
}

/** As the official client: past that a list has no end. */
const maxPages = 64;
const skillsExtension = "io.modelcontextprotocol/skills";

export async function walk(url: string, importer: Importer, token?: string): Promise<Walk> {
  const server = new Server(url, importer, token);
  const misfits = [...(await server.begin())];
  const { entries: listed, pages } = await listAll(server);
  const entries = listed.filter(({ resources }) => Array.isArray(resources));
  const without = listed.filter(({ resources }) => !Array.isArray(resources));
  misfits.push(...misfitsOf(importer, entries, pages), ...without.map(withoutManifest));
  let files = 0;
  for (const entry of entries) {
    misfits.push(...(await answered(entry, checkEntry(server, entry))));
    for (const resource of entry.resources) {
      files++;
      misfits.push(...(await answered(entry, checkFile(server, entry, resource))));
    }
  }
  if (importer === "chatgpt") misfits.push(...(await checkTools(server)));
  return { importer, skills: entries.length, files, misfits };
}

/** A refusal is a reason to decline like any other, and the walk goes on. */
async function answered(entry: Entry, check: Promise<Misfit[]>): Promise<Misfit[]> {
  try {
    return await check;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ rule: "not_answered", skill: entry.uri, limit: "an answer", found: "an error", message }];
  }
}

function withoutManifest({ uri, resources }: Entry): Misfit {
  const message = "The entry has no list of files with digests";
  return {
    rule: "manifest_missing",
    skill: uri,
    limit: "a manifest",
    found: JSON.stringify(resources ?? null),
    message,
  };
}

async function listAll(server: Server): Promise<{ entries: Entry[]; pages: number }> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await server.ask("skills/list", cursor === undefined ? {} : { cursor });
    entries.push(...(page["skills"] as Entry[]));
    cursor = page["nextCursor"] as string | undefined;
    if (cursor === undefined || pages >= maxPages) return { entries, pages };
  }
}

/** The catalogue's entry is what `skills/get` answers under its address. */
async function checkEntry(server: Server, entry: Entry): Promise<Misfit[]> {
  const { skill } = (await server.ask("skills/get", { uri: entry.uri })) as { skill?: unknown };
  if (JSON.stringify(skill) === JSON.stringify(entry)) return [];
  const message = "skills/get answers another entry than skills/list";
  return [{ rule: "entry_differs", skill: entry.uri, limit: "the same entry", found: "another", message }];
}

/** Exactly one content, under the address that was asked, whose bytes are those that the manifest lists. */
async function checkFile(server: Server, entry: Entry, resource: Entry["resources"][number]): Promise<Misfit[]> {
  const answer = (await server.ask("resources/read", { uri: resource.uri })) as { contents?: Content[] };
  const [content, ...more] = answer.contents ?? [];
  const fault = (rule: string, limit: number | string, found: number | string): Misfit[] => [
    { rule, skill: entry.uri, limit, found, message: `${resource.uri}: ${rule.replaceAll("_", " ")}` },
  ];
  if (content === undefined || more.length > 0) return fault("not_one_content", 1, answer.contents?.length ?? 0);
  if (content.uri !== resource.uri) return fault("content_has_other_uri", resource.uri, content.uri);
  const bytes =
    content.text === undefined ? Buffer.from(content.blob ?? "", "base64") : Buffer.from(content.text, "utf8");
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (bytes.byteLength !== resource.size) return fault("size_differs", resource.size, bytes.byteLength);
  if (digest !== resource.digest) return fault("digest_differs", resource.digest, digest);
  const isMain = resource.uri === entry.uri && resource.uri.endsWith(`/${skillMd}`);
  return isMain && content.mimeType !== "text/markdown"
    ? fault("skill_md_is_no_markdown", "text/markdown", content.mimeType ?? "")
    : [];
}

interface Content {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** Connectors need tools, and each of them says what it may do. */
async function checkTools(server: Server): Promise<Misfit[]> {
  const tools: { name: string; annotations?: object }[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const answer = await server.ask("tools/list", cursor === undefined ? {} : { cursor });
    tools.push(...(answer["tools"] as typeof tools));
    cursor = answer["nextCursor"] as string | undefined;
    if (cursor === undefined) break;
  }
  const wanted = ["readOnlyHint", "destructiveHint", "openWorldHint"];
  return tools.flatMap(({ name, annotations = {} }) =>
    wanted
      .filter((hint) => typeof (annotations as Record<string, unknown>)[hint] !== "boolean")
      .map((hint) => ({
        rule: "hint_missing",
        skill: undefined,
        limit: hint,
        found: name,
        message: `The tool ${name} does not say ${hint}`,
      })),
  );
}

/** One server, asked in the generation that the importer speaks. */
class Server {
  readonly #url: string;
  readonly #isModern: boolean;
  readonly #token: string | undefined;
  #session: string | undefined;
  #id = 0;

  constructor(url: string, importer: Importer, token: string | undefined) {
    this.#url = url;
    this.#isModern = importer === "claude-code";
    this.#token = token;
  }

  /** The handshake; the extension has to be declared where importers look. */
  async begin(): Promise<Misfit[]> {
    const clientInfo = { name: "importer-check", version: "1.0.0" };
    const hello = this.#isModern
      ? await this.ask("server/discover", {})
      : await this.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    const { extensions } = (hello["capabilities"] ?? {}) as { extensions?: Record<string, unknown> };
    if (extensions?.[skillsExtension] !== undefined) return [];
    const message = `capabilities.extensions does not declare ${skillsExtension}`;
    return [{ rule: "extension_not_declared", skill: undefined, limit: skillsExtension, found: "", message }];
  }

  async ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const version = this.#isModern ? "2026-07-28" : "2025-11-25";
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "importer-check", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const name = (params["uri"] ?? params["name"]) as string | undefined;
    const isNamed = this.#isModern && method === "resources/read" && name !== undefined;
    const response = await fetch(this.#url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(method === "initialize" ? {} : { "mcp-protocol-version": version }),
        ...(this.#isModern ? { "mcp-method": method } : {}),
        ...(isNamed ? { "mcp-name": name } : {}),
        ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: ++this.#id,
        method,
        params: this.#isModern ? { ...params, _meta: meta } : params,
      }),
    });
    this.#session ??= response.headers.get("mcp-session-id") ?? undefined;
    const { result, error } = await readAnswer(response);
    if (result === undefined) throw new Error(`${method}: ${response.status} ${error?.message ?? "no result"}`);
    return result;
  }
}

interface RpcAnswer {
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** As JSON, or as the first event of a stream. */
async function readAnswer(response: Response): Promise<RpcAnswer> {
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const json = isStream
    ? text
        .split("\n")
        .find((line) => line.startsWith("data: {"))
        ?.slice("data: ".length)
    : text;
  return JSON.parse(json ?? "{}") as RpcAnswer;
}
