import { Hono } from "hono";

import { formatCursor, parseCursor } from "../domain/cursor.ts";
import { maxPageEntries } from "../domain/limits.ts";
import { isSkillPath, parseSkillPath } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import type { SkillVisibility } from "../domain/principal.ts";
import { problem } from "../domain/problem.ts";
import { isVersion, parseVersion } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { readUpload } from "../publish/archive.ts";
import { prepare } from "../publish/prepare.ts";
import { publish } from "../publish/publish.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import { Ledger } from "../storage/ledger.ts";
import { openCatalog, requireCaller } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { answerFile, answerArchive } from "./downloads.ts";
import { formatManifest, formatRelease, formatSkill, formatSkillState } from "./shapes.ts";

/** Skills and their releases. A skill's path may hold slashes, so `/-/` ends it in an address. */
export const skillsApi = new Hono<AppEnv>();

skillsApi.post("/namespaces/:namespace/skills", async (context) => {
  const caller = await requireCaller(context, "publish");
  const query = readPublishQuery(context);
  const upload = await readUpload({
    contentType: context.req.header("content-type") ?? null,
    body: context.req.raw.body,
    headers: context.req.raw.headers,
  });
  const namespace = caller.namespace.name;
  const { draft, findings } = await prepare(upload, {
    namespace,
    path: query.path,
    allowSecrets: query.allowSecrets,
  });
  const options = {
    ...query,
    publishedBy: formatPrincipal(caller.principal),
    defaultVisibility: caller.namespace.visibility,
    now: caller.now,
  };
  const ledger = new Ledger(context.env.DB, namespace);
  const published = await publish(draft, options, ledger, new Blobs(context.env.BLOBS));
  const changed = published.isNew || published.visibilityChanged;
  if (query.isDryRun) {
    const release = { path: draft.path, version: published.version, digest: draft.tree };
    return context.json({ dry_run: true, changed, release, entry: draft.entry, findings }, 200);
  }
  const found = orNotFound(await caller.catalog.findRelease(namespace, draft.path, published.version), draft.path);
  const release = formatRelease(namespace, found.release);
  const location = `/api/v1/namespaces/${namespace}/skills/${draft.path}/-/releases/${published.version}`;
  return context.json({ changed, release, entry: draft.entry, findings }, published.isNew ? 201 : 200, { location });
});

skillsApi.get("/namespaces/:namespace/skills", async (context) => {
  const { catalog, namespace } = await openCatalog(context);
  const list = `api-skills:${namespace}`;
  const cursor = context.req.query("cursor");
  const position = cursor === undefined ? { page: 0, key: "" } : parseCursor(list, cursor);
  const { items, hasMore } = await catalog.listSkills(namespace, position.key, maxPageEntries);
  const next = hasMore ? formatCursor(list, { page: position.page + 1, key: items.at(-1)!.path }) : null;
  return context.json({ skills: items.map(formatSkill), next_cursor: next });
});

skillsApi.get("/namespaces/:namespace/skills/:rest{.+}", async (context) => {
  // The raw path: the router's own decoding would lose the difference between "%" and "%25" in a file's name.
  const [, raw] = new URL(context.req.url).pathname.split(/\/skills\/(.*)/s);
  const [path, ...rest] = raw!.split("/-/");
  if (path === undefined || !isSkillPath(path) || rest.length > 1) throw noSuchAddress();
  const [noun, version, facet, ...file] = (rest[0] ?? "").split("/");
  if (noun === "") return getSkill(context, path);
  if (noun !== "releases") throw noSuchAddress();
  if (version === undefined || version === "") return listReleases(context, path);
  if (version !== "current" && !isVersion(version)) throw noSuchAddress();
  return getRelease(context, {
    path,
    version: version === "current" ? undefined : version,
    facet,
    file: file.join("/"),
  });
});

type SkillPath = ReturnType<typeof parseSkillPath>;
type Version = ReturnType<typeof parseVersion>;

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
    return answerFile(
      orNotFound(
        files.find((row) => row.file === decodePath(file)),
        file,
      ),
      blobs,
    );
  }
  if (file !== "") throw noSuchAddress();
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

function readPublishQuery(context: ApiContext) {
  const { path, version, visibility } = context.req.query();
  return {
    path: path === undefined ? undefined : parseSkillPath(path),
    version: version === undefined ? undefined : parseVersion(version),
    visibility: readVisibility(visibility),
    isDryRun: readFlag(context, "dry_run", false),
    mayBecomeCurrent: readFlag(context, "current", true),
    allowSecrets: readFlag(context, "allow_secrets", false),
  };
}

function readVisibility(text: string | undefined): SkillVisibility | undefined {
  if (text === undefined || text === "public" || text === "unlisted" || text === "private") return text;
  throw problem("invalid_request", `visibility must be public, unlisted or private, not "${text}"`);
}

function readFlag(context: ApiContext, name: string, otherwise: boolean): boolean {
  const text = context.req.query(name);
  if (text === undefined) return otherwise;
  if (text === "true" || text === "false") return text === "true";
  throw problem("invalid_request", `${name} must be true or false, not "${text}"`);
}

function decodePath(file: string): string | undefined {
  try {
    return file.split("/").map(decodeURIComponent).join("/");
  } catch {
    return undefined;
  }
}

function noSuchAddress() {
  return problem("not_found", "There is nothing at this address, or it needs a token of its namespace");
}
