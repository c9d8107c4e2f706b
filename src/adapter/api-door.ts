import type { Skill } from "@modelcontextprotocol/server/ext/skills";

import { isSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { movingUri, pinnedUri } from "../domain/uri.ts";
import { isVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { Door, Listing } from "./door.ts";
import type { HeldFile } from "./files.ts";
import { entryAt, resourcesOf, rootOf, treeOf } from "./held-skill.ts";
import type { HeldSkill } from "./held-skill.ts";
import { RegistryError, ask, askJson } from "./http.ts";
import type { Asking } from "./http.ts";

/** A collection, as the publisher API shows it to everybody or to a token. */
export interface CollectionAddress {
  /** `https://skills.example.com` */
  origin: string;
  namespace: string;
  collection: string;
  /** Holds to what the collection held then. Its history is shown to tokens whose role is `publisher`. */
  edition?: number;
  /** Holds skills to a version: `{ "acme/billing/refunds": "1.2.0" }`. */
  versions?: Readonly<Record<string, string>>;
}

interface Pick {
  namespace: Namespace;
  path: SkillPath;
  version: Version;
  /** Whether agents see the pinned address. */
  isPinned: boolean;
}

interface ReleaseAnswer {
  digest: string;
  entry: Skill;
}

interface ManifestAnswer {
  digest: string;
  files: { file: string; digest: string; size: number; media_type: string }[];
}

export function apiDoor(asking: Asking, address: CollectionAddress): Door {
  const { origin, namespace, collection, edition, versions } = address;
  const api = `${origin.replace(/\/+$/, "")}/api/v1`;
  const home = `${api}/namespaces/${encodeURIComponent(namespace)}/collections/${encodeURIComponent(collection)}`;
  const listing = (pick: Pick): Listing => ({
    key: uriOf(pick) + (pick.isPinned ? "" : `@${pick.version}`),
    describe: (signal) => describe(asking, api, pick, signal),
  });
  return {
    name: JSON.stringify([api, namespace, collection, edition, versions]),
    list: async (signal) => {
      const picks =
        edition === undefined
          ? await readCollection(asking, home, signal)
          : await readEdition(asking, { api, home, edition }, signal);
      return withVersions(picks, versions ?? {}).map(listing);
    },
    download: (skill, { file, size }, signal) => {
      const what = `${skill.entry.uri}: ${file}`;
      const address = `${releaseOf(api, pickOf(skill))}/files/${file.split("/").map(encodeURIComponent).join("/")}`;
      return ask(asking, address, { what, signal, maxBytes: size });
    },
  };
}

async function readCollection(asking: Asking, home: string, signal: AbortSignal): Promise<Pick[]> {
  const answer = (await askJson(asking, home, { what: "The collection", signal })) as {
    skills: { namespace: string; path: string; version: string; pinned: boolean }[];
  };
  return answer.skills.map(({ namespace, path, version, pinned }) => pick(namespace, path, version, pinned));
}

/** What an edition did not pin follows current. */
async function readEdition(
  asking: Asking,
  { api, home, edition }: { api: string; home: string; edition: number },
  signal: AbortSignal,
): Promise<Pick[]> {
  const what = `Edition ${edition}`;
  const { editions } = (await askJson(asking, `${home}/editions`, { what, signal })) as {
    editions: {
      edition: number;
      content: { skills: "all" | { namespace: string; path: string; version: string | null }[] };
    }[];
  };
  const skills = editions.find((one) => one.edition === edition)?.content.skills;
  if (skills === undefined) throw new RegistryError(`${what}: the collection no longer has it`, { isRefusal: true });
  if (skills === "all") throw new RegistryError(`${what}: it holds every skill, and names none`, { isRefusal: true });
  return Promise.all(
    skills.map(async ({ namespace, path, version }) => {
      if (version !== null) return pick(namespace, path, version, true);
      const address = `${api}/namespaces/${namespace}/skills/${path}`;
      const { current } = (await askJson(asking, address, { what: path, signal })) as { current: string };
      return pick(namespace, path, current, false);
    }),
  );
}

function withVersions(picks: Pick[], versions: Readonly<Record<string, string>>): Pick[] {
  const names = new Set(picks.map(({ namespace, path }) => `${namespace}/${path}`));
  const unknown = Object.keys(versions).filter((name) => !names.has(name));
  if (unknown.length > 0) {
    throw new RegistryError(`The collection does not hold ${unknown.join(", ")}`, { isRefusal: true });
  }
  return picks.map((one) => {
    const version = versions[`${one.namespace}/${one.path}`];
    return version === undefined ? one : pick(one.namespace, one.path, version, true);
  });
}

/** The registry's words become parts of addresses, so they are looked at first. */
function pick(namespace: string, path: string, version: string, isPinned: boolean): Pick {
  if (!isSkillPath(namespace) || !isSkillPath(path) || !isVersion(version)) {
    throw new RegistryError(`"${namespace}/${path}" ${version} names no release`);
  }
  return { namespace: namespace as string as Namespace, path, version, isPinned };
}

/** The entry's words are the registry's; its resources are the manifest, whose own digest names the release. */
async function describe(asking: Asking, api: string, one: Pick, signal: AbortSignal): Promise<HeldSkill> {
  const what = `${one.namespace}/${one.path} ${one.version}`;
  const address = releaseOf(api, one);
  const [release, manifest] = (await Promise.all([
    askJson(asking, address, { what, signal }),
    askJson(asking, `${address}/manifest`, { what, signal }),
  ])) as [ReleaseAnswer, ManifestAnswer];
  const files: HeldFile[] = manifest.files.map(({ file, digest, size, media_type }) => {
    return { file, digest, size, mediaType: media_type };
  });
  const stated = JSON.stringify(release.entry.resources);
  const isOne = (await treeOf(files)) === release.digest && manifest.digest === release.digest;
  if (!isOne || JSON.stringify(resourcesOf(rootOf(release.entry.uri), files)) !== stated) {
    throw new RegistryError(`${what}: entry, manifest and digest of the release do not agree`);
  }
  const pinned = rootOf(pinnedUri(one.namespace, one.path, one.version));
  const root = rootOf(uriOf(one));
  const own = [pinned, rootOf(movingUri(one.namespace, one.path))];
  if (!own.includes(rootOf(release.entry.uri))) throw new RegistryError(`${what}: the entry is that of another skill`);
  const roots = one.isPinned ? [pinned] : [root, pinned];
  const skill = { key: "", entry: release.entry, roots, files };
  return { ...skill, entry: entryAt(skill, root) };
}

function uriOf({ namespace, path, version, isPinned }: Pick): string {
  return isPinned ? pinnedUri(namespace, path, version) : movingUri(namespace, path);
}

function releaseOf(api: string, { namespace, path, version }: Pick): string {
  return `${api}/namespaces/${namespace}/skills/${path}/-/releases/${version}`;
}

/** The pinned address is always the last one, and names all that a download needs. */
function pickOf({ roots }: HeldSkill): Pick {
  const [, namespace, folders, version, name] = /^skill:\/\/([^/]+)\/(.*?)@([^/]+)\/([^/]+)$/.exec(roots.at(-1)!) ?? [];
  return pick(namespace ?? "", `${folders}${name}`, version ?? "", true);
}
