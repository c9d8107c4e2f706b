import assert from "node:assert/strict";

import { hiring } from "../../wire/library.ts";
import { startProxy } from "../../wire/proxy.ts";
import type { Alter } from "../../wire/proxy.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Client } from "./attempt.ts";
import { Project, readIndex, skillsProgram as program, wellKnown } from "./project.ts";
import type { Index } from "./project.ts";
import type { Workshop } from "./workshop.ts";

/** A server in the middle names a wrong digest, or hands out other bytes: neither may be installed. */
export async function tryBadBytes(stage: Stage, workshop: Workshop, client: Client): Promise<void> {
  const bad = "match-candidates";
  const wrongDigest: Alter = ({ path, answer }) =>
    path.endsWith(wellKnown) ? withWrongDigest(answer, ({ name }) => name === bad) : answer;
  // The older path has no digests to be wrong, and the program would turn to it.
  const allWrong: Alter = ({ path, answer }) => {
    if (path.includes(".well-known/skills/")) return undefined;
    return path.endsWith(wellKnown) ? withWrongDigest(answer, () => true) : answer;
  };
  const otherBytes: Alter = ({ path, answer }) =>
    path.includes(`/${bad}/`) && path.includes("archive") ? Buffer.concat([answer, Buffer.from([0])]) : answer;
  let alter: Alter = ({ answer }) => answer;
  const proxy = await startProxy(stage.origin, (passing) => alter(passing));
  const source = `${proxy.origin}/${stage.namespace}`;
  try {
    await attempt(
      client,
      "a wrong digest and altered bytes on the way are refused; the other skills come",
      async () => {
        for (const [name, altered] of Object.entries({ wrongDigest, otherBytes })) {
          alter = altered;
          const project = await Project.make(workshop, program, name);
          const said = await project.add(source);
          assert.equal(said.code, 0, said.text);
          await project.assertHolds(hiring.skills.filter(({ path }) => path !== bad));
        }
        return "it leaves such a skill out without a word";
      },
    );
    await attempt(client, "nothing but wrong digests: nothing is installed, and what was installed stays", async () => {
      alter = allWrong;
      const empty = await Project.make(workshop, program, "all-wrong");
      const said = await empty.add(source);
      assert.notEqual(said.code, 0);
      await empty.assertHolds([]);
      alter = ({ answer }) => answer;
      const project = await Project.make(workshop, program, "then-wrong");
      assert.equal((await project.add(source)).code, 0);
      alter = allWrong;
      const updated = await project.update();
      await project.assertHolds(hiring.skills);
      await project.assertLocks(source, hiring.skills, await readIndex(`${stage.origin}/${stage.namespace}`));
      const [refusal] = /No skills found for \S+ \S+ \S+/.exec(said.text) ?? [said.text.slice(-120)];
      const [failure] = /Failed to update \S+/.exec(updated.text) ?? [updated.text.slice(-120)];
      return `it says "${refusal}", then "${failure}"; of digests it says nothing`;
    });
  } finally {
    await proxy.stop();
  }
}

function withWrongDigest(answer: Buffer, isMeant: (entry: Index["skills"][number]) => boolean): string {
  const index = JSON.parse(answer.toString()) as Index;
  const skills = index.skills.map((entry) =>
    isMeant(entry) ? { ...entry, digest: `sha256:${"0".repeat(64)}` } : entry,
  );
  return JSON.stringify({ ...index, skills });
}
