import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { build, migrate, operator, start } from "../bench/machine.ts";
import type { Machine } from "../bench/machine.ts";
import { RegistryClient } from "./registry-client.ts";
import type { SourceSkill } from "./generated-skills.ts";

/**
 * Two isolates for real: the Worker as it is deployed, twice in one workerd, with the same database and objects.
 * What one of them publishes, the listeners of the other hear.
 */
let state: string;
let machine: Machine;
let publisher: RegistryClient;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "isolates-"));
  machine = await start(await build("src/index.ts"), state, { isTwice: true });
  await migrate(machine.database);
  publisher = new RegistryClient(machine.origin, operator);
});

afterAll(async () => {
  await machine.stop();
  await rm(state, { recursive: true, force: true });
});

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** Reads server-sent events until one of them says that the list changed. */
async function hears(response: Response): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes("notifications/resources/list_changed");) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended: ${text}`);
    text += value;
  }
  await reader.cancel();
}

async function publish(namespace: string): Promise<void> {
  const bytes = new TextEncoder().encode("---\nname: news\ndescription: News\n---\n# News\n");
  await publisher.publish(namespace, { path: "news", files: [{ path: "SKILL.md", bytes }] } as SourceSkill);
}

describe("a search", () => {
  test("has the same order, scores and decision at every isolate", async () => {
    await publisher.createNamespace("twins");
    const texts = ["Refund a customer", "Refund an order", "Refund a customer's order", "Water the plants"];
    for (const [index, text] of texts.entries()) {
      const bytes = new TextEncoder().encode(`---\nname: twin-${index}\ndescription: ${text}\n---\n# Steps\n`);
      await publisher.publish("twins", { path: `twin-${index}`, files: [{ path: "SKILL.md", bytes }] } as SourceSkill);
    }
    const ask = async (origin: string, query: string) => {
      const response = await fetch(`${origin}/mcp/twins`, {
        method: "POST",
        headers: { ...json, "mcp-protocol-version": "2025-11-25" },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "search_skills", arguments: { query } },
        }),
      });
      return (await response.text()).replaceAll(/pick_[\w-]{22}/g, "pick");
    };
    for (const query of ["refund the order of a customer", "water", "tune a piano"]) {
      const [here, there] = [await ask(machine.origin, query), await ask(machine.otherOrigin!, query)];
      expect(there.replaceAll(new URL(machine.otherOrigin!).host, "")).toBe(
        here.replaceAll(new URL(machine.origin).host, ""),
      );
      expect(here.includes("skill://")).toBe(query !== "tune a piano");
    }
  });
});

describe("a listener at another isolate than the publisher's", () => {
  test("hears of the publish in 2026-07-28", async () => {
    await publisher.createNamespace("modern-news");
    const method = "subscriptions/listen";
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { notifications: { resourcesListChanged: true }, _meta: meta };
    const response = await fetch(`${machine.otherOrigin}/mcp/modern-news`, {
      method: "POST",
      headers: { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": method },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    expect(response.status).toBe(200);
    await Promise.all([hears(response), publish("modern-news")]);
  });

  test("hears of the publish in 2025-11-25, with a session that the publisher's isolate opened and knows", async () => {
    await publisher.createNamespace("legacy-news");
    const initialize = await fetch(`${machine.origin}/mcp/legacy-news`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      }),
    });
    const session = initialize.headers.get("mcp-session-id")!;
    const get = (origin: string) =>
      fetch(`${origin}/mcp/legacy-news`, { headers: { accept: "text/event-stream", "mcp-session-id": session } });
    const stream = await get(machine.otherOrigin!);
    expect(stream.status).toBe(200);
    await Promise.all([hears(stream), publish("legacy-news")]);
    const end = await fetch(`${machine.otherOrigin}/mcp/legacy-news`, {
      method: "DELETE",
      headers: { "mcp-session-id": session },
    });
    expect(end.status).toBe(204);
    expect((await get(machine.origin)).status).toBe(404);
  });
});
