import { Hono } from "hono";

import { formatCursor, parseCursor } from "../domain/cursor.ts";
import type { Entry } from "../domain/entry.ts";
import { maxPageEntries } from "../domain/limits.ts";
import type { SkillPath } from "../domain/names.ts";
import { may } from "../domain/policy.ts";
import { isVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import { openCatalog } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { answerArchive, answerFile } from "./downloads.ts";
import { formatFit } from "./fit.ts";
import { formatManifest, formatRelease, formatSkill, formatSkillState } from "./shapes.ts";
import { decodePath, noSuchAddress, readSkillAddress } from "./skill-address.ts";

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

/** Who asks comes before what the address says, so that a dead token is one also where the path is malformed. */
skillsApi.get("/namespaces/:namespace/skills/:rest{.+}", async (context) => {
  const look = await openCatalog(context);
  try {
    const { path, rest } = readSkillAddress(context);
    if (rest === undefined) return await getSkill(context, look, path);
    const [noun, version, ...facets] = rest.split("/");
    if (noun !== "releases") throw noSuchAddress();
    if (version === undefined) return await listReleases(context, look, path);
    return await getRelease(context, look, readRelease(path, version, facets));
  } catch (error) {
    await look.catalog.gate();
    throw error;
  }
});

type Look = Awaited<ReturnType<typeof openCatalog>>;

interface ReleaseAddress {
  path: SkillPath;
  /** Undefined: the current one. */
  version: Version | undefined;
  facet: string | undefined;
  file: string;
}

function readRelease(path: SkillPath, version: string, [facet, ...file]: string[]): ReleaseAddress {
  if (version !== "current" && !isVersion(version)) throw noSuchAddress();
  if (file.length > 0 && facet !== "files") throw noSuchAddress();
  return { path, version: version === "current" ? undefined : version, facet, file: file.join("/") };
}

async function getSkill(context: ApiContext, look: Look, path: SkillPath): Promise<Response> {
  const { catalog, namespace } = look;
  const skill = orNotFound(await catalog.findSkill(namespace, path), path);
  const current = await catalog.findRelease(namespace, path, undefined);
  const isInsider = await surveys(look, path);
  const release = current === undefined ? null : formatRelease(namespace, current.release, isInsider);
  return context.json({ ...formatSkillState(skill), release });
}

async function listReleases(context: ApiContext, look: Look, path: SkillPath): Promise<Response> {
  const { catalog, namespace } = look;
  const list = `api-releases:${namespace}/${path}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? undefined : parseCursor(list, cursor);
  orNotFound(await catalog.findSkill(namespace, path), path);
  const { items, hasMore } = await catalog.listReleases(namespace, path, position?.key, maxPageEntries);
  const page = (position?.page ?? 0) + 1;
  const next = hasMore ? formatCursor(list, { page, key: items.at(-1)!.version }) : null;
  const isInsider = await surveys(look, path);
  return context.json({ releases: items.map((row) => formatRelease(namespace, row, isInsider)), next_cursor: next });
}

async function getRelease(context: ApiContext, look: Look, address: ReleaseAddress): Promise<Response> {
  const { catalog, namespace } = look;
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
    case undefined: {
      const shown = formatRelease(namespace, release, await surveys(look, path));
      return context.json({ ...shown, entry: JSON.parse(release.entry) as unknown });
    }
    case "manifest":
      return context.json(formatManifest(release, files));
    case "fit":
      return context.json(formatFit([JSON.parse(release.entry) as Entry]));
    case "archive.zip":
    case "archive.tar.gz":
      return answerArchive(release, facet, blobs);
    default:
      throw noSuchAddress();
  }
}

/** Whether the caller has rights of their own about this skill. */
async function surveys({ catalog, principal }: Look, path: SkillPath): Promise<boolean> {
  const { namespace } = await catalog.gate();
  if (namespace === undefined) return false;
  return may(await principal(), "survey", { kind: "skill", namespace, path, visibility: "private" });
}
