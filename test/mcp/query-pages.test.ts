import { beforeAll, describe, expect, it } from "vitest";

import { eras, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import type { Files, modern } from "../harness.ts";

/** `skills/list` with our `query` over more skills than a page holds, by questions as long as they may be. */
let namespace: string;

beforeAll(async () => {
  namespace = await newNamespace();
  const files: Files = {};
  for (let index = 0; index < 60; index++) {
    const name = `lamp-${String(index).padStart(2, "0")}`;
    files[`${name}/SKILL.md`] = skillMdOf(name, "Repair a lamp 修理台灯 at home");
  }
  expect((await publish(namespace, files)).status).toBe(201);
  // A word that every skill has says nothing about any of them.
  const others: Files = {};
  for (let index = 0; index < 90; index++) {
    const name = `chore-${index}`;
    others[`${name}/SKILL.md`] = skillMdOf(name, `Sweep room number ${index * 7} on a Tuesday`);
  }
  expect((await publish(namespace, others)).status).toBe(201);
});

describe.each(eras)("skills/list with a query over %s", (_, call: typeof modern) => {
  const page = async (params: object, token?: string) =>
    call(`/mcp/${namespace}`, "skills/list", { ...params }, token === undefined ? {} : { token });

  const namesOf = (result: Record<string, unknown> | undefined) =>
    (result!["skills"] as { frontmatter: { name: string } }[]).map(({ frontmatter }) => frontmatter.name);

  it.each([
    ["words", "repair a lamp"],
    ["512 letters", `repair a lamp ${"lamp ".repeat(100)}`.slice(0, 511)],
    ["512 characters of another script", "修理台灯".repeat(128)],
    ["512 characters of which JSON makes several", `lamp ${'"'.repeat(250)}${"\u0001".repeat(257)}`],
    ["512 emoji", `lamp ${"🎉".repeat(507)}`],
  ])("goes through all pages by a query of %s", async (_, query) => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { result, error } = await page({ query, ...(cursor === undefined ? {} : { cursor }) });
      expect(error).toBeUndefined();
      names.push(...namesOf(result));
      cursor = result!["nextCursor"] as string | undefined;
    } while (cursor !== undefined);
    expect(names).toHaveLength(60);
    expect(new Set(names).size).toBe(60);
  });

  it("is bound to its query: a cursor of another one, or of none, is refused", async () => {
    const { result } = await page({ query: "repair a lamp" });
    const cursor = result!["nextCursor"];
    expect(namesOf((await page({ query: " repair a lamp ", cursor })).result)).toHaveLength(25);
    for (const params of [{ cursor }, { cursor, query: "" }, { cursor, query: "repair the lamp" }]) {
      const { error } = await page(params);
      expect([error?.code, error?.message]).toEqual([-32602, expect.stringContaining("start again")]);
    }
  });

  it("refuses what is no query, naming the limit where it is too long", async () => {
    expect((await page({ query: "x".repeat(513) })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("512") as string,
    });
    for (const query of [5, null, ["lamp"], {}]) expect((await page({ query })).error?.code).toBe(-32602);
  });

  it("finds a private skill for its token alone, also on a later page", async () => {
    const own = await newNamespace();
    await seedSkill(own, "hidden-lamp", {}, "?visibility=private");
    const token = await newToken(own, "reader");
    const ask = async (credential?: string) =>
      (
        await call(
          `/mcp/${own}`,
          "skills/list",
          { query: "hidden lamp" },
          credential === undefined ? {} : { token: credential },
        )
      ).result;
    expect([namesOf(await ask()), namesOf(await ask(token))]).toEqual([[], ["hidden-lamp"]]);
  });
});
