import { Hono } from "hono";

import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import type { SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { isVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import { openCatalog } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { answerArchive, answerFile } from "./downloads.ts";
import { formatManifest, formatRelease, formatSkill, formatSkillState } from "./shapes.ts";
import { noSuchAddress, readSkillAddress } from "./skill-address.ts";

/** Reading skills and their releases. */
export const skillsApi = new Hono<AppEnv>();

skillsApi.get("/namespaces/:namespace/skills", async (context) => {
  const { catalog, namespace } = await openCatalog(context);
  const list = `api-skills:${namespace}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor(list, cursor);
  const { items, hasMore } = await catalog.listAllSkills(namespace, position.key, maxPageEntries);
  const next = hasMore ? formatCursor(list, { page: position.page + 1, key: items.at(-1)!.path }) : null;
  return context.json({ skills: items.map(formatSkill), next_cursor: next });
});

skillsApi.get("/namespaces/:namespace/skills/:rest{.+}", async (context) => {
  const { path, rest } = readSkillAddress(context);
  if (rest === undefined) return getSkill(context, path);
  const [noun, version, facet, ...file] = rest.split("/");
  if (noun !== "releases") throw noSuchAddress();
  if (version === undefined) return listReleases(context, path);
  if (version !== "current" && !isVersion(version)) throw noSuchAddress();
  if (file.length > 0 && facet !== "files") throw noSuchAddress();
  return getRelease(context, {
    path,
    version: version === "current" ? undefined : version,
    facet,
    file: file.join("/"),
  });
});

async function getSkill(context: ApiContext, path: SkillPath): Promise<Response> {
  const { catalog, namespace } = await openCatalog(context);
  const skill = orNotFound(await catalog.findSkill(namespace, path), path);
  const current = await catalog.findRelease(namespace, path, undefined);
  const release = current === undefined ? null : formatRelease(namespace, current.release);
  return context.json({ ...formatSkillState(skill), release });
}

async function listReleases(context: ApiContext, path: SkillPath): Promise<Response> {
  const { catalog, namespace } = await openCatalog(context);
  const list = `api-releases:${namespace}/${path}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: String(Number.MAX_SAFE_INTEGER) } : parseCursor(list, cursor);
  if (!/^\d{1,16}$/.test(position.key)) throw problem("invalid_cursor", "The cursor is not from this list");
  orNotFound(await catalog.findSkill(namespace, path), path);
  const { items, hasMore } = await catalog.listReleases(namespace, path, Number(position.key), maxPageEntries);
  const next = hasMore ? formatCursor(list, { page: position.page + 1, key: String(items.at(-1)!.id) }) : null;
  return context.json({ releases: items.map((row) => formatRelease(namespace, row)), next_cursor: next });
}

interface ReleaseAddress {
  path: SkillPath;
  /** Undefined: the current one. */
  version: Version | undefined;
  facet: string | undefined;
  file: string;
}

async function getRelease(context: ApiContext, address: ReleaseAddress): Promise<Response> {
  const { catalog, namespace } = await openCatalog(context);
  const { path, version, facet, file } = address;
  const { release, files } = orNotFound(await catalog.findRelease(namespace, path, version), path);
  const blobs = new Blobs(context.env.BLOBS);
  if (facet === "files" && file !== "") {
    const wanted = decodePath(file);
    return answerFile(
      orNotFound(
        files.find((row) => row.file === wanted),
        "The file",
      ),
      blobs,
    );
  }
  switch (facet) {
    case undefined:
      return context.json({ ...formatRelease(namespace, release), entry: JSON.parse(release.entry) as unknown });
    case "manifest":
      return context.json(formatManifest(release, files));
    case "archive.zip":
    case "archive.tar.gz":
      return answerArchive(release, facet, blobs);
    default:
      throw noSuchAddress();
  }
}

function decodePath(file: string): string | undefined {
  try {
    return file.split("/").map(decodeURIComponent).join("/");
  } catch {
    return undefined;
  }
}
