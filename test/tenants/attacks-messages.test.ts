import { beforeAll, describe, expect, it } from "vitest";

import { api, newNamespace, newToken, operator, publish, seedSkill, skillMdOf } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt } from "./answers.ts";
import { eras, message, tools } from "./methods.ts";
import { attemptsAt, routes } from "./routes.ts";
import type { Target } from "./seed.ts";

/** Attacks by name: one request in another, and names that mean something to JavaScript. */
let mine: string;
let closed: string;
let admin: string;

beforeAll(async () => {
  [mine, closed] = [await newNamespace(), await newNamespace("private")];
  await seedSkill(mine, "my-skill");
  await publish(closed, { "SKILL.md": skillMdOf("hidden-skill", "A quagga") });
  admin = await newToken(mine, "admin");
});

const legacyBody = (attempt: Attempt) => JSON.parse(String(attempt.body)) as Record<string, unknown>;

describe("a second request in the first", () => {
  const reading = () =>
    message(`/mcp/${mine}`, "2025-11-25", "resources/read", { uri: `skill://${mine}/my-skill/SKILL.md` });
  const hidden = () => ({ uri: `skill://${closed}/hidden-skill/SKILL.md` });

  it("by an id that is no id is refused or comes back as it was, and once", async () => {
    const odd = [
      {},
      [],
      { id: 2, method: "tools/list" },
      null,
      true,
      1.5,
      "1\n{}",
      "x".repeat(10_000),
      "__proto__",
      -1,
      1e21,
    ];
    for (const era of eras) {
      for (const id of odd) {
        const good = message(`/mcp/${mine}`, era, "skills/list", {});
        const seen = await ask({ ...good, body: JSON.stringify({ ...legacyBody(good), id }) });
        expect([era, id, seen.status < 500]).toEqual([era, id, true]);
        const answers = JSON.parse(seen.body === "" ? "{}" : seen.body) as Record<string, unknown>;
        expect(Array.isArray(answers)).toBe(false);
        if (answers["result"] !== undefined) expect(answers["id"]).toEqual(id);
      }
    }
  });

  it("in an array is read with the rights of the request that carried it", async () => {
    const { body, ...rest } = reading();
    const one = JSON.parse(String(body)) as Record<string, unknown>;
    const two = { ...one, id: 2, params: hidden() };
    for (const version of ["2025-11-25", "2025-03-26"]) {
      const seen = await ask({
        ...rest,
        headers: { ...rest.headers, "mcp-protocol-version": version },
        body: JSON.stringify([one, two, two, [two]]),
      });
      expect(seen.status).toBeLessThan(500);
      expect(seen.body).not.toContain("quagga");
    }
    const many = JSON.stringify(Array.from({ length: 21 }, (_, id) => ({ ...one, id })));
    expect((await ask({ ...rest, body: many })).status).toBe(413);
  });

  it("beside the one that the headers name is refused", async () => {
    const good = message(`/mcp/${mine}`, "2026-07-28", "tools/call", {
      name: "search_skills",
      arguments: { query: "x" },
    });
    for (const header of ["mcp-method", "mcp-name", "mcp-protocol-version"]) {
      for (const value of ["skills/list", "load_skill", "2025-11-25"]) {
        const seen = await ask({ ...good, headers: { ...good.headers, [header]: value } });
        if (value === good.headers![header]) continue;
        expect([header, value, seen.status]).toEqual([header, value, 400]);
      }
    }
    const twice = await ask({
      ...good,
      body: String(good.body).replace('"method"', '"method":"skills/list","method"'),
    });
    expect(twice.body).toContain("cards");
    const other = await ask({
      ...good,
      body: String(good.body).replace(/"method":"[^"]*"/, '"method":"tools/call","method":"skills/list"'),
    });
    expect(other.status).toBe(400);
  });

  it("in a text of a name or argument stays text, marks of ours included", async () => {
    const text = '"},"id":2,"method":"tools/list"}';
    const seen = await ask(
      message(`/mcp/${mine}`, "2025-11-25", "prompts/get", { name: "my-skill", arguments: { task: text } }),
    );
    const { result } = JSON.parse(seen.body) as { result: { messages: { content: { text: string } }[] } };
    expect(result.messages[0]!.content.text.endsWith(`The task: ${text}`)).toBe(true);
    const mark = "00000000-0000-4000-8000-000000000000:0";
    const marked = await ask(message(`/mcp/${mine}`, "2026-07-28", "skills/get", { uri: mark }));
    expect(marked.body).toContain(mark);
  });
});

