import { Hono } from "hono";

import { digestOfHex } from "../domain/digest.ts";
import { publicBlobSeconds } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";
import { Blobs } from "../storage/blobs.ts";
import { openRegistry } from "./caller.ts";
import { download } from "./downloads.ts";

/**
 * `/blobs/sha256/{hex}`: public bytes by digest, so that anybody can check what they got elsewhere. The digest of a
 * private file is answered exactly like one that nobody ever stored, also to those who may read that file.
 */
export const blobsApi = new Hono<AppEnv>();

blobsApi.get("/sha256/:hex", async (context) => {
  const { catalog } = await openRegistry(context);
  const digest = digestOfHex(context.req.param("hex"));
  const row = digest === undefined ? undefined : await catalog.findPublicBlob(digest);
  if (digest === undefined || row === undefined) {
    await catalog.gate();
    throw problem("not_found", "No public release holds bytes of this digest");
  }
  // Whoever holds a blob already may keep it for a day; it cannot have changed, only become private meanwhile.
  const keep = { "cache-control": `public, max-age=${publicBlobSeconds}, immutable` };
  if (context.req.header("if-none-match") === `"${digest}"`) {
    return context.body(null, 304, { ...keep, etag: `"${digest}"` });
  }
  return download(digest, new Blobs(context.env.BLOBS), { mediaType: row.media_type, name: digest.slice(7) }, keep);
});
