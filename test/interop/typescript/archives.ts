import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { unzipSync } from "fflate";

import { readFolder } from "../../../src/cli/client.ts";
import { run } from "../../wire/command.ts";
import type { SourceSkill } from "../../wire/generated-skills.ts";
import { hiring } from "../../wire/library.ts";
import { seedSkills } from "../../wire/source.ts";
import type { Stage } from "../stage.ts";
import { attempt } from "./attempt.ts";
import { assertSameFiles } from "./published.ts";
import type { Workshop } from "./workshop.ts";

/**
 * The archives that the indexes name, read by programs that did not write them: the system's `tar`, and fflate for zip.
 * A second registry that was given the same folders has to serve the same bytes.
 */
export async function tryArchives(stage: Stage, workshop: Workshop): Promise<void> {
  const published: [string, readonly SourceSkill[], string[]][] = [
    ["registry", await seedSkills(), [stage.origin]],
    [stage.namespace, hiring.skills, [stage.origin, stage.secondOrigin]],
  ];
  const kinds = { "archive.tar.gz": await versionOfTar(), "archive.zip": "fflate" };
  for (const [kind, version] of Object.entries(kinds)) {
    const client = { client: kind === "archive.zip" ? "zip reader" : "tar", version, era: "HTTP" };
    await attempt(
      client,
      `${kind}: the same bytes each time, SKILL.md first and at the root, every file as published`,
      async () => {
        let count = 0;
        for (const [namespace, skills, origins] of published) {
          for (const skill of skills) {
            const path = `/api/v1/namespaces/${namespace}/skills/${skill.path}/-/releases/current/${kind}`;
            const copies = await Promise.all([...origins, ...origins].map((origin) => download(origin + path)));
            for (const copy of copies) assert.equal(Buffer.compare(copy, copies[0]!), 0, `${path} changes`);
            await (kind === "archive.zip" ? checkZip(copies[0]!, skill) : checkTar(copies[0]!, skill, workshop));
            count++;
          }
        }
        return `${count} archives, six of them also from a second registry`;
      },
    );
  }
}

async function versionOfTar(): Promise<string> {
  const { stdout } = await run("tar", ["--version"]);
  return stdout.split("\n")[0]!;
}

export async function download(url: string): Promise<Buffer> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  const bytes = Buffer.from(await response.arrayBuffer());
  const digest = createHash("sha256").update(bytes).digest();
  assert.equal(response.headers.get("repr-digest"), `sha-256=:${digest.toString("base64")}:`);
  return bytes;
}

export async function checkTar(bytes: Buffer, skill: SourceSkill, workshop: Workshop): Promise<void> {
  const folder = await workshop.makeFolder(`tar/${skill.path}`);
  const [archive, unpacked] = [join(folder, "archive.tar"), join(folder, "unpacked")];
  await mkdir(unpacked);
  await writeFile(archive, gunzipSync(bytes));
  const listed = await run("tar", ["-tf", archive]);
  assert.equal(listed.stdout.split("\n")[0], "SKILL.md");
  const { code, stderr } = await run("tar", ["-xf", archive, "-C", unpacked]);
  assert.equal(code, 0, stderr);
  assertSameFiles(await readFolder(unpacked), skill.files, skill.path);
}

function checkZip(bytes: Buffer, skill: SourceSkill): void {
  const files = Object.entries(unzipSync(bytes)).map(([path, content]) => ({
    path,
    bytes: content,
    executable: false,
  }));
  assert.equal(files[0]?.path, "SKILL.md");
  assertSameFiles(files, skill.files, skill.path);
}
