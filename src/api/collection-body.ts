import * as z from "zod";

import type { CollectionContent, CollectionItem } from "../domain/collection.ts";
import { maxInstructionsLength, maxPickedSkills, maxTitleLength } from "../domain/limits.ts";
import { isNamespace, isSkillPath, parseNamespace, parseSkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { candidates, parseSkillUri, skillMd } from "../domain/uri.ts";
import { parseVersion } from "../domain/version.ts";
import type { GateNamespace } from "../storage/gate.ts";

/** What people write for others to read. */
export const text = (max: number) =>
  z
    .string()
    .overwrite(withoutSecrets)
    .max(max)
    .refine((value) => value.isWellFormed(), "must be whole Unicode characters");

/** The body of a PUT: skills by their address, or taken apart. */
const item = z.union([
  z.string().describe("skill://namespace/path/SKILL.md, pinned with @version"),
  z.strictObject({ namespace: z.string().optional(), path: z.string(), version: z.string().nullish() }),
]);

export const collectionBody = z.strictObject({
  title: text(maxTitleLength).min(1).optional(),
  instructions: text(maxInstructionsLength).default(""),
  visibility: z.enum(["public", "private"]).optional(),
  skills: z.union([z.literal("all"), z.array(item).max(maxPickedSkills)]),
  tools: z.enum(["registry", "per-skill"]).default("registry"),
});

/** A private namespace has private collections only, so that is what a silent request means there. */
export function contentOf(body: z.infer<typeof collectionBody>, own: GateNamespace): CollectionContent {
  return {
    title: body.title ?? own.title,
    instructions: body.instructions,
    visibility: body.visibility ?? own.visibility,
    skills: body.skills === "all" ? "all" : body.skills.map((one, index) => itemOf(one, index, own)),
    ...(body.tools === "per-skill" ? { tools: body.tools } : {}),
  };
}

function itemOf(one: z.infer<typeof item>, index: number, own: GateNamespace): CollectionItem {
  if (typeof one === "string") return itemOfUri(one, index);
  return {
    namespace: one.namespace === undefined ? own.name : parseNamespace(one.namespace),
    path: parseSkillPath(one.path),
    version: one.version === undefined || one.version === null ? null : parseVersion(one.version),
  };
}

function itemOfUri(uri: string, index: number): CollectionItem {
  const parsed = parseSkillUri(uri);
  if (parsed?.kind === "pinned" && parsed.file === skillMd) {
    return { namespace: parsed.namespace, path: parsed.path, version: parsed.version };
  }
  const moving =
    parsed?.kind === "moving" ? candidates(parsed.segments).find(({ file }) => file === skillMd) : undefined;
  if (parsed !== undefined && moving !== undefined && isNamespace(parsed.namespace) && isSkillPath(moving.path)) {
    return { namespace: parsed.namespace, path: moving.path, version: null };
  }
  throw problem(
    "invalid_request",
    `skills[${index}]: "${uri}" is no address of a SKILL.md; it looks like skill://acme/refunds/SKILL.md`,
  );
}
