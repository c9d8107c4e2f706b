import { argv } from "node:process";

import type { Stage } from "../stage.ts";
import { tryAgents } from "./agents.ts";
import { tryArchives } from "./archives.ts";
import { tryBridge } from "./bridge.ts";
import { tryImporters } from "./importers.ts";
import { tryInspector } from "./inspector.ts";
import { tryMcpc } from "./mcpc.ts";
import { trySkillsProgram } from "./skills-program.ts";
import { trySignIn } from "./sign-in.ts";
import { openWorkshop } from "./workshop.ts";
import type { Workshop } from "./workshop.ts";

/**
 * TypeScript: MCP Inspector, mcpc, mcp-remote as a bridge, the MCP client of `agents`, `npx skills`, the archives it
 * installs, the rules of ChatGPT's and Claude Code's importers, and programs that sign in by themselves. One part alone:
 * `REGISTRY=… node test/interop/typescript/suite.ts archives`.
 */
const parts: Record<string, (stage: Stage, workshop: Workshop) => Promise<void>> = {
  importers: tryImporters,
  inspector: tryInspector,
  mcpc: tryMcpc,
  bridge: tryBridge,
  agents: tryAgents,
  archives: tryArchives,
  "sign-in": trySignIn,
  // Last, because it publishes and revokes.
  skills: trySkillsProgram,
};

const stage = JSON.parse(process.env["REGISTRY"]!) as Stage;
const wanted = argv.slice(2);
let workshop: Workshop;
try {
  workshop = await openWorkshop();
} catch (error) {
  console.log(`skipped: ${(error as Error).message.replaceAll(/\s+/g, " ")}`);
  process.exit(0);
}
try {
  for (const [name, part] of Object.entries(parts)) {
    if (wanted.length === 0 || wanted.includes(name)) await part(stage, workshop);
  }
} finally {
  await workshop.close();
}
process.exit(0);
