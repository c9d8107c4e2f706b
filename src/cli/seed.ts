import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { ApiClient } from "./client.ts";
import { projectRoot } from "./server.ts";

/**
 * Publishes every folder below skills/ into the namespace `registry`, through the publisher API, and makes the
 * collection `registry/featured` of them, unless an operator has made it something else. Said again it
 * changes nothing. As a command: `ADMIN_TOKEN=… npm run seed -- https://skills.example.com`.
 */
export const ownNamespace = { name: "registry", title: "The registry's own skills", visibility: "public" };

/** What `/mcp` lists. */
const featured = { title: "Featured skills", visibility: "public", skills: "all" };

export async function seed(client: ApiClient, say: (line: string) => void): Promise<void> {
  await client.createNamespace(ownNamespace);
  const folders = await readdir(join(projectRoot, "skills"), { withFileTypes: true });
  const names = folders.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  for (const [index, name] of names.sort().entries()) {
    const answer = await client.publishFolder(ownNamespace.name, join(projectRoot, "skills", name));
    const outcome = { 200: "unchanged", 201: "published" }[answer.status];
    if (outcome === undefined) {
      throw new Error(`skills/${name} was refused: ${answer.detail}\n${JSON.stringify(answer.findings, null, 2)}`);
    }
    say(`[${index + 1}/${names.length}] ${ownNamespace.name}/${name} ${answer.version ?? ""} ${outcome}`);
  }
  await client.createCollection(ownNamespace.name, "featured", featured);
}

if (import.meta.main) {
  const [origin] = process.argv.slice(2);
  const token = process.env["ADMIN_TOKEN"];
  if (origin === undefined || token === undefined) {
    console.error("Usage: ADMIN_TOKEN=<operator token> npm run seed -- <origin>");
    process.exit(2);
  }
  await seed(new ApiClient(new URL(origin).origin, token), (line) => console.log(line));
}
