import * as z from "zod";

import { maxFindings, maxJsonRequestBytes } from "../domain/limits.ts";
import { echo, problem } from "../domain/problem.ts";
import { readBounded } from "../publish/bounded-body.ts";
import type { ApiContext } from "./caller.ts";

/**
 * A JSON body of a known shape.
 * @throws Problem `unsupported_media_type`, `too_large`, `parse_error`, or `invalid_request` naming each wrong member
 */
export async function readJson<Schema extends z.ZodType>(
  context: ApiContext,
  schema: Schema,
  maxBytes = maxJsonRequestBytes,
): Promise<z.infer<Schema>> {
  if (!/^application\/json\b/i.test(context.req.header("content-type") ?? "")) {
    throw problem("unsupported_media_type", "Content-Type must be application/json");
  }
  const bytes = await readBounded(context.req.raw.body, maxBytes, () =>
    problem("too_large", `The body may have at most ${maxBytes} bytes`),
  );
  const input = schema.safeParse(parse(new TextDecoder().decode(bytes)));
  if (input.success) return input.data;
  throw problem("invalid_request", z.prettifyError({ issues: input.error.issues.slice(0, maxFindings).map(shorten) }));
}

/** The same, where a request without a body means `{}`. */
export async function readJsonIfSent<Schema extends z.ZodType>(
  context: ApiContext,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const isSent = context.req.raw.body !== null && context.req.header("content-length") !== "0";
  return isSent ? readJson(context, schema) : schema.parse({});
}

/** Names that the request made up are repeated only so far. */
function shorten(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "unrecognized_keys") return issue;
  const keys = issue.keys.map((key) => JSON.stringify(key)).join(", ");
  return { ...issue, message: `Unrecognized key${issue.keys.length > 1 ? "s" : ""}: ${echo(keys)}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw problem("parse_error", "The body is not valid JSON");
  }
}
