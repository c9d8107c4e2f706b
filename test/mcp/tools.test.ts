import { beforeAll, describe, expect, it } from "vitest";

import { eras, modern, newNamespace, newToken, publish, rpc, seedSkill, skillMdOf } from "../harness.ts";

let namespace: string;
let address: string;

beforeAll(async () => {
  namespace = await newNamespace();
  address = `/mcp/${namespace}`;
  await seedSkill(namespace, "pdf-forms", {
    "SKILL.md": skillMdOf("pdf-forms", "Fill in and flatten PDF forms", "# Steps\n"),
    "references/fields.md": "# Fields\n",
    "assets/logo.bin": Uint8Array.from([0xff, 0x00, 0xfe]),
    "assets/large.txt": "x".repeat(256 * 1024 + 1),
  });
  await seedSkill(namespace, "refund-customers", {
    "SKILL.md": skillMdOf("refund-customers", "Refund an order through the billing system"),
  });
});

interface ToolResult {
  isError?: boolean;
  content: { type: string; text?: string; resource?: { uri: string; blob: string } }[];
  structuredContent: Record<string, unknown>;
}

describe.each(eras)("tools over %s", (_, call) => {
  const use = async (name: string, input: Record<string, unknown>) =>
    (await call(address, "tools/call", { name, arguments: input })).result as unknown as ToolResult;

  it("are six, in the order of use, read-only with every hint explicit, with schemas both ways", async () => {
    const { result } = await call(address, "tools/list");
    const tools = result!["tools"] as {
      name: string;
      annotations: object;
      inputSchema: object;
      outputSchema: object;
    }[];
    expect(tools.map((tool) => tool.name)).toEqual([
      "search_skills",
      "load_skill",
      "read_skill_file",
      "list_groups",
      "search_tools",
      "describe_tool",
    ]);
    for (const tool of tools) {
      expect(tool.annotations).toMatchObject({
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      });
      expect([tool.inputSchema, tool.outputSchema]).toMatchObject([{ type: "object" }, { type: "object" }]);
    }
  });

  it("find a skill from a task in plain words", async () => {
    const { structuredContent } = await use("search_skills", { query: "please fill in this PDF form" });
    const [first] = structuredContent["cards"] as Record<string, unknown>[];
    expect(first).toMatchObject({
      uri: `skill://${namespace}/pdf-forms/SKILL.md`,
      name: "pdf-forms",
      description: "Fill in and flatten PDF forms",
      namespace,
    });
    expect(first!["score"]).toBeGreaterThan(0);
    expect(first!["score"]).toBeLessThanOrEqual(1);
  });

  it.each([
    "quantum chromodynamics",
    "",
    "   ",
    "the of and",
    "*",
    '"',
    "NEAR(a b)",
    "'; DROP TABLE skills; --",
    "%",
    "_",
    '{"a":1}',
    "🎉",
  ])("return no card, and say so, when nothing fits: %s", async (query) => {
    const result = await use("search_skills", { query });
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toMatchObject({
      cards: [],
      message: expect.stringContaining("Nothing here fits"),
    });
  });

  it("refuse a query of more than 512 characters, naming the limit", async () => {
    const result = await use("search_skills", { query: "é".repeat(513) });
    expect([result.isError, result.content[0]!.text]).toEqual([true, expect.stringContaining("512")]);
    expect((await use("search_skills", { query: "🎉".repeat(512) })).isError).toBeUndefined();
  });

  it("return at most as many cards as asked for", async () => {
    const { structuredContent } = await use("search_skills", { query: "refund order pdf form", limit: 1 });
    expect(structuredContent["cards"]).toHaveLength(1);
    expect((await use("search_skills", { query: "pdf", limit: 0 })).isError).toBe(true);
    expect((await use("search_skills", { query: "pdf", limit: 1000 })).isError).toBe(true);
  });

  it("load a skill: its SKILL.md, its files, its version and its pinned address", async () => {
    const uri = `skill://${namespace}/pdf-forms/SKILL.md`;
    const { content, structuredContent } = await use("load_skill", { uri });
    expect(content[0]!.text).toContain("untrusted input");
    expect(content[1]!.text).toBe(structuredContent["skillMd"]);
    expect(structuredContent).toMatchObject({
      uri,
      pinnedUri: `skill://${namespace}/@1.0.0/pdf-forms/SKILL.md`,
      name: "pdf-forms",
      version: "1.0.0",
      namespace,
    });
    const files = structuredContent["files"] as { uri: string; mediaType: string }[];
    expect(files.map((file) => file.uri.slice(`skill://${namespace}/pdf-forms/`.length)).sort()).toEqual([
      "SKILL.md",
      "assets/large.txt",
      "assets/logo.bin",
      "references/fields.md",
    ]);
  });

  it("load a pinned skill under pinned addresses, and forgive a missing /SKILL.md", async () => {
    const pinned = await use("load_skill", { uri: `skill://${namespace}/@1.0.0/pdf-forms` });
    expect(pinned.structuredContent["uri"]).toBe(`skill://${namespace}/@1.0.0/pdf-forms/SKILL.md`);
    const moving = await use("load_skill", { uri: `skill://${namespace}/pdf-forms` });
    expect(moving.structuredContent["uri"]).toBe(`skill://${namespace}/pdf-forms/SKILL.md`);
  });

  it("read a text file as text and any other as base64 under its address", async () => {
    const root = `skill://${namespace}/pdf-forms`;
    const text = await use("read_skill_file", { uri: `${root}/references/fields.md` });
    expect([text.content[0]!.text, text.structuredContent["text"]]).toEqual(["# Fields\n", "# Fields\n"]);
    const binary = await use("read_skill_file", { uri: `${root}/assets/logo.bin` });
    expect(binary.content[0]!.resource).toMatchObject({ uri: `${root}/assets/logo.bin`, blob: "/wD+" });
    expect(binary.structuredContent).not.toHaveProperty("text");
  });

  it("point to resources/read for a file that would fill the model's context", async () => {
    const result = await use("read_skill_file", { uri: `skill://${namespace}/pdf-forms/assets/large.txt` });
    expect([result.isError, result.content[0]!.text]).toEqual([true, expect.stringContaining("resources/read")]);
  });

  it.each([
    ["load_skill", { uri: "skill://nobody/nothing/SKILL.md" }],
    ["load_skill", { uri: "https://example.com" }],
    ["load_skill", { uri: "skill://space-1/pdf-forms/references/fields.md" }],
    ["load_skill", {}],
    ["read_skill_file", { uri: "skill://space-1/pdf-forms/none.md" }],
    ["read_skill_file", { uri: "" }],
  ])("refuse %s of %o with a sentence for the model", async (name, input) => {
    const result = await use(name, input);
    expect([result.isError, result.content[0]!.type]).toEqual([true, "text"]);
  });
});

