import { describe, expect, inject, test } from "vitest";

import { clients } from "./connection.ts";
import { generatedCount, generatedSkills } from "./generated-skills.ts";
import { largeSkill } from "./large-skill.ts";
import { amountOf, seedSkills, verifyAll } from "./source.ts";

const { origin } = inject("registry");

describe.each(clients)("$client, negotiated to $protocolVersion,", ({ protocolVersion, connect }) => {
  test("verifies every byte of the seed", async () => {
    const source = await seedSkills();
    const connection = await connect(`${origin}/mcp/registry`);
    expect(connection.protocolVersion).toBe(protocolVersion);
    expect(await verifyAll(connection, "registry", source)).toEqual(amountOf(source));
    await connection.close();
  });

  test(`verifies every byte of ${generatedCount} generated skills, whatever their names, frontmatter and bytes`, async () => {
    const source = generatedSkills();
    const connection = await connect(`${origin}/mcp/generated`);
    expect(connection.protocolVersion).toBe(protocolVersion);
    const expected = amountOf(source);
    expect(expected.skills).toBe(generatedCount);
    expect(expected.files).toBeGreaterThan(3 * generatedCount);
    expect(await verifyAll(connection, "generated", source)).toEqual(expected);
    await connection.close();
  });

  test("verifies every byte of a skill of 512 files and 16 MiB", async () => {
    const source = [largeSkill()];
    const connection = await connect(`${origin}/mcp/large`);
    expect(connection.protocolVersion).toBe(protocolVersion);
    const everything = { skills: 1, files: 512, bytes: 16 * 1024 * 1024 };
    expect(await verifyAll(connection, "large", source)).toEqual(everything);
    await connection.close();
  });
});
