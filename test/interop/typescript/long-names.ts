import assert from "node:assert/strict";
import { join } from "node:path";

import { readFolder } from "../../../src/cli/client.ts";
import { skill, textFile } from "../../wire/library.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import type { Stage } from "../stage.ts";
import { checkTar, download } from "./archives.ts";
import { attempt, ClientFault } from "./attempt.ts";
import type { Client } from "./attempt.ts";
import { assertSameFiles } from "./published.ts";
import { Project, readIndex, skillsProgram } from "./project.ts";
import type { Workshop } from "./workshop.ts";

const namespace = "odd-names";
const longName = `${"n".repeat(120)}.md`;
const folder = "l".repeat(60);
const ordinary = [
  textFile(`${folder}/${folder}/file.md`, "a path that tar divides\n"),
  textFile("a#b.md", "hash\n"),
  textFile("a%20b.md", "percent\n"),
  textFile("a?b.md", "question\n"),
  textFile("a..b.md", "dots\n"),
  textFile("__proto__/x.md", "prototype\n"),
  textFile(".hidden", "hidden\n"),
];

/** Names that not every reader of archives knows: a name of more than 100 bytes is in tar's PAX records alone. */
export async function tryLongNames(stage: Stage, workshop: Workshop, client: Client): Promise<void> {
  await attempt(client, "file names with # % ? .. and of more than 100 bytes", async () => {
    const operator = new RegistryClient(stage.origin, stage.operatorToken);
    await operator.createNamespace(namespace);
    const long = [textFile(longName, "long\n")];
    const published = skill("odd-names", "Names that few archives have", { files: [...ordinary, ...long] });
    await operator.publish(namespace, published);
    const source = `${stage.origin}/${namespace}`;
    const project = await Project.make(workshop, skillsProgram, namespace);
    assert.equal((await project.add(source)).code, 0);
    const installed = await readFolder(join(project.skills, published.path));
    const { skills } = await readIndex(source);
    await checkTar(await download(new URL(skills[0]!.url, source).href), published, workshop);
    const cut = installed.find(({ path }) => path === longName.slice(0, 100));
    if (cut === undefined) return assertSameFiles(installed, published.files, published.path);
    const renamed = installed.map((file) => (file === cut ? { ...file, path: longName } : file));
    assertSameFiles(renamed, published.files, published.path);
    throw new ClientFault("its tar reader knows no PAX records and cuts a name after 100 bytes; GNU tar does not");
  });
}
