import { beforeAll, describe, expect, it } from "vitest";

import { env } from "cloudflare:workers";
import {
  maxServers,
  maxServerSnapshotBytes,
  maxToolCardLength,
  maxToolDefinitionBytes,
  maxToolsPerServer,
} from "../../src/domain/limits.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import type { Version } from "../../src/domain/version.ts";
import { Catalog } from "../../src/storage/catalog.ts";
import { findToolCards, findToolDefinition } from "../../src/storage/servers.ts";
import { api, newNamespace, newToken, publish, send, skillMdOf } from "../harness.ts";
import type { Answer } from "../harness.ts";

/** Companion servers: registered with what they list, so that skills can name their tools. */
const url = "https://mcp.example.com/jobs";
const object = (properties: Record<string, unknown> = {}) => ({ type: "object", properties });
const toolOf = (name: string, more: Record<string, unknown> = {}) => ({
  name,
  description: `What ${name} does`,
  inputSchema: object({ id: { type: "string", description: "Which one" } }),
  ...more,
});
const jobs = [toolOf("search_jobs"), toolOf("get_job"), toolOf("apply/for.job")];

let space: string;
let publisher: string;

beforeAll(async () => {
  space = await newNamespace();
  publisher = await newToken(space, "publisher");
});

const at = (name: string, namespace = space) => `/namespaces/${namespace}/servers/${name}`;
const put = (name: string, body: unknown, token: string | null = publisher, query = "") =>
  api("PUT", at(name) + query, body, token);
const register = async (namespace: string, name: string, tools: unknown[] = jobs) => {
  const answer = await api("PUT", at(name, namespace), { url, tools });
  expect([answer.status, answer.body]).toMatchObject([answer.status < 300 ? answer.status : 201, {}]);
  return answer;
};
const seed = async (namespace: string, name: string, named: string, query = "") => {
  const skill = skillMdOf(name, `What ${name} does\nmetadata:\n  mcp-tools: "${named}"`);
  const answer = await publish(namespace, { "SKILL.md": skill }, query);
  expect([answer.status, answer.body["detail"]]).toEqual([201, undefined]);
  return answer;
};

interface Finding {
  code: string;
  file: string;
  line: number | null;
  severity: string;
  message: string;
  fix: string;
}
const findingsOf = ({ body }: Answer) => body["findings"] as Finding[];
const toldOf = (answer: Answer) => findingsOf(answer).map(({ file, code }) => `${file} ${code}`);

