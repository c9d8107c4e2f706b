import { deepEqual, equal, ok } from "node:assert/strict";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import type { Skill } from "@modelcontextprotocol/client/ext/skills";

/** The way of an agent from a sentence to a tool's answer, on one connection. */
export const clientVersion = "2.4.0";
export type Mode = "auto" | "legacy";

export async function connect(address: URL, mode: Mode = "auto"): Promise<Client> {
  const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(address));
  return client;
}

export async function listSkills(client: Client): Promise<Skill[]> {
  const { skills, invalid } = await new SkillsClient(client).list();
  deepEqual(invalid ?? [], []);
  return skills;
}

/** Every file of every skill, each with size, digest and frontmatter checked by the client. */
export async function readEverything(client: Client): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const skills = new SkillsClient(client);
  for (const skill of await listSkills(client)) {
    for (const { uri } of skill.resources as { uri: string }[]) {
      const file = await skills.read(skill, uri);
      ok(file.verified, uri);
      found.set(uri, Buffer.from(file.bytes).toString("base64"));
    }
  }
  return found;
}

/** Finds the skill, loads it, takes the one schema that it names, and calls the tool. */
export async function findJobs(client: Client): Promise<void> {
  const skills = new SkillsClient(client);
  const skill = (await listSkills(client)).find(({ frontmatter }) =>
    /match a candidate/i.test(frontmatter.description),
  );
  ok(skill, "no skill for matching candidates");
  const file = await skills.read(skill);
  ok(file.verified, "SKILL.md is not verified");
  const named = (skill.frontmatter["metadata"] as Record<string, string>)["mcp-tools"]!.split(" ")[0]!.split("/")[1]!;
  equal(named, "search_jobs");
  const { tools } = await client.listTools();
  equal(tools.length, 101);
  const tool = tools.find(({ name }) => name === named);
  ok(tool?.inputSchema.properties?.["words"], "the schema has no words");
  const answer = await client.callTool({ name: named, arguments: { words: "solr engineer", place: "Berlin" } });
  const [content] = answer.content as { text: string }[];
  deepEqual(
    (JSON.parse(content!.text) as { id: string }[]).map(({ id }) => id),
    ["eng-9"],
  );
}
