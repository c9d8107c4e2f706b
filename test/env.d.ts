import type { Env as WorkerEnv } from "../src/env.ts";

declare global {
  interface ImportMeta {
    /** Vite's; its own type library would bring the browser's types along. */
    glob<Module>(pattern: string, options: { query: string; import: string; eager: true }): Record<string, Module>;
  }
  namespace Cloudflare {
    interface Env extends WorkerEnv {
      TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
    }
    interface GlobalProps {
      mainModule: typeof import("../src/index.ts");
    }
  }
}
