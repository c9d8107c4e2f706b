import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Attempt } from "./answers.ts";
import { differences, pairsOf, pairsTried } from "./compare.ts";
import { doors, eras, messagesAt } from "./methods.ts";
import type { Era } from "./methods.ts";
import { den, seedWorld, ways } from "./seed.ts";
import type { Target, World } from "./seed.ts";

/** private-is-unknown.test.ts for agents: the same answer at the same price, at every address and in both eras. */
let world: World;

beforeAll(async () => {
  world = await seedWorld();
});

afterAll(() => console.log(`private is unknown over MCP: ${pairsTried()} pairs of requests`));

const isAbout = (target: Target, { body }: Attempt) => String(body).includes(target.skill.split("/").at(-1)!);

describe.each(ways.map((way, index) => [way, index] as const))("%s looks like what is not there", (_, index) => {
  // Once every message was tried at every address, the other ways of being private need those that name a skill.
  const isWhole = index < 2;
  const some = (t: Target) => ["/mcp", `/mcp/${t.namespace}`, `/mcp/${den}/bravo-desk`, `/r/${world.link}/mcp`];
  const every = (t: Target) => Object.values(doors).flatMap((door) => door(t, world.link));
  // At an address that may not be seen a message is never looked at, so a third of them stands for all.
  const isShut = (t: Target, path: string) => index === 0 && path.split("/").includes(t.namespace);
  const all = (t: Target, era: Era) =>
    (isWhole ? every : some)(t).flatMap((path, turn) =>
      messagesAt(path, t, era).filter((_, place) => !isShut(t, path) || (place + turn) % 3 === 0),
    );

  it.each(eras)("to agents of %s", async (era) => {
    const one = world.cases[index]!;
    const pairs = pairsOf(one, (target) => {
      const attempts = all(target, era);
      return isWhole ? attempts : attempts.filter((attempt) => isAbout(target, attempt));
    });
    // Strangers and another tenant take turns with ways and eras.
    const token = (index + eras.indexOf(era)) % 2 === 0 ? undefined : world.foreign["an admin's"];
    expect(await differences(one, pairs, token, { markers: world.markers, isCosted: true })).toEqual([]);
  });

  it("to agents with a revoked token", async () => {
    const one = world.cases[index]!;
    // It is refused before the message is looked at, so a few messages stand for all.
    const pairs = pairsOf(one, (target) =>
      some(target).flatMap((path) => messagesAt(path, target, "2026-07-28").filter((_, place) => place % 5 === 0)),
    );
    const token = world.dead["a revoked token"];
    expect(await differences(one, pairs, token, { markers: world.markers, isCosted: true })).toEqual([]);
  });
});
