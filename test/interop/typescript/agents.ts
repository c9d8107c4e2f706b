import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { projectRoot } from "../../../src/cli/server.ts";
import { askAgent, expectedOf, startAgent } from "../../wire/agent-tasks.ts";
import type { Task } from "../../wire/agent-tasks.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { alterReads, startProxy } from "../../wire/proxy.ts";
import { seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";

const eras = { auto: "2026-07-28", legacy: "2025-11-25" } as const;

/** The MCP client of Cloudflare's `agents`: an agent in a Worker of its own goes from a sentence to a verified skill. */
export async function tryAgents(stage: Stage): Promise<void> {
  const manifest = await readFile(join(projectRoot, "node_modules/agents/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const agent = await startAgent();
  const ask = (task: Task) => askAgent(agent.origin, crypto.randomUUID(), task);
  try {
    const publishing = (await seedSkills()).find(({ path }) => path === "publish-skills")!;
    const tasks: [string, string, string, SourceSkill][] = [
      [`${stage.origin}/mcp/registry`, "registry", "I want to publish my folder of skills", publishing],
      [`${stage.origin}/mcp`, stage.namespace, "match a candidate's CV to open positions", hiring.skills[0]!],
      [`${stage.readLink}/mcp`, stage.privateNamespace, "inner secret", innerSkill],
    ];
    for (const negotiation of ["auto", "legacy"] as const) {
      const client = { client: "`agents` (Cloudflare)", version, era: eras[negotiation] };
      await attempt(client, "from a sentence to a verified skill: a namespace, /mcp, a read link", async () => {
        for (const [registry, namespace, sentence, skill] of tasks) {
          const { protocolVersion, reply, tools, calls, ...found } = await ask({ registry, sentence, negotiation });
          assert.equal(protocolVersion, eras[negotiation]);
          assert.deepEqual(calls, ["search_skills", "load_skill"], String(reply));
          assert.deepEqual(found, expectedOf(namespace, skill));
          assert.ok((tools as string[]).length > 0);
        }
      });
    }
    await attempt(
      { client: "`agents` (Cloudflare)", version, era: eras.auto },
      "a letter that changed on the way",
      async () => {
        const altered = await startProxy(stage.origin, alterReads);
        try {
          const registry = `${altered.origin}/mcp/registry`;
          const { verified } = await ask({ registry, sentence: "I want to publish my folder of skills" });
          assert.equal(verified, false);
        } finally {
          await altered.stop();
        }
      },
    );
  } finally {
    await agent.stop();
  }
}