describe("a server", () => {
  it("is registered with its tools, and shows their cards but no schema", async () => {
    const { status, body, headers } = await put("jobs", { url, title: "Jobs", tools: jobs });
    expect([status, headers.get("etag"), headers.get("location")]).toEqual([201, '"1"', `/api/v1${at("jobs")}`]);
    expect(body).toMatchObject({
      changed: true,
      name: "jobs",
      title: "Jobs",
      url,
      tools: 3,
      snapshot: 1,
      difference: { added: jobs.map(({ name }) => name), removed: [], changed: [] },
      vanished: [],
    });
    const shown = await api("GET", at("jobs"), undefined, null);
    expect(shown.body["cards"]).toEqual(
      jobs.map(({ name, description }) => ({ name, named_as: `jobs/${name}`, title: "", description })),
    );
    expect(JSON.stringify(shown.body)).not.toContain("inputSchema");
    // Who registered it is no business of strangers.
    expect([shown.body["updated_by"], shown.headers.get("etag")]).toEqual([undefined, '"1"']);
    const mine = await api("GET", at("jobs"), undefined, publisher);
    expect(mine.body["updated_by"]).toMatch(/^token:/);
    const all = await api("GET", `/namespaces/${space}/servers`, undefined, null);
    expect((all.body["servers"] as { name: string }[]).map(({ name }) => name)).toContain("jobs");
  });

  it("keeps each tool as it was listed, under names with slashes too", async () => {
    const odd = toolOf("a/b.c-d_e", {
      title: "Odd",
      inputSchema: { ...object({ "": { pattern: "^[^\u0000]*$" }, 字: { const: 1e21 } }), $defs: { a: [null, true] } },
      outputSchema: object(),
      annotations: { readOnlyHint: true },
      _meta: { "example.com/x": [1, 2.5] },
      future: "member",
    });
    await put("odd", { url, tools: [odd] });
    for (const path of ["a/b.c-d_e", "a%2Fb.c-d_e"]) {
      const { status, body } = await api("GET", `${at("odd")}/tools/${path}`, undefined, null);
      expect([status, body["named_as"], body["url"]]).toEqual([200, "odd/a/b.c-d_e", url]);
      expect(JSON.stringify(body["tool"])).toBe(JSON.stringify(odd));
    }
    for (const path of ["a", "a/b.c-d_E", "a/b.c-d_e/", "%", "a%00"]) {
      expect([path, (await api("GET", `${at("odd")}/tools/${path}`, undefined, null)).status]).toEqual([path, 404]);
    }
  });

  it("said again changes nothing, and said otherwise tells what is other", async () => {
    await put("again", { url, tools: jobs });
    expect((await put("again", { url, tools: jobs })).body).toMatchObject({ changed: false, snapshot: 1 });
    const [search, get] = jobs;
    const tools = [
      { ...get, description: "Another", title: "Title" },
      { ...search, inputSchema: object({ words: {} }) },
      toolOf("new_tool"),
    ];
    const dry = await put("again", { url, tools }, publisher, "?dry_run=true");
    const difference = {
      added: ["new_tool"],
      removed: ["apply/for.job"],
      changed: [
        { name: "get_job", what: ["description", "other"] },
        { name: "search_jobs", what: ["inputSchema"] },
      ],
    };
    expect([dry.status, dry.body]).toMatchObject([200, { dry_run: true, changed: true, snapshot: 2, difference }]);
    expect((await api("GET", at("again"))).body).toMatchObject({ snapshot: 1, tools: 3 });
    expect((await put("again", { url, tools })).body).toMatchObject({ changed: true, snapshot: 2, difference });
    const { body } = await api("GET", at("again"));
    expect((body["cards"] as { name: string }[]).map(({ name }) => name)).toEqual([
      "get_job",
      "search_jobs",
      "new_tool",
    ]);
    expect(body["digest"]).toBe(dry.body["digest"]);
    const shown = await api("GET", `${at("again")}/tools/search_jobs`);
    expect(shown.body["tool"]).toEqual(tools[1]);
  });

  it("is replaced whole in one snapshot when only the order, the title or the address changes", async () => {
    await put("order", { url, tools: jobs });
    const turned = await put("order", { url, tools: jobs.toReversed() });
    expect(turned.body).toMatchObject({
      changed: true,
      snapshot: 2,
      difference: { added: [], removed: [], changed: [] },
    });
    const { body } = await api("GET", at("order"));
    expect((body["cards"] as { name: string }[]).map(({ name }) => name)).toEqual(
      jobs.toReversed().map(({ name }) => name),
    );
    expect((await put("order", { url, title: "X", tools: jobs.toReversed() })).body).toMatchObject({ snapshot: 3 });
    const moved = { url: "http://localhost:9000/mcp", title: "X", tools: [] };
    expect((await put("order", moved)).body).toMatchObject({ snapshot: 4, tools: 0, url: moved.url });
  });

  it("is not replaced by whoever saw an older snapshot", async () => {
    const send1 = async (snapshot: string, tools: unknown[], query = "") => {
      const headers = {
        authorization: `Bearer ${publisher}`,
        "content-type": "application/json",
        "if-match": snapshot,
      };
      const body = JSON.stringify({ url, tools });
      return (await send(`/api/v1${at("guarded")}${query}`, { method: "PUT", headers, body })).status;
    };
    expect(await send1('"0"', jobs)).toBe(201);
    expect(await send1('"0"', [])).toBe(409);
    expect(await send1('"0"', [], "?dry_run=true")).toBe(409);
    expect(await send1('"1"', [])).toBe(200);
    expect(await send1("*", [])).toBe(400);
  });

  it("that several register at the same moment is what one of them said, and no mix", async () => {
    const lists = [1, 2, 3, 4].map((place) => [toolOf(`only_${place}`), toolOf("shared", { title: `of ${place}` })]);
    const answers = await Promise.all(lists.map((tools) => put("raced", { url, tools })));
    const won = answers.filter(({ status }) => status < 300);
    expect(won.length).toBeGreaterThan(0);
    for (const { status } of answers) expect([200, 201, 409]).toContain(status);
    const { body } = await api("GET", at("raced"));
    expect([body["tools"], body["snapshot"]]).toEqual([2, won.length]);
    const [first, second] = body["cards"] as { name: string; title: string }[];
    expect(second!.title).toBe(`of ${first!.name.split("_")[1]!}`);
  });

  it("has its tools paged, in its own order, and the largest snapshot is taken whole", async () => {
    const many = Array.from({ length: maxToolsPerServer }, (_, index) =>
      toolOf(`tool_${index}`, { description: "x".repeat(1_800) }),
    );
    const { status, body } = await put("many", { url, tools: many });
    expect([status, body["tools"]]).toEqual([201, maxToolsPerServer]);
    const names: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Answer = await api("GET", `${at("many")}${cursor === "" ? "" : `?cursor=${cursor}`}`);
      names.push(...(page.body["cards"] as { name: string }[]).map(({ name }) => name));
      cursor = page.body["next_cursor"] as string | null;
    }
    expect(names).toEqual(many.map(({ name }) => name));
    expect((await put("many", { url, tools: many.slice(0, 5) })).body).toMatchObject({ tools: 5, snapshot: 2 });
  });

  it("has cards that are cut where hosts cut them, never in half a character", async () => {
    const description = `${"x".repeat(maxToolCardLength - 1)}😀 and more`;
    await put("cut", {
      url,
      tools: [toolOf("long", { description }), toolOf("own", { annotations: { title: "Own" } })],
    });
    const { body } = await api("GET", at("cut"));
    const [long, own] = body["cards"] as { title: string; description: string }[];
    expect([long!.description, own!.title]).toEqual(["x".repeat(maxToolCardLength - 1), "Own"]);
    const { body: whole } = await api("GET", `${at("cut")}/tools/long`);
    expect((whole["tool"] as { description: string }).description).toBe(description);
  });

  it("is gone once it is deleted, and the answer to a dry run says which skills are left without their tools", async () => {
    const own = await newNamespace();
    await register(own, "short");
    await seed(own, "job-finder", "short/search_jobs short/lost");
    const dry = await api("DELETE", `${at("short", own)}?dry_run=true`);
    expect([dry.status, dry.body]).toMatchObject([
      200,
      { dry_run: true, name: "short", vanished: [{ tool: "search_jobs", skills: [{ path: "job-finder" }] }] },
    ]);
    expect((await api("DELETE", at("short", own))).status).toBe(204);
    expect((await api("DELETE", at("short", own))).status).toBe(404);
    expect((await api("GET", at("short", own))).status).toBe(404);
    expect((await register(own, "short")).body).toMatchObject({ snapshot: 1 });
  });

  it("leaves a line in the audit log for each change, without its tools", async () => {
    const own = await newNamespace();
    await register(own, "logged");
    await api("PUT", `${at("logged", own)}?dry_run=true`, { url, tools: [] });
    await api("PUT", at("logged", own), { url, tools: [] });
    await api("DELETE", at("logged", own));
    const { body } = await api("GET", `/namespaces/${own}/audit`);
    const digest = expect.stringMatching(/^sha256:/) as string;
    const [full, empty] = [3, 0].map((tools, place) => ({ title: "logged", url, tools, digest, snapshot: place + 1 }));
    expect(body["events"]).toMatchObject([
      { action: "delete-server", target: "servers/logged", before: empty, after: null },
      { action: "put-server", before: full, after: empty },
      { action: "put-server", before: null, after: full },
      { action: "create-namespace" },
    ]);
    expect(JSON.stringify(body)).not.toContain("search_jobs");
  });

  it(`is one of at most ${maxServers}, which can still be replaced`, async () => {
    const own = await newNamespace();
    for (let place = 1; place <= maxServers; place++) await register(own, `server-${place}`, []);
    for (const query of ["", "?dry_run=true"]) {
      const { status, body } = await api("PUT", at(`more${query}`, own), { url, tools: [] });
      expect([status, body["code"]]).toEqual([403, "quota_exceeded"]);
      expect(body["detail"]).toBe(`A namespace may have ${maxServers} companion servers; delete one of them`);
    }
    expect((await register(own, "server-1")).status).toBe(200);
    await api("DELETE", at("server-2", own));
    expect((await register(own, "more", [])).status).toBe(201);
  });
});

