import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import type { SkillFile } from "../src/domain/entry.ts";
import worker from "../src/index.ts";
import { packZip } from "../src/publish/pack.ts";

/** The doors as a stranger uses them: every test of a door goes through these. */
export const operator = env.ADMIN_TOKEN!;
export const origin = "http://localhost";

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: Body;
}

/** Calls the Worker itself: through the runner's loopback each call would cost more than the one before. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const response = await worker.fetch(new Request(origin + path, init), env, context);
  await waitOnExecutionContext(context);
  return response;
}

/** A JSON call to the API. `token` null: anonymous; undefined: the operator. */
export async function api(method: string, path: string, body?: unknown, token?: string | null): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (token !== null) headers["authorization"] = `Bearer ${token ?? operator}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await send(`/api/v1${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return read(response);
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  const body = (isJson ? JSON.parse(text) : { text }) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

/** For answers that have to be alike: each of them leaves less of its caller's limit, whatever it was about. */
export function lastingHeaders(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => name !== "ratelimit");
}

let names = 0;

/** A namespace of a test's own, since storage is shared within a test file. */
export async function newNamespace(visibility: "public" | "private" = "public"): Promise<string> {
  const name = `space-${++names}`;
  const { status } = await api("POST", "/namespaces", { name, visibility });
  if (status !== 201) throw new Error(`namespace ${name}: ${status}`);
  return name;
}

export async function newToken(namespace: string, role: "reader" | "publisher" | "admin"): Promise<string> {
  const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role });
  return body["token"] as string;
}

export type Files = Record<string, string | Uint8Array>;

export function skillMdOf(name: string, description = `What ${name} does`, body = `# ${name}\n`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;
}

export function toFiles(files: Files): SkillFile[] {
  return Object.entries(files).map(([path, content]) => ({
    path,
    bytes: typeof content === "string" ? new TextEncoder().encode(content) : content,
    executable: false,
  }));
}

/** Publishes files as a zip. */
export async function publish(
  namespace: string,
  files: Files,
  query = "",
  token: string | null = operator,
): Promise<Answer> {
  return upload(namespace, packZip(toFiles(files)), "application/zip", { query, token });
}

export async function upload(
  namespace: string,
  body: Uint8Array | FormData,
  contentType: string | undefined,
  { query = "", token = operator }: { query?: string; token?: string | null } = {},
): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (token !== null) headers["authorization"] = `Bearer ${token}`;
  if (contentType !== undefined) headers["content-type"] = contentType;
  const response = await send(`/api/v1/namespaces/${namespace}/skills${query}`, { method: "POST", headers, body });
  return read(response);
}

/** Publishes a plain skill and fails the test where that fails. */
export async function seedSkill(namespace: string, name: string, files: Files = {}, query = ""): Promise<Answer> {
  const answer = await publish(namespace, { "SKILL.md": skillMdOf(name), ...files }, query);
  if (answer.status !== 201) throw new Error(`publish ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

export interface RpcAnswer {
  status: number;
  headers: Headers;
  result: Record<string, unknown> | undefined;
  error: { code: number; message: string; data?: Record<string, unknown> } | undefined;
  body: Record<string, unknown>;
}

export interface RpcOptions {
  token?: string;
  headers?: Record<string, string>;
  /** Members of `_meta` to replace; undefined removes one. */
  meta?: Record<string, unknown>;
}

const nameSource: Record<string, string> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

/** A 2026-07-28 request as a well-behaved client sends it. */
export async function modern(
  address: string,
  method: string,
  params: Record<string, unknown> = {},
  options: RpcOptions = {},
): Promise<RpcAnswer> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    ...options.meta,
  };
  const headers: Record<string, string> = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
  const source = nameSource[method];
  if (source !== undefined) headers["mcp-name"] = encodeHeader(String(params[source]));
  return rpc(
    address,
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } },
    { ...options, headers: { ...headers, ...options.headers } },
  );
}

/** A 2025-era request that never opened a session. */
export async function legacy(
  address: string,
  method: string,
  params: Record<string, unknown> = {},
  options: RpcOptions & { version?: string } = {},
): Promise<RpcAnswer> {
  const headers = { "mcp-protocol-version": options.version ?? "2025-11-25", ...options.headers };
  return rpc(address, { jsonrpc: "2.0", id: 1, method, params }, { ...options, headers });
}

export async function rpc(address: string, message: unknown, options: RpcOptions = {}): Promise<RpcAnswer> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...options.headers,
  };
  if (options.token !== undefined) headers["authorization"] = `Bearer ${options.token}`;
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const response = await send(address, { method: "POST", headers, body });
  const text = await response.text();
  const parsed = (text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : { text }) as RpcAnswer["body"];
  return {
    status: response.status,
    headers: response.headers,
    result: parsed["result"] as RpcAnswer["result"],
    error: parsed["error"] as RpcAnswer["error"],
    body: parsed,
  };
}

/** The base64 form that header values outside visible ASCII need. */
function encodeHeader(value: string): string {
  if (/^[\x21-\x7e]*$/.test(value)) return value;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}?=`;
}

export const eras = [
  ["2026-07-28", modern],
  ["2025-11-25", legacy],
] as const;
