import { deepEqual, equal, ok } from "node:assert/strict";
import { createHash } from "node:crypto";

import type { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";

import type { SkillFile } from "../../../../src/domain/entry.ts";

/** What was asked for of the project's skill, seen through any client on any transport. */
export interface Expected {
  namespace: string;
  version: string;
  /** As they lie in the repository. */
  files: readonly SkillFile[];
}

const mediaTypes: Record<string, string> = { md: "text/markdown", json: "application/json" };

export async function checkSkill(client: Client, { namespace, version, files }: Expected): Promise<string> {
  const root = `skill://${namespace}/query-solr`;
  const uri = `${root}/SKILL.md`;
  ok(client.getInstructions()?.includes(uri), "the instructions do not point to the skill");
  const skills = new SkillsClient(client);
  const [listed, ...more] = (await skills.list()).skills;
  deepEqual(more, []);
  const { skill } = await skills.get(uri);
  deepEqual(skill, listed);
  const digests = Object.fromEntries(files.map(({ path, bytes }) => [`${root}/${path}`, digestOf(bytes)]));
  const resources = skill.resources as { uri: string; digest: string }[];
  deepEqual(Object.fromEntries(resources.map((file) => [file.uri, file.digest])), digests);
  for (const { path, bytes } of files) {
    ok((await skills.read(skill, `${root}/${path}`)).verified, path);
    const [content] = (await client.readResource({ uri: `${root}/${path}` })).contents as {
      text: string;
      mimeType: string;
    }[];
    deepEqual(new TextEncoder().encode(content!.text), new Uint8Array(bytes));
    equal(content!.mimeType, mediaTypes[path.split(".").at(-1)!]);
  }
  const shown = (await client.listResources()).resources.find((resource) => resource.uri === uri);
  equal(shown?.mimeType, "text/markdown");
  deepEqual(shown.annotations?.audience, ["assistant"]);
  const pinned = await skills.get(`skill://${namespace}/@${version}/query-solr/SKILL.md`);
  deepEqual(pinned.skill.frontmatter, skill.frontmatter);
  return `${files.length} files, version ${version}`;
}

/** The manifest of the API, against the same bytes. */
export async function checkManifest(origin: string, token: string, expected: Expected): Promise<void> {
  const { namespace, version, files } = expected;
  const address = `${origin}/api/v1/namespaces/${namespace}/skills/query-solr/-/releases/${version}/manifest`;
  const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  const manifest = (await response.json()) as { files: { file: string; digest: string; size: number }[] };
  const stated = manifest.files.map(({ file, digest, size }) => [file, digest, size]).sort();
  deepEqual(stated, files.map(({ path, bytes }) => [path, digestOf(bytes), bytes.byteLength]).sort());
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
