import assert from "node:assert/strict";

import { hiring } from "../../wire/library.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Workshop } from "./workshop.ts";

const program = { package: "@apify/mcpc", bin: "mcpc" };
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** mcpc 0.2 knows tools, prompts and resources, and no skills: what hosts without the extension see. */
export async function tryMcpc(stage: Stage, workshop: Workshop): Promise<void> {
  const { version } = await workshop.find(program);
  const client = { client: "mcpc", version, era: "2025-11-25" };
  const tryJson = async (...parameters: string[]) => {
    const { code, stdout, stderr } = await workshop.run(program, ["--json", ...parameters]);
    return { code, answer: (stdout.trim() === "" ? undefined : JSON.parse(stdout)) as never, stderr };
  };
  const json = async <Answer>(...parameters: string[]): Promise<Answer> => {
    const { code, answer, stderr } = await tryJson(...parameters);
    assert.equal(code, 0, `${parameters.join(" ")}: ${stderr}`);
    return answer as Answer;
  };

  await attempt(
    client,
    "connect; from a search to the bytes of a skill, by tools and by resources; prompts",
    async () => {
      const hello = await json<{ protocolVersion: string }>(
        "connect",
        `${stage.origin}/mcp/${stage.namespace}`,
        "@interop",
      );
      assert.equal(hello.protocolVersion, client.era);
      try {
        const [wanted] = hiring.skills;
        const text = utf8.decode(wanted!.files[0]!.bytes);
        const question = ["tools-call", "search_skills", "query:=match a CV to open positions"];
        const found = await json<{ structuredContent: { cards: { uri: string }[] } }>("@interop", ...question);
        const { uri } = found.structuredContent.cards[0]!;
        assert.equal(uri, `skill://${stage.namespace}/${wanted!.path}/SKILL.md`);
        const loaded = await json<{ structuredContent: { skillMd: string; files: unknown[] } }>(
          "@interop",
          "tools-call",
          "load_skill",
          `uri:=${uri}`,
        );
        assert.equal(loaded.structuredContent.skillMd, text);
        assert.equal(loaded.structuredContent.files.length, wanted!.files.length);

        const listed = await json<{ uri: string }[]>("@interop", "resources-list");
        const expected = hiring.skills.map(({ path }) => `skill://${stage.namespace}/${path}/SKILL.md`);
        assert.deepEqual(listed.map((resource) => resource.uri).sort(), expected.sort());
        const read = await json<{ contents: { text: string }[] }>("@interop", "resources-read", uri);
        assert.deepEqual(
          read.contents.map((content) => content.text),
          [text],
        );

        const prompts = await json<{ name: string }[]>("@interop", "prompts-list");
        assert.ok(prompts.some(({ name }) => name === wanted!.path));
        const prompt = await json<object>("@interop", "prompts-get", wanted!.path);
        assert.ok(JSON.stringify(prompt).includes("read each posting"));
      } finally {
        await tryJson("close", "@interop");
      }
      return "it has no command for skills, and 2026-07-28 is unknown to it";
    },
  );

  await attempt(client, "a private namespace: with a token, by a read link, and without either", async () => {
    const address = `${stage.origin}/mcp/${stage.privateNamespace}`;
    const uri = `skill://${stage.privateNamespace}/${innerSkill.path}/SKILL.md`;
    const ways: Record<string, string[]> = {
      "@token": [address, "@token", "--header", `Authorization: Bearer ${stage.readerToken}`],
      "@link": [`${stage.readLink}/mcp`, "@link"],
    };
    for (const [session, parameters] of Object.entries(ways)) {
      await json("connect", ...parameters);
      const read = await json<{ contents: { text: string }[] }>(session, "resources-read", uri);
      assert.equal(read.contents[0]!.text, utf8.decode(innerSkill.files[0]!.bytes));
      await json("close", session);
    }
    // Its bridge may find out before `connect` ends, or with the first request.
    const hello = await tryJson("connect", address, "@stranger");
    const read = await tryJson("@stranger", "resources-read", uri);
    await tryJson("close", "@stranger");
    assert.notEqual(read.code, 0);
    // Which of the two it says is a race between its command and its bridge; what is private it never has.
    const said = hello.stderr + read.stderr + JSON.stringify(read.answer ?? null);
    assert.match(said, /authentication required|connection closed/i);
    assert.equal(said.includes("# Inner"), false);
    return "without either it asks for `mcpc login`, or says that the connection is closed";
  });
}
