import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { api, legacy, modern, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";

/** From a task in plain words to the right skill, then to only the tools that it needs; or to "nothing fits". */
interface ToolResult {
  isError?: boolean;
  content: { type: string; text?: string; uri?: string }[];
  structuredContent: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

type Card = { uri: string; name: string; namespace: string; score: number };

async function call(address: string, name: string, input: object, token?: string): Promise<ToolResult> {
  const options = token === undefined ? {} : { token };
  const { result, error } = await modern(address, "tools/call", { name, arguments: input }, options);
  if (error !== undefined) throw new Error(`${name}: ${error.message}`);
  return result as unknown as ToolResult;
}

async function search(address: string, query: string, token?: string): Promise<Card[]> {
  return (await call(address, "search_skills", { query, limit: 25 }, token)).structuredContent["cards"] as Card[];
}

const namesOf = (cards: Card[]) => cards.map(({ name }) => name);

const texts: Record<string, [description: string, body?: string]> = {
  "pdf-forms": ["Fill in and flatten PDF forms, and read what somebody filled in."],
  "invoice-reminders": [
    "Write polite payment reminders for invoices that are overdue.",
    "Mention the dunning level.\n",
  ],
  "log-triage": ["Read the logs of a service after an incident and find the first error.", "Use journalctl.\n"],
  "release-notes": ["Write release notes from merged pull requests since the last tag."],
  "expense-reports": ["Check travel expense reports against the receipts."],
  "csv-cleanup": ["Clean up CSV files: trim cells, fix dates, drop duplicates."],
  "meeting-minutes": ["Turn the transcript of a meeting into minutes with decisions and owners."],
  "sql-review": ["Review SQL migrations for locks and missing indexes."],
  "zh-contract": ["审查采购合同，找出付款条款和违约责任中的风险。"],
  "ja-minutes": ["会議の録音から議事録を作成し、決定事項と担当者をまとめる。"],
};

const tools = [
  { name: "search_jobs", description: "Search open positions by title and place", inputSchema: { type: "object" } },
  {
    name: "get_job",
    description: "Get one position",
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  },
  { name: "delete_job", description: "Delete a position", inputSchema: { type: "object" } },
];

let space: string;
let at: string;

async function seed(namespace: string, name: string, description: string, more: More = {}): Promise<void> {
  const { body = "# Steps\n", extra = "" } = more;
  const text = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n${extra}---\n${body}`;
  const { status, body: answer } = await publish(namespace, { "SKILL.md": text });
  if (status !== 201) throw new Error(`${name}: ${status} ${JSON.stringify(answer)}`);
}

interface More {
  body?: string | undefined;
  /** Lines of frontmatter. */
  extra?: string;
}

beforeAll(async () => {
  space = await newNamespace();
  at = `/mcp/${space}`;
  for (const [name, [description, body]] of Object.entries(texts)) await seed(space, name, description, { body });
  const server = { url: "https://jobs.example/mcp", title: "Jobs", tools };
  expect((await api("PUT", `/namespaces/${space}/servers/jobs`, server)).status).toBeLessThan(300);
  await seed(space, "hire-people", "Find candidates for an open position and prepare the interview.", {
    extra: 'metadata:\n  mcp-tools: "jobs/search_jobs jobs/get_job jobs/archive_job"\n',
  });
});

describe("search", () => {
  it.each([
    ["my boss wants the overdue invoice chased politely", "invoice-reminders"],
    ["fill in a PDF form", "pdf-forms"],
    ["our service went down last night, which error came first in the logs?", "log-triage"],
    ["the table has duplicate rows and broken dates, it is a .csv export", "csv-cleanup"],
    ["请帮我看一下这份采购合同的付款条款", "zh-contract"],
    ["昨日の会議の議事録を作成してください", "ja-minutes"],
    ["journalctl after an incident", "log-triage"],
  ])("finds for: %s", async (query, name) => {
    expect((await search(at, query))[0]?.name).toBe(name);
  });

  it("puts the skill first whose name is the query, however it is spelt", async () => {
    for (const query of ["pdf-forms", "PDF forms", "pdf_forms", " Pdf-Forms "]) {
      const [first] = await search(at, query);
      expect([query, first?.name, first?.score]).toEqual([query, "pdf-forms", 1]);
    }
  });

  it("cannot be bought by stuffing a description", async () => {
    const other = await newNamespace();
    await seed(other, "quarterly-budget", "Plan the money of the next three months.");
    await seed(other, "cheap-pills", "quarterly budget ".repeat(50).trim(), {
      body: "quarterly budget ".repeat(500),
    });
    expect(namesOf(await search(`/mcp/${other}`, "quarterly budget planning"))[0]).toBe("quarterly-budget");
  });

  it("knows the triggers and examples that an author names", async () => {
    const other = await newNamespace();
    const extra = 'triggers: ["kaputt melden"]\nexamples:\n  - "my bicycle has a flat tyre"\n';
    await seed(other, "repair-desk", "Takes orders for the workshop.", { extra });
    await seed(other, "front-desk", "Greets visitors at the door.");
    expect(namesOf(await search(`/mcp/${other}`, "a flat tyre on my bicycle"))).toEqual(["repair-desk"]);
    expect(namesOf(await search(`/mcp/${other}`, "kaputt"))).toEqual(["repair-desk"]);
  });

  it("says that nothing fits, to ask the user, and where one may look; and names no skill", async () => {
    const result = await call(at, "search_skills", { query: "tune a grand piano in a concert hall" });
    expect(result.structuredContent).toMatchObject({ cards: [], message: expect.stringContaining("Ask the user") });
    expect(result.structuredContent["evidence"]).toMatchObject({ confidence: expect.any(Number) });
    expect(JSON.stringify(result)).not.toContain("skill://");
    for (const name of Object.keys(texts)) expect(JSON.stringify(result)).not.toContain(name);
    expect(result.content.map(({ type }) => type)).toEqual(["text"]);
  });

  it("names the nearest groups: namespaces at /mcp, collections at a namespace", async () => {
    await api("PUT", `/namespaces/${space}/collections/finance`, { skills: [{ path: "log-triage" }] });
    const query = { query: "journalctl tuba xylophone accordion bassoon harpsichord clavichord violoncello" };
    const root = await call("/mcp", "search_skills", query);
    const here = await call(at, "search_skills", query);
    expect(root.structuredContent["cards"]).toEqual([]);
    expect((root.structuredContent["groups"] as { name: string }[]).map(({ name }) => name)).toContain(space);
    expect((here.structuredContent["groups"] as { name: string }[]).map(({ name }) => name)).toEqual(["finance"]);
  });

  it("gives the same order and scores again and again, ties in the order of addresses", async () => {
    const other = await newNamespace();
    for (const name of ["delta-cooking", "alpha-cooking", "beta-cooking"]) await seed(other, name, "Cooking with gas.");
    const first = await search(`/mcp/${other}`, "cooking with gas");
    expect(namesOf(first)).toEqual(["alpha-cooking", "beta-cooking", "delta-cooking"]);
    expect(new Set(first.map(({ score }) => score)).size).toBe(1);
    expect(await search(`/mcp/${other}`, "cooking with gas")).toEqual(first);
  });

  it("gives scores under our prefix too, and links to where the protocol has them", async () => {
    const result = await call(at, "search_skills", { query: "fill in a PDF form" });
    const [card] = result.structuredContent["cards"] as Card[];
    expect(result).toMatchObject({
      _meta: {
        "skill-registry/ranking": 1,
        "skill-registry/scores": { [card!.uri]: card!.score },
      },
    });
    expect(result.content).toContainEqual(expect.objectContaining({ type: "resource_link", uri: card!.uri }));
    const headers = { "mcp-protocol-version": "2025-03-26" };
    const old = await legacy(
      at,
      "tools/call",
      { name: "search_skills", arguments: { query: "PDF form" } },
      { headers },
    );
    expect(JSON.stringify(old.result)).not.toContain("resource_link");
  });

  it("finds only what the caller may read, and counts words only over that", async () => {
    const hidden = await newNamespace("private");
    await seed(hidden, "secret-recipe", "How the secret sauce of zanzibar is cooked.");
    const token = await newToken(hidden, "reader");
    expect(namesOf(await search("/mcp", "sauce of zanzibar", token))).toEqual(["secret-recipe"]);
    const stranger = await call("/mcp", "search_skills", { query: "sauce of zanzibar" });
    expect(stranger.structuredContent["cards"]).toEqual([]);
    await api("PATCH", `/namespaces/${space}/skills/sql-review`, { visibility: "private" });
    expect(namesOf(await search(at, "review SQL migrations for missing indexes"))).not.toContain("sql-review");
    await api("PATCH", `/namespaces/${space}/skills/sql-review`, { visibility: "public" });
    expect(namesOf(await search(at, "review SQL migrations for missing indexes"))[0]).toBe("sql-review");
  });

  it("finds in a collection what it holds, a pinned skill by the words of that release", async () => {
    const other = await newNamespace();
    await seed(other, "garden", "Water the tomatoes in the greenhouse.");
    await publish(other, { "SKILL.md": skillMdOf("garden", "Prune the apple trees in winter.") });
    await seed(other, "kitchen", "Water the tomatoes with sauce.");
    const skills = [{ path: "garden", version: "1.0.0" }];
    await api("PUT", `/namespaces/${other}/collections/old`, { skills });
    const [first, ...rest] = await search(`/mcp/${other}/old`, "water the tomatoes");
    expect([first?.uri, rest]).toEqual([`skill://${other}/@1.0.0/garden/SKILL.md`, []]);
    expect(namesOf(await search(`/mcp/${other}`, "prune apple trees"))).toEqual(["garden"]);
    expect(namesOf(await search(`/mcp/${other}`, "greenhouse"))).toEqual([]);
    await api("PUT", `/namespaces/${other}/collections/every`, { skills: "all" });
    expect(namesOf(await search(`/mcp/${other}/every`, "prune apple trees"))).toEqual(["garden"]);
  });

  it("finds at once what was published, and no more what was deleted", async () => {
    const other = await newNamespace();
    await seedSkill(other, "ship-parcels", { "SKILL.md": skillMdOf("ship-parcels", "Ship parcels abroad") });
    expect(namesOf(await search(`/mcp/${other}`, "parcels abroad"))).toEqual(["ship-parcels"]);
    await api("DELETE", `/namespaces/${other}/skills/ship-parcels`);
    expect(await search(`/mcp/${other}`, "parcels abroad")).toEqual([]);
  });
});

