import * as z from "zod";

import { maxQueryLength, nearestGroupsShown } from "../../domain/limits.ts";
import { nearestGroups } from "../groups.ts";
import type { Near } from "../groups.ts";
import type { Visit } from "../visit.ts";
import type { ToolAnswer } from "./tool.ts";

/** What the tools that search have in common. */
export function queryField(description: string) {
  return z
    .string()
    .refine((text) => [...text].length <= maxQueryLength, `query must be at most ${maxQueryLength} characters`)
    .describe(description);
}

/**
 * Nothing fits: no card, not even the nearest, because whoever gets one uses it. Which groups come nearest says where a
 * person may look.
 */
export async function answerNothing(
  visit: Visit,
  nearest: readonly Near[],
  rest: Record<string, unknown>,
): Promise<ToolAnswer> {
  const groups = await nearestGroups(visit, nearest, nearestGroupsShown);
  const message = "Nothing here fits this task. Ask the user, or go on without.";
  const structuredContent = { ...rest, message, groups };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}
