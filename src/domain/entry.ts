import { SkillCatalogError, skillEntry } from "@modelcontextprotocol/server/ext/skills";

import type { Digest } from "./digest.ts";
import type { Namespace, SkillPath } from "./names.ts";
import { movingUri, pinnedUri } from "./uri.ts";
import type { Version } from "./version.ts";

/** One file of an upload, bytes as they came. */
export interface SkillFile {
  /** Relative to the skill's folder, `/` between segments. */
  path: string;
  bytes: Uint8Array;
  /** Undefined when the intake cannot tell (multipart, archives made on Windows). */
  executable?: boolean;
}

/** What `skills/list` and `skills/get` return for one skill (SEP-2640, section "Skill entry"). */
export interface Entry {
  uri: string;
  frontmatter: { name: string; description: string } & Record<string, unknown>;
  resources: { uri: string; digest: Digest; size: number }[];
}

/**
 * Builds the entry with the official SDK, whose client parses SKILL.md with the same code when it verifies: what it
 * refuses here, every reader would refuse. Returns its complaints instead of an entry; it stops at the first.
 */
export async function buildEntry(
  namespace: Namespace,
  path: SkillPath,
  files: readonly SkillFile[],
): Promise<{ entry: Entry } | { refusals: string[] }> {
  try {
    const byPath = Object.fromEntries(files.map((file) => [file.path, file.bytes]));
    return { entry: (await skillEntry(`${namespace}/${path}`, byPath)) as unknown as Entry };
  } catch (error) {
    if (!SkillCatalogError.isInstance(error)) throw error;
    return { refusals: error.problems.map((found) => found.message) };
  }
}

/** The same entry under its pinned address. The order of its resources holds, since only their prefix changes. */
export function pinEntry(entry: Entry, namespace: Namespace, path: SkillPath, version: Version): Entry {
  const from = movingUri(namespace, path, "").length;
  const to = pinnedUri(namespace, path, version, "");
  return {
    ...entry,
    uri: to + entry.uri.slice(from),
    resources: entry.resources.map((resource) => ({ ...resource, uri: to + resource.uri.slice(from) })),
  };
}
