import { maxToolCardLength, maxToolDefinitionDepth } from "./limits.ts";
import type { SearchDocument } from "./search/impacts.ts";
import type { ListedTool } from "./server.ts";
import { formatToolName } from "./tool-name.ts";

/** What is shown of a tool where its schema is not: enough to choose it. */
export interface CardText {
  title: string;
  description: string;
}

export function cardOf(tool: ListedTool): CardText {
  const own = tool.annotations?.["title"];
  const title = tool.title ?? (typeof own === "string" ? own : "");
  return { title: cut(title), description: cut(tool.description ?? "") };
}

/** A NUL would end the text for SQLite, and a cut must not leave half a character. */
function cut(text: string): string {
  const whole = text.replaceAll("\0", "");
  return whole.length <= maxToolCardLength ? whole : whole.slice(0, maxToolCardLength).replace(/[\uD800-\uDBFF]$/, "");
}

/** What the index reads of a tool: as a skill's body the names of its arguments, and what is said of them. */
export function toolDocument(server: string, tool: ListedTool): SearchDocument {
  return {
    name: tool.name,
    path: formatToolName({ server, tool: tool.name }),
    description: [tool.title ?? "", tool.description ?? ""].join(" ").trim(),
    tags: [],
    triggers: [],
    examples: [],
    body: argumentsOf(tool.inputSchema, 0).join("\n"),
  };
}

/** Members of a schema that hold further schemas: by name, in a list, or one. */
const named = ["properties", "$defs", "definitions"];
const listed = ["anyOf", "oneOf", "allOf", "prefixItems"];

function argumentsOf(schema: unknown, depth: number): string[] {
  if (typeof schema !== "object" || schema === null || depth > maxToolDefinitionDepth) return [];
  const members = schema as Readonly<Record<string, unknown>>;
  const { description, items } = members;
  const texts = typeof description === "string" ? [description] : [];
  for (const member of named) {
    for (const [name, inner] of Object.entries((members[member] ?? {}) as object)) {
      // Names of definitions say nothing to whoever calls the tool.
      texts.push(...(member === "properties" ? [name] : []), ...argumentsOf(inner, depth + 1));
    }
  }
  const others = listed.flatMap((member) => (Array.isArray(members[member]) ? (members[member] as unknown[]) : []));
  return [...texts, ...[items, ...others].flatMap((inner) => argumentsOf(inner, depth + 1))];
}

/** What a new snapshot changes, by the names of tools. */
export interface ToolsDifference {
  added: string[];
  removed: string[];
  changed: { name: string; what: ("description" | "inputSchema" | "other")[] }[];
}

export function differenceOf(before: readonly ListedTool[], after: readonly ListedTool[]): ToolsDifference {
  const old = new Map(before.map((tool) => [tool.name, tool]));
  const kept = new Set(after.map((tool) => tool.name));
  return {
    added: after.filter((tool) => !old.has(tool.name)).map((tool) => tool.name),
    removed: before.filter((tool) => !kept.has(tool.name)).map((tool) => tool.name),
    changed: after.flatMap((tool) => {
      const what = old.has(tool.name) ? changesOf(old.get(tool.name)!, tool) : [];
      return what.length === 0 ? [] : [{ name: tool.name, what }];
    }),
  };
}

function changesOf(before: ListedTool, after: ListedTool): ToolsDifference["changed"][number]["what"] {
  const differs = (pick: (tool: ListedTool) => unknown) => JSON.stringify(pick(before)) !== JSON.stringify(pick(after));
  const all = [
    ["description", differs(({ description }) => description)],
    ["inputSchema", differs(({ inputSchema }) => inputSchema)],
    ["other", differs((tool) => ({ ...tool, description: undefined, inputSchema: undefined }))],
  ] as const;
  return all.filter(([, isChanged]) => isChanged).map(([what]) => what);
}