describe("a server is refused", () => {
  it("with every problem, its place and its mend", async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`) as unknown;
    const answer = await put("wrong--name", {
      url: "ftp://mcp.example.com",
      tools: [
        toolOf("good"),
        "text",
        toolOf("two words"),
        toolOf("good"),
        { name: "bare" },
        { name: "listed", inputSchema: [] },
        { name: "string", inputSchema: { type: "string" } },
        toolOf("numbered", { description: 7, annotations: [], outputSchema: true }),
        toolOf("large", { description: "x".repeat(maxToolDefinitionBytes) }),
        toolOf("half", { description: "\ud800" }),
        toolOf("deep", { _meta: deep }),
        { inputSchema: object() },
      ],
    });
    expect([answer.status, answer.body["code"]]).toEqual([422, "invalid_server"]);
    expect(toldOf(answer)).toEqual([
      " server_name_invalid",
      "url url_invalid",
      "tools[1] not_an_object",
      "tools[2].name tool_name_invalid",
      "tools[3].name tool_name_twice",
      "tools[4].inputSchema input_schema_missing",
      "tools[5].inputSchema input_schema_invalid",
      "tools[6].inputSchema input_schema_invalid",
      "tools[7].outputSchema not_an_object",
      "tools[7].description not_a_text",
      "tools[7].annotations not_an_object",
      "tools[8] tool_too_large",
      "tools[9] half_character",
      "tools[10] tool_too_deep",
      "tools[11].name tool_name_invalid",
    ]);
    for (const { message, fix, severity } of findingsOf(answer)) {
      expect([message, fix, severity]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/.\S$/), "error"]);
    }
    expect((await api("GET", at("wrong--name"))).status).toBe(404);
  });

  it("with more tools than a server may have, or more bytes than a snapshot", async () => {
    const many = Array.from({ length: maxToolsPerServer + 1 }, (_, index) => ({ name: `t${index}` }));
    expect(toldOf(await put("heavy", { url, tools: many }))).toEqual(["tools too_many_tools"]);
    const large = Array.from({ length: 80 }, (_, index) => toolOf(`t${index}`, { description: "x".repeat(60_000) }));
    const { status, body } = await put("heavy", { url, tools: large });
    expect([status, body["detail"]]).toEqual([413, `The body may have at most ${maxServerSnapshotBytes} bytes`]);
    const wrong = Array.from({ length: 500 }, () => 1);
    const told = toldOf(await put("heavy", { url, tools: wrong }));
    expect([told.length, told.at(-1)]).toEqual([200, " more_findings"]);
  });

  it.each([
    "http://mcp.example.com",
    "https://user:secret@mcp.example.com",
    "https://mcp.example.com/#part",
    "https://mcp.example.com/#",
    " https://mcp.example.com",
    "//mcp.example.com",
    "javascript:alert(1)",
    "http://localhost.example.com",
    `https://mcp.example.com/${"x".repeat(2_048)}`,
    "https://mcp.example.com/\ud800",
    "",
  ])("with the address %#", async (wrong) => {
    const answer = await put("addressed", { url: wrong, tools: [] });
    expect([answer.status, toldOf(answer)]).toEqual([422, ["url url_invalid"]]);
    expect(JSON.stringify(answer.body).length).toBeLessThan(1_500);
  });

  it.each(["http://localhost:8080/mcp", "http://127.0.0.1/", "http://[::1]:1/", "https://x.example/?project=1"])(
    "but not with the address %j",
    async (right) => {
      const { status, body } = await put("addressed", { url: right, tools: [] }, publisher, "?dry_run=true");
      expect([status, body["url"]]).toEqual([200, right]);
    },
  );

  it.each(["-jobs", "jobs-", "a__b", "a--b", "x".repeat(65), "a.b", "a%20b", "jöbs"])(
    "under the name %s",
    async (name) => {
      expect(toldOf(await put(name, { url, tools: [] }))).toEqual([" server_name_invalid"]);
    },
  );

  it("with a body of another shape, naming the member", async () => {
    const bodies: [unknown, string][] = [
      [{ tools: [] }, "url"],
      [{ url, tools: {} }, "tools"],
      [{ url, tools: [], nextCursor: "x" }, '"nextCursor"'],
      [{ url, tools: [], title: "" }, "title"],
      [[], "expected object"],
    ];
    for (const [body, said] of bodies) {
      const { status, body: answer } = await put("shaped", body);
      expect([status, answer["code"], answer["detail"]]).toEqual([
        400,
        "invalid_request",
        expect.stringContaining(said),
      ]);
    }
  });

  it("to whoever may not publish all over the namespace", async () => {
    const tokens: [string | null, number][] = [
      [null, 401],
      [await newToken(space, "reader"), 403],
      [await newToken(await newNamespace(), "admin"), 403],
    ];
    const mint = async (grant: object) =>
      (await api("POST", `/namespaces/${space}/tokens`, grant)).body["token"] as string;
    tokens.push([await mint({ role: "publisher", path: "team" }), 403]);
    tokens.push([await mint({ scopes: ["collections:write"] }), 403]);
    tokens.push([await mint({ scopes: ["skills:publish"] }), 201]);
    for (const [token, expected] of tokens) {
      expect((await put("rights", { url, tools: [] }, token)).status).toBe(expected);
      if (expected !== 201) expect((await api("DELETE", at("jobs"), undefined, token)).status).toBe(expected);
    }
  });
});

