import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Attempt } from "./answers.ts";
import { differences, pairsOf } from "./compare.ts";
import { doors, eras, messagesAt } from "./methods.ts";
import { attemptsAt, routes } from "./routes.ts";
import { den, seedWorld } from "./seed.ts";
import type { Target, World } from "./seed.ts";

/**
 * What is private and what does not exist have one answer at one price: the same D1 round trips with the same
 * statements and the same R2 operations, through every door and in every way in which a thing can be private.
 */
let world: World;
let tried = 0;
let credentials: [string, string | undefined][];

beforeAll(async () => {
  world = await seedWorld();
  credentials = [
    ["no credential", undefined],
    ["a foreign token", world.foreign["an admin's"]],
    ["a revoked token", world.dead["a revoked token"]],
  ];
});

afterAll(() => console.log(`private is unknown: ${tried} pairs of requests`));

async function holds(index: number, make: (target: Target) => Attempt[], limit = credentials.length): Promise<void> {
  const one = world.cases[index]!;
  const pairs = pairsOf(one, make);
  for (const [who, token] of credentials.slice(0, limit)) {
    tried += pairs.length;
    expect([who, await differences(one, pairs, token, { markers: world.markers, isCosted: true })]).toEqual([who, []]);
  }
}

const labels = [
  "a private namespace",
  "a private skill of a public namespace",
  "a public skill of a private namespace",
  "an unlisted skill of a private namespace",
  "an older version of a private skill",
  "a yanked version of a private skill",
  "a deleted skill",
  "a private skill that a public collection picked when it was public",
].map((label, index) => [label, index] as const);

describe.each(labels)("%s looks like what is not there", (label, index) => {
  it("which is what the seed has under this number", () => {
    expect(world.cases[index]!.label).toBe(label);
  });

  it("to the API and to plain HTTP", async () => {
    await holds(index, (target) => Object.keys(routes).flatMap((route) => attemptsAt(route, target, world.link)));
  });

  const some = (t: Target) => ["/mcp", `/mcp/${t.namespace}`, `/mcp/${den}/bravo-desk`, `/r/${world.link}/mcp`];
  const every = (t: Target) => Object.values(doors).flatMap((door) => door(t, world.link));
  const isAbout = (t: Target, one: Attempt) => String(one.body).includes(t.skill.split("/").at(-1)!);

  it.each(eras)("to agents of %s", async (era) => {
    // Once every message was tried at every address, the other ways of being private need those that name a skill.
    const isWhole = index < 2;
    await holds(
      index,
      (t) => {
        const all = (isWhole ? every : some)(t).flatMap((path) => messagesAt(path, t, era));
        return isWhole ? all : all.filter((one) => isAbout(t, one));
      },
      2,
    );
  });
});
