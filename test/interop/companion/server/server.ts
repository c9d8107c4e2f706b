import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { registrySkills } from "skill-registry/skill-source";
import { folderCache } from "skill-registry/skill-source/node";
import { registerTools } from "./tools.ts";

const skills = await registrySkills({
  origin: process.env.REGISTRY!,
  namespace: "hiring-desk",
  collection: "desk",
  cache: folderCache(".skills"),
  refreshMs: Number(process.env.REFRESH_MS ?? 60_000),
});
const extension = new SkillsExtension({ source: skills });
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "jobs", version: "1.0.0" });
  registerTools(server);
  extension.attach(server);
  return server;
});
skills.onChange(({ listChanged }) => listChanged && handler.notify.resourcesChanged());
createServer(toNodeHandler(handler)).listen(Number(process.env.PORT), "127.0.0.1");
