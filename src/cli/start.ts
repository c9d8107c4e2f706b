import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { minSecretLength } from "../domain/limits.ts";
import { ApiClient } from "./client.ts";
import { migrate, projectRoot, startServer } from "./server.ts";

/**
 * `npm start`: the whole registry on this machine, seeded through its own publisher API. Started again it changes
 * nothing. `PORT` chooses the port, `STATE_DIR` the folder of the local D1 and R2, `--empty` leaves out the seed.
 */
const defaultPort = 8787;
const watchParentMs = 1_000;
const namespace = { name: "registry", title: "The registry's own skills", visibility: "public" };

async function main(): Promise<void> {
  const port = Number(process.env["PORT"] ?? defaultPort);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`PORT must be 1 to 65535, not "${process.env["PORT"]}"`);
  const stateDirectory = process.env["STATE_DIR"] ?? join(projectRoot, ".wrangler/state");
  const { ADMIN_TOKEN } = await ensureSecrets(join(projectRoot, ".dev.vars"));
  say("Applying the database migrations");
  await migrate(stateDirectory);
  say("Starting the Worker");
  const server = await startServer({ port, stateDirectory });
  stopWithParent(server.stop);
  if (!process.argv.includes("--empty")) await seed(new ApiClient(server.origin, ADMIN_TOKEN));
  say(howToUse(server.origin, ADMIN_TOKEN));
  say(`ready ${server.origin}`);
  await server.ended;
}

/** Writes the secrets that are missing or too short to be used; those that are there stay. */
async function ensureSecrets(file: string): Promise<{ ADMIN_TOKEN: string; SIGNING_KEY: string }> {
  const text = existsSync(file) ? await readFile(file, "utf8") : "";
  const found = Object.fromEntries(
    text.split("\n").map((line) => {
      const at = line.indexOf("=");
      return [
        line.slice(0, at).trim(),
        line
          .slice(at + 1)
          .trim()
          .replace(/^(["'])(.*)\1$/, "$2"),
      ];
    }),
  ) as Record<string, string>;
  const secretOf = async (name: string): Promise<string> => {
    const known = found[name];
    if (known !== undefined && known.length >= minSecretLength) return known;
    const secret = randomBytes(32).toString("hex");
    const separator = text === "" || text.endsWith("\n") ? "" : "\n";
    await appendFile(file, `${name === "ADMIN_TOKEN" ? separator : ""}${name}=${secret}\n`, { mode: 0o600 });
    return secret;
  };
  return { ADMIN_TOKEN: await secretOf("ADMIN_TOKEN"), SIGNING_KEY: await secretOf("SIGNING_KEY") };
}

async function seed(client: ApiClient): Promise<void> {
  await client.createNamespace(namespace);
  const folders = await readdir(join(projectRoot, "skills"), { withFileTypes: true });
  const names = folders.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  for (const [index, name] of names.sort().entries()) {
    const answer = await client.publishFolder(namespace.name, join(projectRoot, "skills", name));
    const outcome = { 200: "unchanged", 201: "published" }[answer.status];
    if (outcome === undefined) {
      throw new Error(`skills/${name} was refused: ${answer.detail}\n${JSON.stringify(answer.findings, null, 2)}`);
    }
    say(`[${index + 1}/${names.length}] ${namespace.name}/${name} ${answer.version ?? ""} ${outcome}`);
  }
}

function howToUse(origin: string, token: string): string {
  const list = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "skills/list",
    params: {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  return `
MCP address      ${origin}/mcp/${namespace.name}
Operator token   ${token}   (for this machine; from .dev.vars)

List the skills:
  curl -s ${origin}/mcp/${namespace.name} -H 'content-type: application/json' \\
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: skills/list' -d '${list}'

Verify every byte with the MCP Inspector:
  npx mcp-inspector --cli ${origin}/mcp/${namespace.name} --transport http --method skills/list --verify
`;
}

/** Ends the server with the terminal or the npm process that started us, whichever way that one ends. */
function stopWithParent(stop: () => Promise<void>): void {
  const parent = process.ppid;
  let isStopping = false;
  const end = async () => {
    if (isStopping) return;
    isStopping = true;
    await stop();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void end());
  setInterval(() => process.ppid !== parent && void end(), watchParentMs).unref();
}

function say(text: string): void {
  console.log(text);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
