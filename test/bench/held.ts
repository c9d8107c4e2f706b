import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { encode } from "gpt-tokenizer/encoding/o200k_base";

import { askAgain } from "./search/ask-again.ts";
import { readSet } from "./search/data.ts";
import { publishAll } from "./search/library.ts";
import { operator } from "./machine.ts";
import type { Machine } from "./machine.ts";
import { table, whole } from "./report.ts";
import { mcp, publish } from "./requests.ts";

/**
 * `npm run bench -- held`: how many tokens lie in a model's context after an agent found a skill, loaded it and had one
 * tool described, against a host that binds every tool. The tools are a thousand real ones (tool-data/README.md), each
 * service of theirs a companion server; the skill is found among the labelled ones of search-data.
 */
interface Definition {
  name: string;
  description: string;
  inputSchema: object;
}

/** What one step put into the context: as text, and as a host that passes on `structuredContent` instead. */
interface Part {
  name: string;
  text: string;
  structured: string;
}

interface Answer {
  content: { type: string; text?: string }[];
  structuredContent: Record<string, unknown>;
}

const sizes = [1_000, 100];
const maxShare = 0.05;
const maxToolListTokens = 1_500;
/** Tools left out to see what the largest ones make of the result. */
const huge = 20;
const task =
  "I paid for the train to a customer out of my own pocket, 184.50. Claim it back for me and tell me who still has to sign.";

export async function reportHeld(
  machine: Machine,
  say: (text: string) => void,
  verdict: (isMet: boolean) => string,
): Promise<void> {
  const all = await readDefinitions();
  for (const size of sizes) {
    const namespace = await fillLibrary(machine, size);
    const { kept, servers, refused } = await registerAll(machine.origin, namespace, all.slice(0, size));
    await publishSkill(machine.origin, namespace);
    say(`${kept.length} tools on ${servers} servers registered, ${refused} refused`);
    const { parts, schemas } = await walk(machine.origin, namespace);
    const bound = tokensIn(JSON.stringify(kept));
    const most = size === sizes[0] ? maxShare : undefined;
    say(tableOf(parts, { bound, tools: kept.length, most }, verdict));
    say(`Schemas of the four tools that the skill names: ${schemas.map(whole).join(", ")} tokens`);
    if (size !== sizes[0]) continue;
    say(robustnessOf(kept, parts));
    const listed = tokensIn(parts[1]!.structured);
    say(`tools/list as it is sent: ${whole(listed)} tokens, ${verdict(listed <= maxToolListTokens)} 1,500`);
  }
}

/** A few huge schemas are a good part of all tokens, so what would be true without them, or with one of them asked for. */
function robustnessOf(tools: readonly Definition[], parts: readonly Part[]): string {
  const sizes = tools.map((tool) => tokensIn(JSON.stringify(tool))).sort((a, b) => b - a);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const small = sizes.slice(huge).reduce((sum, size) => sum + size, 0);
  const held = parts.reduce((sum, { text }) => sum + tokensIn(text), 0);
  const beforeSchema = held - tokensIn(parts.at(-1)!.text);
  const tooLarge = sizes.filter((size) => beforeSchema + size > maxShare * total).length;
  return (
    `Without the ${huge} largest tools (${whole(total - small)} tokens) the share is ${percent(held / small)}. ` +
    `${tooLarge} of ${whole(tools.length)} tools have a schema that alone lifts the sum above ${percent(maxShare)}`
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

async function readDefinitions(): Promise<Definition[]> {
  const bytes = await readFile(join(import.meta.dirname, "tool-data/tools.jsonl.gz"));
  return gunzipSync(bytes)
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Definition);
}

function tokensIn(text: string): number {
  return encode(text).length;
}

/** Neighbours for the skill, so that a search has as many cards to show as in a library that is in use. */
async function fillLibrary({ origin }: Machine, size: number): Promise<string> {
  const repository = `held-${size}`;
  const { skills } = await readSet(join(import.meta.dirname, "search-data"));
  const moved = skills.map((skill) => ({ ...skill, id: `${repository}/${skill.id}` }));
  const library = await publishAll(origin, moved, () => {});
  return library.namespaceOf.get(repository)!;
}

/** Each service of the suite (`docx_v1_…`: docx) a server. What a server is refused for is left out and counted. */
async function registerAll(origin: string, namespace: string, all: readonly Definition[]) {
  const byService = Map.groupBy(all, ({ name }) => name.slice(0, name.indexOf("_")));
  const kept: Definition[] = [];
  for (const [service, tools] of byService) {
    const register = (some: readonly Definition[]) =>
      askAgain(`${origin}/api/v1/namespaces/${namespace}/servers/${service}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${operator}`, "content-type": "application/json" },
        body: JSON.stringify({ url: `https://mcp.example.com/${service}`, tools: some }),
      });
    const response = await register(tools);
    const answer = (await response.json()) as { findings?: { file: string }[] };
    if (response.ok) {
      kept.push(...tools);
      continue;
    }
    const bad = new Set((answer.findings ?? []).map(({ file }) => Number(/\d+/.exec(file)?.[0])));
    const good = tools.filter((_, index) => !bad.has(index));
    if (bad.size === 0 || !(await register(good)).ok) throw new Error(`${service}: ${JSON.stringify(answer)}`);
    kept.push(...good);
  }
  return { kept, servers: byService.size, refused: all.length - kept.length };
}

