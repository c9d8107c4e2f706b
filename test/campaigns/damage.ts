import fc from "fast-check";

import { hasErrors } from "../../src/domain/finding.ts";
import { isSame } from "../publish/bytes.ts";
import { readBody } from "./bodies.ts";
import type { Campaign } from "./campaign.ts";
import { checkUpload, must } from "./checks.ts";
import { damage, damages } from "./containers.ts";
import type { Damage } from "./containers.ts";
import { folderSamples, packFolder } from "./folders.ts";
import type { FolderSample } from "./folders.ts";

/** A sound archive that was damaged on the way: a file that comes out without a finding has the bytes it had. */
export const damageCampaign: Campaign<{ sample: FolderSample; changes: Damage[] }> = {
  name: "damage",
  samples: fc.record({
    // A form has no checksum, so what is damaged in one is another sound form.
    sample: folderSamples.map((sample) => (sample.intake === "form" ? { ...sample, intake: "zip" as const } : sample)),
    changes: damages.map((changes) => changes.slice(0, 2)),
  }),
  open: async () => checkDamaged,
};

async function checkDamaged({ sample, changes }: { sample: FolderSample; changes: Damage[] }): Promise<string> {
  const sound = await packFolder(sample);
  const original = new Map((await readBody(sound)).files.map(({ path, bytes }) => [path, bytes]));
  const upload = await readBody({ ...sound, bytes: damage(sound.bytes, changes) });
  checkUpload(upload);
  if (hasErrors(upload.findings)) return "refused";
  for (const { path, bytes } of upload.files) {
    const before = original.get(path);
    must(
      before === undefined || isSame(before, bytes),
      () => `${JSON.stringify(path)} was changed, and nothing says so`,
    );
  }
  return "read";
}
