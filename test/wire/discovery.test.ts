import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { clients } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { generatedCount } from "./generated-skills.ts";
import { finance, hiring, publishDepartment, put, skill } from "./library.ts";
import type { Department } from "./library.ts";
import { ask, eras, firstMessage, greet, post } from "./raw.ts";
import { RegistryClient } from "./registry-client.ts";
import { askByExtension, askByPrompts, askByTools, hostOf, pickByPrompts } from "./scripted-hosts.ts";
import type { AnyHost, Journey, ListedTool } from "./scripted-hosts.ts";

/**
 * From a plain sentence to the right skill, by hosts that know only a part of MCP, over the wire; and from a publish to
 * the list of tools. What they find is compared with what was published, so the registry does not vouch for itself.
 */
const { origin, operatorToken } = inject("registry");
const operator = new RegistryClient(origin, operatorToken);

const registryTools = [
  "search_skills",
  "load_skill",
  "read_skill_file",
  "list_groups",
  "search_tools",
  "describe_tool",
];
/** Each skill of the finance office is also a tool here. */
const shelf = `${origin}/mcp/${finance.namespace}/shelf`;

beforeAll(async () => {
  for (const department of [hiring, finance]) await publishDepartment(operator, department);
  await put(operator, `/namespaces/${finance.namespace}/collections/shelf`, {
    title: "The shelf",
    instructions: "Ask which fiscal year is meant.",
    skills: "all",
    tools: "per-skill",
  });
});

const sentences: { sentence: string; department: Department; path: string; tool?: string }[] = [
  {
    sentence: "Which of our open positions would suit the CV that this candidate sent?",
    department: hiring,
    path: "match-candidates",
    tool: "jobs/search_jobs",
  },
  {
    sentence: "find a slot for the interviews with her next week",
    department: hiring,
    path: "schedule-interviews",
    tool: "calendar/find_free_slots",
  },
  {
    sentence: "Several customers have not paid. Please send them a reminder of the overdue invoice.",
    department: finance,
    path: "remind-of-overdue-invoices",
    tool: "ledger/list_open_items",
  },
  { sentence: "check my travel expenses", department: finance, path: "review-expense-reports" },
];

/** Plain sentences too, of other trades, and one whose words are in no library. */
const foreign = [
  "Tune the carburettor of an old motorcycle",
  "Translate this poem into Old Norse, keeping its metre",
  "quantum chromodynamics on a lattice",
  "Wie wird morgen das Wetter in Kyoto?",
];

