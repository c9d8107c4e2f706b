import assert from "node:assert/strict";

import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { startProxy } from "../../wire/proxy.ts";
import { seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt, ClientFault } from "./attempt.ts";
import { Project, skillsProgram, wellKnown } from "./project.ts";
import { installed } from "./workshop.ts";
import type { Program, Workshop } from "./workshop.ts";

/** The last version that knows nothing newer than discovery 0.1.0. */
const before = { package: "skills-before-0.2.0", bin: "skills" };
const what = "add by the older path: the root, a namespace, a read link; files to the byte";

/** Discovery 0.1.0: by today's `npx skills` where only the older path answers, and by one that knows no other. */
export async function tryOlderPath(stage: Stage, workshop: Workshop): Promise<void> {
  const places: [string, readonly SourceSkill[]][] = [
    ["", await seedSkills()],
    [`/${stage.namespace}`, hiring.skills],
    [new URL(stage.readLink).pathname, [innerSkill]],
  ];
  const addAll = async (program: Program, origin: string, expected: (skill: SourceSkill) => SourceSkill) => {
    for (const [index, [place, skills]] of places.entries()) {
      const project = await Project.make(workshop, program, `older-${program.package}-${index}`);
      const said = await project.add(origin + place);
      assert.equal(said.code, 0, said.text);
      await project.assertHolds(skills.map(expected));
    }
  };
  const rowOf = async (program: Program) => {
    const { version } = await workshop.find(program);
    return { client: "npx skills", version, era: "discovery 0.1.0" };
  };

  await attempt(await rowOf(skillsProgram), what, async () => {
    const onlyOlder = await startProxy(stage.origin, ({ path, answer }) =>
      path.endsWith(wellKnown) ? undefined : answer,
    );
    try {
      await addAll(skillsProgram, onlyOlder.origin, (skill) => skill);
    } finally {
      await onlyOlder.stop();
    }
    return "this path has no digests";
  });
  await attempt(await rowOf(before), what, async () => {
    await addAll(before, stage.origin, throughText);
    const all = places.flatMap(([, skills]) => skills.flatMap(({ files }) => files));
    const damaged = all.filter(({ bytes }) => Buffer.compare(bytes, asText(bytes)) !== 0);
    assert.ok(damaged.length > 0);
    throw new ClientFault(
      `it keeps every file as text (response.text()): of ${all.length} files all come, and those that are no UTF-8 or ` +
        `begin with a byte order mark are damaged: ${damaged.map(({ path }) => path).join(", ")}; ` +
        `${installed.skills} gets the published bytes from the same addresses`,
    );
  });
}

function throughText({ path, files }: SourceSkill): SourceSkill {
  return { path, files: files.map((file) => ({ ...file, bytes: asText(file.bytes) })) };
}

function asText(bytes: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(bytes));
}
