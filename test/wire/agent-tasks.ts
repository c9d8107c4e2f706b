import { createHash } from "node:crypto";
import { join } from "node:path";

import { projectRoot } from "../../src/cli/server.ts";
import type { SkillFile } from "../../src/domain/entry.ts";
import { encodeSegment } from "../../src/domain/uri.ts";
import { startHost } from "./server.ts";

/** The agent in agent/, started in a Worker of its own, and what it has to find out. */
export interface Task {
  sentence: string;
  /** An MCP address. */
  registry: string;
  negotiation?: "auto" | "legacy";
}

export function startAgent(): Promise<{ origin: string; stop: () => Promise<void> }> {
  return startHost({ configFile: join(projectRoot, "test/wire/agent/wrangler.toml") });
}

/** Each name is an agent, and a Durable Object, of its own. */
export async function askAgent(origin: string, name: string, task: Task): Promise<Record<string, unknown>> {
  const response = await fetch(`${origin}/agents/skill-agent/${name}`, { method: "POST", body: JSON.stringify(task) });
  if (!response.ok) throw new Error(`The agent failed: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** What an agent has to answer about a skill of a namespace, from what was published. */
export function expectedOf(namespace: string, { path, files }: { path: string; files: readonly SkillFile[] }) {
  const uri = (file: string) => `skill://${namespace}/${path}/${file.split("/").map(encodeSegment).join("/")}`;
  const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  return {
    card: path,
    uri: uri("SKILL.md"),
    // What the registry calls the first release of a folder that names no version.
    version: "1.0.0",
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    verified: true,
    digests: Object.fromEntries(files.map((file) => [uri(file.path), sha256(file.bytes)])),
  };
}
