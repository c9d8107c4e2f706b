import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { everyNth } from "../campaigns/scale.ts";
import { snapshot } from "./answers.ts";
import { differences, pairsOf, pairsTried } from "./compare.ts";
import { attemptsAt, otherAttemptsAt, routes } from "./routes.ts";
import { seedWorld } from "./seed.ts";
import type { World } from "./seed.ts";

/**
 * Every route, aimed at things of another tenant with every credential that is none of theirs: nothing of theirs is in
 * the answer, nothing changes, and the answer is the one that things have which nobody ever made. MCP is in
 * cross-tenant-mcp.test.ts, what the answers cost in private-is-unknown.test.ts.
 */
let world: World;
let before: string;
let credentials: [string, string | undefined][];

beforeAll(async () => {
  world = await seedWorld();
  credentials = [["no credential", undefined], ...Object.entries({ ...world.foreign, ...world.dead })];
  before = await snapshot();
});

afterAll(() => console.log(`cross-tenant: ${pairsTried()} pairs of requests, ${credentials.length} credentials`));

const patterns = [...new Set(Object.keys(routes).map((route) => route.split(" ")[1]!))];

describe.each([
  ["a private namespace", 0],
  ["a private skill, collection or id of a public namespace", 1],
])("aimed at %s,", (_, index) => {
  it.each(Object.keys(routes))("%s shows nothing, changes nothing, and answers as for nothing", async (route) => {
    const one = world.cases[index]!;
    const pairs = pairsOf(one, (target) => attemptsAt(route, target, world.link));
    for (const [who, token] of everyNth(credentials, 4)) {
      expect([who, await differences(one, pairs, token, world)]).toEqual([who, []]);
    }
    expect(await snapshot()).toBe(before);
  });
});

describe("methods that an address does not have", () => {
  it.each(patterns)("open %s to nobody", async (pattern) => {
    const one = world.cases[0]!;
    const pairs = pairsOf(one, (target) => otherAttemptsAt(pattern, target, world.link));
    for (const token of [undefined, world.foreign["an admin's"]]) {
      expect(await differences(one, pairs, token, world)).toEqual([]);
    }
    expect(await snapshot()).toBe(before);
  });
});