describe("a server of a private namespace", () => {
  it("is there for the namespace's people, and to others like one that never was", async () => {
    const [own, elsewhere] = [await newNamespace("private"), await newNamespace()];
    await register(own, "jobs");
    const reader = await newToken(own, "reader");
    const stranger = await newToken(elsewhere, "admin");
    const held = (await api("POST", `/namespaces/${own}/tokens`, { path: "team" })).body["token"] as string;
    const paths = ["", "/jobs", "/jobs/tools/get_job"];
    const ask = async (path: string, token: string | null, name = "jobs") =>
      api("GET", `/namespaces/${own}/servers${path.replace("jobs", name)}`, undefined, token);
    for (const path of paths) {
      expect([path, (await ask(path, reader)).status]).toEqual([path, 200]);
      for (const token of [null, stranger]) {
        const [there, nowhere] = [await ask(path, token), await ask(path, token, "mail")];
        expect([path, there.status, nowhere.status]).toEqual([path, 404, 404]);
        expect(JSON.stringify(there.body)).toBe(JSON.stringify(nowhere.body));
      }
    }
    // A token with a path reads of the namespace what lies there, and of its servers what strangers see.
    expect((await ask("", held)).body).toEqual({ servers: [], next_cursor: null });
    expect([(await ask(paths[1]!, held)).status, (await ask(paths[2]!, held)).status]).toEqual([404, 404]);
  });
});