describe("skills/list with a query", () => {
  const list = (address: string, params: object) => modern(address, "skills/list", params as Record<string, unknown>);

  it("is a ranked part of the list, of whole entries, and nothing where nothing fits", async () => {
    const all = (await list(at, {})).result!["skills"] as { uri: string }[];
    const { result } = await list(at, { query: "fill in a PDF form" });
    const found = result!["skills"] as { uri: string }[];
    expect(all).toContainEqual(found[0]);
    expect(found[0]!.uri).toBe(`skill://${space}/pdf-forms/SKILL.md`);
    expect(result!["_meta"]).toMatchObject({ "skill-registry/scores": { [found[0]!.uri]: expect.any(Number) } });
    expect((await list(at, { query: "tune a grand piano" })).result!["skills"]).toEqual([]);
    expect((await list(at, { query: "  " })).result!["skills"]).toEqual(all);
  });

  it("has pages whose cursor survives a publish and belongs to its query", async () => {
    const other = await newNamespace();
    for (let index = 0; index < 30; index++) await seed(other, `lamp-${index}`, "Repair a lamp.");
    const first = (await list(`/mcp/${other}`, { query: "repair a lamp" })).result!;
    expect(first["skills"]).toHaveLength(25);
    const cursor = first["nextCursor"];
    await seed(other, "other-things", "Repair a toaster, a kettle and a radio.");
    const second = (await list(`/mcp/${other}`, { query: "repair a lamp", cursor })).result!;
    const uris = [...(first["skills"] as { uri: string }[]), ...(second["skills"] as { uri: string }[])].map(
      ({ uri }) => uri,
    );
    expect(new Set(uris.filter((uri) => uri.includes("/lamp-"))).size).toBe(30);
    expect(new Set(uris).size).toBe(uris.length);
    expect((await list(`/mcp/${other}`, { query: "repair a radio", cursor })).error?.code).toBe(-32602);
    expect((await list(at, { query: "repair a lamp", cursor })).error?.code).toBe(-32602);
    expect((await list(at, { query: "x".repeat(513) })).error?.message).toContain("512");
  });
});

