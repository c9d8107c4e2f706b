import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { askAgent, expectedOf, startAgent } from "./agent-tasks.ts";
import type { Task } from "./agent-tasks.ts";
import { alterReads, startProxy } from "./proxy.ts";
import { seedSkills } from "./source.ts";

/**
 * From a sentence to a verified skill, by an agent that was built with `agents` and runs in a Worker of its own
 * (agent/). It is compared with the folders in skills/, so neither the registry nor the agent vouches for itself.
 */
const { origin } = inject("registry");
let agent: Awaited<ReturnType<typeof startAgent>>;

beforeAll(async () => {
  agent = await startAgent();
});

afterAll(() => agent?.stop());

describe("an agent built with `agents`", () => {
  test("goes from a sentence to a verified skill, in the protocol of 2026", async () => {
    const answer = await ask("publisher", { sentence: "I want to publish my folder of skills" });
    expect(answer).toMatchObject({ protocolVersion: "2026-07-28", calls: ["search_skills", "load_skill"] });
    expect(answer).toMatchObject(await onDisk("publish-skills"));
  });

  test("does the same in the protocol of 2025, and a picture arrives as whole as a text", async () => {
    const answer = await ask("writer", { sentence: "write a SKILL.md with a good description", negotiation: "legacy" });
    expect(answer).toMatchObject({ protocolVersion: "2025-11-25", calls: ["search_skills", "load_skill"] });
    expect(answer).toMatchObject(await onDisk("write-good-skills"));
  });

  test("loads nothing when nothing fits", async () => {
    const answer = await ask("physicist", { sentence: "quantum chromodynamics lattice" });
    expect(answer).toEqual({
      reply: "I found no skill for this.",
      protocolVersion: "2026-07-28",
      tools: ["search_skills", "load_skill", "read_skill_file", "list_groups", "search_tools", "describe_tool"],
      calls: ["search_skills"],
    });
  });

  test("does not vouch for a skill of which one letter changed on the way", async () => {
    const altered = await startProxy(origin, alterReads);
    try {
      const registry = `${altered.origin}/mcp/registry`;
      const answer = await ask("victim", { sentence: "I want to publish my folder of skills", registry });
      expect(answer).toMatchObject({ card: "publish-skills", verified: false });
    } finally {
      await altered.stop();
    }
  });
});

function ask(name: string, task: Omit<Task, "registry"> & { registry?: string }): Promise<Record<string, unknown>> {
  return askAgent(agent.origin, name, { registry: `${origin}/mcp/registry`, ...task });
}

/** What an agent has to find out about a folder of skills/. */
async function onDisk(name: string) {
  return expectedOf(
    "registry",
    (await seedSkills()).find(({ path }) => path === name)!,
  );
}