describe("search at the root", () => {
  it("finds every public namespace's skills and says whose they are", async () => {
    const other = await newNamespace();
    await seedSkill(other, "weld-pipes", { "SKILL.md": skillMdOf("weld-pipes", "Weld copper pipes") });
    const { result } = await modern("/mcp", "tools/call", {
      name: "search_skills",
      arguments: { query: "weld pipes" },
    });
    expect((result as unknown as ToolResult).structuredContent["cards"]).toMatchObject([
      { name: "weld-pipes", namespace: other },
    ]);
    const here = await modern(address, "tools/call", { name: "search_skills", arguments: { query: "weld pipes" } });
    expect((here.result as unknown as ToolResult).structuredContent["cards"]).toEqual([]);
  });

  it("is the same for an anonymous caller however many private skills hold the word", async () => {
    const hidden = await newNamespace("private");
    const ask = () => modern("/mcp", "tools/call", { name: "search_skills", arguments: { query: "zirconium forms" } });
    const before = await ask();
    for (let index = 0; index < 10; index++) {
      await seedSkill(hidden, `zirconium-${index}`, { "SKILL.md": skillMdOf(`zirconium-${index}`, "zirconium") });
    }
    expect(withoutPickId((await ask()).body)).toEqual(withoutPickId(before.body));
    const token = await newToken(hidden, "reader");
    const mine = await modern(
      "/mcp",
      "tools/call",
      { name: "search_skills", arguments: { query: "zirconium" } },
      { token },
    );
    expect((mine.result as unknown as ToolResult).structuredContent["cards"]).not.toEqual([]);
  });
});

/** The one thing of an answer that is drawn anew each time. */
const withoutPickId = (body: unknown) => JSON.stringify(body).replaceAll(/pick_[\w-]{22}/g, "pick");

describe("prompts", () => {
  it("are the one that finds a skill and each listed skill, of which the root has none", async () => {
    const { result } = await modern(address, "prompts/list");
    expect((result!["prompts"] as { name: string }[]).map((prompt) => prompt.name)).toEqual([
      "use-skill",
      "pdf-forms",
      "refund-customers",
    ]);
    expect((await modern("/mcp", "prompts/list")).result!["prompts"]).toMatchObject([{ name: "use-skill" }]);
    expect((await modern("/mcp", "prompts/get", { name: "pdf-forms" })).error?.code).toBe(-32602);
  });

  it("carry the SKILL.md and the task", async () => {
    const { result } = await modern(address, "prompts/get", { name: "pdf-forms", arguments: { task: "form.pdf" } });
    const [message] = result!["messages"] as { role: string; content: { text: string } }[];
    expect(message!.role).toBe("user");
    expect(message!.content.text).toContain("# Steps");
    expect(message!.content.text).toContain("form.pdf");
  });
});

describe("instructions", () => {
  const handshakes = {
    "2026-07-28": async (at: string, token?: string) =>
      modern(at, "server/discover", {}, token === undefined ? {} : { token }),
    "2025-11-25": async (at: string, token?: string) =>
      rpc(
        at,
        {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
        },
        token === undefined ? {} : { token },
      ),
  };

  it.each(Object.entries(handshakes))(
    "at %s say within 512 characters what this is, how to search, how to load, and a skill to begin with",
    async (_, shake) => {
      const hidden = await newNamespace("private");
      await seedSkill(hidden, "inner");
      await publish(await newNamespace(), { "SKILL.md": skillMdOf("any") });
      const token = await newToken(hidden, "reader");
      for (const [at, credential] of [
        [address, undefined],
        [`/mcp/${hidden}`, token],
      ] as const) {
        const { result } = await shake(at, credential);
        const start = (result!["instructions"] as string).slice(0, 512);
        expect(start).toContain("Agent Skills");
        expect(start).toContain("search_skills");
        expect(start).toContain("load_skill");
        const uri = /skill:\/\/\S+/.exec(start)![0];
        const got = await modern(at, "skills/get", { uri }, credential === undefined ? {} : { token: credential });
        expect(got.error).toBeUndefined();
      }
    },
  );

  it("of an empty namespace name no skill", async () => {
    const { result } = await modern(`/mcp/${await newNamespace()}`, "server/discover");
    expect(result!["instructions"]).not.toContain("skill://");
  });
});