describe("groups", () => {
  const groups = async (address: string, input: object = {}, token?: string) =>
    (await call(address, "list_groups", input, token)).structuredContent as {
      kind: string;
      groups: { name: string; skills: number }[];
      nextCursor?: string;
    };

  it("are namespaces at /mcp, collections at a namespace and namespaces in a collection, with their sizes", async () => {
    const root = await groups("/mcp");
    expect([root.kind, root.groups.find(({ name }) => name === space)?.skills]).toEqual([
      "namespace",
      Object.keys(texts).length + 1,
    ]);
    const sizes = root.groups.map(({ skills }) => skills);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    const other = await newNamespace();
    await seedSkill(other, "own");
    await api("PUT", `/namespaces/${other}/collections/mixed`, {
      skills: [{ path: "own" }, { namespace: space, path: "pdf-forms" }, { namespace: space, path: "csv-cleanup" }],
    });
    await api("PUT", `/namespaces/${other}/collections/everything`, { skills: "all" });
    expect(await groups(`/mcp/${other}`)).toMatchObject({
      kind: "collection",
      groups: [
        { name: "mixed", skills: 3 },
        { name: "everything", skills: 1 },
      ],
    });
    expect(await groups(`/mcp/${other}/mixed`)).toMatchObject({
      kind: "namespace",
      groups: [
        { name: space, skills: 2 },
        { name: other, skills: 1 },
      ],
    });
  });

  it("count nothing that the caller does not find", async () => {
    const other = await newNamespace();
    await seedSkill(other, "open");
    for (const visibility of ["private", "unlisted"]) {
      await seedSkill(other, `is-${visibility}`, {}, `?visibility=${visibility}`);
    }
    const count = async (token?: string) =>
      (await groups("/mcp", {}, token)).groups.find(({ name }) => name === other)?.skills;
    expect([await count(), await count(await newToken(other, "reader"))]).toEqual([1, 2]);
    await api("PATCH", `/namespaces/${other}`, { visibility: "private" });
    expect(await count()).toBeUndefined();
  });

  it("come in pages", async () => {
    const other = await newNamespace();
    await seedSkill(other, "own");
    for (let index = 0; index < 60; index++) {
      await api("PUT", `/namespaces/${other}/collections/desk-${index}`, { skills: [{ path: "own" }] });
    }
    const first = await groups(`/mcp/${other}`);
    const second = await groups(`/mcp/${other}`, { cursor: first.nextCursor });
    expect([first.groups.length, second.groups.length, second.nextCursor]).toEqual([50, 10, undefined]);
    expect(new Set([...first.groups, ...second.groups].map(({ name }) => name)).size).toBe(60);
    const forged = await call("/mcp", "list_groups", { cursor: first.nextCursor });
    expect(forged.isError).toBe(true);
  });
});

