import fc from "fast-check";

import { hasErrors } from "../../src/domain/finding.ts";
import { isSkillPath } from "../../src/domain/names.ts";
import type { Namespace } from "../../src/domain/names.ts";
import { Problem } from "../../src/domain/problem.ts";
import { movingUri, pinnedUri } from "../../src/domain/uri.ts";
import type { Version } from "../../src/domain/version.ts";
import type { Upload } from "../../src/publish/archive.ts";
import { findJunkKind } from "../../src/publish/junk.ts";
import { prepare } from "../../src/publish/prepare.ts";
import type { Prepared } from "../../src/publish/prepare.ts";
import { entryTexts } from "../../src/publish/release.ts";
import { isSame } from "../publish/bytes.ts";
import { readBody } from "./bodies.ts";
import type { Campaign } from "./campaign.ts";
import { checkFindings, checkRefusal, checkUpload, must, orProblem } from "./checks.ts";
import { intakes, packAs } from "./containers.ts";
import type { Body, Intake } from "./containers.ts";
import { OfficialClient } from "./official-client.ts";
import { folders } from "./trees.ts";
import type { Folder } from "./trees.ts";

/** Folders: whatever is accepted, the official client accepts, moving and pinned, and verifies to the last byte. */
const namespace = "acme" as Namespace;

export interface FolderSample {
  folder: Folder;
  intake: Intake;
  version: Version;
}

export const versions = fc
  .constantFrom("1.0.0", "0.0.1", "10.20.30", "2.0.0-rc.1", "1.0.0--", "1.0.0-0a.x-y.7")
  .map((text) => text as Version);

export const folderSamples: fc.Arbitrary<FolderSample> = fc.record({
  folder: folders,
  intake: fc.constantFrom(...intakes),
  version: versions,
});

export function packFolder({ folder, intake }: FolderSample): Promise<Body> {
  const prefix = folder.wrapper === undefined ? "" : `${folder.wrapper}/`;
  return packAs(
    intake,
    folder.files.map((file) => ({ ...file, path: prefix + file.path })),
  );
}

/** From the body of a request to drafts, as the door does it; a Problem where it is refused. */
export async function prepareFolder(sample: FolderSample): Promise<Prepared | Problem> {
  const { folder } = sample;
  const upload = await readBody(await packFolder(sample));
  checkUpload(upload);
  if (!hasErrors(upload.findings)) checkNothingLost(sample, upload);
  if (folder.path !== undefined && !isSkillPath(folder.path)) return new Problem("invalid_path");
  return orProblem(
    prepare(upload, { namespace, path: folder.path, allowSecrets: folder.allowSecrets, isFolderOfSkills: false }),
  );
}

function checkNothingLost({ folder }: FolderSample, upload: Upload): void {
  const prefix = folder.wrapper === undefined ? "" : `${folder.wrapper}/`;
  // In an archive, an empty name below a folder is the folder itself.
  if (folder.files.some(({ path }) => path === "" || path.endsWith("/"))) return;
  const sent = folder.files
    .map(({ path, bytes }) => ({ path: (prefix + path).replace(/^(?:\.\/+)+/, ""), bytes }))
    .filter(({ path }) => findJunkKind(path) === undefined);
  must(upload.files.length === sent.length, () => `${upload.files.length} of ${sent.length} files came out`);
  const found = new Map(upload.files.map(({ path, bytes }) => [path, bytes]));
  for (const { path, bytes } of sent) {
    const came = found.get(upload.folder === undefined ? path : path.slice(path.indexOf("/") + 1));
    must(came !== undefined && isSame(came, bytes), () => `${JSON.stringify(path)} came out otherwise than it went in`);
  }
}

/** JSON escapes a half of a character and writes a whole one out; a backslash before the escape would be text. */
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

let judgedMs = 0;

export const foldersCampaign: Campaign<FolderSample> = {
  name: "folders",
  samples: folderSamples,
  // The client looks through the whole manifest for each file that it reads.
  judgedMs: () => judgedMs,
  open: async () => {
    const clients = [await OfficialClient.connect("2026-07-28"), await OfficialClient.connect("2025-11-25")] as const;
    let turn = 0;
    return async (sample) => {
      const prepared = await prepareFolder(sample);
      if (prepared instanceof Problem) return refused(prepared);
      checkFindings(prepared.findings);
      must(!hasErrors(prepared.findings), () => "accepted with an error");
      const shelf = { entries: [] as string[], bytes: new Map<string, Uint8Array>() };
      for (const draft of prepared.drafts) {
        const texts = await orProblem(Promise.resolve().then(() => entryTexts(draft, sample.version)));
        if (texts instanceof Problem) return refused(texts);
        must(
          !halfCharacter.test(texts.entry),
          () => "half a character in an entry, which strict readers of JSON refuse",
        );
        shelf.entries.push(texts.entry, texts.pinnedEntry);
        for (const { path, bytes } of draft.files) {
          shelf.bytes.set(movingUri(namespace, draft.path, path), bytes);
          shelf.bytes.set(pinnedUri(namespace, draft.path, sample.version, path), bytes);
        }
      }
      const start = performance.now();
      const count = await clients[turn++ % 2]!.verify(shelf);
      judgedMs += performance.now() - start;
      must(count === shelf.bytes.size, () => `${count} of ${shelf.bytes.size} files are in the entries`);
      return "accepted";
    };
  },
};

function refused(problem: Problem): string {
  if (problem.code !== "invalid_path") checkRefusal(problem);
  return "refused";
}
