import { formatCursor } from "../../src/domain/cursor.ts";
import type { Attempt } from "./answers.ts";
import { den } from "./seed.ts";
import type { Target } from "./seed.ts";

/** For every MCP address, method and tool what is tried, aimed at a target; `coverage.test.ts` fails for what lacks. */
export const doors: Record<string, (t: Target, link: string) => string[]> = {
  "/mcp": () => ["/mcp"],
  "/mcp/*": (t) => [
    `/mcp/${t.namespace}`,
    `/mcp/${t.namespace}/${t.collection}`,
    `/mcp/${t.namespace}/${t.collection}/more`,
    `/mcp/${den}`,
    `/mcp/${den}/bravo-desk`,
    `/mcp/${den}/${t.collection}`,
  ],
  "/me/mcp": () => ["/me/mcp"],
  "/me/mcp/*": (t) => [`/me/mcp/${t.namespace}`, `/me/mcp/${t.namespace}/${t.collection}`, `/me/mcp/${den}`],
  "/r/:secret/mcp": (t, link) => [`/r/${t.link}/mcp`, `/r/${link}/mcp`, `/r/${t.invitation}/mcp`],
};

type Params = Record<string, unknown>;

const skillOf = (t: Target) => `skill://${t.namespace}/${t.skill}`;
const pinnedOf = (t: Target) => {
  const cut = t.skill.lastIndexOf("/") + 1;
  return `skill://${t.namespace}/${t.skill.slice(0, cut)}@${t.version}/${t.skill.slice(cut)}`;
};
const mainOf = (t: Target) => [`${skillOf(t)}/SKILL.md`, `${pinnedOf(t)}/SKILL.md`];
const filesOf = (t: Target) => [...mainOf(t), `${skillOf(t)}/${t.file}`, `${pinnedOf(t)}/${t.file}`];
const uri = (text: string): Params => ({ uri: text });
const cursorsOf = (t: Target, list: string): Params[] => [
  {},
  { cursor: formatCursor(`${list}:${t.namespace}`, { page: 1, key: t.skill }) },
  { cursor: formatCursor(`${list}:${t.namespace}/${t.collection}`, { page: 1, key: "1" }) },
];

export const tools: Record<string, (t: Target) => Params[]> = {
  search_skills: (t) => [{ query: t.words }, { query: t.skill, limit: 25 }, { query: 7 }],
  load_skill: (t) => [...mainOf(t), skillOf(t)].map(uri),
  read_skill_file: (t) => filesOf(t).map(uri),
  list_groups: (t) => [
    {},
    { cursor: formatCursor("groups:", { page: 1, key: JSON.stringify([9, t.namespace]) }) },
    { cursor: formatCursor(`groups:${t.namespace}`, { page: 1, key: JSON.stringify([1, t.collection]) }) },
  ],
  search_tools: (t) => [{ query: t.words }, { query: t.tool, limit: 25 }],
  describe_tool: (t) => mainOf(t).map((skill) => ({ skill, tool: `${t.server}/${t.tool}` })),
};

const callsOf = (t: Target): Params[] =>
  Object.entries(tools).flatMap(([name, given]) => given(t).map((one) => ({ name, arguments: one })));

const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };

export const requests: Record<string, (t: Target) => Params[]> = {
  ping: () => [{}],
  initialize: () => [client],
  "server/discover": () => [{}],
  "subscriptions/listen": (t) => [{ notifications: { resourceSubscriptions: [skillOf(t)] } }],
  "skills/list": (t) => cursorsOf(t, "skills"),
  "skills/get": (t) => mainOf(t).map(uri),
  "resources/directory/read": (t) => [
    ...[skillOf(t), pinnedOf(t), `${skillOf(t)}/notes`, `skill://${t.namespace}`].map(uri),
    { uri: skillOf(t), cursor: formatCursor(`directory ${skillOf(t)}:${t.namespace}`, { page: 1, key: "" }) },
  ],
  "resources/list": (t) => cursorsOf(t, "resources"),
  "resources/templates/list": () => [{}],
  "resources/read": (t) => filesOf(t).map(uri),
  "resources/subscribe": (t) => [...mainOf(t), skillOf(t)].map(uri),
  "resources/unsubscribe": (t) => [...mainOf(t), skillOf(t)].map(uri),
  "tools/list": () => [{}],
  "tools/call": callsOf,
  "prompts/list": () => [{}],
  "prompts/get": (t) => [{ name: t.skill }, { name: t.skill.split("/").at(-1), arguments: { task: "leak" } }],
  "completion/complete": (t) => [
    { ref: { type: "ref/prompt", name: t.skill }, argument: { name: "task", value: "" } },
    { ref: { type: "ref/resource", uri: `skill://${t.namespace}/{+path}` }, argument: { name: "path", value: "v" } },
  ],
  "no/such": (t) => [uri(skillOf(t))],
};

/** They have no answer of their own, but an address that may not be seen answers all the same. */
export const notifications = ["notifications/cancelled", "notifications/progress", "notifications/initialized"];

const headerName: Record<string, string> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const plain = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export const eras = ["2026-07-28", "2025-11-25"] as const;
export type Era = (typeof eras)[number];

/** A message as a well-behaved client of that era sends it. */
export function message(path: string, era: Era, method: string, params: Params): Attempt {
  const id = method.startsWith("notifications/") ? {} : { id: 1 };
  const isModern = era === "2026-07-28";
  const named = headerName[method];
  const name: Record<string, string> = named === undefined ? {} : { "mcp-name": String(params[named]) };
  const modern = { "mcp-method": method, ...name };
  const body = { jsonrpc: "2.0", ...id, method, params: isModern ? { ...params, _meta: meta } : params };
  return {
    method: "POST",
    path,
    headers: { ...plain, "mcp-protocol-version": era, ...(isModern ? modern : {}) },
    body: JSON.stringify(body),
  };
}

/** Several requests in one array, as 2025-03-26 had it. */
function batch(path: string, t: Target): Attempt {
  const all = mainOf(t).map((one, id) => ({ jsonrpc: "2.0", id, method: "resources/read", params: uri(one) }));
  const headers = { ...plain, "mcp-protocol-version": "2025-03-26" };
  return { method: "POST", path, headers, body: JSON.stringify(all) };
}

/** Everything that is tried at one MCP address: all methods, other HTTP methods, and what is no message at all. */
export function messagesAt(path: string, t: Target, era: Era): Attempt[] {
  const all = Object.entries(requests).flatMap(([method, given]) =>
    given(t).map((params) => message(path, era, method, params)),
  );
  const quiet = notifications.map((method) =>
    message(path, era, method, { requestId: 1, progressToken: 1, progress: 1 }),
  );
  const others = ["GET", "DELETE", "OPTIONS", "PUT"].map((method) => ({ method, path, headers: plain }));
  const broken = [
    { method: "POST", path, headers: plain, body: "{" },
    { method: "POST", path, body: "{}" },
  ];
  return [...all, ...quiet, ...others, ...broken, batch(path, t)];
}
