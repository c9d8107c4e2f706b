import { fileURLToPath } from "node:url";

import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

import { limitsForTests } from "./limits-for-tests.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests inside workerd, with real D1 and R2; storage is fresh for every test file. */
export default defineConfig(async () => ({
  root: here(".."),
  plugins: [
    cloudflareTest({
      wrangler: { configPath: here("../wrangler.toml") },
      miniflare: {
        bindings: {
          TEST_MIGRATIONS: await readD1Migrations(here("../migrations")),
          ADMIN_TOKEN: "operator-token-for-tests-0123456789abcdef",
          SIGNING_KEY: "signing-key-for-tests-0123456789abcdef",
          // Tests ask more in a minute than anybody may; those of the limits set their own.
          ...limitsForTests,
          // What is counted of a request is written before its test goes on.
          TALLY_PAUSE_MS: "0",
          // How much of each campaign runs, and from which seed: test/campaigns/scale.ts.
          CAMPAIGN: process.env["CAMPAIGN"] ?? "",
          CAMPAIGN_SEED: process.env["CAMPAIGN_SEED"] ?? "",
        },
      },
    }),
  ],
  test: {
    include: [
      "test/{adapter,domain,storage,publish,live,mcp,api,auth,journeys,campaigns,tenants,web}/**/*.test.ts",
      "test/*.test.ts",
    ],
    setupFiles: [here("./setup.ts")],
    // One file keeps little more than one processor busy; left to itself vitest would run one at a time on two.
    maxWorkers: 2,
    // Loading the program costs a file more than most of its tests: files share workers, and setup.ts clears up.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}));
