import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";

import { minSecretLength } from "../domain/limits.ts";
import { ApiClient } from "./client.ts";
import { ownNamespace, seed } from "./seed.ts";
import { migrate, projectRoot, startServer } from "./server.ts";

/**
 * `npm start`: the whole registry on this machine, seeded through its own publisher API. Started again it changes
 * nothing. `PORT` chooses the port, `STATE_DIR` the folder of the local D1 and R2, `--empty` leaves out the seed.
 */
const defaultPort = 8787;
const watchParentMs = 1_000;
const secretNames = ["ADMIN_TOKEN", "SIGNING_KEY"] as const;

async function main(signal: AbortSignal): Promise<void> {
  const port = Number(process.env["PORT"] ?? defaultPort);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`PORT must be 1 to 65535, not "${process.env["PORT"]}"`);
  const stateDirectory = process.env["STATE_DIR"] ?? join(projectRoot, ".wrangler/state");
  const { ADMIN_TOKEN } = await ensureSecrets(join(projectRoot, ".dev.vars"));
  say("Applying the database migrations");
  await migrate(stateDirectory, signal);
  say("Starting the Worker");
  const server = await startServer({ port, stateDirectory, signal });
  if (!process.argv.includes("--empty")) await seed(new ApiClient(server.origin, ADMIN_TOKEN), say);
  say(howToUse(server.origin, ADMIN_TOKEN));
  say(`ready ${server.origin}`);
  await server.ended;
  if (!signal.aborted) throw new Error(`The server ended by itself:\n${server.output()}`);
}

/** Writes the secrets that are missing or too short to be used; those that are there stay. */
async function ensureSecrets(file: string): Promise<Record<(typeof secretNames)[number], string>> {
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
  const isUsable = (name: string) => (found[name]?.length ?? 0) >= minSecretLength;
  const added = secretNames.filter((name) => !isUsable(name)).map((name) => [name, randomBytes(32).toString("hex")]);
  if (added.length > 0) {
    const separator = text === "" || text.endsWith("\n") ? "" : "\n";
    await appendFile(file, separator + added.map(([name, secret]) => `${name}=${secret}\n`).join(""), { mode: 0o600 });
  }
  return { ...found, ...Object.fromEntries(added) } as Record<(typeof secretNames)[number], string>;
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
MCP address      ${origin}/mcp/${ownNamespace.name}
Operator token   ${token}   (for this machine; from .dev.vars)

List the skills:
  curl -s ${origin}/mcp/${ownNamespace.name} -H 'content-type: application/json' \\
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: skills/list' -d '${list}'

Verify every byte with the MCP Inspector:
  npx mcp-inspector --cli ${origin}/mcp/${ownNamespace.name} --transport http --method skills/list --verify
`;
}

/** Aborted with the terminal or the npm process that started us, whichever way that one ends. */
function endsWithParent(): AbortSignal {
  const parent = process.ppid;
  const controller = new AbortController();
  const end = () => controller.abort(new Error("Stopped"));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  setInterval(() => process.ppid !== parent && end(), watchParentMs).unref();
  return controller.signal;
}

function say(text: string): void {
  console.log(text);
}

const stopped = endsWithParent();
try {
  await main(stopped);
} catch (error) {
  if (stopped.aborted) process.exit(0);
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
