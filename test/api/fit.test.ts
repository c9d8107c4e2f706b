import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";

/** Whether importers of others would take a release or a collection, and what they would decline. */
type Fit = {
  importer: string;
  fits: boolean;
  misfits: { rule: string; skill?: string; limit: number; found: number }[];
};

async function fitOf(path: string, token: string | null = null): Promise<Fit[]> {
  const { status, body } = await api("GET", path, undefined, token);
  expect(status).toBe(200);
  return body["importers"] as Fit[];
}

describe("the fit", () => {
  it("of a release is judged for each importer", async () => {
    const space = await newNamespace();
    await publish(space, { "SKILL.md": skillMdOf("big"), "table.csv": "x".repeat(1_100_000) });
    const [chatGpt, claudeCode] = await fitOf(`/namespaces/${space}/skills/big/-/releases/current/fit`);
    expect(chatGpt).toMatchObject({
      importer: "chatgpt",
      fits: false,
      misfits: [{ rule: "file_too_large", skill: `skill://${space}/big/SKILL.md`, limit: 1_048_576, found: 1_100_000 }],
    });
    expect(claudeCode).toEqual({ importer: "claude-code", fits: true, misfits: [] });
  });

  it("of a collection counts what the caller sees of it", async () => {
    const space = await newNamespace();
    const names = Array.from({ length: 7 }, (_, index) => `skill-${index}`);
    for (const name of names) await seedSkill(space, name, {}, name === "skill-6" ? "?visibility=private" : "");
    await api("PUT", `/namespaces/${space}/collections/desk`, { skills: names.map((path) => ({ path })) });
    const found = async (token: string | null) => (await fitOf(`/namespaces/${space}/collections/desk/fit`, token))[0];
    expect((await found(null))?.misfits).toMatchObject([{ rule: "too_many_skills", limit: 5, found: 6 }]);
    const reader = await newToken(space, "reader");
    expect((await found(reader))?.misfits).toMatchObject([{ rule: "too_many_skills", limit: 5, found: 7 }]);
  });

  it("of what is private, absent or misspelt is not there", async () => {
    const hidden = await newNamespace("private");
    await seedSkill(hidden, "inner");
    for (const path of ["skills/inner/-/releases/current/fit", "collections/none/fit"]) {
      expect((await api("GET", `/namespaces/${hidden}/${path}`, undefined, null)).status).toBe(404);
    }
    expect((await api("GET", `/namespaces/${hidden}/skills/inner/-/releases/current/fit/more`)).status).toBe(404);
  });
});
