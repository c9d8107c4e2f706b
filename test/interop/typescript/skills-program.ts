import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";

import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring, skill, textFile } from "../../wire/library.ts";
import { startProxy } from "../../wire/proxy.ts";
import type { Alter } from "../../wire/proxy.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import { seedSkills } from "../../wire/source.ts";
import { innerSkill } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import { Project } from "./project.ts";
import type { Index } from "./project.ts";
import type { Workshop } from "./workshop.ts";

const program = { package: "skills", bin: "skills" };
const wellKnown = ".well-known/agent-skills/index.json";
/** What the department publishes anew. */
const renewed = skill("write-job-adverts", "Write an inclusive job advert for a vacancy, in plain words.", {
  body: "Ask for the pay band first.",
  files: [textFile("references/words.md", "# Words\n\nNo ninjas.\n")],
});

/** `npx skills`: installs, locks, updates and refuses, by the index of discovery 0.2.0. */
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

  await tryBadBytes(stage, workshop, client);
  await tryUpdate(stage, workshop, client);
  await tryRevocation(stage, workshop, client);
}

type Client = Parameters<typeof attempt>[0];

/** A server in the middle names a wrong digest, or hands out other bytes: neither may be installed. */
async function tryBadBytes(stage: Stage, workshop: Workshop, client: Client): Promise<void> {
  const bad = "match-candidates";
  const wrongDigest: Alter = ({ path, answer }) =>
    path.endsWith(wellKnown) ? withWrongDigest(answer, ({ name }) => name === bad) : answer;
  const allWrong: Alter = ({ path, answer }) =>
    path.endsWith(wellKnown) ? withWrongDigest(answer, () => true) : answer;
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
      return `it says "${/No (?:matching )?skills[^.]*\./.exec(said.text)?.[0] ?? said.text.slice(-120)}", then "${/Failed to update \S+/.exec(updated.text)?.[0] ?? updated.text.slice(-120)}"`;
    });
  } finally {
    await proxy.stop();
  }
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

async function readIndex(source: string): Promise<Index> {
  const response = await fetch(`${source}/${wellKnown}`);
  assert.equal(response.status, 200);
  return (await response.json()) as Index;
}

/** Each digest of the index is that of the archive it names. */
async function assertDigests(source: string, { skills }: Index): Promise<void> {
  for (const { name, url, digest } of skills) {
    const bytes = new Uint8Array(await (await fetch(new URL(url, `${source}/${wellKnown}`))).arrayBuffer());
    assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest, name);
  }
}

function withWrongDigest(answer: Buffer, isMeant: (entry: Index["skills"][number]) => boolean): string {
  const index = JSON.parse(answer.toString()) as Index;
  const skills = index.skills.map((entry) =>
    isMeant(entry) ? { ...entry, digest: `sha256:${"0".repeat(64)}` } : entry,
  );
  return JSON.stringify({ ...index, skills });
}
