import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { sampled } from "../campaigns/scale.ts";
import { api, newNamespace, newToken, operator, seedSkill } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt, Seen } from "./answers.ts";
import { eras, message, messagesAt } from "./methods.ts";
import { attemptsAt, routes } from "./routes.ts";
import { den } from "./seed.ts";
import type { Target } from "./seed.ts";

/** Attacks by name: with what a request says. Every route and method gets it, by the tables of this folder. */
let mine: string;
let closed: string;
let admin: string;
const link = `skl_${"0".repeat(16)}_${"0".repeat(64)}_${"0".repeat(16)}`;

beforeAll(async () => {
  [mine, closed] = [await newNamespace(), await newNamespace("private")];
  await api("POST", "/namespaces", { name: den, visibility: "public" });
  await seedSkill(den, "bravo-skill");
  await seedSkill(mine, "my-skill", { "notes.txt": "mine" });
  await seedSkill(closed, "hidden-skill", { "notes.txt": "quagga" });
  await api("PUT", `/namespaces/${den}/collections/bravo-desk`, { skills: "all" });
  admin = await newToken(den, "admin");
});

const names = [
  "namespace",
  "skill",
  "version",
  "file",
  "collection",
  "server",
  "tool",
  "hex",
  "words",
  "invitation",
  "link",
];
const ids = ["tokenId", "memberId", "invitationId", "linkId"];

/** A target all of whose names are one text. */
const targetOf = (text: string) => Object.fromEntries([...names, ...ids].map((name) => [name, text])) as Target;

const routesAt = (target: Target) => Object.keys(routes).flatMap((route) => attemptsAt(route, target, link));
const everywhere = (target: Target): Attempt[] => [
  ...routesAt(target),
  ...eras.flatMap((era) => messagesAt("/mcp", target, era)),
  ...messagesAt(`/mcp/${den}/bravo-desk`, target, "2026-07-28"),
];

/** A header takes no character beyond Latin-1; a client encodes them, which names nothing here. */
const sendable = ({ headers = {}, ...attempt }: Attempt): Attempt => ({
  ...attempt,
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replaceAll(/[^\x20-\x7e]/g, "?")]),
  ),
});

function expectCalm(attempt: Attempt, seen: Seen): void {
  const shown = [attempt.method, attempt.path, String(attempt.body ?? "").slice(0, 300)];
  expect([...shown, seen.status < 500, /SQLITE|D1_ERROR|syntax error|no such column|-32603/i.test(seen.body)]).toEqual([
    ...shown,
    true,
    false,
  ]);
}

describe("text that means something to a database or a search", () => {
  const texts = [
    `x' OR '1'='1`,
    `x"; DROP TABLE skills; --`,
    `x'); DELETE FROM tokens; --`,
    "NEAR(a b)",
    `a* OR b NOT c AND (`,
    `"unclosed`,
    "%' ESCAPE '\\",
    `{"$.x": ["y"]}`,
    "'$.skills[0]'",
    "?1 :name @name $name",
    "\u0000",
    "a\u0000b",
    "😀".repeat(60),
    "\ud800",
    "-1",
    "9".repeat(400),
    "[a-z]*?",
  ];

  it.each(texts)("is only text at every route and method: %j", async (text) => {
    const before = await tableSizes();
    // Encoded it reaches parameters that as it stands would end the path.
    const encoded = routesAt(targetOf(encodeURIComponent(text.toWellFormed())));
    for (const token of [undefined, admin]) {
      for (const attempt of sampled([...everywhere(targetOf(text)), ...encoded])) {
        expectCalm(attempt, await ask(sendable(attempt), token));
      }
    }
    expect(await tableSizes()).toEqual(before);
  });

  it("finds in a search what its words find, and nothing private", async () => {
    const query = `" OR 1=1 -- quagga hidden skill* NEAR`;
    const seen = await ask(
      message("/mcp", "2025-11-25", "tools/call", { name: "search_skills", arguments: { query } }),
    );
    expect(seen.body).not.toContain("hidden-skill/SKILL.md");
  });
});

async function tableSizes(): Promise<unknown> {
  const tables = [
    "namespaces",
    "skills",
    "releases",
    "tokens",
    "members",
    "invitations",
    "collections",
    "servers",
    "audit",
  ];
  const sizes = tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  return env.DB.prepare(`SELECT ${sizes.join()}`).first();
}

/** Each route that takes JSON, aimed at a namespace whose operator asks. */
function jsonDoors(): Attempt[] {
  const target = { ...targetOf("my-skill"), namespace: mine, version: "1.0.0" };
  return Object.keys(routes)
    .flatMap((route) => attemptsAt(route, target, link))
    .filter(({ headers }) => headers?.["content-type"] === "application/json");
}

describe("bodies made to break a parser", () => {
  const deep = 200_000;
  const bodies: [string, string | Uint8Array][] = [
    ["five megabytes of a string", `{"a":"${"x".repeat(5_000_000)}"}`],
    ["a deep array", "[".repeat(deep) + "]".repeat(deep)],
    ["a deep array that never ends", "[".repeat(deep)],
    ["a deep object", `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`],
    ["an array just below the limit", "[".repeat(32_000) + "]".repeat(32_000)],
    ["an object just below the limit", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
    ["a deep value where one is wanted", `{"name":${"[".repeat(30_000)}${"]".repeat(30_000)}}`],
    ["many members", `{${Array.from({ length: 6_000 }, (_, index) => `"k${index}":1`).join()}}`],
    ["a number out of all range", '{"expires_in_days":1e999,"skills":-1e999}'],
    ["bytes that are no UTF-8", new Uint8Array([0x7b, 0xff, 0xfe, 0x22, 0x7d])],
    ["a byte order mark", '\ufeff{"a":1}'],
    ["two documents", '{"a":1}{"b":2}'],
    ["nothing", ""],
    ["null", "null"],
    ["a list", "[]"],
  ];

  it.each(bodies)("get a clear refusal in bounded time at every JSON door: %s", async (_, body) => {
    for (const door of jsonDoors().filter(({ path }) => !path.includes("rotate"))) {
      const began = Date.now();
      const seen = await ask({ ...door, body }, operator);
      const refused = seen.status >= 400 && seen.status < 500;
      expect([door.method, door.path, seen.status, refused]).toEqual([door.method, door.path, seen.status, true]);
      expect(Date.now() - began).toBeLessThan(3_000);
    }
  });

  it.each(bodies)("get a clear refusal in bounded time over MCP: %s", async (_, body) => {
    for (const era of eras) {
      const whole = message(`/mcp/${mine}`, era, "skills/list", {});
      const began = Date.now();
      const seen = await ask({ ...whole, body });
      expect([era, seen.status >= 400 && seen.status < 500]).toEqual([era, true]);
      expect(Date.now() - began).toBeLessThan(3_000);
    }
  });

  it.each([10_000, 500_000])("are calm as parameters of a good message, %i deep", async (depth) => {
    const value = "[".repeat(depth) + "]".repeat(depth);
    for (const era of eras) {
      for (const method of ["skills/list", "skills/get", "tools/call", "prompts/get", "initialize", "no/such"]) {
        const good = message(`/mcp/${mine}`, era, method, { name: "search_skills", uri: "x", deep: 0 });
        const seen = await ask({ ...good, body: String(good.body).replace('"deep":0', `"deep":${value}`) });
        expect([era, method, seen.status < 500]).toEqual([era, method, true]);
      }
    }
  });
});
