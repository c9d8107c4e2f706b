import { Hono } from "hono";

import type { Entry } from "../domain/entry.ts";
import { discoveryIndexSeconds } from "../domain/limits.ts";
import { skillMd } from "../domain/uri.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { orNotFound } from "../storage/catalog.ts";
import type { ApiContext } from "./caller.ts";
import { answerFile } from "./downloads.ts";
import { isForAnybody, nothingHere, shelves } from "./shelf.ts";
import { decodePath } from "./skill-address.ts";

/**
 * Discovery 0.1.0, for tools from before 0.2.0 (`skills` up to 1.4): an index that lists the files of each skill, and
 * the files below `.well-known/skills/{name}/`. It has no digests; whoever knows both reads the newer one.
 */
export const olderDiscoveryApi = new Hono<AppEnv>();

const base = ".well-known/skills";
/** Such tools put a file's name into an address as it is, and skip what does not come: better no skill than half of one. */
const notFetchable = /\.\.|[%?#\\]/;

for (const [place, open] of Object.entries(shelves)) {
  olderDiscoveryApi.get(`${place}/${base}/index.json`, async (context: ApiContext) => {
    const rows = await (await open(context)).entries();
    const skills = rows.flatMap(({ entry }) => {
      const { uri, frontmatter, resources } = JSON.parse(entry) as Entry;
      const root = uri.slice(0, -skillMd.length);
      const files = resources.map((resource) => decodeURIComponent(resource.uri.slice(root.length)));
      if (files.some((file) => notFetchable.test(file))) return [];
      return [{ name: frontmatter.name, description: frontmatter.description, files }];
    });
    const keep = isForAnybody(context) ? { "cache-control": `public, max-age=${discoveryIndexSeconds}` } : {};
    return context.json({ skills }, 200, keep as Record<string, string>);
  });

  olderDiscoveryApi.get(`${place}/${base}/:name/:file{.+}`, async (context: ApiContext) => {
    const { catalog, skills } = await open(context);
    const { name, file } = readAddress(context.req.path);
    const row = (await skills()).find((skill) => skill.name === name);
    if (row === undefined || file === undefined) throw nothingHere();
    const { namespace, path, version } = row;
    const found = await catalog.findFile({ kind: "pinned", namespace, path, version, file });
    return answerFile(orNotFound(found, "The file"), new Blobs(context.env.BLOBS));
  });
}

/** From the path as it was typed, since the router's own decoding would lose which "/" is part of a name. */
function readAddress(path: string): { name: string; file: string | undefined } {
  const [name = "", ...rest] = path.slice(path.indexOf(`${base}/`) + base.length + 1).split("/");
  return { name, file: decodePath(rest.join("/")) };
}
