import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { Memo } from "../../src/storage/memo.ts";
import { api, eras, modern, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";

/** Pages are remembered by revision, bytes by digest; nothing that changes may ever be served from memory. */
async function names(address: string, options: { token?: string } = {}): Promise<string[]> {
  const { result } = await modern(address, "skills/list", {}, options);
  return (result!["skills"] as { frontmatter: { name: string } }[]).map((skill) => skill.frontmatter.name);
}

describe.each(eras)("a list that is remembered, over %s", (_, call) => {
  const listed = async (space: string) =>
    ((await call(`/mcp/${space}`, "skills/list")).result!["skills"] as { frontmatter: Record<string, string> }[]).map(
      ({ frontmatter }) => `${frontmatter["name"]}: ${frontmatter["description"]}`,
    );

  it("changes at once with a publish, a new release and a visibility", async () => {
    const space = await newNamespace();
    await seedSkill(space, "one");
    for (let again = 0; again < 3; again++) expect(await listed(space)).toEqual(["one: What one does"]);
    await seedSkill(space, "two");
    expect(await listed(space)).toEqual(["one: What one does", "two: What two does"]);
    await publish(space, { "SKILL.md": skillMdOf("one", "Now something else") });
    expect(await listed(space)).toEqual(["one: Now something else", "two: What two does"]);
    for (const visibility of ["unlisted", "private"]) {
      await publish(space, { "SKILL.md": skillMdOf("two") }, `?visibility=${visibility}`);
      expect(await listed(space)).toEqual(["one: Now something else"]);
    }
    await publish(space, { "SKILL.md": skillMdOf("two") }, "?visibility=public");
    expect(await listed(space)).toEqual(["one: Now something else", "two: What two does"]);
  });

  it("changes at once with a yank, its return, a move of current and a delete", async () => {
    const space = await newNamespace();
    for (const description of ["first", "second"]) await publish(space, { "SKILL.md": skillMdOf("one", description) });
    const skill = `/namespaces/${space}/skills/one`;
    const steps: [string, string, unknown, string[]][] = [
      ["PATCH", `${skill}/-/releases/1.0.1`, { yanked: true }, ["one: first"]],
      ["PATCH", `${skill}/-/releases/1.0.1`, { yanked: false }, ["one: first"]],
      ["PATCH", skill, { current: "1.0.1" }, ["one: second"]],
      ["PATCH", skill, { current: "1.0.0" }, ["one: first"]],
      ["PATCH", skill, { visibility: "private" }, []],
      ["PATCH", skill, { visibility: "public" }, ["one: first"]],
      ["DELETE", skill, undefined, []],
    ];
    expect(await listed(space)).toEqual(["one: second"]);
    for (const [method, path, change, expected] of steps) {
      expect((await api(method, path, change)).status).toBeLessThan(300);
      for (let again = 0; again < 2; again++)
        expect([path, change, await listed(space)]).toEqual([path, change, expected]);
    }
  });

  it("is refused at once when its namespace is hidden, although nothing in it changed", async () => {
    const space = await newNamespace();
    await seedSkill(space, "one");
    expect(await listed(space)).toHaveLength(1);
    await env.DB.prepare("UPDATE namespaces SET visibility = 'private' WHERE name = ?1").bind(space).run();
    expect((await call(`/mcp/${space}`, "skills/list")).status).toBe(401);
    await env.DB.prepare("UPDATE namespaces SET visibility = 'public' WHERE name = ?1").bind(space).run();
    expect(await listed(space)).toHaveLength(1);
  });
});

describe("the memory of an isolate", () => {
  it("holds what nobody in particular sees, and nothing of a caller with a token", async () => {
    const space = await newNamespace();
    await seedSkill(space, "open");
    await seedSkill(space, "closed", {}, "?visibility=private");
    const { body } = await api("POST", `/namespaces/${space}/tokens`, { role: "reader" });
    const token = body["token"] as string;
    const stranger = await newToken(await newNamespace(), "admin");
    for (let again = 0; again < 2; again++) {
      expect(await names(`/mcp/${space}`, { token })).toEqual(["closed", "open"]);
      expect(await names(`/mcp/${space}`)).toEqual(["open"]);
      expect(await names(`/mcp/${space}`, { token: stranger })).toEqual(["open"]);
    }
    await api("DELETE", `/namespaces/${space}/tokens/${body["id"] as string}`);
    expect((await modern(`/mcp/${space}`, "skills/list", {}, { token })).status).toBe(401);
  });

  it("does not keep a file readable whose skill became private", async () => {
    const space = await newNamespace();
    await seedSkill(space, "notes");
    const uri = `skill://${space}/notes/SKILL.md`;
    expect((await modern(`/mcp/${space}`, "resources/read", { uri })).error).toBeUndefined();
    await publish(space, { "SKILL.md": skillMdOf("notes") }, "?visibility=private");
    expect((await modern(`/mcp/${space}`, "resources/read", { uri })).error?.code).toBe(-32602);
  });

  it("is bounded in bytes, and forgets what was used longest ago", () => {
    const memo = new Memo<string>(10);
    memo.set("a", "A", 4);
    memo.set("b", "B", 4);
    expect(memo.get("a")).toBe("A");
    memo.set("c", "C", 4);
    expect(["a", "b", "c"].map((key) => memo.get(key))).toEqual(["A", undefined, "C"]);
    memo.set("a", "AA", 6);
    expect(["a", "c"].map((key) => memo.get(key))).toEqual(["AA", "C"]);
    memo.set("d", "too large", 11);
    expect(["a", "c", "d"].map((key) => memo.get(key))).toEqual(["AA", "C", undefined]);
  });
});
