import type { Namespace } from "../../src/domain/names.ts";
import { hasErrors } from "../../src/domain/finding.ts";
import { Problem } from "../../src/domain/problem.ts";
import { readUpload } from "../../src/publish/archive.ts";
import { prepare } from "../../src/publish/prepare.ts";
import type { Campaign } from "./campaign.ts";
import { checkRefusal, checkUpload, must, orProblem } from "./checks.ts";
import { archives, damage, forms } from "./containers.ts";
import type { Body, BodySample } from "./containers.ts";

/** Archives and forms: whatever comes, it is read or refused, and what is read is lawful and within the limits. */
const options = { namespace: "acme" as Namespace, path: undefined, allowSecrets: false, isFolderOfSkills: false };

export function readBody({ contentType, bytes }: Body) {
  const stream = new Response(bytes as Uint8Array<ArrayBuffer>).body;
  return readUpload({ contentType, body: stream, headers: new Headers() });
}

async function checkBody({ body, changes }: BodySample): Promise<string> {
  const upload = await orProblem(readBody({ ...body, bytes: damage(body.bytes, changes) }));
  if (upload instanceof Problem) {
    must(upload.code === "unsupported_media_type", () => `refused as ${upload.code}`);
    return "not taken";
  }
  checkUpload(upload);
  const prepared = await orProblem(prepare(upload, options));
  if (prepared instanceof Problem) checkRefusal(prepared);
  return hasErrors(upload.findings) ? "refused" : "read";
}

export const archivesCampaign: Campaign<BodySample> = {
  name: "archives",
  samples: archives,
  open: async () => checkBody,
};

export const formsCampaign: Campaign<BodySample> = { name: "forms", samples: forms, open: async () => checkBody };