describe.each(clients)("with $client, negotiated to $protocolVersion,", ({ protocolVersion, connect }) => {
  const places = {
    "the whole registry": async () => connect(`${origin}/mcp`),
    "one namespace": async (department: Department = hiring) => connect(`${origin}/mcp/${department.namespace}`),
  };

  describe.each(Object.entries(places))("at the address of %s", (_, open) => {
    test.each(sentences)("a host that knows only tools comes from $sentence to $path", async (wanted) => {
      const { requests, skill } = await within(await open(wanted.department), protocolVersion, (registry) =>
        askByTools(registry, wanted.sentence),
      );
      expectFound(skill, wanted);
      const reads = Array.from(skill!.verified, () => "read_skill_file");
      const schemas = wanted.tool === undefined ? [] : ["describe_tool"];
      expect(requests).toEqual(["search_skills", "load_skill", ...reads, ...schemas]);
    });

    test.each(sentences)("a host with the extension comes from $sentence to $path", async (wanted) => {
      const { requests, skill } = await within(await open(wanted.department), protocolVersion, (registry) =>
        askByExtension(registry, wanted.sentence),
      );
      expectFound(skill, wanted);
      expect(requests.slice(0, 2)).toEqual(["skills/list", "skills/get"]);
    });

    test.each(sentences)("a host that knows only prompts comes from $sentence to $path", async (wanted) => {
      const { skill } = await within(await open(wanted.department), protocolVersion, (registry) =>
        askByPrompts(registry, wanted.sentence),
      );
      expect(skill?.uri).toBe(uriOf(wanted));
      expect(skill!.text).toContain(textOf(wanted));
      expect(skill!.text).toContain(wanted.sentence);
    });

    test.each(foreign)("every host stops at %s", async (sentence) => {
      const registry = await open();
      expect(await askByTools(registry, sentence)).toEqual({ requests: ["search_skills"] });
      expect(await askByExtension(registry, sentence)).toEqual({ requests: ["skills/list"] });
      expect(await askByPrompts(registry, sentence)).toEqual({ requests: ["prompts/list", "prompts/get"] });
      await registry.close();
    });
  });

  describe("at one namespace", () => {
    let registry: Connection;
    beforeAll(async () => {
      registry = await connect(`${origin}/mcp/${hiring.namespace}`);
    });
    afterAll(() => registry.close());

    test("a host that knows only prompts completes a name that a person began, and gets its text", async () => {
      const wanted = { department: hiring, path: "match-candidates" };
      for (const begun of ["mat", "Match-", "candidates"]) {
        const { requests, skill } = await pickByPrompts(registry, begun);
        expect(requests).toEqual(["completion/complete", "prompts/get"]);
        expect(skill?.uri).toBe(uriOf(wanted));
        expect(skill!.text).toContain(textOf(wanted));
      }
      expect(await pickByPrompts(registry, "carburettor")).toEqual({ requests: ["completion/complete"] });
    });

    test("at the root it completes what is featured, and reads that", async () => {
      const root = await connect(`${origin}/mcp`);
      const { skill } = await pickByPrompts(root, "publish");
      expect(skill?.uri).toBe("skill://registry/publish-skills/SKILL.md");
      await root.close();
    });

    test("a template leads a person to any file of a skill, a part at a time", async () => {
      const host = hostOf(registry);
      const { resourceTemplates } = await host.listResourceTemplates();
      const { uriTemplate } = resourceTemplates[0]!;
      const offered = async (value: string) => {
        const ref = { type: "ref/resource", uri: uriTemplate } as const;
        return (await host.complete({ ref, argument: { name: "path", value } })).completion.values;
      };
      expect(await offered("")).toEqual(hiring.skills.map(({ path }) => `${path}/SKILL.md`).sort());
      expect(await offered("mat")).toEqual(["match-candidates/SKILL.md"]);
      expect(await offered("match-candidates/ref")).toEqual([
        "match-candidates/references/Gr%C3%BC%C3%9Fe%20&%20Anrede.md",
        "match-candidates/references/scoring.md",
      ]);
      const [path] = await offered("@1.0.0/match-candidates/assets/");
      expect(path).toBe("@1.0.0/match-candidates/assets/sample.bin");
      const entry = await registry.get(`skill://${hiring.namespace}/@1.0.0/match-candidates/SKILL.md`);
      const bytes = await registry.read(entry, uriTemplate.replace("{+path}", path!));
      expect([...bytes]).toEqual([0xff, 0x00, 0xfe, 0x80]);
      expect(await offered("carburettor")).toEqual([]);
    });

    test("the list of tools with a query is a part of the whole, best first, never all of it", async () => {
      const list = listerOf(hostOf(registry));
      expect(await list()).toEqual(registryTools);
      expect(await list({ query: "load a skill" })).toEqual(["load_skill"]);
      expect(await list({ query: "the schema of one tool" })).toEqual(["describe_tool"]);
      expect(await list({ query: "read a file" })).toEqual(["read_skill_file"]);
      for (const query of foreign) expect(await list({ query })).toEqual([]);
      const some = ["find skills for a task", "which tools are there", "group", "Read a FILE!", "tool skill load"];
      for (const query of some) {
        const found = await list({ query });
        expect(found.length).toBeLessThan(registryTools.length);
        expect(registryTools).toEqual(expect.arrayContaining(found));
      }
      // The client would have kept a list that it was allowed to keep, whatever the query was.
      expect(await list()).toEqual(registryTools);
    });
  });

  describe("at a collection whose skills are tools as well", () => {
    let registry: Connection;
    let host: AnyHost;
    beforeAll(async () => {
      registry = await connect(shelf);
      host = hostOf(registry);
    });
    afterAll(() => registry.close());

    test("each skill is a read-only tool without arguments, named and described as its author did", async () => {
      const { tools } = await host.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        ...registryTools,
        ...finance.skills.map(({ path }) => path).sort(),
      ]);
      const { description, inputSchema, annotations } = tools.find(({ name }) => name === "file-vat-returns")!;
      expect(description).toBe("Prepare the quarterly VAT return from the sales and purchase journals.");
      expect(inputSchema).toEqual({ type: "object", additionalProperties: false });
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false, openWorldHint: false });
    });

    test("such a tool answers as load_skill does, and takes no arguments", async () => {
      const uri = `skill://${finance.namespace}/file-vat-returns/SKILL.md`;
      const own = await host.callTool({ name: "file-vat-returns", arguments: {} });
      const loaded = await host.callTool({ name: "load_skill", arguments: { uri } });
      expect(own).toEqual(loaded);
      const refused = await host.callTool({ name: "file-vat-returns", arguments: { year: 2026 } });
      expect(refused).toMatchObject({ isError: true, content: [{ text: "file-vat-returns takes no arguments" }] });
    });

    test("a query finds the skill's own tool; a limit caps the whole list, over every page", async () => {
      const list = listerOf(host);
      expect((await list({ query: "send a reminder for an overdue invoice" }))[0]).toBe("remind-of-overdue-invoices");
      expect(await list({ query: "reconcile the bank statement" })).toEqual(["reconcile-bank-statements"]);
      expect(await list({ limit: 2 })).toEqual(registryTools.slice(0, 2));
      const all = await list();
      expect(await list({ limit: 1_000 })).toEqual(all);
      const found = await list({ query: "review" });
      expect(found).toEqual(["review-supplier-contracts", "review-expense-reports"]);
      expect(await list({ query: "review", limit: 1 })).toEqual(found.slice(0, 1));
    });
  });

  test("a stored query finds the tool that somebody published meanwhile, and only that", async () => {
    const namespace = `stored-query-${clients.findIndex((each) => each.connect === connect)}`;
    await operator.createNamespace(namespace);
    await operator.publish(namespace, skill("water-plants", "Water the plants of the office while people are away."));
    await put(operator, `/namespaces/${namespace}/collections/all`, { skills: "all", tools: "per-skill" });
    const listening = await listenForTools[protocolVersion === "2026-07-28" ? "modern" : kindOf(connect)](
      `${origin}/mcp/${namespace}/all`,
    );
    const list = listerOf(listening.host);
    const query = "repair the coffee machine";
    expect(await list({ query })).toEqual([]);

    await operator.publish(namespace, skill("fix-coffee-machine", "Repair and descale the coffee machine."));
    await operator.publish(namespace, skill("book-desks", "Book a desk for people who come to the office."));
    // The first of a burst is told at once, perhaps before the second was published; the rest together after it.
    await listening.heardUntil(async () => (await list()).includes("book-desks"));
    expect(await list({ query })).toEqual(["fix-coffee-machine"]);
    expect(await list()).toEqual([...registryTools, "book-desks", "fix-coffee-machine", "water-plants"]);
    await listening.close();
  });
});

