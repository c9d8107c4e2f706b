import { Hono } from "hono";

import { requireSecret } from "../auth/credential.ts";
import type { Credential } from "../auth/credential.ts";
import { parseSecret } from "../auth/tokens.ts";
import { featured } from "../domain/address.ts";
import { discoveryIndexSeconds, maxPickedSkills } from "../domain/limits.ts";
import { isNamespace, isSkillPath } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { isVersion } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import type { Catalog, SkillRow } from "../storage/catalog.ts";
import { findLink } from "../storage/links.ts";
import { identify, openAs, openCatalog, openRegistry } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { answerArchive } from "./downloads.ts";

/**
 * Agent Skills discovery 0.2.0, for tools that install skills over plain HTTPS (`npx skills add <address>`): an index
 * of the featured skills at the root, of a namespace below its name, and of what a read link opens below the link.
 * Artifacts are the stored archives, which are the same bytes for ever, under addresses that name a version.
 */
export const discoveryApi = new Hono<AppEnv>();

const schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const index = ".well-known/agent-skills/index.json";
const picks = { ...featured, ownFirst: false };

discoveryApi.get(`/${index}`, async (context) => {
  const { catalog } = await openRegistry(context);
  const skills = await catalog.listPickedSkills(picks, undefined, maxPickedSkills);
  return answerIndex(context, skills, archiveOfApi);
});

discoveryApi.get(`/:namespace/${index}`, async (context) => {
  const { catalog, namespace } = await openCatalog(context);
  const { items } = await catalog.listSkills(namespace, "", maxPickedSkills);
  return answerIndex(context, withUniqueNames(items), archiveOfApi);
});

discoveryApi.get(`/r/:secret/${index}`, async (context) => {
  const { catalog, namespace, collection } = await openLink(context);
  const skills =
    collection === undefined
      ? withUniqueNames((await catalog.listSkills(namespace, "", maxPickedSkills)).items)
      : await catalog.listPickedSkills({ namespace, collection, ownFirst: false }, undefined, maxPickedSkills);
  const secret = context.req.param("secret");
  return answerIndex(
    context,
    skills,
    (row) => `/r/${secret}/archives/${row.namespace}/${row.path}/${row.version}.tar.gz`,
  );
});

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

function archiveOfApi(row: SkillRow): string {
  return `/api/v1/namespaces/${row.namespace}/skills/${row.path}/-/releases/${row.version}/archive.tar.gz`;
}

/** Anonymous answers may be kept for a moment, like lists over MCP; what a token or a link opened, not at all. */
function answerIndex(context: ApiContext, rows: readonly SkillRow[], urlOf: (row: SkillRow) => string): Response {
  const isPublic = context.req.header("authorization") === undefined && !context.req.path.startsWith("/r/");
  const skills = rows.map((row) => ({
    name: row.name,
    type: "archive",
    description: row.description,
    url: urlOf(row),
    digest: row.tar_digest,
  }));
  const keep: Record<string, string> = isPublic ? { "cache-control": `public, max-age=${discoveryIndexSeconds}` } : {};
  return context.json({ $schema: schema, skills }, 200, keep);
}

/** Whoever installs by name can have one skill of a name. */
function withUniqueNames(rows: readonly SkillRow[]): SkillRow[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.name) && seen.add(row.name));
}

/**
 * A link needs no token; but a bad one that is sent along is refused, as everywhere.
 * @throws Problem `invalid_token`; `not_found`, the same for a link that ended and one that never was
 */
async function openLink(
  context: ApiContext,
): Promise<{ catalog: Catalog; namespace: Namespace; collection: string | undefined }> {
  await identify(context, undefined);
  const key = requireSecret("SIGNING_KEY", context.env.SIGNING_KEY);
  const parsed = await parseSecret("skl", context.req.param("secret") ?? "", key);
  const link = parsed === undefined ? undefined : await findLink(context.env.DB, parsed, Date.now());
  if (parsed === undefined || link === undefined) throw nothingHere();
  const credential: Credential = { kind: "link", ...parsed };
  return { catalog: openAs(context, credential, link), ...link };
}

function nothingHere() {
  return problem("not_found", "There is nothing at this address");
}
