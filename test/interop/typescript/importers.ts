import assert from "node:assert/strict";

import { walk } from "../../../src/cli/importer.ts";
import type { Importer } from "../../../src/domain/fit.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { alterReads, startProxy } from "../../wire/proxy.ts";
import { amountOf, seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Client } from "./attempt.ts";

/**
 * ChatGPT's import cannot be run here and Claude Code's client needs its maker's service; our own check walks an address
 * as each of them does (src/cli/importer.ts). What it declines has to be what it should, and nothing else.
 */
const checks: { importer: Importer; client: Client }[] = [
  {
    importer: "chatgpt",
    client: { client: "ChatGPT's import rules (our check)", version: "as published, 2026-11", era: "2025-11-25" },
  },
  {
    importer: "claude-code",
    client: { client: "Claude Code's client rules (our check)", version: "of 2.1.332", era: "2026-07-28" },
  },
];

/** An address, what it lists, and what of it an importer declines. */
interface Address {
  url: string;
  skills: readonly SourceSkill[];
  declines?: Partial<Record<Importer, string[]>>;
  token?: string;
}

export async function tryImporters(stage: Stage): Promise<void> {
  const seed = await seedSkills();
  const { origin, namespace, privateNamespace, readerToken: token, readLink } = stage;
  // Six skills are one more than ChatGPT takes of a server; a collection of two of them is not.
  const declines = { chatgpt: ["too_many_skills"] };
  const places: Record<string, Address[]> = {
    "the seed, whole: /mcp, its namespace, its collection": [
      { url: `${origin}/mcp`, skills: seed },
      { url: `${origin}/mcp/registry`, skills: seed },
      { url: `${origin}/mcp/registry/featured`, skills: seed },
    ],
    "a namespace of six skills, also with each as a tool": [
      { url: `${origin}/mcp/${namespace}`, skills: hiring.skills, declines },
      { url: `${origin}/mcp/${namespace}/as-tools`, skills: hiring.skills, declines },
    ],
    "a collection of two": [{ url: `${origin}/mcp/${namespace}/desk`, skills: hiring.skills.slice(0, 2) }],
    "a private namespace, with a token and by a read link": [
      { url: `${origin}/mcp/${privateNamespace}`, skills: [innerSkill], token },
      { url: `${readLink}/mcp`, skills: [innerSkill] },
    ],
  };
  for (const { importer, client } of checks) {
    for (const [what, addresses] of Object.entries(places)) {
      await attempt(client, what, async () => {
        const notes = new Set<string>();
        for (const address of addresses) notes.add(await check(importer, address));
        return [...notes].join("; ");
      });
    }
    await attempt(client, "a letter of each file changed on the way", async () => {
      const altered = await startProxy(origin, alterReads);
      try {
        const { misfits } = await walk(`${altered.origin}/mcp/registry`, importer);
        assert.deepEqual([...new Set(misfits.map(({ rule }) => rule))], ["digest_differs"]);
        return `declines: digest_differs, ${misfits.length} files`;
      } finally {
        await altered.stop();
      }
    });
  }
}

async function check(importer: Importer, { url, skills, declines, token }: Address): Promise<string> {
  const walked = await walk(url, importer, token);
  const [rules, reasons] = [walked.misfits.map(({ rule }) => rule), walked.misfits.map(({ message }) => message)];
  assert.deepEqual(rules, declines?.[importer] ?? [], reasons.join("; "));
  const expected = amountOf(skills);
  assert.deepEqual([walked.skills, walked.files], [expected.skills, expected.files]);
  if (rules.length > 0) return `declines, as it should: ${rules.join()}: ${reasons.join("; ")}`;
  return `takes all of it: skills ${walked.skills}, files ${walked.files}`;
}
