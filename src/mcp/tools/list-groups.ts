import * as z from "zod";

import { formatCursor, parseCursor, readKey } from "../../domain/cursor.ts";
import { maxGroupsListed } from "../../domain/limits.ts";
import { listGroups } from "../../storage/finding.ts";
import { groupKind } from "../groups.ts";
import { listName } from "../visit.ts";
import type { Visit } from "../visit.ts";
import type { Tool } from "./tool.ts";

const input = z.strictObject({ cursor: z.string().optional() });

/** What is here, without a single skill: how an agent that knows nothing begins at the price of a few lines. */
export const listGroupsTool: Tool = {
  name: "list_groups",
  title: "List groups",
  description: "See what is here: namespaces or collections with their number of skills, largest first.",
  input,
  output: z.object({
    kind: z.enum(["namespace", "collection"]),
    groups: z.array(z.object({ name: z.string(), title: z.string(), skills: z.int() })),
    nextCursor: z.string().optional(),
  }),
  async call(visit: Visit, { cursor }: z.infer<typeof input>) {
    const list = listName(visit.address, "groups");
    const page = cursor === undefined ? undefined : parseCursor(list, cursor);
    const after = page === undefined ? undefined : groupIn(page.key);
    const rows = await listGroups(visit.catalog, maxGroupsListed + 1, after);
    const groups = rows.slice(0, maxGroupsListed);
    const last = groups.at(-1);
    const next =
      rows.length > groups.length && last !== undefined
        ? {
            nextCursor: formatCursor(list, {
              page: (page?.page ?? 0) + 1,
              key: JSON.stringify([last.skills, last.name]),
            }),
          }
        : {};
    const structuredContent = { kind: groupKind(visit), groups, ...next };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
};

function groupIn(key: string) {
  const [skills, name] = readKey(key, ["number", "string"]) as [number, string];
  return { skills, name };
}
