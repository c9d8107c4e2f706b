import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/**
 * Writes the tools that the server of @larksuiteoapi/lark-mcp lists, one a line, chosen and ordered so that a second
 * run writes the same bytes. It asks the server itself, so that the schemas are those a real client is sent and not
 * our own conversion of its zod shapes. The package is no dependency of ours: give the folder that it is installed in.
 */
const [installed, output] = process.argv.slice(2);
if (installed === undefined || output === undefined)
  throw new Error("usage: extract.ts <folder of node_modules> <file>");
const folder = resolve(installed);
const wanted = 1000;

type Tool = { name: string; description: string; inputSchema: object };
type Reply = { id?: number; result?: { tools?: Tool[]; nextCursor?: string } };

function toolNames(): string[] {
  const require = createRequire(join(folder, "x.js"));
  const { AllTools } = require("@larksuiteoapi/lark-mcp/dist/mcp-tool/tools/index.js") as {
    AllTools: { name: string }[];
  };
  return AllTools.map((tool) => tool.name);
}

/** The credentials are made up: listing sends nothing to anyone, and only the lack of them stops the server. */
async function listTools(): Promise<Tool[]> {
  const cli = join(folder, "node_modules/@larksuiteoapi/lark-mcp/dist/cli.js");
  const args = [cli, "mcp", "--app-id", "none", "--app-secret", "none", "--tools", toolNames().join(",")];
  const server = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ask = (message: object) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "extract", version: "1" };
  ask({ id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  const tools: Tool[] = [];
  for await (const line of createInterface(server.stdout)) {
    const reply = JSON.parse(line) as Reply;
    if (reply.id === 0) {
      ask({ method: "notifications/initialized" });
      ask({ id: 1, method: "tools/list" });
    }
    if (reply.id !== 1) continue;
    tools.push(...(reply.result?.tools ?? []));
    if (reply.result?.nextCursor === undefined) break;
    ask({ id: 1, method: "tools/list", params: { cursor: reply.result.nextCursor } });
  }
  server.kill();
  return tools;
}

const digest = (tool: Tool) => createHash("sha256").update(tool.name).digest("hex");
const byKey = (key: (tool: Tool) => string) => (a: Tool, b: Tool) => (key(a) < key(b) ? -1 : 1);

const listed = await listTools();
// A server that could not start lists nothing: the file that is there must not be replaced by a short one.
if (listed.length < wanted) throw new Error(`only ${listed.length} tools were listed`);
// By digest, so that the ones left out are spread over every part of the service and not the end of the alphabet.
const chosen = [...listed].sort(byKey(digest)).slice(0, wanted);
const lines = chosen
  .sort(byKey((tool) => tool.name))
  .map(({ name, description, inputSchema }) => `${JSON.stringify({ name, description, inputSchema })}\n`);
writeFileSync(output, lines.join(""));
console.log(`${listed.length} listed, ${chosen.length} written`);