describe.each(eras)("on the raw wire of %s", (era) => {
  const namespaceAddress = `${origin}/mcp/${hiring.namespace}`;

  test("filtering is declared everywhere, a changing list of tools only where each skill is one", async () => {
    for (const address of [`${origin}/mcp`, namespaceAddress, `${origin}/mcp/registry/featured`]) {
      expect((await greet(address, era)).capabilities["tools"]).toEqual({ filtering: true });
    }
    expect((await greet(shelf, era)).capabilities["tools"]).toEqual({ filtering: true, listChanged: true });
  });

  test("what is ours is named as ours: the query of skills/list, and the order of its answer", async () => {
    const { capabilities } = await greet(namespaceAddress, era);
    expect(capabilities["experimental"]).toHaveProperty("skill-registry/skills-list-query");
    const { result } = await ask(namespaceAddress, era, "skills/list", { query: "interview slots" });
    const { skills, _meta: meta } = result as { skills: { uri: string }[]; _meta: Record<string, object> };
    expect(skills[0]!.uri).toBe(`skill://${hiring.namespace}/schedule-interviews/SKILL.md`);
    expect(Object.keys(meta["skill-registry/scores"]!)).toEqual(skills.map(({ uri }) => uri));
  });

  test("no list of tools may be kept, since clients would take that of one query for another's", async () => {
    for (const params of [{}, { query: "load a skill" }, { limit: 1 }]) {
      const { result } = await ask(shelf, era, "tools/list", params);
      expect([result!["ttlMs"], result!["cacheScope"]]).toEqual(
        era === "2026-07-28" ? [0, "public"] : [undefined, undefined],
      );
    }
  });

  test("the registry's own tools cost a model less than 1,500 tokens", async () => {
    const { result } = await ask(`${origin}/mcp`, era, "tools/list");
    const tools = result!["tools"] as ListedTool[];
    // What a host shows its model: no host passes on schemas of answers or hints.
    const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    expect(encode(JSON.stringify(shown)).length).toBeLessThan(800);
    expect(encode(JSON.stringify(tools)).length).toBeLessThan(1_500);
  });

  test("instructions say how to search and load in 512 characters, with the largest groups, then what the maker says", async () => {
    const root = (await greet(`${origin}/mcp`, era)).instructions;
    const start = root.slice(0, 512);
    expect(start).toMatch(new RegExp(`Namespaces: generated \\(${generatedCount}\\), .*hiring-desk \\(6\\)`));
    for (const instructions of [root, (await greet(shelf, era)).instructions]) {
      expect(instructions.slice(0, 512)).toMatch(/Search: search_skills \{"query":".+"\}/);
      expect(instructions.slice(0, 512)).toMatch(/Load: load_skill \{"uri":".+"\}/);
      expect(instructions.length).toBeLessThan(2_048);
    }
    const own = (await greet(shelf, era)).instructions;
    expect(own.indexOf("fiscal year")).toBeGreaterThan(own.indexOf("finance-office (6)"));
    expect(own.slice(0, 512)).toContain("finance-office (6)");
    expect(own).toContain("Ask which fiscal year is meant.");
    expect(own).toContain("Each skill here is also a tool without arguments");
  });
});

