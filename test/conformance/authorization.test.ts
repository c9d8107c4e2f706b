import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { freePort } from "../../src/cli/server.ts";
import { Browser } from "../wire/browser.ts";
import { programOf } from "../wire/command.ts";
import { allowWith, createPrivate, documentUrl, startWorld } from "../wire/oauth-world.ts";
import type { World } from "../wire/oauth-world.ts";
import { startProgram } from "../wire/program.ts";
import { readChecks } from "./suite.ts";

/** The official conformance suite's scenarios for authorization servers; it prints an address for a person to open. */
let world: World;
let folder: string;
let token: string;
const namespace = "plans";

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), "conformance-authorization-"));
  token = await createPrivate(world.operator, namespace);
});
afterAll(async () => {
  await world.stop();
  await rm(folder, { recursive: true, force: true });
});

async function register(redirectUri: string): Promise<string> {
  const response = await fetch(`${world.machine.origin}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

describe.each(["2026-07-28", "2025-11-25"])("the scenarios for authorization servers that %s has", (revision) => {
  test.each([
    { who: "a client with a metadata document", find: async () => documentUrl },
    // Never one with a secret: the suite sends none to whoever offers the method "none".
    { who: "a client that registered", find: register },
  ])("pass for $who, and none is left out", async ({ who, find }) => {
    const port = await freePort();
    const clientId = await find(`http://127.0.0.1:${port}/callback`);
    const output = join(folder, `${revision} ${who}`);
    const asked = ["--client-id", clientId, "--resource", `${world.machine.origin}/me/mcp/${namespace}`];
    const here = ["-p", String(port), "-o", output, "--spec-version", revision];
    const conformance = programOf("@modelcontextprotocol/conformance", "conformance");
    const all = [conformance, "authorization", "--url", world.machine.origin, ...asked, ...here];
    const suite = startProgram(process.execPath, all);
    const [, address] = await suite.until(/^(http\S+\/authorize\S+)\r?$/m);
    await allowWith(new Browser(), token)(new URL(address!));
    const { code, stdout } = await suite.finished;
    const checks = (await readChecks(output)).map(({ id, status, errorMessage }) => [id, status, errorMessage]);
    expect(checks.sort()).toEqual([
      ["authorization-code-grant", "SUCCESS", undefined],
      ["authorization-server-metadata", "SUCCESS", undefined],
      ["authorization-server-metadata-cimd", "SUCCESS", undefined],
    ]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("2 scenarios")]);
  });
});
