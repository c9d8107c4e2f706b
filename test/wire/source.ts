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

const readers = 8;

/**
 * Lists a namespace, gets each skill, reads each file, and compares all of it with what was published.
 * @throws at the first difference
 */
export async function verifyAll(
  connection: Connection,
  namespace: string,
  source: readonly SourceSkill[],
): Promise<Amount> {
  const amount = { skills: 0, files: 0, bytes: 0 };
  await inPool(await connection.list(), readers, async (entry) => {
    const root = entry.uri.slice(0, -"SKILL.md".length);
    const skill = source.find(({ path }) => root === `skill://${namespace}/${path}/`);
    if (skill === undefined) throw new Error(`${entry.uri} was never published`);
    const again = await connection.get(entry.uri);
    if (JSON.stringify(again) !== JSON.stringify(entry)) throw new Error(`${entry.uri}: get and list differ`);
    const bytes = await verifyFiles(connection, entry, skill);
    amount.skills += 1;
    amount.files += entry.resources.length;
    amount.bytes += bytes;
  });
  return amount;
}

/** @returns the bytes that were read and compared */
export async function verifyFiles(connection: Connection, entry: Entry, skill: SourceSkill): Promise<number> {
  const published = new Map(skill.files.map((file) => [file.path, file.bytes]));
  let compared = 0;
  await inPool(entry.resources, readers, async ({ uri }) => {
    const path = pathOf(entry, uri);
    const bytes = await connection.read(entry, uri);
    const expected = published.get(path);
    if (expected === undefined || Buffer.compare(bytes, expected) !== 0) {
      throw new Error(`${uri} differs from what was published as ${path}`);
    }
    published.delete(path);
    compared += bytes.byteLength;
  });
  if (published.size > 0) throw new Error(`${entry.uri} lacks ${[...published.keys()].join(", ")}`);
  return compared;
}

/** The path that an author gave to a file, from its address. */
export function pathOf(entry: Entry, uri: string): string {
  const root = entry.uri.slice(0, -"SKILL.md".length);
  return uri.slice(root.length).split("/").map(decodeURIComponent).join("/");
}