async function publishSkill(origin: string, namespace: string): Promise<void> {
  const text = await readFile(join(import.meta.dirname, "held-skill/SKILL.md"), "utf8");
  const shot = publish(namespace, "file-expense-approval", { "SKILL.md": text });
  const response = await askAgain(origin + shot.path, {
    method: "POST",
    headers: shot.headers,
    body: shot.body as BodyInit,
  });
  const answer = await response.text();
  // A warning would say that the skill names a tool which no server lists.
  if (!response.ok || answer.includes("tool_unknown")) throw new Error(answer);
}

/** What an agent does, from a task in plain words to the schema of the tool that does it. */
async function walk(origin: string, namespace: string): Promise<{ parts: Part[]; schemas: number[] }> {
  const ask = (method: string, params: Record<string, unknown>) => askMcp(`${origin}/mcp/${namespace}`, method, params);
  const call = async (name: string, args: Record<string, unknown>) => {
    const answer = (await ask("tools/call", { name, arguments: args })) as unknown as Answer;
    return { answer, part: partOf(name, args, answer) };
  };
  const { instructions } = (await ask("server/discover", {})) as { instructions: string };
  const { tools } = (await ask("tools/list", {})) as { tools: Definition[] };
  const found = await call("search_skills", { query: task });
  const { cards, pickId } = found.answer.structuredContent as { cards: { uri: string }[]; pickId: string };
  const uri = cards[0]?.uri ?? "";
  if (!uri.endsWith("/file-expense-approval/SKILL.md")) throw new Error(`Found ${uri} instead of the skill`);
  const loaded = await call("load_skill", { uri, pickId });
  const named = loaded.answer.structuredContent["tools"] as { tool: string }[];
  const described = [];
  for (const { tool } of named) described.push((await call("describe_tool", { skill: uri, tool })).part);
  return {
    parts: [
      { name: "instructions of the server", text: instructions, structured: instructions },
      {
        name: "tools/list, without and with schemas of answers",
        text: JSON.stringify(tools.map(boundOf)),
        structured: JSON.stringify(tools),
      },
      { ...found.part, name: `search_skills, ${cards.length} cards` },
      { ...loaded.part, name: `load_skill, ${named.length} tool cards` },
      { ...described[0]!, name: `describe_tool ${named[0]!.tool}` },
    ],
    schemas: described.map(({ text }) => tokensIn(text)),
  };
}

/** What hosts pass on to a model of a tool that they bind. */
function boundOf({ name, description, inputSchema }: Definition): Definition {
  return { name, description, inputSchema };
}

/** The call that the model wrote stays in its context as well. */
function partOf(name: string, args: Record<string, unknown>, { content, structuredContent }: Answer): Part {
  const written = JSON.stringify({ name, arguments: args });
  const texts = content.flatMap(({ text }) => (text === undefined ? [] : [text]));
  return {
    name,
    text: [written, ...texts].join("\n"),
    structured: `${written}\n${JSON.stringify(structuredContent)}`,
  };
}

async function askMcp(address: string, method: string, params: Record<string, unknown>) {
  const { pathname, origin } = new URL(address);
  const shot = mcp(pathname, "2026-07-28", method, params);
  const name: Record<string, string> = method === "tools/call" ? { "mcp-name": String(params["name"]) } : {};
  const response = await askAgain(origin + shot.path, {
    method: "POST",
    headers: { ...shot.headers, ...name },
    body: shot.body as BodyInit,
  });
  const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: unknown };
  if (result === undefined || result["isError"] === true) throw new Error(JSON.stringify(error ?? result));
  return result;
}

function tableOf(
  parts: readonly Part[],
  { bound, tools, most }: { bound: number; tools: number; most: number | undefined },
  verdict: (isMet: boolean) => string,
): string {
  const counted = parts.map(({ name, text, structured }) => ({
    name,
    text: tokensIn(text),
    structured: tokensIn(structured),
  }));
  const sum = (pick: (part: (typeof counted)[number]) => number) =>
    counted.reduce((total, part) => total + pick(part), 0);
  const [held, otherwise] = [sum(({ text }) => text), sum(({ structured }) => structured)];
  const judged = most === undefined ? "" : `, ${verdict(Math.max(held, otherwise) <= most * bound)} ${100 * most} %`;
  return table(
    ["tokens (o200k_base)", "as text", "as structured content"],
    [
      ...counted.map(({ name, text, structured }) => [name, whole(text), whole(structured)]),
      ["sum", whole(held), whole(otherwise)],
      [`all ${whole(tools)} tools bound`, whole(bound), whole(bound)],
      [`share${judged}`, percent(held / bound), percent(otherwise / bound)],
    ],
  );
}
