import * as z from "zod";

import { defaultSearchResults, maxQueryLength, maxSearchResults } from "../../domain/limits.ts";
import { queryTerms } from "../../domain/query.ts";
import { uriOf } from "../visit.ts";
import type { Visit } from "../visit.ts";
import type { Tool } from "./tool.ts";

const card = z.object({
  uri: z.string().describe("Give this to load_skill"),
  name: z.string(),
  description: z.string(),
  namespace: z.string(),
  score: z.number().min(0).max(1).describe("Share of the query that was met"),
});

const input = z.object({
  query: z
    .string()
    .refine((text) => [...text].length <= maxQueryLength, `query must be at most ${maxQueryLength} characters`)
    .describe('The task in plain words, e.g. "fill in a PDF form"'),
  limit: z.int().min(1).max(maxSearchResults).default(defaultSearchResults).describe("How many cards at most"),
});

/** From a task in plain words to cards; none when nothing fits, since a wrong skill is worse than none. */
export const searchSkills: Tool = {
  name: "search_skills",
  title: "Search skills",
  description:
    "Find skills (instructions for a kind of task) by describing the task. Returns cards, best first. No cards means " +
    "that nothing fits: do not load a skill then.",
  input,
  output: z.object({ cards: z.array(card), message: z.string() }),
  async call(visit: Visit, { query, limit }: z.infer<typeof input>) {
    const terms = queryTerms(query);
    const rows = terms.length === 0 ? [] : await visit.catalog.search(terms, limit);
    const cards = rows.map((row) => ({
      uri: uriOf(row),
      name: row.name,
      description: row.description,
      namespace: row.namespace,
      score: row.score,
    }));
    const message =
      cards.length === 0
        ? "Nothing here fits this task. Ask the user, or go on without a skill."
        : "Load the card that fits with load_skill; if none fits, go on without.";
    const structuredContent = { cards, message };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
};
