import * as z from "zod";

import { defaultSearchResults, maxSearchResults, nearestRows } from "../../domain/limits.ts";
import { questionOf } from "../../domain/search/question.ts";
import { withoutTraces } from "../../domain/tally.ts";
import { rankingVersion, searchSkillsHere } from "../search.ts";
import { uriOf } from "../visit.ts";
import type { Visit } from "../visit.ts";
import { answerNothing, queryField } from "./searching.ts";
import { linksFor, metaPrefix } from "./tool.ts";
import type { Tool } from "./tool.ts";

const card = z.object({
  uri: z.string(),
  name: z.string(),
  description: z.string(),
  namespace: z.string(),
  score: z.number(),
});

const input = z.strictObject({
  query: queryField('The task in plain words, e.g. "fill in a PDF form"'),
  limit: z.int().min(1).max(maxSearchResults).default(defaultSearchResults),
});

/** From a task in plain words to cards; none when nothing fits, since a wrong skill is worse than none. */
export const searchSkills: Tool = {
  name: "search_skills",
  title: "Search skills",
  description:
    "Find skills (instructions for a kind of task) by describing the task. Returns cards, best first. No cards: " +
    "nothing fits; ask the user, load nothing.",
  input,
  output: z.object({
    cards: z.array(card),
    message: z.string(),
    pickId: z.string().describe("For load_skill"),
    groups: z.array(z.looseObject({})).optional(),
    evidence: z.looseObject({}),
  }),
  async call(visit: Visit, { query, limit }: z.infer<typeof input>) {
    const { isAnswer, rows, evidence } = await searchSkillsHere(visit, query, { limit: Math.max(limit, nearestRows) });
    const pickId = visit.tally.newPickId();
    const shown = isAnswer ? rows.slice(0, limit) : [];
    const words = questionOf(withoutTraces(query)).map(({ term }) => term);
    visit.tally.searched({ pickId, words, shown, ...placeOf(visit) });
    const meta = { [`${metaPrefix}/ranking`]: rankingVersion };
    if (shown.length === 0)
      return { ...(await answerNothing(visit, rows, { cards: [], pickId, evidence })), _meta: meta };
    const cards = shown.map((row) => ({
      uri: uriOf(row),
      name: row.name,
      description: row.description,
      namespace: row.namespace,
      score: row.score,
    }));
    const message = "Load the card that fits with load_skill; if none fits, ask the user.";
    const structuredContent = { cards, message, pickId, evidence };
    return {
      content: [
        { type: "text", text: JSON.stringify({ cards, message, pickId }) },
        ...linksFor(
          visit,
          cards.map(({ uri, name, description }) => ({ uri, name, description })),
        ),
      ],
      structuredContent,
      _meta: { ...meta, [`${metaPrefix}/scores`]: Object.fromEntries(cards.map(({ uri, score }) => [uri, score])) },
    };
  },
};

function placeOf({ address }: Visit) {
  return { namespace: address.namespace ?? "", collection: address.collection ?? "" };
}
