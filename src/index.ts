import { app } from "./app.ts";
import type { Env } from "./env.ts";
import { logFailure } from "./log.ts";
export { Feed } from "./live/feed.ts";
export { Sessions } from "./live/sessions.ts";
import { keepIndex } from "./publish/reindex.ts";
import { sweep } from "./publish/sweep.ts";
import { Blobs } from "./storage/blobs.ts";

/** The Worker: what it answers, and what it does by the clock (wrangler.toml, "triggers"). */
export default {
  fetch: app.fetch,
  scheduled: async (_controller, env) => {
    const blobs = new Blobs(env.BLOBS);
    const failures: unknown[] = [];
    const logged = (door: string) => (error: unknown) => {
      logFailure(door, error);
      failures.push(error);
    };
    // What keeps one from its work keeps not the other.
    await sweep(env.DB, blobs, Date.now).catch(logged("sweep"));
    await keepIndex(env.DB, blobs).catch(logged("search"));
    // The platform shows a run that throws as failed.
    if (failures.length > 0) throw failures[0];
  },
} satisfies ExportedHandler<Env>;
