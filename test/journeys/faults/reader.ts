import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import { app } from "../../../src/app.ts";
import { digestOf } from "../../../src/domain/digest.ts";
import type { Entry } from "../../../src/domain/entry.ts";
import type { Namespace, SkillPath } from "../../../src/domain/names.ts";
import { movingUri, pinnedUri } from "../../../src/domain/uri.ts";
import type { Version } from "../../../src/domain/version.ts";
import { operator, origin } from "../../harness.ts";

/**
 * What an agent that connects to a namespace sees of it, as one text: two equal texts are one state. Every entry that
 * is seen is verified to the last byte, moving or pinned, by digest and by size.
 */
export interface World {
  namespace: Namespace;
  /** Every release that exists in any of the states that are to be told apart. */
  releases: readonly { path: SkillPath; version: Version }[];
}

interface Heard {
  result: Record<string, unknown> | undefined;
  error: { code: number; message: string } | undefined;
}

/**
 * As a 2025-era client that opened no session: the era with the fewest words. The application is called as it is,
 * since a campaign asks some hundred thousand times.
 */
async function ask(namespace: Namespace, method: string, params: Record<string, unknown>): Promise<Heard> {
  const request = new Request(`${origin}/mcp/${namespace}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await app.fetch(request, env, createExecutionContext())).json();
}

export async function look({ namespace, releases }: World): Promise<string> {
  const paths = [...new Set(releases.map(({ path }) => path))];
  const uris = [
    ...paths.map((path) => movingUri(namespace, path)),
    ...releases.map(({ path, version }) => pinnedUri(namespace, path, version)),
  ];
  const [listed, found, rows, revision, ...entries] = await Promise.all([
    list(namespace),
    search(namespace),
    readRows(namespace),
    revisionOf(namespace),
    ...uris.map((uri) => getAndRead(namespace, uri)),
  ]);
  for (const entry of listed) {
    const same = entries.find((known) => known?.uri === entry.uri);
    if (JSON.stringify(same) !== JSON.stringify(entry)) throw new Error(`${entry.uri} is listed but served otherwise`);
  }
  return JSON.stringify({ listed, found, rows, revision, entries: entries.map((entry) => entry ?? null) });
}

/** The shorter look of somebody who lists while things happen: every listed entry verifies, and which ones they are. */
export async function glance(namespace: Namespace): Promise<string> {
  const listed = await list(namespace);
  await Promise.all(listed.map((entry) => verify(namespace, entry)));
  return JSON.stringify(listed);
}

/** The list that a whole look saw. */
export function listIn(text: string): string {
  return JSON.stringify((JSON.parse(text) as { listed: Entry[] }).listed);
}

export function withoutRevision(text: string): string {
  return JSON.stringify({ ...(JSON.parse(text) as Record<string, unknown>), revision: undefined });
}

async function list(namespace: Namespace): Promise<Entry[]> {
  const { result } = await ask(namespace, "skills/list", {});
  return result!["skills"] as Entry[];
}

async function search(namespace: Namespace): Promise<unknown> {
  const { result } = await ask(namespace, "tools/call", { name: "search_skills", arguments: { query: "say" } });
  const { pickId: _, ...found } = result!["structuredContent"] as Record<string, unknown>;
  return found;
}

async function revisionOf(namespace: Namespace): Promise<unknown> {
  const request = new Request(`${origin}/api/v1/namespaces/${namespace}`, {
    headers: { authorization: `Bearer ${operator}` },
  });
  return ((await (await app.fetch(request, env, createExecutionContext())).json()) as { revision: number }).revision;
}

async function getAndRead(namespace: Namespace, uri: string): Promise<Entry | undefined> {
  const { result, error } = await ask(namespace, "skills/get", { uri });
  if (error !== undefined) {
    if ((await readBytes(namespace, uri)) !== undefined) throw new Error(`${uri} is unknown, but can be read`);
    return undefined;
  }
  const entry = result!["skill"] as Entry;
  if (entry.uri !== uri) throw new Error(`${uri} answers for ${entry.uri}`);
  await verify(namespace, entry);
  return entry;
}

/** @throws when a byte differs from what the entry promises */
async function verify(namespace: Namespace, entry: Entry): Promise<void> {
  await Promise.all(
    entry.resources.map(async ({ uri, digest, size }) => {
      const bytes = await readBytes(namespace, uri);
      if (bytes === undefined) throw new Error(`${uri} is in an entry, but cannot be read`);
      if (bytes.byteLength !== size) throw new Error(`${uri} has ${bytes.byteLength} bytes instead of ${size}`);
      if ((await digestOf(bytes)) !== digest) throw new Error(`${uri} does not match its digest`);
    }),
  );
}

async function readBytes(namespace: Namespace, uri: string): Promise<Uint8Array | undefined> {
  const { result, error } = await ask(namespace, "resources/read", { uri });
  if (error !== undefined) {
    if (error.code !== -32602) throw new Error(`${uri}: ${error.code} ${error.message}`);
    return undefined;
  }
  const [{ text, blob }] = result!["contents"] as [{ text?: string; blob?: string }];
  return text === undefined
    ? Uint8Array.from(atob(blob!), (char) => char.charCodeAt(0))
    : new TextEncoder().encode(text);
}

/** What no door shows at once: the state of every skill and release, without its times. */
async function readRows(namespace: Namespace): Promise<unknown[]> {
  const questions = [
    `SELECT path, visibility, current, deleted_at IS NULL AS lives FROM skills
     WHERE namespace = ?1 ORDER BY path`,
    `SELECT path, version, tree, yanked_at IS NULL AS lives, entry, pinned_entry, published_by FROM releases
     WHERE namespace = ?1 ORDER BY path, version`,
    `SELECT path, version, file, digest, size, media_type, executable FROM release_files
     WHERE namespace = ?1 ORDER BY path, version, file`,
    `SELECT path, version FROM spent_versions WHERE namespace = ?1 ORDER BY path, version`,
  ];
  const answers = await env.DB.batch(questions.map((sql) => env.DB.prepare(sql).bind(namespace)));
  return answers.map((answer) => answer.results);
}
