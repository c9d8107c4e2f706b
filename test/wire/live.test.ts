import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { freePort, migrate, startServer } from "../../src/cli/server.ts";
import type { RunningServer } from "../../src/cli/server.ts";
import type { SourceSkill } from "./generated-skills.ts";
import { RegistryClient } from "./registry-client.ts";

/** The official clients learn of a real publish, list again, and read the new bytes; also over a restart. */
const operatorToken = "operator-token-for-live-tests-0123456789abcdef";
const vars = {
  ADMIN_TOKEN: operatorToken,
  SIGNING_KEY: "signing-key-for-live-tests-0123456789abcdef",
  LIVE_JITTER_MS: "100",
};
const namespace = "changing";
const uri = `skill://${namespace}/greeting/SKILL.md`;
const deadlineMs = 30_000;

let state: string;
let port: number;
let server: RunningServer;
let address: URL;
let publisher: RegistryClient;
let edition = 0;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "live-"));
  port = await freePort();
  await migrate(state);
  await start();
  publisher = new RegistryClient(server.origin, operatorToken);
  address = new URL(`${server.origin}/mcp/${namespace}`);
  await publisher.createNamespace(namespace);
  await publishNext();
});

afterAll(async () => {
  await server.stop();
  await rm(state, { recursive: true, force: true });
});

async function start(): Promise<void> {
  server = await startServer({ port, stateDirectory: state, vars });
}

const text = (number: number) => `---\nname: greeting\ndescription: Greets, edition ${number}\n---\nHello ${number}\n`;

async function publishNext(): Promise<void> {
  edition++;
  const bytes = new TextEncoder().encode(text(edition));
  const skill: SourceSkill = { path: "greeting", files: [{ path: "SKILL.md", bytes }] } as SourceSkill;
  await publisher.publish(namespace, skill);
}

/** Something that happens again and again: each wait ends with the next time. */
class Bell {
  #rings = 0;
  #waiting: (() => void)[] = [];

  readonly ring = (): void => {
    this.#rings++;
    for (const wake of this.#waiting.splice(0)) wake();
  };

  get rings(): number {
    return this.#rings;
  }

  async next(after: number): Promise<void> {
    const until = Date.now() + deadlineMs;
    while (this.#rings <= after) {
      if (Date.now() > until) throw new Error(`no notification within ${deadlineMs} ms`);
      await Promise.race([
        new Promise<void>((done) => this.#waiting.push(done)),
        new Promise<void>((done) => setTimeout(done, 200).unref()),
      ]);
    }
  }
}

/** Lists anew, past what the client keeps, and reads with size, digest and frontmatter checked. */
async function readNewest(client: Client): Promise<string> {
  const skills = new SkillsClient(client);
  const { skill } = await skills.get(uri);
  const file = await skills.read(skill, uri);
  expect(file.verified).toBe(true);
  return new TextDecoder().decode(file.bytes);
}

async function connectSecond(mode: "auto" | "legacy", bell: Bell): Promise<Client> {
  const client = new Client({ name: "live", version: "1.0.0" }, { versionNegotiation: { mode } });
  client.setNotificationHandler("notifications/resources/list_changed", bell.ring);
  await client.connect(new StreamableHTTPClientTransport(address, { reconnectionOptions: patience }));
  return client;
}

const patience = {
  maxRetries: 20,
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1.2,
};

describe("the official client, negotiated to 2026-07-28,", () => {
  test("hears of a publish on its subscription, and reads the new bytes verified", async () => {
    const bell = new Bell();
    const client = await connectSecond("auto", bell);
    expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    const subscription = await client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
    await publishNext();
    await bell.next(0);
    expect(await readNewest(client)).toBe(text(edition));
    await subscription.close();
    await client.close();
  });

  test("listens again after a restart, lists once, and has missed nothing", async () => {
    const bell = new Bell();
    const client = await connectSecond("auto", bell);
    const subscription = await client.listen({ resourcesListChanged: true });
    await server.stop();
    expect(["remote", "graceful"]).toContain(await subscription.closed);
    await start();
    await publishNext();
    const again = await client.listen({ resourcesListChanged: true });
    expect(await readNewest(client)).toBe(text(edition));
    const heard = bell.rings;
    await publishNext();
    await bell.next(heard);
    expect(await readNewest(client)).toBe(text(edition));
    await again.close();
    await client.close();
  });
});

describe("the official client, negotiated to 2025-11-25,", () => {
  test("hears of a publish on the stream of its session, and reads the new bytes verified", async () => {
    const bell = new Bell();
    const client = await connectSecond("legacy", bell);
    await publishNext();
    await bell.next(0);
    expect(await readNewest(client)).toBe(text(edition));
    await client.close();
  });
});

describe("the official client of the first generation", () => {
  test("hears of a publish, also of one while the server was away, with its session", async () => {
    const bell = new Bell();
    const client = new FirstClient({ name: "live", version: "1.0.0" });
    client.setNotificationHandler(ResourceListChangedNotificationSchema, bell.ring);
    const transport = new FirstTransport(address, { reconnectionOptions: patience });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    const session = transport.sessionId;
    expect(session).toMatch(/^\d+\.[0-9a-f]{32}\.[0-9a-f]{32}$/);
    await publishNext();
    await bell.next(0);
    const heard = bell.rings;
    await server.stop();
    await start();
    await publishNext();
    await bell.next(heard);
    expect(transport.sessionId).toBe(session);
    const { contents } = await client.readResource({ uri });
    expect(contents[0]).toMatchObject({ text: text(edition) });
    await client.close();
  });
});