describe("the skills that name its tools", () => {
  it("are told of what vanished, and of what is missing, as far as the asker may list them", async () => {
    const own = await newNamespace();
    const admin = await newToken(own, "admin");
    await register(own, "jobs");
    await seed(own, "open-one", "jobs/get_job jobs/search_jobs");
    await seed(own, "hidden-one", "jobs/get_job jobs/nobody_has", "?visibility=private");
    await seed(own, "quiet-one", "jobs/get_job", "?visibility=unlisted");
    await seed(own, "older-one", "jobs/get_job");
    await publish(own, { "SKILL.md": skillMdOf("older-one") }, "?version=2.0.0");
    const skill = (path: string) => ({ path, version: "1.0.0" });
    const gone = { tool: "get_job", skills: ["hidden-one", "open-one", "quiet-one"].map(skill) };
    const kept = jobs.filter(({ name }) => name !== "get_job");
    for (const query of ["?dry_run=true", ""]) {
      const { body } = await api("PUT", at(`jobs${query}`, own), { url, tools: kept }, admin);
      expect([body["vanished"], body["more_vanished"]]).toEqual([[gone], false]);
    }
    const missing = async (token: string | null) =>
      (await api("GET", at("jobs", own), undefined, token)).body["missing"];
    expect(await missing(admin)).toEqual([gone, { tool: "nobody_has", skills: [skill("hidden-one")] }]);
    expect(await missing(null)).toEqual([{ tool: "get_job", skills: [skill("open-one")] }]);
  });
});

