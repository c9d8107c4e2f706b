import { createHash } from "node:crypto";

import * as z from "zod";

import type { Entry } from "../../src/domain/entry.ts";
import type { Connection, ToolAnswer } from "./connection.ts";

/**
 * Three hosts without a language model: what each knows of MCP is all that it uses, and whatever a model would have to
 * guess is taken from what the registry said before. Each takes a sentence, and stops where nothing fits it.
 */
export interface Journey {
  /** Every request that a host made after its handshake, in order. */
  requests: string[];
  skill?: {
    uri: string;
    text: string;
    /** Every file that was read, each found to have the size and digest that the registry gave for it. */
    verified: Map<string, Uint8Array>;
    /** `server/tool`, and the definition that a host would bind. */
    schema?: { tool: string; url: string; definition: { name: string; inputSchema: object } };
  };
}

/** The methods that both official clients have, with parameters that their types do not know. */
export interface AnyHost {
  getInstructions(): string | undefined;
  listTools(params?: Record<string, unknown>): Promise<{ tools: ListedTool[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<ToolAnswer>;
  listPrompts(): Promise<{ prompts: { name: string; arguments?: { name: string }[] }[] }>;
  getPrompt(prompt: { name: string; arguments: Record<string, string> }): Promise<{
    messages: { role: string; content: { type: string; text?: string } }[];
  }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  complete(params: {
    ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: string[]; total?: number; hasMore?: boolean } }>;
  request<Schema extends z.ZodType>(
    request: { method: string; params: Record<string, unknown> },
    schema: Schema,
  ): Promise<z.infer<Schema>>;
}

export interface ListedTool {
  name: string;
  description?: string;
  inputSchema: object;
  annotations?: object;
}

export function hostOf(connection: Connection): AnyHost {
  return connection.host as unknown as AnyHost;
}

const found = z.object({ cards: z.array(z.object({ uri: z.string() })), pickId: z.string(), message: z.string() });
const loaded = z.object({
  uri: z.string(),
  skillMd: z.string(),
  files: z.array(z.object({ uri: z.string(), size: z.int(), digest: z.string() })),
  tools: z.array(z.object({ tool: z.string() })),
});
const schemaOf = z.object({
  tool: z.string(),
  url: z.string(),
  definition: z.looseObject({ name: z.string(), inputSchema: z.looseObject({}) }),
});

/** Knows tools alone. Which of them searches and which loads, and with what, it reads where every host reads first. */
export async function askByTools(connection: Connection, sentence: string): Promise<Journey> {
  const host = hostOf(connection);
  const requests: string[] = [];
  const call = async (name: string, input: Record<string, unknown>): Promise<ToolAnswer> => {
    requests.push(name);
    const answer = await host.callTool({ name, arguments: input });
    if (answer.isError === true) throw new Error(`${name}: ${JSON.stringify(answer.content)}`);
    return answer;
  };
  const start = host.getInstructions()!.slice(0, 512);
  const [, search, query] = /Search: (\w+) \{"(\w+)":/.exec(start)!;
  const [, load, address] = /Load: (\w+) \{"(\w+)":/.exec(start)!;

  const answer = found.parse((await call(search!, { [query!]: sentence })).structuredContent);
  const [card] = answer.cards;
  if (card === undefined) return { requests };

  const skill = loaded.parse((await call(load!, { [address!]: card.uri, pickId: answer.pickId })).structuredContent);
  const verified = new Map<string, Uint8Array>();
  for (const file of skill.files) {
    const bytes = bytesOf(await call("read_skill_file", { uri: file.uri }));
    verified.set(file.uri, checked(file, bytes));
  }
  const journey = { uri: skill.uri, text: skill.skillMd, verified };
  const [tool] = skill.tools;
  if (tool === undefined) return { requests, skill: journey };
  const described = await call("describe_tool", { skill: skill.uri, tool: tool.tool });
  return { requests, skill: { ...journey, schema: schemaOf.parse(described.structuredContent) } };
}

/** Text as it came, or base64, as a host that knows only tools gets them. */
function bytesOf({ content, structuredContent }: ToolAnswer): Uint8Array {
  const { text } = structuredContent as { text?: string };
  if (text !== undefined) return Buffer.from(text, "utf8");
  const [block] = content as { resource: { blob: string } }[];
  return Buffer.from(block!.resource.blob, "base64");
}

function checked(file: { uri: string; size: number; digest: string }, bytes: Uint8Array): Uint8Array {
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (bytes.byteLength !== file.size || digest !== file.digest) throw new Error(`${file.uri} is not what was listed`);
  return bytes;
}

const listedSkills = z.looseObject({ skills: z.array(z.looseObject({ uri: z.string() })) });

/**
 * Knows the Skills extension, and our `query` on its list. Each file is verified by the official client where it knows
 * skills, else by the connection, against the entry.
 */
export async function askByExtension(connection: Connection, sentence: string): Promise<Journey> {
  const host = hostOf(connection);
  const requests = ["skills/list"];
  const { skills } = await host.request({ method: "skills/list", params: { query: sentence } }, listedSkills);
  const [first] = skills;
  if (first === undefined) return { requests };

  requests.push("skills/get");
  const entry = await connection.get(first.uri);
  const verified = new Map<string, Uint8Array>();
  for (const { uri } of entry.resources) {
    requests.push("resources/read");
    verified.set(uri, await connection.read(entry, uri));
  }
  const text = Buffer.from(verified.get(entry.uri)!).toString("utf8");
  const skill = { uri: entry.uri, text, verified };
  const tool = namedTool(entry);
  if (tool === undefined) return { requests, skill };
  requests.push("describe_tool");
  const described = await host.callTool({ name: "describe_tool", arguments: { skill: entry.uri, tool } });
  return { requests, skill: { ...skill, schema: schemaOf.parse(described.structuredContent) } };
}

/** The first tool that a skill names; the entry carries its frontmatter as the author wrote it. */
function namedTool({ frontmatter }: Entry): string | undefined {
  const { metadata } = frontmatter as { metadata?: Record<string, string> };
  return metadata?.["mcp-tools"]?.split(" ")[0];
}

/** Knows prompts alone: a person writes the task into the one prompt that asks for it, and the model reads the answer. */
export async function askByPrompts(connection: Connection, sentence: string): Promise<Journey> {
  const host = hostOf(connection);
  const { prompts } = await host.listPrompts();
  const prompt = prompts.find(({ arguments: named }) => named?.some(({ name }) => name === "skill"))!;
  const { messages } = await host.getPrompt({ name: prompt.name, arguments: { task: sentence } });
  return { requests: ["prompts/list", "prompts/get"], ...skillIn(messages[0]!.content.text!) };
}

/** The same where the person knows how the skill's name begins, and picks the first that the host offers. */
export async function pickByPrompts(connection: Connection, begun: string): Promise<Journey> {
  const host = hostOf(connection);
  const ref = { type: "ref/prompt", name: "use-skill" } as const;
  const { completion } = await host.complete({ ref, argument: { name: "skill", value: begun } });
  const [name] = completion.values;
  if (name === undefined) return { requests: ["completion/complete"] };
  const { messages } = await host.getPrompt({ name: "use-skill", arguments: { skill: name } });
  return { requests: ["completion/complete", "prompts/get"], ...skillIn(messages[0]!.content.text!) };
}

/** A prompt has no digests to check; what is left is the address that it names and the text behind it. */
function skillIn(text: string): Pick<Journey, "skill"> {
  const uri = /^Use the skill (skill:\S+)/.exec(text)?.[1];
  return uri === undefined ? {} : { skill: { uri, text, verified: new Map() } };
}