test("who listens for a changing list of tools is promised it only where it changes", async () => {
  const notifications = { toolsListChanged: true };
  const acknowledged = async (address: string) =>
    (await firstMessage(await post(address, "2026-07-28", "subscriptions/listen", { notifications })))["params"];
  expect(await acknowledged(shelf)).toMatchObject({ notifications: { toolsListChanged: true } });
  expect(await acknowledged(`${origin}/mcp/${finance.namespace}`)).toMatchObject({ notifications: {} });
});

test("nobody is told of a changing list of tools where it does not change, though the skills there do", async () => {
  const namespace = "quiet-tools";
  await operator.createNamespace(namespace);
  const client = new Client({ name: "listener", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
  const [tools, resources] = [notices(), notices()];
  client.setNotificationHandler("notifications/tools/list_changed", tools.ring);
  client.setNotificationHandler("notifications/resources/list_changed", resources.ring);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp/${namespace}`)));
  await operator.publish(namespace, skill("feed-fish", "Feed the fish in the lobby."));
  await resources.heardUntil(async () => true);
  await operator.publish(namespace, skill("walk-dogs", "Walk the dogs of the neighbours."));
  await resources.heardUntil(async () => resources.count() > 1);
  expect(tools.count()).toBe(0);
  await client.close();
});

async function within<Answer>(
  registry: Connection,
  protocolVersion: string,
  work: (registry: Connection) => Promise<Answer>,
): Promise<Answer> {
  expect(registry.protocolVersion).toBe(protocolVersion);
  try {
    return await work(registry);
  } finally {
    await registry.close();
  }
}

type Wanted = Pick<(typeof sentences)[number], "department" | "path">;

const uriOf = ({ department, path }: Wanted) => `skill://${department.namespace}/${path}/SKILL.md`;
const sourceOf = ({ department, path }: Wanted) => department.skills.find((each) => each.path === path)!;

function textOf(wanted: Wanted): string {
  return Buffer.from(sourceOf(wanted).files.find(({ path }) => path === "SKILL.md")!.bytes).toString("utf8");
}

/** The right skill, every byte of every file of it, and the schema of the tool that it names. */
function expectFound(found: Journey["skill"], wanted: (typeof sentences)[number]): void {
  expect(found?.uri).toBe(uriOf(wanted));
  expect(found!.text).toBe(textOf(wanted));
  const root = uriOf(wanted).slice(0, -"SKILL.md".length);
  const read = Array.from(found!.verified, ([uri, bytes]) => [decodeURIComponent(uri.slice(root.length)), [...bytes]]);
  const published = sourceOf(wanted).files.map(({ path, bytes }) => [path, [...bytes]]);
  expect(Object.fromEntries(read)).toEqual(Object.fromEntries(published));
  if (wanted.tool === undefined) {
    expect(found!.schema).toBeUndefined();
    return;
  }
  const [server, name] = wanted.tool.split("/");
  const { url, tools } = wanted.department.servers[server!]!;
  const definition = tools.find((each) => each.name === name);
  expect(found!.schema).toEqual({ tool: wanted.tool, url, definition });
}

function listerOf(host: AnyHost) {
  return async (params?: { query?: string; limit?: number }) =>
    (await host.listTools(params)).tools.map(({ name }) => name);
}

/** Which of the two clients of 2025 a test has. */
const kindOf = (connect: unknown) => (connect === clients[2]!.connect ? ("first" as const) : ("legacy" as const));

interface Listening {
  host: AnyHost;
  /** Looks again after each notification, and never without one. */
  heardUntil(isThere: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

const deadlineMs = 30_000;

/** The official clients, told of changes of the list of tools the way that each of them is. */
const listenForTools: Record<"modern" | "legacy" | "first", (address: string) => Promise<Listening>> = {
  modern: async (address) => {
    const [client, heard] = await openSecond(address, "auto");
    const subscription = await client.listen({ toolsListChanged: true });
    return { ...heard, close: () => subscription.close().then(() => client.close()) };
  },
  legacy: async (address) => (await openSecond(address, "legacy"))[1],
  first: async (address) => {
    const client = new FirstClient({ name: "listener", version: "1.0.0" });
    const { ring, heardUntil } = notices();
    client.setNotificationHandler(ToolListChangedNotificationSchema, ring);
    const transport = new FirstTransport(new URL(address));
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    expect(client.getServerCapabilities()?.tools?.listChanged).toBe(true);
    return { host: client as unknown as AnyHost, heardUntil, close: () => client.close() };
  },
};

async function openSecond(address: string, mode: "auto" | "legacy"): Promise<[Client, Listening]> {
  const client = new Client({ name: "listener", version: "1.0.0" }, { versionNegotiation: { mode } });
  const { ring, heardUntil } = notices();
  client.setNotificationHandler("notifications/tools/list_changed", ring);
  await client.connect(new StreamableHTTPClientTransport(new URL(address)));
  expect(client.getServerCapabilities()?.tools?.listChanged).toBe(true);
  return [client, { host: client as unknown as AnyHost, heardUntil, close: () => client.close() }];
}

function notices() {
  let rings = 0;
  let wake = () => {};
  const ring = () => {
    rings++;
    wake();
  };
  const heardUntil = async (isThere: () => Promise<boolean>): Promise<void> => {
    for (let seen = 0; ; seen++) {
      await next(seen);
      if (await isThere()) return;
    }
  };
  const next = (seen: number) =>
    new Promise<void>((done, fail) => {
      if (rings > seen) return done();
      const timer = setTimeout(() => fail(new Error(`no notification within ${deadlineMs} ms`)), deadlineMs);
      wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  return { ring, heardUntil, count: () => rings };
}
