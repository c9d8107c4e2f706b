import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

import { run } from "../../wire/command.ts";
import type { Finished } from "../../wire/command.ts";
import { installBrowser } from "../browser-program.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import { openSignInRegistry } from "./sign-in-registry.ts";
import type { SignInRegistry } from "./sign-in-registry.ts";
import { only } from "./workshop.ts";
import type { Workshop } from "./workshop.ts";

const { platform, arch } = process;
const versions = { opencode: "1.18.33", codex: "0.171.0", claude: "2.1.332" };
/** The programs of this platform alone: what their packages would fetch besides is as large again. */
const [opencodePackage, codexPackage, claudePackage] = [
  `opencode-${platform}-${arch}`,
  `@openai/codex-${platform}-${arch}`,
  `@anthropic-ai/claude-code-${platform}-${arch}`,
];
const packages = {
  [opencodePackage]: versions.opencode,
  [codexPackage]: `npm:@openai/codex@${versions.codex}-${platform}-${arch}`,
  [claudePackage]: versions.claude,
};
const codexTarget = `${arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-musl`;
const tried = "its own OAuth from nothing; refreshes; is refused once that is withdrawn at /account";
const secret = `skill://inner-desk/${innerSkill.path}/SKILL.md`;

/** Programs with a sign-in of their own; a scripted person is behind the browser that they open. */
export async function trySignIn(_: Stage, workshop: Workshop): Promise<void> {
  // The registry for these needs Linux; and elsewhere they would write into the user's own keychain.
  if (platform !== "linux") return;
  await workshop.install(packages);
  const registry = await openSignInRegistry();
  try {
    for (const make of [mcpc, opencode, codex, claudeCode]) await tryHost(registry, workshop, await make(workshop));
  } finally {
    await registry.close();
  }
}

interface Host {
  client: string;
  version: string;
  /** Names the address to it. */
  prepare(place: Place): Promise<unknown>;
  /** Its own command for signing in. */
  signIn(place: Place): Promise<Finished>;
  /** Connects anew, and reads what is private if it has a command for that. */
  look(place: Place): Promise<{ isIn: boolean; said: string }>;
  note: string;
}

/** A home of its own, in which the user's browser is the scripted person. */
interface Place {
  address: string;
  folder: string;
  env: Record<string, string>;
  run(command: string, ...parameters: string[]): Promise<Finished>;
}

async function tryHost(registry: SignInRegistry, workshop: Workshop, host: Host): Promise<void> {
  const { client, version, prepare, signIn, look, note } = host;
  await attempt({ client, version, era: "2025-11-25" }, tried, async () => {
    const token = await registry.mintToken();
    const place = await openPlace(registry.address, workshop, client, token);
    await prepare(place);
    const isIn = async (when: string, expected: boolean) => {
      const { isIn, said } = await look(place);
      assert.equal(isIn, expected, `${when}: ${said}`);
      if (!expected) assert.match(said, /authenti|logged ?in|log in|login|oauth/i, when);
    };
    await isIn("before it signs in", false);
    const { code, stdout, stderr } = await signIn(place);
    assert.equal(code, 0, stdout + stderr);
    await isIn("after it signed in", true);
    await registry.endAccessTokens();
    await isIn("after its access token ended", true);
    assert.equal(await registry.withdrawAll(token), 1, "sign-ins at /account");
    await isIn("after its sign-in was withdrawn", false);
    return note;
  });
}

async function openPlace(address: string, workshop: Workshop, name: string, token: string): Promise<Place> {
  const folder = await workshop.makeFolder(name.toLowerCase().replaceAll(" ", "-"));
  const env: Record<string, string> = {
    ...workshop.env,
    HOME: folder,
    MCPC_HOME_DIR: join(folder, "mcpc"),
    PERSON_TOKEN: token,
    PATH: [folder, workshop.env["PATH"]].join(delimiter),
    SHELL: "/bin/sh",
    TERM: "dumb",
  };
  env["BROWSER"] = await installBrowser(folder);
  return {
    address,
    folder,
    env,
    run: async (command, ...parameters) => {
      const { code, stdout, stderr } = await run(command, parameters, { cwd: folder, env: only(env) });
      return { code, stdout: stripVTControlCharacters(stdout), stderr: stripVTControlCharacters(stderr) };
    },
  };
}