describe("publishing a skill that names tools", () => {
  const warnings = (answer: Answer) => findingsOf(answer).filter(({ code }) => code === "tool_unknown");

  it("warns of each that no server lists, with its place, the nearest names and what to do", async () => {
    const own = await newNamespace();
    await register(own, "jobs");
    const head = skillMdOf(
      "finder",
      [
        "What it does",
        "allowed-tools: Read mcp__jobs__get_job mcp__jobs__apply mcp__mail",
        "metadata:",
        '  mcp-tools: "jobs/search_job mail/send jobs/get_job"',
      ].join("\n"),
    );
    for (const query of ["?dry_run=true", ""]) {
      const answer = await publish(own, { "SKILL.md": head }, query);
      expect(answer.status).toBe(query === "" ? 201 : 200);
      expect(warnings(answer)).toMatchObject([
        {
          severity: "warning",
          file: "SKILL.md",
          line: 4,
          message: 'allowed-tools names "jobs/apply", and the registered server "jobs" lists no such tool.',
          fix: expect.stringContaining('(the nearest: "jobs/apply/for.job")') as string,
        },
        {
          line: 6,
          message: 'metadata.mcp-tools names "jobs/search_job", and the registered server "jobs" lists no such tool.',
          fix: expect.stringContaining('(the nearest: "jobs/search_jobs"') as string,
        },
        {
          line: 6,
          message: 'metadata.mcp-tools names "mail/send", and no server "mail" is registered in this namespace.',
          fix: `Register it with PUT /api/v1/namespaces/${own}/servers/mail, or correct the name.`,
        },
      ]);
    }
    await api("PUT", at("mail", own), { url, tools: [toolOf("send")] });
    const later = await publish(own, { "SKILL.md": `${head}more` });
    expect(warnings(later).map(({ message }) => message)).not.toContain(expect.stringContaining("mail"));
    expect(warnings(later)).toHaveLength(2);
  });

  it("says nothing where none is named, and names the file of each skill of a folder", async () => {
    const own = await newNamespace();
    const plain = await publish(own, { "SKILL.md": skillMdOf("plain", "What it does\nallowed-tools: Read mcp__jobs") });
    expect(findingsOf(plain)).toEqual([]);
    const named = skillMdOf("two", "What it does\nallowed-tools: mcp__jobs__x");
    const folder = await publish(own, { "one/SKILL.md": skillMdOf("one"), "two/SKILL.md": named });
    expect([folder.status, warnings(folder).map(({ file }) => file)]).toEqual([201, ["two/SKILL.md"]]);
  });

  it("stands beside the errors of an upload that is refused", async () => {
    const own = await newNamespace();
    const named = skillMdOf("one", "What it does\nallowed-tools: mcp__jobs__x");
    const answer = await publish(own, { "SKILL.md": named, "a\\b": "x", ".env": "KEY=1" });
    expect(answer.status).toBe(422);
    expect(toldOf(answer)).toContain("SKILL.md tool_unknown");
  });

  it("names what else a server lists only to those who may read it", async () => {
    const own = await newNamespace("private");
    await register(own, "jobs");
    const held = (await api("POST", `/namespaces/${own}/tokens`, { role: "publisher", path: "team" })).body["token"];
    const named = skillMdOf("one", "What it does\nallowed-tools: mcp__jobs__get_jobs mcp__jobs__get_job");
    const files = { "SKILL.md": named };
    const [mine, theirs] = [
      await publish(own, files, "?path=team/one&dry_run=true"),
      await publish(own, files, "?path=team/one&dry_run=true", held as string),
    ];
    expect([mine.status, theirs.status]).toEqual([200, 200]);
    expect(warnings(mine)[0]!.fix).toContain("jobs/get_job");
    expect(warnings(theirs)).toHaveLength(1);
    expect(warnings(theirs)[0]!.fix).not.toContain("nearest");
    expect((await api("GET", at("jobs", own), undefined, held as string)).status).toBe(404);
  });
});

