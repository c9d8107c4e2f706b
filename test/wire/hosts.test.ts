import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { clients } from "./connection.ts";
import type { Connection, ToolAnswer } from "./connection.ts";
import { generatedSkills } from "./generated-skills.ts";
import { RegistryClient } from "./registry-client.ts";
import { amountOf, pathOf, seedSkills, verifyAll, verifyFiles } from "./source.ts";

const { origin, operatorToken } = inject("registry");
const operator = new RegistryClient(origin, operatorToken);

describe.each(clients)("a host with $client, negotiated to $protocolVersion,", ({ protocolVersion, connect }) => {
  let registry: Connection;
  const namespace = `private-${clients.findIndex((each) => each.connect === connect)}`;

  beforeAll(async () => {
    registry = await connect(`${origin}/mcp/registry`);
    expect(registry.protocolVersion).toBe(protocolVersion);
  });
  afterAll(() => registry.close());

  test("goes from a sentence to a file of a skill by the tools alone, each answer as its schema says", async () => {
    const call = await checkedTools(registry);
    const found = await call("search_skills", { query: "publish a folder as a skill" });
    const [card] = found["cards"] as { uri: string }[];
    expect(card).toMatchObject({ uri: "skill://registry/publish-skills/SKILL.md", namespace: "registry" });

    const skill = await call("load_skill", { uri: card!.uri });
    const source = (await seedSkills()).find(({ path }) => path === "publish-skills")!;
    expect(skill["skillMd"]).toBe(textOf(source, "SKILL.md"));
    expect(skill["files"]).toHaveLength(source.files.length);

    const uri = "skill://registry/publish-skills/scripts/publish.sh";
    const file = await call("read_skill_file", { uri });
    expect(file).toMatchObject({ uri, text: textOf(source, "scripts/publish.sh") });
  });

  test("is told by the tools what is wrong, in a result that a model can read", async () => {
    const refused = await registry.host.callTool({ name: "load_skill", arguments: { uri: "skill://registry/none" } });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain("No skill is served");
  });

  test("is told how to begin, with an address that skills/get confirms", async () => {
    const start = registry.host.getInstructions()!.slice(0, 512);
    expect(start).toContain("search_skills");
    const [uri] = /skill:\/\/\S+/.exec(start)!;
    expect((await registry.get(uri)).uri).toBe(uri);
  });

  test("shows each skill as a prompt", async () => {
    const source = await seedSkills();
    const { prompts } = await registry.host.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["use-skill", ...source.map(({ path }) => path).sort()]);
    const { messages } = await registry.host.getPrompt({
      name: "write-good-skills",
      arguments: { task: "describe my skill" },
    });
    const [message] = messages as { role: string; content: { text: string } }[];
    expect(message).toMatchObject({ role: "user", content: { type: "text" } });
    expect(message!.content.text).toContain(
      textOf(
        source.find(({ path }) => path === "write-good-skills")!,
        "SKILL.md",
      ),
    );
    expect(message!.content.text).toContain("describe my skill");
  });

  test("finds the SKILL.md of every listed skill among the resources, and how to read the rest", async () => {
    const generated = await connect(`${origin}/mcp/generated`);
    const found = await generated.listResources();
    const expected = generatedSkills().map(({ path }) => `skill://generated/${path}/SKILL.md`);
    expect(found.map(({ uri }) => uri).sort()).toEqual(expected.sort());
    const { resourceTemplates } = await generated.host.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: "skill://generated/{+path}" }]);
    await generated.close();
  });

  test("walks the directories of a skill and meets exactly the files of its manifest", async () => {
    const large = await connect(`${origin}/mcp/large`);
    const [entry] = await large.list();
    const walked = await walk(large, "skill://large/large");
    const bySize = new Map(entry!.resources.map(({ uri, size }) => [uri, size]));
    expect(new Map(walked)).toEqual(bySize);
    await large.close();
  });

  test("reads a pinned address, whose files are verified as those of the moving one", async () => {
    const source = (await seedSkills()).find(({ path }) => path === "write-good-skills")!;
    const call = await checkedTools(registry);
    const loaded = await call("load_skill", { uri: "skill://registry/write-good-skills/SKILL.md" });
    const pinned = loaded["pinnedUri"] as string;
    expect(pinned).toBe(`skill://registry/@${String(loaded["version"])}/write-good-skills/SKILL.md`);
    const entry = await registry.get(pinned);
    expect(entry.uri).toBe(pinned);
    const { files, bytes } = amountOf([source]);
    expect(await verifyFiles(registry, [{ entry, skill: source }])).toEqual({ files, bytes });
    const walked = await walk(registry, pinned.slice(0, -"/SKILL.md".length));
    expect(walked.map(([uri]) => pathOf(entry, uri)).sort()).toEqual(source.files.map(({ path }) => path).sort());
    expect((await registry.list()).map(({ uri }) => uri)).not.toContain(pinned);
  });

  test("reads a private namespace with a reader's token, and meets 401 without", async () => {
    await operator.createNamespace(namespace, "private");
    const source = generatedSkills().slice(4, 8);
    for (const skill of source) await operator.publish(namespace, skill, "tar.gz");
    const token = await operator.mintToken(namespace, "reader");
    const connection = await connect(`${origin}/mcp/${namespace}`, token);
    expect(await verifyAll(connection, namespace, source)).toMatchObject({ skills: 4 });
    await connection.close();

    await expect(connect(`${origin}/mcp/${namespace}`)).rejects.toThrow(/401|unauthorized/i);
    await expect(connect(`${origin}/mcp/no-such-namespace`)).rejects.toThrow(/401|unauthorized/i);
    await expect(connect(`${origin}/mcp/no-such-namespace`, token)).rejects.toThrow(/401|unauthorized/i);
  });
});

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

function textOf(skill: { files: readonly { path: string; bytes: Uint8Array }[] }, path: string): string {
  return utf8.decode(skill.files.find((file) => file.path === path)!.bytes);
}

/** Calls a tool and holds its structured content against the schema that tools/list shows. */
async function checkedTools({ host }: Connection) {
  const { tools } = await host.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    "search_skills",
    "load_skill",
    "read_skill_file",
    "list_groups",
    "search_tools",
    "describe_tool",
  ]);
  const validator = new AjvJsonSchemaValidator();
  return async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer: ToolAnswer = await host.callTool({ name, arguments: args });
    const tool = tools.find((candidate) => candidate.name === name)!;
    const result = validator.getValidator<Record<string, unknown>>(tool.outputSchema as object)(
      answer.structuredContent,
    );
    expect(result).toMatchObject({ valid: true });
    return answer.structuredContent as Record<string, unknown>;
  };
}

/** Every file below a directory, with its size. */
async function walk(connection: Connection, directory: string): Promise<[uri: string, size: number | undefined][]> {
  const found: [string, number | undefined][] = [];
  for (const child of await connection.readDirectory(directory)) {
    if (child.mimeType === "inode/directory") found.push(...(await walk(connection, child.uri)));
    else found.push([child.uri, child.size]);
  }
  return found;
}