describe("the tools of a skill", () => {
  const skill = () => `skill://${space}/hire-people/SKILL.md`;

  it("come as cards without a schema when it is loaded, with its origin, release and digest, as untrusted input", async () => {
    const { structuredContent, content } = await call(at, "load_skill", { uri: skill() });
    expect(structuredContent).toMatchObject({
      version: "1.0.0",
      digest: expect.stringMatching(/^sha256:/),
      origin: { namespace: space, registry: "localhost" },
      notice: expect.stringContaining("untrusted"),
      tools: [
        { tool: "jobs/search_jobs", description: tools[0]!.description, url: "https://jobs.example/mcp" },
        { tool: "jobs/get_job", description: tools[1]!.description },
        { tool: "jobs/archive_job", isMissing: true },
      ],
    });
    expect(JSON.stringify(structuredContent["tools"])).not.toContain("inputSchema");
    expect(content).toContainEqual(expect.objectContaining({ type: "resource_link", uri: skill() }));
  });

  it("are described one at a time, and only those that it names", async () => {
    const described = await call(at, "describe_tool", { skill: skill(), tool: "jobs/get_job" });
    expect(described.structuredContent).toEqual({
      tool: "jobs/get_job",
      url: "https://jobs.example/mcp",
      definition: tools[1],
    });
    for (const tool of ["jobs/delete_job", "jobs/none", "delete_job", "", "other/get_job"]) {
      const refused = await call(at, "describe_tool", { skill: skill(), tool });
      expect([tool, refused.isError, refused.content[0]!.text]).toEqual([
        tool,
        true,
        expect.stringMatching(/jobs\/search_jobs, jobs\/get_job/),
      ]);
    }
    const missing = await call(at, "describe_tool", { skill: skill(), tool: "jobs/archive_job" });
    expect([missing.isError, missing.content[0]!.text]).toEqual([
      true,
      expect.stringContaining("no registered server"),
    ]);
    const none = await call(at, "describe_tool", {
      skill: `skill://${space}/pdf-forms/SKILL.md`,
      tool: "jobs/get_job",
    });
    expect([none.isError, none.content[0]!.text]).toEqual([true, expect.stringContaining("names no tool")]);
  });

  it("are found by what they do, with the skills that name them", async () => {
    const { structuredContent } = await call(at, "search_tools", { query: "search open positions by title" });
    const [card] = structuredContent["cards"] as { tool: string; skills: string[] }[];
    expect([card?.tool, card?.skills]).toEqual(["jobs/search_jobs", [skill()]]);
    expect((await call(at, "search_tools", { query: "boil an egg" })).structuredContent["cards"]).toEqual([]);
    await api("PUT", `/namespaces/${space}/collections/people`, { skills: [{ path: "hire-people" }] });
    const inside = await call(`${at}/people`, "search_tools", { query: "delete a position" });
    const found = (inside.structuredContent["cards"] as { tool: string }[]).map(({ tool }) => tool);
    expect(found).not.toContain("jobs/delete_job");
  });

  it("of a private namespace are nobody else's", async () => {
    const hidden = await newNamespace("private");
    await api("PUT", `/namespaces/${hidden}/servers/vault`, {
      url: "https://vault.example/mcp",
      tools: [{ name: "open_vault", description: "Open the vault of zurich", inputSchema: { type: "object" } }],
    });
    const token = await newToken(hidden, "reader");
    const mine = await call(`/mcp/${hidden}`, "search_tools", { query: "open the vault of zurich" }, token);
    expect(JSON.stringify(mine.structuredContent)).toContain("open_vault");
    const theirs = await call("/mcp", "search_tools", { query: "open the vault of zurich" });
    expect(JSON.stringify(theirs)).not.toContain("vault/");
    expect(await env.DB.prepare("SELECT shelf FROM search_docs WHERE path = 'vault/open_vault'").first("shelf")).toBe(
      `/${hidden}`,
    );
  });
});