describe("what agents are told of a release's tools", () => {
  const anyone = { everything: false, tokenId: null, tokenHash: null, access: null, person: null, now: 0 };
  const look = (namespace: Namespace) => new Catalog(env.DB, anyone, { namespace, collection: undefined }, () => {});

  it("are their cards in the order in which it names them, and the schema of those that are listed", async () => {
    const own = (await newNamespace()) as Namespace;
    await register(own, "jobs");
    await seed(own, "agent-skill", "jobs/search_jobs mail/send jobs/lost jobs/apply/for.job");
    const release = { namespace: own, path: "agent-skill" as SkillPath, version: "1.0.0" as Version };
    const card = (server: string, tool: string, more: object = {}) => ({
      server,
      tool,
      title: "",
      description: "",
      url: null,
      isListed: false,
      ...more,
    });
    expect(await findToolCards(look(own), release)).toEqual([
      card("jobs", "search_jobs", { description: "What search_jobs does", url, isListed: true }),
      card("mail", "send"),
      card("jobs", "lost", { url }),
      card("jobs", "apply/for.job", { description: "What apply/for.job does", url, isListed: true }),
    ]);
    const definition = (server: string, tool: string) => findToolDefinition(look(own), release, { server, tool });
    expect(await definition("jobs", "search_jobs")).toEqual({
      server: "jobs",
      tool: "search_jobs",
      title: "",
      url,
      definition: JSON.stringify(jobs[0]),
    });
    // Listed, but not named by this skill; named, but not listed.
    expect(await definition("jobs", "get_job")).toBeUndefined();
    expect([await definition("jobs", "lost"), await definition("mail", "send")]).toEqual([undefined, undefined]);
    await api("PATCH", `/namespaces/${own}/skills/agent-skill`, { visibility: "private" });
    expect([await findToolCards(look(own), release), await definition("jobs", "search_jobs")]).toEqual([[], undefined]);
  });
});
