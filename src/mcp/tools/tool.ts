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
  content: (
    | { type: "text"; text: string }
    | { type: "resource"; resource: Record<string, unknown> & { uri: string } }
  )[];
  structuredContent: Record<string, unknown>;
}
