import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Attempt } from "./answers.ts";
import { differences, pairsOf, pairsTried } from "./compare.ts";
import { attemptsAt, routes } from "./routes.ts";
import { seedWorld, ways } from "./seed.ts";
import type { Target, World } from "./seed.ts";

/**
 * What is private and what does not exist have one answer at one price: the same D1 round trips with the same
 * statements and the same R2 operations, through every door and in every way in which a thing can be private. Here are
 * the API and plain HTTP; private-is-unknown-mcp.test.ts has the agents.
 */
let world: World;

beforeAll(async () => {
  world = await seedWorld();
  expect(world.cases).toHaveLength(ways.length);
});

afterAll(() => console.log(`private is unknown: ${pairsTried()} pairs of requests`));

const isAbout = (target: Target, { path, body }: Attempt) =>
  [target.skill, target.hex].some((name) => `${path} ${String(body)}`.includes(name));

describe.each(ways.map((way, index) => [way, index] as const))("%s looks like what is not there", (way, index) => {
  // Once every route was tried for a namespace, the other ways of being private need those that name a skill.
  const isWhole = index < 2 || way === "a namespace that was deleted";

  it.each(["no credential", "a foreign token", "a revoked token"])("to the API and plain HTTP with %s", async (who) => {
    const tokens: Record<string, string | undefined> = {
      "a foreign token": world.foreign["an admin's"],
      "a revoked token": world.dead["a revoked token"],
    };
    const one = world.cases[index]!;
    const attemptsOf = (target: Target) => {
      const all = Object.keys(routes).flatMap((route) => attemptsAt(route, target, world.link));
      return isWhole ? all : all.filter((attempt) => isAbout(target, attempt));
    };
    const pairs = pairsOf(one, attemptsOf);
    expect(pairs.length).toBeGreaterThan(40);
    expect(await differences(one, pairs, tokens[who], { markers: world.markers, isCosted: true })).toEqual([]);
  });
});
