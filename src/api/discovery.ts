import { Hono } from "hono";

import { discoveryIndexSeconds } from "../domain/limits.ts";
import { isNamespace, isSkillPath } from "../domain/names.ts";
import { isVersion } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import type { SkillRow } from "../storage/catalog.ts";
import type { ApiContext } from "./caller.ts";
import { answerArchive } from "./downloads.ts";
import { isForAnybody, nothingHere, openLink, shelves } from "./shelf.ts";

/**
 * Agent Skills discovery 0.2.0, for tools that install skills over plain HTTPS (`npx skills add <address>`): an index
 * of each shelf. Artifacts are the stored archives, which are the same bytes for ever, under addresses that name a
 * version.
 */
export const discoveryApi = new Hono<AppEnv>();

const schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

for (const [place, open] of Object.entries(shelves)) {
  discoveryApi.get(`${place}/.well-known/agent-skills/index.json`, async (context: ApiContext) => {
    const rows = await (await open(context)).skills();
    const skills = rows.map((row) => ({
      name: row.name,
      type: "archive",
      description: row.description,
      url: archiveOf(row, context.req.param("secret")),
      digest: row.tar_digest,
    }));
    const keep = isForAnybody(context) ? { "cache-control": `public, max-age=${discoveryIndexSeconds}` } : {};
    return context.json({ $schema: schema, skills }, 200, keep as Record<string, string>);
  });
}

/** An archive that the index of a read link names. */
discoveryApi.get("/r/:secret/archives/:namespace/:rest{.+}", async (context) => {
  const match = /^(.+)\/([^/]+)\.tar\.gz$/.exec(context.req.param("rest"));
  const { catalog } = await openLink(context);
  const [namespace, path, version] = [context.req.param("namespace"), match?.[1] ?? "", match?.[2] ?? ""];
  if (!isNamespace(namespace) || !isSkillPath(path) || !isVersion(version)) {
    await catalog.gate();
    throw nothingHere();
  }
  const exact = await catalog.findRelease(namespace, path, version);
  // What a collection does not pin it serves under every version; what follows current, the index names by version.
  const { release } = orNotFound(exact, "The archive");
  return answerArchive(release, "archive.tar.gz", new Blobs(context.env.BLOBS));
});

function archiveOf(row: SkillRow, secret: string | undefined): string {
  if (secret !== undefined) return `/r/${secret}/archives/${row.namespace}/${row.path}/${row.version}.tar.gz`;
  return `/api/v1/namespaces/${row.namespace}/skills/${row.path}/-/releases/${row.version}/archive.tar.gz`;
}
