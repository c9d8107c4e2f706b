import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";

import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring, skill, textFile } from "../../wire/library.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import { seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import type { Client } from "./attempt.ts";
import { tryBadBytes } from "./bad-bytes.ts";
import { tryLongNames } from "./long-names.ts";
import { tryOlderPath } from "./older-path.ts";
import { Project, readIndex, skillsProgram as program, wellKnown } from "./project.ts";
import type { Index } from "./project.ts";
import type { Workshop } from "./workshop.ts";

/** What the department publishes anew. */
const renewed = skill("write-job-adverts", "Write an inclusive job advert for a vacancy, in plain words.", {
  body: "Ask for the pay band first.",
  files: [textFile("references/words.md", "# Words\n\nNo ninjas.\n")],
});

/** `npx skills`: installs, locks, updates and refuses, by the indexes of discovery 0.2.0 and 0.1.0. */
export async function trySkillsProgram(stage: Stage, workshop: Workshop): Promise<void> {
  const { version } = await workshop.find(program);
  const client = { client: "npx skills", version, era: "discovery 0.2.0" };
  const { origin, namespace, readLink } = stage;
  const make = (name: string) => Project.make(workshop, program, name);

  const places: [string, string, readonly SourceSkill[]][] = [
    ["the root", origin, await seedSkills()],
    ["a namespace", `${origin}/${namespace}`, hiring.skills],
    ["a read link, without a token", readLink, [innerSkill]],
  ];
  for (const [what, source, skills] of places) {
    await attempt(client, `add from ${what}: files to the byte, lock file`, async () => {
      const project = await make(what.replaceAll(/\W/g, "-"));
      const said = await project.add(source);
      assert.equal(said.code, 0, said.text);
      await project.assertHolds(skills);
      const index = await readIndex(source);
      await assertDigests(source, index);
      await project.assertLocks(source, skills, index);
      const again = await project.update();
      assert.equal(again.code, 0);
      assert.doesNotMatch(again.text, /Updat(?:ed|ing) [a-z]+-|Failed/);
      const note = `skills: ${skills.length}; an update then finds nothing new`;
      return source === readLink ? `${note}; the lock file holds the address, and so the link's secret` : note;
    });
  }

  await attempt(client, "use: a prompt with the text of a skill; install again from the lock file", async () => {
    const project = await make("use");
    const said = await project.run("use", `${origin}/${namespace}`, "--skill", "match-candidates");
    assert.equal(said.code, 0, said.text);
    assert.match(said.text, /read each posting, and name what is missing/);
    const added = await project.add(`${origin}/${namespace}`);
    assert.equal(added.code, 0);
    await rm(project.skills, { recursive: true });
    const restored = await project.run("experimental_install");
    assert.equal(restored.code, 0, restored.text);
    await project.assertHolds(hiring.skills);
  });

  await tryOlderPath(stage, workshop);
  await tryLongNames(stage, workshop, client);
  await tryBadBytes(stage, workshop, client);
  await tryUpdate(stage, workshop, client);
  await tryRevocation(stage, workshop, client);
}

async function tryUpdate(stage: Stage, workshop: Workshop, client: Client): Promise<void> {
  await attempt(client, "update after a publish: noticed, installed, locked; the rest untouched", async () => {
    const source = `${stage.origin}/${stage.namespace}`;
    const project = await Project.make(workshop, program, "update");
    assert.equal((await project.add(source)).code, 0);
    const before = await project.locked();
    const publisher = new RegistryClient(stage.origin, stage.publisherToken);
    const release = await publisher.publish(stage.namespace, renewed);
    const said = await project.update();
    assert.equal(said.code, 0, said.text);
    assert.match(said.text, /Updated write-job-adverts/);
    assert.equal(said.text.match(/Updated [a-z]+-/g)?.length, 1, said.text);
    const skills = hiring.skills.map((one) => (one.path === renewed.path ? renewed : one));
    await project.assertHolds(skills);
    const index = await readIndex(source);
    await project.assertLocks(source, skills, index);
    const after = await project.locked();
    const changed = Object.keys(after).filter((name) => after[name]!.wellKnownDigest !== before[name]!.wellKnownDigest);
    assert.deepEqual(changed, [renewed.path]);
    return `release ${release}`;
  });
}

/** A link that ended opens nothing, and what it had opened stays where it was installed. */
async function tryRevocation(stage: Stage, workshop: Workshop, client: Client): Promise<void> {
  await attempt(client, "a revoked read link: add and update are refused", async () => {
    const project = await Project.make(workshop, program, "revoked");
    assert.equal((await project.add(stage.readLink)).code, 0);
    const operator = new RegistryClient(stage.origin, stage.operatorToken);
    const address = `/namespaces/${stage.privateNamespace}/links`;
    const { links } = (await (await operator.json("GET", address)).json()) as { links: { id: string }[] };
    for (const { id } of links) assert.equal((await operator.json("DELETE", `${address}/${id}`)).status, 204);
    assert.equal((await fetch(`${stage.readLink}/${wellKnown}`)).status, 404);
    const fresh = await Project.make(workshop, program, "revoked-fresh");
    const refused = await fresh.add(stage.readLink);
    assert.notEqual(refused.code, 0);
    await fresh.assertHolds([]);
    const updated = await project.update();
    await project.assertHolds([innerSkill]);
    return /deleted upstream/.test(updated.text)
      ? "its update then reads the index of the root and takes the skill for deleted upstream; it asks before it removes"
      : updated.text.slice(-200);
  });
}

/** Each digest of the index is that of the archive it names. */
async function assertDigests(source: string, { skills }: Index): Promise<void> {
  for (const { name, url, digest } of skills) {
    const bytes = new Uint8Array(await (await fetch(new URL(url, `${source}/${wellKnown}`))).arrayBuffer());
    assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest, name);
  }
}
