import type * as z from "zod";

import type { Visit } from "../visit.ts";

/** A tool of the registry. All are read-only and say so; none calls anything on behalf of a skill. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodObject;
  output: z.ZodObject;
  /** `input` is what the schema of the same tool let through. */
  call(visit: Visit, input: never): Promise<ToolAnswer>;
}

/** `content` for hosts that show text only, `structuredContent` for the rest; each says everything. */
export interface ToolAnswer {
  content: Content[];
  structuredContent: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

export type Content =
  | { type: "text"; text: string }
  | { type: "resource"; resource: Record<string, unknown> & { uri: string } }
  | { type: "resource_link"; uri: string; name: string; description?: string; mimeType: string };

/** Prefix of whatever we put into `_meta`. */
export const metaPrefix = "skill-registry";

/** Links to SKILL.md files; none for clients of a protocol that does not know them, which would refuse the answer. */
export function linksFor(
  visit: Visit,
  skills: readonly { uri: string; name: string; description?: string }[],
): Content[] {
  if (!visit.knowsLinks) return [];
  return skills.map((skill) => ({ type: "resource_link", ...skill, mimeType: "text/markdown" }));
}
