import { maxServerNameLength, maxToolsPerSkill } from "./limits.ts";

/**
 * How a skill names the tools that it drives: `server/tool` in `metadata.mcp-tools`, or `mcp__server__tool` in
 * `allowed-tools`, as Claude Code writes it. The server is one that the skill's namespace registers.
 */
export interface ToolName {
  server: string;
  tool: string;
}

/** Single hyphens or underscores between letters and digits: two underscores end a server's name in `allowed-tools`. */
const serverName = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/i;

/** As MCP advises for the names of tools (SEP-986). */
const toolName = /^[A-Za-z0-9_./-]{1,128}$/;

export function isServerName(text: string): boolean {
  return text.length <= maxServerNameLength && serverName.test(text);
}

/** A name stands in addresses, so none of its parts may mean a folder. */
export function isToolName(text: string): boolean {
  return toolName.test(text) && !text.split("/").some((part) => part === "" || part === "." || part === "..");
}

export function formatToolName({ server, tool }: ToolName): string {
  return `${server}/${tool}`;
}

/** `server/tool` → its parts. Undefined for whatever cannot name a tool. */
export function parseToolName(text: string): ToolName | undefined {
  const slash = text.indexOf("/");
  return slash < 0 ? undefined : toolNameOf(text.slice(0, slash), text.slice(slash + 1));
}

/** The tools that a skill names, each once, in the order in which it names them; the first `maxToolsPerSkill`. */
export function toolsNamedIn(frontmatter: Readonly<Record<string, unknown>>): ToolName[] {
  const metadata = frontmatter["metadata"] as Record<string, unknown> | undefined;
  const named = [
    ...wordsIn(metadata?.["mcp-tools"]).map(parseToolName),
    ...wordsIn(frontmatter["allowed-tools"]).map(parseAllowedTool),
  ].filter((name) => name !== undefined);
  const distinct = new Map(named.map((name) => [formatToolName(name), name]));
  return [...distinct.values()].slice(0, maxToolsPerSkill);
}

/** `mcp__server__tool`, with or without what `(…)` narrows it to. A whole server (`mcp__jobs`) names no tool. */
function parseAllowedTool(text: string): ToolName | undefined {
  const [mcp, server, ...rest] = text.split("(", 1)[0]!.split("__");
  return mcp === "mcp" && server !== undefined && rest.length > 0 ? toolNameOf(server, rest.join("__")) : undefined;
}

function toolNameOf(server: string, tool: string): ToolName | undefined {
  return isServerName(server) && isToolName(tool) ? { server, tool } : undefined;
}

/** Texts and lists of texts, separated by spaces or commas. */
function wordsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(wordsIn);
  return typeof value === "string" ? value.split(/[\s,]+/).filter((word) => word !== "") : [];
}
