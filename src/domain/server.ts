import { fileFinding, gravestFindings } from "./finding.ts";
import type { Finding } from "./finding.ts";
import {
  maxFindings,
  maxServerUrlLength,
  maxToolDefinitionBytes,
  maxToolDefinitionDepth,
  maxToolsPerServer,
} from "./limits.ts";
import { echo } from "./problem.ts";
import { withoutSecrets } from "./redact.ts";
import { isServerName, isToolName } from "./tool-name.ts";

/** A companion server: an MCP server whose tools a namespace's skills drive, with what it listed. */
export interface ServerContent {
  url: string;
  title: string;
  /** In the order in which the server lists them. */
  tools: readonly ListedTool[];
}

/** A tool as `tools/list` shows it, once `checkServer` found nothing wrong with it. Other members stay as they are. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

interface Fault {
  code: string;
  message: string;
  fix: string;
}

const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Everything that is wrong with a server, each with its place in the body; `file` is the place, e.g. "tools[3].name". */
export function checkServer(name: string, url: string, tools: readonly unknown[]): Finding[] {
  const found = [
    ...(isServerName(name) ? [] : [told("", serverNameFault(name))]),
    ...(isServerUrl(url) ? [] : [told("url", urlFault(url))]),
  ];
  if (tools.length > maxToolsPerServer) return [...found, told("tools", tooMany(tools.length))];
  const firstOf = new Map<string, number>();
  for (const [index, tool] of tools.entries()) found.push(...checkTool(tool, `tools[${index}]`, firstOf));
  return found.length > maxFindings ? gravestFindings(found) : found;
}

function checkTool(tool: unknown, place: string, firstOf: Map<string, number>): Finding[] {
  if (!isRecord(tool)) return [told(place, notAnObject("A tool"))];
  const form = formFault(tool);
  if (form !== undefined) return [told(place, form)];
  return [
    ...nameFindings(tool["name"], place, firstOf),
    ...schemaFindings(tool, place),
    ...["title", "description"].flatMap((member) =>
      tool[member] === undefined || typeof tool[member] === "string"
        ? []
        : [told(`${place}.${member}`, notText(member))],
    ),
    ...["annotations", "_meta"].flatMap((member) =>
      tool[member] === undefined || isRecord(tool[member]) ? [] : [told(`${place}.${member}`, notAnObject(member))],
    ),
  ];
}

function nameFindings(name: unknown, place: string, firstOf: Map<string, number>): Finding[] {
  if (typeof name !== "string" || !isToolName(name)) {
    const what = typeof name === "string" ? `"${shown(name)}"` : "what is not a text";
    return [
      told(`${place}.name`, {
        code: "tool_name_invalid",
        message: `The name of a tool is 1 to 128 letters, digits, "_", "-", "." or "/", not ${what}.`,
        fix: "Rename the tool at its server, or leave it out: no skill can name it.",
      }),
    ];
  }
  const first = firstOf.get(name);
  if (first === undefined) firstOf.set(name, Number(/\d+/.exec(place)![0]));
  if (first === undefined) return [];
  return [
    told(`${place}.name`, {
      code: "tool_name_twice",
      message: `A tool named "${shown(name)}" is at tools[${first}] already.`,
      fix: "Leave one of them out; a server lists each name once.",
    }),
  ];
}

function schemaFindings(tool: Readonly<Record<string, unknown>>, place: string): Finding[] {
  const { inputSchema, outputSchema } = tool;
  const found: Finding[] = [];
  if (inputSchema === undefined) {
    found.push(
      told(`${place}.inputSchema`, {
        code: "input_schema_missing",
        message: "The tool has no inputSchema, so that nobody could know its arguments.",
        fix: 'Take the tool as tools/list shows it; one without arguments has {"type":"object"}.',
      }),
    );
  } else if (!isRecord(inputSchema) || inputSchema["type"] !== "object") {
    found.push(
      told(`${place}.inputSchema`, {
        code: "input_schema_invalid",
        message: 'An inputSchema is a JSON Schema whose "type" is "object".',
        fix: 'Write {"type":"object","properties":{…}}.',
      }),
    );
  }
  if (outputSchema !== undefined && !isRecord(outputSchema)) {
    found.push(told(`${place}.outputSchema`, notAnObject("outputSchema")));
  }
  return found;
}

/** What would not survive being stored, whatever it means. The size comes last: it is only known of what is not deep. */
function formFault(tool: Readonly<Record<string, unknown>>): Fault | undefined {
  const wrong = walk(tool);
  if (wrong !== undefined) return wrong;
  const bytes = new TextEncoder().encode(JSON.stringify(tool)).byteLength;
  if (bytes <= maxToolDefinitionBytes) return undefined;
  return {
    code: "tool_too_large",
    message: `The tool has ${bytes} bytes as JSON; at most ${maxToolDefinitionBytes} are kept.`,
    fix: "Shorten its description and schemas: an agent has to hold all of them at once.",
  };
}

/** Level by level instead of by recursion, since a body may hold a million brackets. */
function walk(tool: Readonly<Record<string, unknown>>): Fault | undefined {
  let level: unknown[] = [tool];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxToolDefinitionDepth) {
      const message = `The tool is nested more than ${maxToolDefinitionDepth} levels deep.`;
      return { code: "tool_too_deep", message, fix: "Use $defs and $ref in its schemas." };
    }
    const texts = level.flatMap((value) =>
      isRecord(value) ? Object.keys(value) : typeof value === "string" ? [value] : [],
    );
    if (texts.some((text) => !text.isWellFormed())) {
      const message = "The tool holds half a character, a lone surrogate.";
      return { code: "half_character", message, fix: "Send whole Unicode characters." };
    }
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return undefined;
}

/** https, or http to this very machine, and nothing in it that is a secret or never reaches the server. */
export function isServerUrl(text: string): boolean {
  if (text.length > maxServerUrlLength || !text.isWellFormed() || !URL.canParse(text)) return false;
  const url = new URL(text);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && loopback.has(url.hostname));
  return isSafe && url.username === "" && url.password === "" && !/[#\s]/.test(text);
}

function urlFault(url: string): Fault {
  return {
    code: "url_invalid",
    message: `"${shown(url)}" is no address of a server: an https URL (http only for loopback) of at most ${maxServerUrlLength} characters, without user, password and fragment.`,
    fix: 'Give the address of its MCP endpoint, e.g. "https://mcp.example.com/jobs".',
  };
}

function serverNameFault(name: string): Fault {
  return {
    code: "server_name_invalid",
    message: `"${shown(name)}" is no name of a server: up to 64 letters, digits, and single hyphens or underscores between them.`,
    fix: 'Choose another, e.g. "jobs"; skills then name its tools as jobs/search_jobs.',
  };
}

function tooMany(count: number): Fault {
  return {
    code: "too_many_tools",
    message: `There are ${count} tools; a server may have ${maxToolsPerServer}.`,
    fix: "Leave out those that no skill drives, or register the server under several names.",
  };
}

function notAnObject(what: string): Fault {
  return { code: "not_an_object", message: `${what} is a JSON object.`, fix: "Take it as tools/list shows it." };
}

function notText(what: string): Fault {
  return { code: "not_a_text", message: `${what} is a text.`, fix: "Take it as tools/list shows it." };
}

function told(place: string, { code, message, fix }: Fault): Finding {
  return fileFinding("error", code, place, { message, fix });
}

function shown(text: string): string {
  return withoutSecrets(echo(text));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
