/**
 * Stands in for the language model: the same sentence always leads to the same moves, so a test can follow them. It
 * is as trusting as a hurried agent: it takes the first card, whatever its score.
 */
export interface Seen {
  tools: readonly string[];
  /** What the search answered, once it has been asked. */
  cards?: readonly { uri: string }[];
  skill?: object;
}

export type Move = { tool: "search_skills" | "load_skill"; input: Record<string, string> } | { reply: string };

export function nextMove(sentence: string, { tools, cards, skill }: Seen): Move {
  if (!tools.includes("search_skills") || !tools.includes("load_skill")) return { reply: "I cannot look for skills." };
  if (cards === undefined) return { tool: "search_skills", input: { query: sentence } };
  const first = cards[0];
  if (first === undefined) return { reply: "I found no skill for this." };
  if (skill === undefined) return { tool: "load_skill", input: { uri: first.uri } };
  return { reply: "I have the skill." };
}