describe("names that belong to JavaScript", () => {
  const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
  const isClean = () =>
    expect(["polluted" in {}, "visibility" in {}, "role" in Object.create(Object.prototype)]).toEqual([
      false,
      false,
      false,
    ]);

  it("as members of a JSON body are unknown members, at every JSON door", async () => {
    const target = Object.fromEntries(
      "skill version file collection server tool hex words invitation link tokenId memberId invitationId linkId"
        .split(" ")
        .map((name) => [name, "my-skill"]),
    ) as Target;
    const doors = Object.keys(routes)
      .flatMap((route) => attemptsAt(route, { ...target, namespace: mine, version: "1.0.0" }, "x"))
      .filter(({ headers }) => headers?.["content-type"] === "application/json");
    expect(doors.length).toBeGreaterThan(15);
    for (const door of doors) {
      for (const name of names) {
        const given = String(door.body).replace(
          /^\{/,
          `{"${name}":{"polluted":true,"role":"admin","visibility":"public"},`,
        );
        const seen = await ask({ ...door, body: given.replace(",}", "}") }, operator);
        expect([door.method, door.path, name, seen.status >= 400 && seen.status < 500]).toEqual([
          door.method,
          door.path,
          name,
          true,
        ]);
        isClean();
      }
    }
  });

  it("as names of tools, prompts, methods, arguments and parameters name nothing", async () => {
    for (const name of names) {
      for (const era of eras) {
        const attempts = [
          message(`/mcp/${mine}`, era, "tools/call", { name, arguments: {} }),
          message(`/mcp/${mine}`, era, "prompts/get", { name }),
          message(`/mcp/${mine}`, era, name, {}),
          message(`/mcp/${mine}`, era, "skills/get", { uri: name }),
          ...Object.keys(tools).map((tool) => {
            const call = message(`/mcp/${mine}`, era, "tools/call", { name: tool, arguments: { polluted: 1 } });
            return { ...call, body: String(call.body).replace('"polluted"', `"${name}"`) };
          }),
        ];
        for (const attempt of attempts) {
          const seen = await ask(attempt);
          expect([name, era, attempt.body, seen.status < 500]).toEqual([name, era, attempt.body, true]);
          // zod leaves out what is called so, and this tool needs no argument.
          if (name === "__proto__" && String(attempt.body).includes('"list_groups"')) continue;
          expect([attempt.body, /"error"|"isError":true/.test(seen.body)]).toEqual([attempt.body, true]);
        }
      }
      for (const query of [`?${name}=1`, `?${name}[polluted]=1`, `?cursor[${name}]=1`]) {
        for (const path of [`/api/v1/namespaces${query}`, `/api/v1/namespaces/${mine}/audit${query}`]) {
          expect((await ask({ method: "GET", path }, admin)).status).toBeLessThan(500);
        }
        expect((await publish(mine, { "SKILL.md": skillMdOf("other") }, query)).status).toBe(400);
      }
      isClean();
    }
  });

  it("as names of skills, files and collections are ordinary where they are names at all", async () => {
    const files = { "SKILL.md": skillMdOf("constructor"), ["__proto__"]: "x", "toString/valueOf": "y" };
    expect((await publish(mine, files)).status).toBe(201);
    const base = `/namespaces/${mine}`;
    const put = await api("PUT", `${base}/collections/constructor`, { skills: [{ path: "constructor" }] });
    expect(put.status).toBe(201);
    const { body } = await api("GET", `${base}/skills/constructor/-/releases/current/manifest`);
    expect((body["files"] as { file: string }[]).map(({ file }) => file)).toEqual([
      "SKILL.md",
      "__proto__",
      "toString/valueOf",
    ]);
    const directory = await ask(
      message(`/mcp/${mine}/constructor`, "2025-11-25", "resources/directory/read", {
        uri: `skill://${mine}/constructor`,
      }),
    );
    expect(directory.body).toContain("/__proto__");
    isClean();
  });
});
