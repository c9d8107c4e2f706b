import { app } from "./app.ts";
import type { Env } from "./env.ts";
import { logFailure } from "./log.ts";
export { Feed } from "./live/feed.ts";
export { Sessions } from "./live/sessions.ts";
import { sweep } from "./publish/sweep.ts";
import { Blobs } from "./storage/blobs.ts";

/** The Worker: what it answers, and what it does by the clock (wrangler.toml, "triggers"). */
export default {
  fetch: app.fetch,
  scheduled: async (_controller, env) => {
    try {
      await sweep(env.DB, new Blobs(env.BLOBS), Date.now);
    } catch (error) {
      logFailure("sweep", error);
      // The platform shows a run that throws as failed.
      throw error;
    }
  },
} satisfies ExportedHandler<Env>;
