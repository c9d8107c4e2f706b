import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A labelled set: `skills.jsonl` (or `.gz`) and `queries.jsonl` (or `queries-dev.jsonl`), one JSON object a line. */
export interface LabelledSkill {
  /** `repository/path/name`; skills of one repository are a library of their own. */
  id: string;
  name: string;
  description: string;
  tags: string[];
  body: string;
}

export interface LabelledQuery {
  id: string;
  text: string;
  /** Ids of the skills that fit; none: nothing does. */
  relevant: string[];
  /** A: real task prompts. N: without a stem of the skill's name or description. X: nothing fits. Others: noisier. */
  tier: string;
}

export interface LabelledSet {
  skills: LabelledSkill[];
  queries: LabelledQuery[];
}

export async function readSet(folder: string): Promise<LabelledSet> {
  return {
    skills: (await readLines(folder, ["skills.jsonl", "skills.jsonl.gz"])) as LabelledSkill[],
    queries: (await readLines(folder, ["queries.jsonl", "queries-dev.jsonl"])) as LabelledQuery[],
  };
}

async function readLines(folder: string, names: readonly string[]): Promise<unknown[]> {
  const path = names.map((name) => join(folder, name)).find(existsSync);
  if (path === undefined) throw new Error(`${folder} holds none of ${names.join(", ")}`);
  const bytes = await readFile(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as unknown);
}

export function libraryOf(id: string): string {
  return id.slice(0, id.indexOf("/"));
}
