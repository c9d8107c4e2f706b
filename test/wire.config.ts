import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests in Node that speak to a started server: other people's clients, and the official conformance suite. */
export default defineConfig({
  root: here(".."),
  test: {
    include: ["test/{wire,conformance}/**/*.test.ts"],
    globalSetup: [here("./wire/server.ts")],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The server needs a core of its own, and more clients than two would only wait for it.
    maxWorkers: 2,
  },
});
