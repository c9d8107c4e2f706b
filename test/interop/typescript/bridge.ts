import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import type { Skill } from "@modelcontextprotocol/client/ext/skills";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import type { Entry } from "../../../src/domain/entry.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { seedSkills, verifyAll } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Workshop } from "./workshop.ts";

const eras = { legacy: "2025-11-25", auto: "2026-07-28" } as const;
const program = { package: "mcp-remote", bin: "mcp-remote" };

/** Hosts that speak only stdio: a host with the official client starts mcp-remote, which speaks to the registry. */
export async function tryBridge(stage: Stage, workshop: Workshop): Promise<void> {
  const { file, version } = await workshop.find(program);

  const connect = async (mode: keyof typeof eras, url: string, more: string[] = []) => {
    // The registry here is no https; mcp-remote wants to be told that this is meant.
    const args = [file, url, "--allow-http", ...more];
    const transport = new StdioClientTransport({
      command: process.execPath,
      args,
      env: workshop.env,
      stderr: "ignore",
    });
    const client = new Client({ name: "stdio-host", version: "1.0.0" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    return client;
  };

  /** Every byte of what the address lists, and a search. */
  const verify = async (client: Client, namespace: string, skills: readonly SourceSkill[]) => {
    const remote = new SkillsClient(client);
    const connection = {
      list: async () => (await remote.list()).skills as unknown as Entry[],
      get: async (uri: string) => (await remote.get(uri)).skill as unknown as Entry,
      read: async (entry: Entry, uri: string) => {
        const read = await remote.read(entry as unknown as Skill, uri);
        assert.ok(read.verified, uri);
        return read.bytes;
      },
    };
    const amount = await verifyAll(connection, namespace, skills);
    assert.equal(amount.skills, skills.length);
    const query = skills[0]!.path.replaceAll("-", " ");
    const { structuredContent } = await client.callTool({ name: "search_skills", arguments: { query } });
    const { cards } = structuredContent as { cards: { uri: string }[] };
    assert.equal(cards[0]?.uri, `skill://${namespace}/${skills[0]!.path}/SKILL.md`);
    return amount.files;
  };

  for (const mode of ["legacy", "auto"] as const) {
    const row = { client: "mcp-remote as a stdio bridge", version, era: eras[mode] };
    await attempt(
      row,
      "the official client behind it verifies every byte: the seed, a namespace, private ones",
      async () => {
        const token = ["--header", `Authorization: Bearer ${stage.readerToken}`];
        const addresses: [string, string, readonly SourceSkill[], string[]?][] = [
          [`${stage.origin}/mcp/registry`, "registry", await seedSkills()],
          [`${stage.origin}/mcp/${stage.namespace}`, stage.namespace, hiring.skills],
          [`${stage.origin}/mcp/${stage.privateNamespace}`, stage.privateNamespace, [innerSkill], token],
          [`${stage.readLink}/mcp`, stage.privateNamespace, [innerSkill]],
        ];
        let files = 0;
        for (const [url, namespace, skills, more] of addresses) {
          const client = await connect(mode, url, more);
          try {
            assert.equal(client.getNegotiatedProtocolVersion(), eras[mode]);
            files += await verify(client, namespace, skills);
          } finally {
            await client.close();
          }
        }
        return `${files} files; private ones with \`--header\` and by a read link`;
      },
    );
  }
}
