import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { readExpected, runSuite } from "./suite.ts";
import type { Check } from "./suite.ts";

/** The official conformance suite against the registry's own namespace. */
const url = `${inject("registry").origin}/mcp/registry`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "conformance-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const in2025 = ["--spec-version", "2025-11-25", "--force"];
/** Caching hints came with 2026-07-28, so the suite has nothing to check before. */
const since2026 = ["sep-2640-skills-get-cache-attributes", "sep-2640-skills-list-cache-attributes"];

describe.each([
  { scenario: "sep-2640-skills-enumeration", modern: 32, legacy: 30, notBefore2026: since2026 },
  { scenario: "sep-2640-skills-manifest", modern: 6, legacy: 6, notBefore2026: [] },
  { scenario: "sep-2640-skills-directory", modern: 7, legacy: 7, notBefore2026: [] },
])("the scenario $scenario of the Skills extension", ({ scenario, modern, legacy, notBefore2026 }) => {
  test(`passes all ${modern} checks in 2026-07-28`, async () => {
    const { code, checks } = await runSuite(url, ["--scenario", scenario], join(folder, `${scenario}-2026`));
    expect(checks.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
    expect(checks).toHaveLength(modern);
    expect(code).toBe(0);
  });

  test(`passes all ${legacy} checks that there are in 2025-11-25`, async () => {
    const { code, checks } = await runSuite(url, ["--scenario", scenario, ...in2025], join(folder, `${scenario}-2025`));
    const others = checks.filter(({ status }) => status !== "SUCCESS");
    expect(others.map(({ id }) => id).sort()).toEqual(notBefore2026);
    for (const check of others) {
      expect(check).toMatchObject({ status: "SKIPPED", errorMessage: expect.stringContaining("not applicable") });
    }
    expect(checks.length - others.length).toBe(legacy);
    expect(code).toBe(0);
  });
});

describe.each(["2026-07-28", "2025-11-25"])("the requirements of %s", (revision) => {
  test("are met, except for the fixtures and features that are listed with their reason, and those really fail", async () => {
    const file = join(import.meta.dirname, `expected-failures-${revision}.yml`);
    const parameters = ["--requirements", revision, "--expected-failures", file];
    const { code, stdout, checks } = await runSuite(url, parameters, join(folder, revision));
    // Also for the scenarios that the suite runs without scoring them, of whose entries it says nothing.
    const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    const listed = await readExpected(file);
    expect(failed.filter((check) => !listed.some(({ entry }) => isAbout(entry, check)))).toEqual([]);
    expect(listed.filter(({ entry }) => !failed.some((check) => isAbout(entry, check)))).toEqual([]);
    expect(stdout).not.toMatch(/stale|unexpected failures/i);
    expect(code).toBe(0);
  });
});

/** An entry names a scenario as a whole, or one check of it. */
function isAbout(entry: string, { scenario, id }: Check): boolean {
  return entry === scenario || entry === `${scenario}:${id}`;
}
