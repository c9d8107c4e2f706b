import type { Namespace } from "../domain/names.ts";
import type { ToolName } from "../domain/tool-name.ts";
import * as sql from "./servers-sql.ts";

/** What a publish must know of a tool that a skill names. */
export interface KnownTool {
  isRegistered: boolean;
  isListed: boolean;
}

/** In the order of the names. Also for publishers who see no servers: what their own skills name, they may know. */
export async function lookUpTools(
  db: D1Database,
  namespace: Namespace,
  names: readonly ToolName[],
): Promise<KnownTool[]> {
  const { results } = await db
    .prepare(sql.lookUpTools)
    .bind(namespace, JSON.stringify(names))
    .all<{ place: number; is_registered: number; is_listed: number }>();
  const known = new Map(results.map((row) => [row.place, row]));
  return names.map((_, index) => {
    const row = known.get(index);
    return { isRegistered: row?.is_registered === 1, isListed: row?.is_listed === 1 };
  });
}

/** The names of all tools of some servers. */
export async function listToolNames(
  db: D1Database,
  namespace: Namespace,
  servers: readonly string[],
): Promise<ToolName[]> {
  const statement = db.prepare(sql.listToolNames).bind(namespace, JSON.stringify(servers));
  const { results } = await statement.all<{ server: string; name: string }>();
  return results.map(({ server, name }) => ({ server, tool: name }));
}
