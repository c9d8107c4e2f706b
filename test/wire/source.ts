import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { readFolder } from "../../src/cli/client.ts";
import { projectRoot } from "../../src/cli/server.ts";
import type { Entry } from "../../src/domain/entry.ts";
import type { Connection } from "./connection.ts";
import type { SourceSkill } from "./generated-skills.ts";
import { inPool } from "./pool.ts";

/** What was published, to be compared with what is read. */
export async function seedSkills(): Promise<SourceSkill[]> {
  const folders = await readdir(join(projectRoot, "skills"));
  return Promise.all(
    folders.map(async (name) => ({ path: name, files: await readFolder(join(projectRoot, "skills", name)) })),
  );
}

export interface Amount {
  skills: number;
  files: number;
  bytes: number;
}

export function amountOf(skills: readonly SourceSkill[]): Amount {
  const files = skills.flatMap((skill) => skill.files);
  return {
    skills: skills.length,
    files: files.length,
    bytes: files.reduce((sum, file) => sum + file.bytes.byteLength, 0),
  };
}

/**
 * Requests at a time. Steady and few: `wrangler dev` ends when a connection between its two runtimes breaks, and those
 * that only a burst needs grow old between bursts until one does.
 */
const readers = 6;

/**
 * Lists a namespace, gets each skill, reads each file, and compares all of it with what was published.
 * @throws at the first difference
 */
export async function verifyAll(
  connection: Pick<Connection, "list" | "get" | "read">,
  namespace: string,
  source: readonly SourceSkill[],
): Promise<Amount> {
  const entries = await connection.list();
  await inPool(entries, readers, async (entry) => {
    const again = await connection.get(entry.uri);
    if (JSON.stringify(again) !== JSON.stringify(entry)) throw new Error(`${entry.uri}: get and list differ`);
  });
  const byRoot = new Map(source.map((skill) => [`skill://${namespace}/${skill.path}/`, skill]));
  const pairs = entries.map((entry) => {
    const skill = byRoot.get(entry.uri.slice(0, -"SKILL.md".length));
    if (skill === undefined) throw new Error(`${entry.uri} was never published`);
    return { entry, skill };
  });
  return { skills: entries.length, ...(await verifyFiles(connection, pairs)) };
}

/** Reads every file of the skills and compares it with its source, of which nothing may remain. */
export async function verifyFiles(
  connection: Pick<Connection, "list" | "get" | "read">,
  pairs: readonly { entry: Entry; skill: SourceSkill }[],
): Promise<{ files: number; bytes: number }> {
  const reads = pairs.flatMap(({ entry, skill }) => {
    const published = new Map(skill.files.map((file) => [file.path, file.bytes]));
    const listed = entry.resources.map(({ uri }) => {
      const path = pathOf(entry, uri);
      const expected = published.get(path);
      // A file that is listed twice is found once.
      if (!published.delete(path)) throw new Error(`${uri} was never published`);
      return { entry, uri, expected: expected! };
    });
    if (published.size > 0) throw new Error(`${entry.uri} lacks ${[...published.keys()].join(", ")}`);
    return listed;
  });
  let compared = 0;
  await inPool(reads, readers, async ({ entry, uri, expected }) => {
    const bytes = await connection.read(entry, uri);
    if (Buffer.compare(bytes, expected) !== 0) throw new Error(`${uri} differs from what was published`);
    compared += bytes.byteLength;
  });
  return { files: reads.length, bytes: compared };
}

/** The path that an author gave to a file, from its address. */
export function pathOf(entry: Entry, uri: string): string {
  const root = entry.uri.slice(0, -"SKILL.md".length);
  return uri.slice(root.length).split("/").map(decodeURIComponent).join("/");
}
