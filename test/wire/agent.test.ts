import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { readFolder } from "../../src/cli/client.ts";
import { freePort, projectRoot } from "../../src/cli/server.ts";
import { startHost } from "./server.ts";

/**
 * From a sentence to a verified skill, by an agent that was built with `agents` and runs in a Worker of its own
 * (agent/). It is compared with the folders in skills/, so neither the registry nor the agent vouches for itself.
 */
const registry = `${inject("registry").origin}/mcp/registry`;
let agent: Awaited<ReturnType<typeof startHost>>;

beforeAll(async () => {
  agent = await startHost({ configFile: join(projectRoot, "test/wire/agent/wrangler.toml") });
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
    const altered = await startAlteringProxy(registry);
    try {
      const answer = await ask("victim", { sentence: "I want to publish my folder of skills", registry: altered.url });
      expect(answer).toMatchObject({ card: "publish-skills", verified: false });
    } finally {
      await altered.stop();
    }
  });
});

interface Task {
  sentence: string;
  registry?: string;
  negotiation?: "auto" | "legacy";
}

/** Each name is an agent, and a Durable Object, of its own. */
async function ask(name: string, task: Task): Promise<Record<string, unknown>> {
  const response = await fetch(`${agent.origin}/agents/skill-agent/${name}`, {
    method: "POST",
    body: JSON.stringify({ registry, ...task }),
  });
  if (!response.ok) throw new Error(`The agent failed: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** What an agent has to find out about a folder of skills/. */
async function onDisk(name: string) {
  const files = await readFolder(join(projectRoot, "skills", name));
  const uri = (path: string) => `skill://registry/${name}/${path}`;
  const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  return {
    card: name,
    uri: uri("SKILL.md"),
    // What the registry calls the first release of a folder that names no version.
    version: "1.0.0",
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    verified: true,
    digests: Object.fromEntries(files.map(({ path, bytes }) => [uri(path), sha256(bytes)])),
  };
}

/** Passes everything on, except that the first letter of each file that is read becomes another one. */
async function startAlteringProxy(target: string): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const headers = Object.entries(request.headersDistinct).filter(([name]) =>
      /^(content-type|accept|mcp-.*)$/.test(name),
    );
    const answer = await fetch(target, {
      method: request.method!,
      headers: headers.map(([name, values]) => [name, values!.join(", ")] as [string, string]),
      ...(body === "" ? {} : { body }),
    });
    const text = await answer.text();
    const isRead = body.includes('"resources/read"');
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(isRead ? text.replace(/"text":"./, '"text":"X') : text);
  });
  const port = await freePort();
  await new Promise<void>((done) => server.listen(port, "localhost", done));
  return {
    url: `http://localhost:${port}/mcp/registry`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
