import type { Env } from "./env.ts";

export default {
  fetch(): Response {
    return new Response(null, { status: 404, headers: { "cache-control": "no-store" } });
  },
} satisfies ExportedHandler<Env>;