async function mcpc(workshop: Workshop): Promise<Host> {
  const { file, version } = await workshop.find({ package: "@apify/mcpc", bin: "mcpc" });
  const mcpc = ({ run }: Place, ...parameters: string[]) => run(process.execPath, file, ...parameters);
  return {
    client: "mcpc",
    version,
    prepare: async () => {},
    signIn: (place) => mcpc(place, "login", place.address),
    look: async (place) => {
      const hello = await mcpc(place, "--json", "connect", place.address, "@acme");
      const read = await mcpc(place, "--json", "@acme", "resources-read", secret);
      await mcpc(place, "close", "@acme");
      return { isIn: read.stdout.includes("# Inner"), said: [hello, read].map(textOf).join(" ") };
    },
    note: "`mcpc login`, registered; then reads the private skill",
  };
}

async function opencode(workshop: Workshop): Promise<Host> {
  const program = join(workshop.folder, "node_modules", opencodePackage, "bin/opencode");
  return {
    client: "opencode",
    version: versions.opencode,
    prepare: ({ address, folder }) => {
      const config = { mcp: { acme: { type: "remote", url: address } } };
      return writeFile(join(folder, "opencode.json"), JSON.stringify(config));
    },
    signIn: ({ run }) => run(program, "mcp", "auth", "acme"),
    look: async ({ run }) => {
      const said = textOf(await run(program, "mcp", "list"));
      return { isIn: /acme\s+connected/.test(said), said };
    },
    note: "`opencode mcp auth`, registered; then connects: it has no command that reads",
  };
}

async function codex(workshop: Workshop): Promise<Host> {
  const program = join(workshop.folder, "node_modules", codexPackage, "vendor", codexTarget, "bin/codex");
  return {
    client: "Codex",
    version: versions.codex,
    prepare: async ({ address, folder }) => {
      await mkdir(join(folder, ".codex"), { recursive: true });
      const config = `mcp_oauth_credentials_store = "file"\n[mcp_servers.acme]\nurl = "${address}"\n`;
      await writeFile(join(folder, ".codex/config.toml"), config);
    },
    signIn: ({ run }) => run(program, "mcp", "login", "acme"),
    look: async (place) => {
      const said = await askCodex(program, place);
      return { isIn: said.includes("# Inner"), said };
    },
    note: "`codex mcp login`, by metadata document; then its app server reads the private skill",
  };
}

/** What its own windows ask its app server. */
async function askCodex(program: string, { folder, env }: Place): Promise<string> {
  const server = spawn(program, ["app-server"], { cwd: folder, env, stdio: ["pipe", "pipe", "ignore"] });
  const timer = setTimeout(() => server.kill(), 20_000);
  const send = (message: object) => server.stdin.write(`${JSON.stringify(message)}\n`);
  send({
    id: 1,
    method: "initialize",
    params: { clientInfo: { name: "interop", title: "interop", version: "1.0.0" } },
  });
  let said = "";
  for await (const line of createInterface(server.stdout)) {
    const message = JSON.parse(line) as { id?: number };
    if (message.id === 1) {
      send({ method: "initialized" });
      send({ id: 2, method: "mcpServerStatus/list", params: {} });
    }
    if (message.id === 2) send({ id: 3, method: "mcpServer/resource/read", params: { server: "acme", uri: secret } });
    if (message.id === 2 || message.id === 3) said += line;
    if (message.id === 3) break;
  }
  clearTimeout(timer);
  server.kill();
  return said;
}

async function claudeCode(workshop: Workshop): Promise<Host> {
  const program = join(workshop.folder, "node_modules", claudePackage, "claude");
  return {
    client: "Claude Code",
    version: versions.claude,
    prepare: ({ run, address }) => run(program, "mcp", "add", "--transport", "http", "acme", address),
    // It wants a terminal for this.
    signIn: ({ run }) => run("script", "-qec", `'${program}' mcp login acme`, "/dev/null"),
    look: async ({ run }) => {
      const said = textOf(await run(program, "mcp", "list"));
      return { isIn: said.includes("Connected"), said };
    },
    note: "`claude mcp login`, by metadata document; then connects: without its vendor's API it reads nothing",
  };
}

function textOf({ stdout, stderr }: Finished): string {
  return stdout + stderr;
}
