import { equal, match } from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { readFolder } from "../../../../src/cli/client.ts";
import { packZip } from "../../../../src/publish/pack.ts";
import { put } from "../../../wire/library.ts";
import { clientVersion } from "../journey.ts";
import type { Mode } from "../journey.ts";
import type { OwnRegistry } from "../own-registry.ts";
import { attempt } from "../say.ts";
import { checkManifest, checkSkill } from "./checks.ts";
import type { Expected } from "./checks.ts";
import { missingOfMaven, openBuild, project, skillFolder } from "./maven.ts";
import type { Build } from "./maven.ts";

/** A project whose build publishes its skill under its own version, in a namespace that is open and in one that is not. */
interface Place {
  mode: "open" | "secured";
  namespace: string;
  publisherToken: string;
  /** Undefined where nobody needs one. */
  readerToken: string | undefined;
  address: URL;
}

const bridge = join(dirname(createRequire(import.meta.url).resolve("mcp-remote/package.json")), "dist/proxy.js");
const eras: readonly (readonly [Mode, string])[] = [
  ["auto", "2026-07-28"],
  ["legacy", "2025-11-25"],
];

export async function runSolr(registry: OwnRegistry): Promise<void> {
  const version = /<version>(.*?)<\/version>/.exec(await readFile(join(project, "pom.xml"), "utf8"))![1]!;
  const files = await readFolder(skillFolder);
  const missing = missingOfMaven();
  if (missing !== undefined) console.log(`(the build is skipped, since ${missing} is not installed)`);
  const build = missing === undefined ? await openBuild() : undefined;
  for (const mode of ["open", "secured"] as const) {
    const place = await openPlace(registry, mode);
    const expected = { namespace: place.namespace, version, files };
    if (build === undefined) await publishWithout(registry, place, expected);
    else await deploys(build, registry, place, expected);
    await pointTo(registry, place);
    await readsOverHttp(place, expected);
    await readsOverStdio(place, expected);
  }
  if (build === undefined) return;
  await refusesOtherBytes(build, registry);
  await build.remove();
}

async function openPlace({ operator, origin }: OwnRegistry, mode: Place["mode"]): Promise<Place> {
  const namespace = `search-${mode}`;
  const isOpen = mode === "open";
  await operator.createNamespace(namespace, isOpen ? "public" : "private");
  return {
    mode,
    namespace,
    publisherToken: await operator.mintToken(namespace, "publisher"),
    readerToken: isOpen ? undefined : await operator.mintToken(namespace, "reader"),
    address: new URL(`${origin}/${isOpen ? "mcp" : "me/mcp"}/${namespace}/search`),
  };
}

async function pointTo({ operator }: OwnRegistry, { namespace }: Place): Promise<void> {
  const instructions = `Before you query the product search, read skill://${namespace}/query-solr/SKILL.md.`;
  const skills = [{ path: "query-solr" }];
  await put(operator, `/namespaces/${namespace}/collections/search`, { instructions, skills });
}

/** What the build does, where there is no Maven. */
async function publishWithout({ origin }: OwnRegistry, place: Place, { version, files }: Expected): Promise<void> {
  const address = `${origin}/api/v1/namespaces/${place.namespace}/skills?path=query-solr&version=${version}`;
  const headers = { authorization: `Bearer ${place.publisherToken}`, "content-type": "application/zip" };
  const response = await fetch(address, { method: "POST", headers, body: packZip(files) as BodyInit });
  equal(response.status, 201, await response.text());
}

async function deploys(build: Build, registry: OwnRegistry, place: Place, expected: Expected): Promise<void> {
  const { mode, namespace, publisherToken } = place;
  const tried = `${mode}: mvn deploy publishes the skill folder under the project's version, and again as a no-op`;
  await attempt({ client: "Apache Maven", version: build.version, era: "HTTP", tried }, async () => {
    for (const status of [201, 200]) {
      const { code, output } = await build.deploy(registry.origin, namespace, publisherToken);
      equal(code, 0, output);
      match(output, new RegExp(`^${status} `, "m"));
    }
    await checkManifest(registry.origin, publisherToken, expected);
    return "the manifest's digests are those of the files in the repository";
  });
}

async function refusesOtherBytes(build: Build, registry: OwnRegistry): Promise<void> {
  const tried = "other bytes under the same version fail the build, and so does a token that may not publish";
  await attempt({ client: "Apache Maven", version: build.version, era: "HTTP", tried }, async () => {
    const [namespace, path] = ["search-open", "references/schema.md"];
    const reader = await build.deploy(
      registry.origin,
      namespace,
      await registry.operator.mintToken(namespace, "reader"),
    );
    equal(reader.code, 1, reader.output);
    match(reader.output, /^403 /m);
    await build.change(path, "# Other fields\n");
    const other = await build.deploy(
      registry.origin,
      namespace,
      await registry.operator.mintToken(namespace, "publisher"),
    );
    equal(other.code, 1, other.output);
    match(other.output, /^409 /m);
  });
}

async function readsOverHttp({ mode, address, readerToken }: Place, expected: Expected): Promise<void> {
  const tried = `${mode}: list, get, every file read and verified, types, audience, pointer in instructions`;
  for (const [negotiation, era] of eras) {
    await attempt({ client: "@modelcontextprotocol/client", version: clientVersion, era, tried }, async () => {
      const headers = { authorization: `Bearer ${readerToken}` };
      const options = readerToken === undefined ? {} : { requestInit: { headers } };
      const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode: negotiation } });
      await client.connect(new StreamableHTTPClientTransport(address, options));
      equal(client.getNegotiatedProtocolVersion(), era);
      const note = await checkSkill(client, expected);
      await client.close();
      if (readerToken !== undefined) equal((await fetch(address, { method: "POST" })).status, 401);
      return note;
    });
  }
}

async function readsOverStdio({ mode, address, readerToken }: Place, expected: Expected): Promise<void> {
  const manifest = await readFile(join(dirname(bridge), "../package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const config = await mkdtemp(join(tmpdir(), "mcp-remote-"));
  const tried = `${mode}: the same over stdio, through the bridge`;
  // The secret stays out of the arguments, which everybody on the machine can read.
  const header = readerToken === undefined ? [] : ["--header", "Authorization:${AUTH_HEADER}"];
  const env = { MCP_REMOTE_CONFIG_DIR: config, AUTH_HEADER: `Bearer ${readerToken}` };
  for (const [negotiation, era] of eras) {
    await attempt({ client: "mcp-remote", version, era, tried }, async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [bridge, address.href, "--transport", "http-only", ...header],
        env: { ...(process.env as Record<string, string>), ...env },
        stderr: "ignore",
      });
      const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode: negotiation } });
      await client.connect(transport);
      equal(client.getNegotiatedProtocolVersion(), era);
      const note = await checkSkill(client, expected);
      await client.close();
      return note;
    });
  }
  await rm(config, { recursive: true, force: true });
}
