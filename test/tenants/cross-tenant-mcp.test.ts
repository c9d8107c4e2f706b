import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { snapshot } from "./answers.ts";
import { differences, pairsOf, pairsTried } from "./compare.ts";
import type { Pair } from "./compare.ts";
import { doors, eras, messagesAt } from "./methods.ts";
import { seedWorld } from "./seed.ts";
import type { Case, World } from "./seed.ts";

/** cross-tenant.test.ts for agents: every method, tool and notification, at every address, with every credential. */
let world: World;
let before: string;

beforeAll(async () => {
  world = await seedWorld();
  before = await snapshot();
});

afterAll(() => console.log(`cross-tenant over MCP: ${pairsTried()} pairs of requests`));

/** Roles take turns with the messages; whoever has none, all, or a path of their own sends every one. */
const sendEverything = new Set(["no credential", "an admin's", "one held to a path that the other tenant has too"]);

/** Credentials take turns with the eras. */
function pairsAt(one: Case, door: string, turn: number): Pair[] {
  const era = eras[turn % eras.length]!;
  return pairsOf(one, (target) => doors[door]!(target, world.link).flatMap((path) => messagesAt(path, target, era)));
}

describe.each([
  ["a private namespace", 0],
  ["a private skill or collection of a public namespace", 1],
])("aimed at %s,", (_, index) => {
  it.each(Object.keys(doors))("%s shows nothing, changes nothing, and answers as for nothing", async (door) => {
    const one = world.cases[index]!;
    const living: [string, string | undefined][] = [["no credential", undefined], ...Object.entries(world.foreign)];
    for (const [turn, [who, token]] of living.entries()) {
      const all = pairsAt(one, door, turn + index);
      const pairs = sendEverything.has(who) ? all : all.filter((_, place) => (place + turn) % 3 === 0);
      expect([who, await differences(one, pairs, token, world)]).toEqual([who, []]);
    }
    expect(await snapshot()).toBe(before);
  });

  it.each(Object.keys(doors))("%s is closed to what opens nothing anywhere", async (door) => {
    const one = world.cases[index]!;
    for (const [turn, [who, token]] of Object.entries(world.dead).entries()) {
      // These are refused before the message is looked at, so every seventh message stands for all.
      const pairs = pairsAt(one, door, turn).filter((_, place) => place % 7 === turn % 7);
      expect([who, await differences(one, pairs, token, world)]).toEqual([who, []]);
    }
    expect(await snapshot()).toBe(before);
  });
});
