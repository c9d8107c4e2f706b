import * as z from "zod";

import { defaultSearchResults, maxSearchResults, nearestRows } from "../../domain/limits.ts";
import type { Namespace, SkillPath } from "../../domain/names.ts";
import type { Version } from "../../domain/version.ts";
import type { ToolRow } from "../../storage/finding.ts";
import { rankingVersion, searchToolsHere } from "../search.ts";
import { uriOf } from "../visit.ts";
import type { Visit } from "../visit.ts";
import { answerNothing, queryField } from "./searching.ts";
import { metaPrefix } from "./tool.ts";
import type { Tool } from "./tool.ts";

const card = z.looseObject({
  tool: z.string().describe("server/tool"),
  description: z.string(),
  url: z.string(),
  skills: z.array(z.string()),
  score: z.number(),
});

const input = z.strictObject({
  query: queryField("What the tool should do"),
  limit: z.int().min(1).max(maxSearchResults).default(defaultSearchResults),
});

/** Cards of companion servers' tools: what skills here can drive. The registry calls none of them. */
export const searchTools: Tool = {
  name: "search_tools",
  title: "Search tools",
  description: "Find tools of companion servers, with the skills that name them. describe_tool gives a schema.",
  input,
  output: z.object({ cards: z.array(card), message: z.string() }),
  async call(visit: Visit, { query, limit }: z.infer<typeof input>) {
    const { isAnswer, rows, evidence } = await searchToolsHere(visit, query, { limit: Math.max(limit, nearestRows) });
    const meta = { [`${metaPrefix}/ranking`]: rankingVersion };
    const near = rows.map(({ namespace, home, skills }) => ({ namespace, title: home, path: firstPathIn(skills) }));
    if (!isAnswer) return { ...(await answerNothing(visit, near, { cards: [], evidence })), _meta: meta };
    const cards = rows.slice(0, limit).map(cardOf);
    const message = "A skill that names the tool says how to use it: load it, then describe_tool.";
    const structuredContent = { cards, message };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent, _meta: meta };
  },
};

/** A skill that names the tool stands for it where collections are looked for; "" for none. */
function firstPathIn(skills: string): SkillPath {
  return (JSON.parse(skills) as [SkillPath, unknown][])[0]?.[0] ?? ("" as SkillPath);
}

function cardOf({ namespace, server, tool, title, description, url, skills, score }: ToolRow) {
  const naming = (JSON.parse(skills) as [SkillPath, Version | null][]).map(([path, pinned]) =>
    uriOf({ namespace: namespace as Namespace, path, pinned }),
  );
  return { tool: `${server}/${tool}`, namespace, title, description, url, skills: naming, score };
}
