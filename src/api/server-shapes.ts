import { formatToolName } from "../domain/tool-name.ts";
import type { Page } from "../storage/catalog.ts";
import type { ServerRow, ToolRow, ToolUse } from "../storage/servers.ts";
import { formatTime } from "./shapes.ts";

/** Companion servers as the API shows them. Who registered one is shown to those who have rights in the namespace. */
export function formatServer(row: ServerRow, isInsider: boolean) {
  return {
    namespace: row.namespace,
    name: row.name,
    title: row.title,
    url: row.url,
    /** How many there are. */
    tools: row.tools,
    /** SHA-256 of the tools as they were sent, as JSON without white space. */
    digest: row.digest,
    snapshot: row.snapshot,
    created_at: formatTime(row.created_at),
    updated_at: formatTime(row.updated_at),
    ...(isInsider ? { updated_by: row.updated_by } : {}),
  };
}

/** As a skill would name it, and without its schema. */
export function formatCard(server: string, row: ToolRow) {
  const named = formatToolName({ server, tool: row.name });
  return { name: row.name, named_as: named, title: row.title, description: row.description };
}

/** By the tool, with the skills that name it. */
export function formatUses({ items }: Page<ToolUse>) {
  const byTool = new Map<string, { path: string; version: string }[]>();
  for (const { tool, path, version } of items) byTool.set(tool, [...(byTool.get(tool) ?? []), { path, version }]);
  return [...byTool].map(([tool, skills]) => ({ tool, skills }));
}