describe("a collection whose skills are tools", () => {
  it("lists each as a read-only tool without arguments, which loads it", async () => {
    const skills = [{ path: "pdf-forms" }, { path: "hire-people" }];
    const put = await api("PUT", `/namespaces/${space}/collections/as-tools`, { skills, tools: "per-skill" });
    expect(put.body["tools"]).toBe("per-skill");
    const { result } = await modern(`${at}/as-tools`, "tools/list");
    const listed = result!["tools"] as { name: string; description: string; annotations: object }[];
    expect(listed.slice(6)).toMatchObject([
      { name: "pdf-forms", description: texts["pdf-forms"]![0], annotations: { readOnlyHint: true } },
      { name: "hire-people" },
    ]);
    const loaded = await call(`${at}/as-tools`, "pdf-forms", {});
    expect(loaded.structuredContent["uri"]).toBe(`skill://${space}/pdf-forms/SKILL.md`);
    expect((await call(`${at}/as-tools`, "pdf-forms", { x: 1 })).isError).toBe(true);
    expect((await modern(at, "tools/call", { name: "pdf-forms", arguments: {} })).error?.code).toBe(-32602);
  });
});

describe("what a search must not show", () => {
  const evidenceOf = async (address: string, query: string, token?: string) =>
    (await call(address, "search_skills", { query }, token)).structuredContent["evidence"] as Record<string, number>;

  it("is a word of a skill that was hidden, in a collection of somebody else's", async () => {
    const [victim, thief] = [await newNamespace(), await newNamespace()];
    await seed(victim, "plain", "Ordinary bicycle repair in the yard");
    await seed(victim, "deal", "Some text");
    const skills = ["plain", "deal"].map((path) => ({ namespace: victim, path }));
    await api("PUT", `/namespaces/${thief}/collections/held`, { skills });
    await api("PATCH", `/namespaces/${victim}/skills/deal`, { visibility: "private" });
    await seed(victim, "deal", "Acquire Umbrellacorp for ninety");
    const at = `/mcp/${thief}/held`;
    expect(await evidenceOf(at, "bicycle umbrellacorp")).toEqual(await evidenceOf(at, "bicycle parasolcorp"));
    const cards = await search(at, "bicycle repair umbrellacorp ninety");
    expect(cards).toEqual(await search(at, "bicycle repair parasolcorp twenty"));
  });

  it("is how many skills lie beside the path to which a token is held", async () => {
    const space = await newNamespace("private");
    await publish(space, { "SKILL.md": skillMdOf("refunds", "Refund a customer") }, "?path=billing/refunds");
    const { body } = await api("POST", `/namespaces/${space}/tokens`, { role: "reader", path: "billing" });
    const ask = () => evidenceOf(`/mcp/${space}`, "refund a customer", body["token"] as string);
    const before = await ask();
    for (let index = 0; index < 12; index++) await seedSkill(space, `other-${index}`);
    expect([body["path"], await ask()]).toEqual([body["path"], before]);
  });

  it("keeps scores between 0 and 1, whoever asks", async () => {
    const space = await newNamespace("private");
    for (const name of ["aaa-general", "bbb-notes"]) await seed(space, name, "Compute all that is asked each day");
    await seed(space, "zookeeper-wages", "Compute the wages of zookeepers each month");
    const link = await api("POST", `/namespaces/${space}/links`, { label: "here" });
    const path = new URL(link.body["url"] as string).pathname;
    const asked = [
      await search(`/mcp/${space}`, "zookeeper wages each", await newToken(space, "admin")),
      await search(path, "zookeeper wages each"),
      await search(`/mcp/${space}`, "zookeeper wages each", env.ADMIN_TOKEN),
    ];
    for (const cards of asked) {
      expect(cards[0]?.name).toBe("zookeeper-wages");
      for (const { score } of cards) expect([score > 0, score <= 1]).toEqual([true, true]);
    }
  });

  it("lets nobody silence a namespace by publishing very much of its words", async () => {
    const [space, flooder] = [await newNamespace(), await newNamespace()];
    await seed(space, "stripe-refunds", "Refund a customer who was charged twice for one order.");
    for (const name of ["sort-mail", "tidy-inbox"])
      await seed(space, name, "Sort the mail of the morning into folders.");
    const query = "refund a customer who was charged twice";
    const before = await evidenceOf(`/mcp/${space}`, query);
    for (let index = 0; index < 40; index++) {
      await seed(flooder, `flood-${index}`, "Refund customer charged twice tidy inbox order mail folders.");
    }
    expect(namesOf(await search(`/mcp/${space}`, query))[0]).toBe("stripe-refunds");
    expect((await evidenceOf(`/mcp/${space}`, query))["confidence"]).toBeGreaterThan(before["confidence"]! / 3);
  });

  it("gives one namespace one place for an exact name", async () => {
    const [honest, squatter] = [await newNamespace(), await newNamespace()];
    for (let index = 0; index < 9; index++) {
      await publish(squatter, { "SKILL.md": skillMdOf("parcel-labels", "Labels") }, `?path=p${index}/parcel-labels`);
    }
    await seed(honest, "parcel-labels", "Print the labels of parcels.");
    const cards = await search("/mcp", "parcel labels");
    const first = cards.slice(0, 2).map(({ namespace }) => namespace);
    expect([first.sort(), cards[1]?.score]).toEqual([[honest, squatter].sort(), 1]);
  });

  it("tells a forged cursor as such, and answers none where nothing fits", async () => {
    const forged = (list: string, key: unknown) => {
      const text = JSON.stringify(["1", list, 1, typeof key === "string" ? key : JSON.stringify(key)]);
      return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    };
    for (const key of ["x", "null", {}, [{ a: 1 }, "x"], [1, { x: 2 }], "5"]) {
      const answer = await call("/mcp", "list_groups", { cursor: forged("groups:", key) });
      expect([key, answer.isError, answer.content[0]!.text]).toEqual([key, true, expect.stringContaining("cursor")]);
      const query = "fill in a PDF form";
      const { error } = await modern(at, "skills/list", { query, cursor: forged(`skills ${query}:${space}`, key) });
      expect([key, error?.code]).toEqual([key, -32602]);
    }
    const query = "tune a grand piano";
    const cursor = forged(`skills ${query}:${space}`, [9, "", ""]);
    expect((await modern(at, "skills/list", { query, cursor })).result!["skills"]).toEqual([]);
  });
});
