import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { maxClientsPerRelease, minMissedSearches, pickDays, readDays } from "../../src/domain/limits.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { dayOf, formatDay } from "../../src/domain/tally.ts";
import type { Version } from "../../src/domain/version.ts";
import worker from "../../src/index.ts";
import { TallyBuffer } from "../../src/mcp/tally-buffer.ts";
import { Tally } from "../../src/mcp/tally.ts";
import type { Search } from "../../src/mcp/tally.ts";
import {
  api,
  eras,
  legacy,
  modern,
  newNamespace,
  newToken,
  operator,
  publish,
  rpc,
  seedSkill,
  skillMdOf,
} from "../harness.ts";

/** Which searches found nothing, what was chosen, and which release agents run: for a namespace's admins. */
const day = 86_400_000;
const infoKey = "io.modelcontextprotocol/clientInfo";

/** One isolate: what its requests count it collects until it is told to write. */
function isolate() {
  const buffer = new TallyBuffer();
  let works: Promise<unknown>[] = [];
  const visit = (namespace: string, collection?: string) =>
    new Tally(
      { namespace: (namespace || undefined) as Namespace | undefined, collection },
      { buffer, pauseMs: 0, userAgent: null },
      { db: env.DB, waitUntil: (work) => works.push(work) },
    );
  const written = async () => {
    await Promise.all(works);
    works = [];
  };
  return { visit, written };
}

const keyOf = (namespace: string, path: string) => ({ namespace: namespace as Namespace, path: path as SkillPath });

async function search(namespace: string, words: string[], paths: string[] = [], times = 1): Promise<string> {
  const { visit, written } = isolate();
  let pickId = "";
  for (let again = 0; again < times; again++) {
    const tally = visit(namespace);
    pickId = tally.newPickId();
    const shown = paths.map((path) => keyOf(namespace || "acme", path));
    tally.searched({ pickId, namespace, collection: "", words, shown } satisfies Search);
    tally.settle();
    await written();
  }
  return pickId;
}

async function choose([namespace, collection]: string[], pickId: string, [path, owner = namespace!]: string[]) {
  const { visit, written } = isolate();
  const tally = visit(namespace!, collection);
  tally.chosen(pickId, keyOf(owner, path!));
  tally.settle();
  await written();
}

const searchesOf = async (namespace: string, query = "") =>
  (await api("GET", `/namespaces/${namespace}/searches${query}`)).body;
const readsOf = async (namespace: string, query = "") =>
  (await api("GET", `/namespaces/${namespace}/reads${query}`)).body;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("what was searched at a namespace", () => {
  it("is shown as totals, what was missed by enough, and what of its own skills was chosen", async () => {
    const space = await newNamespace();
    await search(space, ["tax", "return"], [], minMissedSearches + 1);
    await search(space, ["return", "tax"], [], 1);
    await search(space, ["visa"], [], minMissedSearches);
    await search(space, ["rare", "wish"], [], minMissedSearches - 1);
    const pickId = await search(space, ["refund"], ["refunds", "billing/invoices"]);
    await search(space, ["refund"], ["refunds"]);
    await choose([space], pickId, ["refunds"]);
    const { days, since, ...found } = await searchesOf(space);
    expect([days, since]).toEqual([30, formatDay(dayOf(Date.now()) - 29)]);
    const abstained = 3 * minMissedSearches + 1;
    expect(found).toEqual({
      totals: { asked: abstained + 2, shown: 2, abstained, chosen: 1 },
      missed: [
        { words: "return tax", count: minMissedSearches + 2 },
        { words: "visa", count: minMissedSearches },
      ],
      chosen: [
        { namespace: space, path: "refunds", shown: 2, chosen: 1 },
        { namespace: space, path: "billing/invoices", shown: 1, chosen: 0 },
      ],
    });
  });

  it("never names a search that fewer made, in no window", async () => {
    const space = await newNamespace();
    vi.useFakeTimers({ toFake: ["Date"] });
    const now = Date.now();
    await search(space, ["lonely"], [], minMissedSearches - 1);
    vi.setSystemTime(now - 3 * day);
    await search(space, ["lonely"], [], 1);
    vi.setSystemTime(now);
    expect((await searchesOf(space, "?days=1"))["missed"]).toEqual([]);
    expect((await searchesOf(space, "?days=3"))["missed"]).toEqual([]);
    expect((await searchesOf(space, "?days=4"))["missed"]).toEqual([{ words: "lonely", count: minMissedSearches }]);
    expect(JSON.stringify(await searchesOf(space, "?days=3"))).not.toContain("lonely");
  });

  it("comes from search_skills and load_skill, in both eras", async () => {
    for (const [, call] of eras) {
      const space = await newNamespace();
      await publish(space, { "SKILL.md": skillMdOf("refund-customers", "Refund customers who return an order") });
      const use = async (name: string, given: Record<string, unknown>) => {
        const { result } = await call(`/mcp/${space}`, "tools/call", { name, arguments: given });
        return (result as { structuredContent: Record<string, unknown> }).structuredContent;
      };
      const { cards, pickId } = await use("search_skills", { query: "refund customers" });
      const [{ uri }] = cards as [{ uri: string }];
      await use("load_skill", { uri, pickId });
      await use("load_skill", { uri, pickId });
      await use("search_skills", { query: "quantum chromodynamics" });
      const { totals, chosen } = await searchesOf(space);
      expect(totals).toEqual({ asked: 2, shown: 1, abstained: 1, chosen: 1 });
      expect(chosen).toEqual([{ namespace: space, path: "refund-customers", shown: 1, chosen: 1 }]);
      expect((await readsOf(space))["reads"]).toMatchObject([
        { path: "refund-customers", was_current: true, reads: 2 },
      ]);
    }
  });

  it("at /mcp itself is the operator's", async () => {
    const pickId = await search("", ["quantum"], ["physics"]);
    await choose([""], pickId, ["physics", "acme"]);
    const { status, body } = await api("GET", "/searches");
    expect(status).toBe(200);
    expect(body["totals"]).toEqual({ asked: 1, shown: 1, abstained: 0, chosen: 1 });
    expect(body["chosen"]).toEqual([{ namespace: "acme", path: "physics", shown: 1, chosen: 1 }]);
    const token = await newToken(await newNamespace(), "admin");
    expect((await api("GET", "/searches", undefined, token)).status).toBe(403);
    expect((await api("GET", "/searches", undefined, null)).status).toBe(401);
  });

  it("of a collection that holds skills of others shows nothing of these", async () => {
    const [space, other] = [await newNamespace(), await newNamespace()];
    const { visit, written } = isolate();
    const tally = visit(space, "desk");
    const shown = [keyOf(other, "theirs"), keyOf(space, "ours")];
    tally.searched({ pickId: tally.newPickId(), namespace: space, collection: "desk", words: ["help"], shown });
    tally.settle();
    await written();
    expect((await searchesOf(space))["chosen"]).toEqual([{ namespace: space, path: "ours", shown: 1, chosen: 0 }]);
    expect((await searchesOf(other))["totals"]).toEqual({ asked: 0, shown: 0, abstained: 0, chosen: 0 });
  });
});

describe("what was chosen", () => {
  const chosenOf = async (pickId: string) =>
    env.DB.prepare("SELECT chosen FROM search_picks WHERE id = ?1").bind(pickId).first("chosen");

  it("counts once, where the pick showed it, at the address where it was shown", async () => {
    const [space, other] = [await newNamespace(), await newNamespace()];
    const pickId = await search(space, ["refund"], ["refunds", "invoices"]);
    await choose([space], pickId, ["something-else"]);
    await choose([other], pickId, ["refunds", space]);
    await choose([space, "desk"], pickId, ["refunds"]);
    await choose([space], `pick_${"A".repeat(22)}`, ["refunds"]);
    for (const junk of ["", "pick_", "' OR 1=1 --", `${pickId}x`, pickId.toUpperCase()])
      await choose([space], junk, ["refunds"]);
    expect(await chosenOf(pickId)).toBeNull();
    await choose([space], pickId, ["invoices"]);
    expect(await chosenOf(pickId)).toBe(`${space}/invoices`);
    await choose([space], pickId, ["refunds"]);
    expect(await chosenOf(pickId)).toBe(`${space}/invoices`);
    expect((await searchesOf(space))["totals"]).toMatchObject({ asked: 1, chosen: 1 });
  });

  it("may arrive in another isolate before the search is written", async () => {
    const space = await newNamespace();
    const [one, other] = [isolate(), isolate()];
    const searched = one.visit(space);
    const pickId = searched.newPickId();
    const shown = [keyOf(space, "refunds")];
    searched.searched({ pickId, namespace: space, collection: "", words: ["refund"], shown });
    const chosen = other.visit(space);
    chosen.chosen(pickId, keyOf(space, "refunds"));
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const slow = new TallyBuffer();
    const works: Promise<unknown>[] = [];
    const settings = { buffer: slow, pauseMs: 1_000, userAgent: null };
    const early = new Tally({ namespace: space as Namespace, collection: undefined }, settings, {
      db: env.DB,
      waitUntil: (work) => works.push(work),
    });
    early.chosen(pickId, keyOf(space, "refunds"));
    early.settle();
    await vi.advanceTimersByTimeAsync(1_000);
    await vi.waitFor(() => expect(slow.size).toBe(1));
    expect(await chosenOf(pickId)).toBeNull();
    searched.settle();
    await one.written();
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    await Promise.all(works);
    expect(await chosenOf(pickId)).toBe(`${space}/refunds`);
  });

  it("may be written together with its search", async () => {
    const space = await newNamespace();
    const { visit, written } = isolate();
    const tally = visit(space);
    const pickId = tally.newPickId();
    const shown = [keyOf(space, "refunds")];
    tally.searched({ pickId, namespace: space, collection: "", words: ["refund"], shown });
    tally.chosen(pickId, keyOf(space, "refunds"));
    tally.settle();
    await written();
    expect(await chosenOf(pickId)).toBe(`${space}/refunds`);
  });
});

describe("which release agents read", () => {
  let space: string;
  const today = () => formatDay(dayOf(Date.now()));
  const uri = (version = "") => `skill://${space}/${version === "" ? "" : `@${version}/`}refunds/SKILL.md`;
  const meta = { [infoKey]: { name: "fast-agent", version: "0.3.1" } };

  beforeAll(async () => {
    space = await newNamespace();
    await seedSkill(space, "refunds", { "notes.md": "notes" });
    await publish(space, { "SKILL.md": skillMdOf("refunds", "Now better") });
  });

  it("is counted by day, client and era, wherever a SKILL.md goes out, with what is not current", async () => {
    const address = `/mcp/${space}`;
    await modern(address, "skills/get", { uri: uri() }, { meta });
    await modern(address, "resources/read", { uri: uri() }, { meta });
    await modern(address, "resources/read", { uri: uri("1.0.0") }, { meta });
    for (const file of [uri(), uri().replace("SKILL.md", "notes.md")]) {
      await modern(address, "tools/call", { name: "read_skill_file", arguments: { uri: file } }, { meta });
    }
    await modern(address, "prompts/get", { name: "refunds" }, { headers: { "user-agent": "curl/8.9.0 (x)" } });
    await legacy(address, "resources/read", { uri: uri() }, { headers: { "user-agent": "python-httpx/0.28" } });
    await legacy(address, "resources/read", { uri: uri("1.0.0") });
    const line = (client: string, era: string, version: string, reads = 1) => {
      const [name, client_version = ""] = client.split("/");
      const was_current = version === "1.0.1";
      return { path: "refunds", version, day: today(), client: name, client_version, era, was_current, reads };
    };
    const body = await readsOf(space);
    expect(body["reads"]).toEqual([
      line("fast-agent/0.3.1", "2026", "1.0.0"),
      line("unknown", "2025", "1.0.0"),
      line("curl/8.9.0", "2026", "1.0.1"),
      line("fast-agent/0.3.1", "2026", "1.0.1", 3),
      line("python-httpx/0.28", "2025", "1.0.1"),
    ]);
    expect(body["stale"]).toEqual([
      { path: "refunds", version: "1.0.0", current: "1.0.1", reads: 2, last_day: today() },
    ]);
    expect([body["days"], body["next_cursor"]]).toEqual([30, null]);
    expect((await readsOf(space, "?path=refunds"))["reads"]).toEqual(body["reads"]);
    expect(await readsOf(space, "?path=nothing")).toMatchObject({ reads: [], stale: [] });
  });

  it("is known of a session's client from its handshake", async () => {
    const own = await newNamespace();
    await seedSkill(own, "refunds");
    const clientInfo = { name: "old-agent", version: "1.2" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const opened = await rpc(`/mcp/${own}`, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id")! };
    const asked = { uri: `skill://${own}/refunds/SKILL.md` };
    expect((await legacy(`/mcp/${own}`, "skills/get", asked, { version: "2025-06-18", headers })).status).toBe(200);
    expect((await readsOf(own))["reads"]).toMatchObject([{ client: "old-agent", client_version: "1.2", era: "2025" }]);
  });

  it("counts nothing that was refused, not there, or no SKILL.md", async () => {
    const closed = await newNamespace("private");
    await seedSkill(closed, "refunds", { "notes.md": "notes" });
    const at = `/mcp/${closed}`;
    const main = `skill://${closed}/refunds/SKILL.md`;
    expect((await modern(at, "resources/read", { uri: main })).status).toBe(401);
    const token = await newToken(closed, "reader");
    for (const method of ["resources/read", "skills/get"]) {
      await modern(at, method, { uri: main.replace("refunds", "nothing") }, { token });
      await modern(at, method, { uri: main.replace("SKILL", "notes") }, { token });
    }
    await modern(at, "skills/list", {}, { token });
    await legacy(at, "resources/read", { uri: main }, { token, headers: { "mcp-session-id": "x".repeat(80) } });
    expect((await readsOf(closed))["reads"]).toEqual([]);
    await modern(at, "resources/read", { uri: main }, { token });
    expect((await readsOf(closed))["reads"]).toMatchObject([{ path: "refunds", reads: 1 }]);
  });

  it("tells so many clients apart, and counts the others together", async () => {
    const own = await newNamespace();
    await seedSkill(own, "refunds");
    const asked = { uri: `skill://${own}/refunds/SKILL.md` };
    const readAs = (name: string) =>
      modern(`/mcp/${own}`, "skills/get", asked, { meta: { [infoKey]: { name, version: "1" } } });
    for (let id = 0; id < maxClientsPerRelease + 3; id++) await readAs(`agent-${id}`);
    await readAs("agent-1");
    const rows = (await readsOf(own))["reads"] as { client: string; client_version: string; reads: number }[];
    expect(rows.length).toBe(maxClientsPerRelease + 1);
    expect(rows.find(({ client }) => client === "other")).toMatchObject({ client_version: "", reads: 3 });
    expect(rows.find(({ client }) => client === "agent-1")).toMatchObject({ reads: 2 });
    const { visit, written } = isolate();
    for (let id = 0; id < maxClientsPerRelease + 9; id++) {
      const one = visit(own);
      one.introduce(true, { name: `together-${id}` });
      one.read({ ...keyOf(own, "other"), version: "1.0.0" as Version });
      one.settle();
    }
    await written();
    const together = (await readsOf(own, "?path=other"))["reads"] as { reads: number }[];
    expect(together.length).toBe(maxClientsPerRelease + 1);
    expect(together.reduce((sum, { reads }) => sum + reads, 0)).toBe(maxClientsPerRelease + 9);
  });

  it("is paged, newest day first, and goes on where it was", async () => {
    const own = await newNamespace();
    const row = (ago: number, path: string, client: string) =>
      env.DB.prepare(
        `INSERT INTO release_reads (namespace, path, version, day, client, client_version, era, was_current, reads)
         VALUES (?1, ?2, '1.0.0', ?3, ?4, '', '2026', 0, 1)`,
      ).bind(own, path, dayOf(Date.now()) - ago, client);
    const days = Array.from({ length: 13 }, (_, ago) => ago);
    const clients = Array.from({ length: 10 }, (_, id) => `agent-${id}`);
    await env.DB.batch(
      days.flatMap((ago) => ["a/x", "b"].flatMap((path) => clients.map((client) => row(ago, path, client)))),
    );
    for (const [query, count] of [
      ["?days=20", 260],
      ["?days=20&path=b", 130],
      ["?days=2", 40],
    ] as const) {
      const seen: string[] = [];
      let cursor: unknown;
      do {
        const page = await readsOf(own, cursor === undefined ? query : `${query}&cursor=${cursor as string}`);
        const rows = page["reads"] as { day: string; path: string; client: string }[];
        seen.push(...rows.map(({ day, path, client }) => `${day} ${path} ${client}`));
        cursor = page["next_cursor"] ?? undefined;
      } while (cursor !== undefined);
      expect([query, seen.length, new Set(seen).size]).toEqual([query, count, count]);
      const newestFirst = seen.toSorted((a, b) =>
        a.slice(0, 10) === b.slice(0, 10) ? (a < b ? -1 : 1) : a < b ? 1 : -1,
      );
      expect(seen).toEqual(newestFirst);
    }
    const { body } = await api("GET", `/namespaces/${own}/reads?days=20`);
    const elsewhere = await api("GET", `/namespaces/${own}/reads?days=21&cursor=${body["next_cursor"] as string}`);
    expect([elsewhere.status, elsewhere.body["code"]]).toEqual([400, "invalid_cursor"]);
  });
});

describe("who may see it", () => {
  it("admins of the namespace, and nobody with less", async () => {
    const space = await newNamespace();
    for (const role of ["reader", "publisher"] as const) {
      const token = await newToken(space, role);
      for (const what of ["searches", "reads"]) {
        expect((await api("GET", `/namespaces/${space}/${what}`, undefined, token)).status).toBe(403);
      }
    }
    const mint = async (body: object) =>
      (await api("POST", `/namespaces/${space}/tokens`, body)).body["token"] as string;
    const tokens: [string | null, number][] = [
      [await newToken(space, "admin"), 200],
      [await mint({ scopes: ["namespace:admin"] }), 200],
      [await mint({ scopes: ["audit:read", "skills:publish"] }), 403],
      [await mint({ role: "publisher", path: "billing" }), 403],
      [await newToken(await newNamespace(), "admin"), 403],
      [operator, 200],
      [null, 401],
    ];
    for (const what of ["searches", "reads"]) {
      for (const [token, status] of tokens) {
        const answer = await api("GET", `/namespaces/${space}/${what}`, undefined, token);
        expect([what, answer.status]).toEqual([what, status]);
      }
    }
    expect((await api("GET", "/namespaces/never-made/reads")).status).toBe(404);
  });

  it("who asks for what there is not is told what there is", async () => {
    const space = await newNamespace();
    const refused = [
      ["searches?days=0", "days must be a whole number from 1 to 30"],
      ["searches?days=31", "days must be"],
      ["searches?days=1&days=2", "days may be given once"],
      ["searches?day=1", 'There is no parameter "day"; there are days'],
      ["searches?path=x", "There is no parameter"],
      ["reads?days=401", "days must be a whole number from 1 to 400"],
      ["reads?days=1.5", "days must be"],
      ["reads?days=", "days must be"],
      ["reads?path=A", "path must be the path of a skill"],
      ["reads?path=", "path must be"],
      ["reads?cursor=x", "cursor"],
      ["reads?client=x", 'There is no parameter "client"; there are cursor, path, days'],
    ];
    for (const [query, detail] of refused) {
      const { status, body } = await api("GET", `/namespaces/${space}/${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(body["detail"]).toContain(detail);
    }
    expect((await api("GET", "/searches?days=31")).status).toBe(400);
  });
});

describe("what is kept", () => {
  it("says nothing of who asked, nor what they wrote", async () => {
    const space = await newNamespace("private");
    await seedSkill(space, "refunds");
    const token = await newToken(space, "reader");
    const secret = `skr_${"0".repeat(16)}_${"1".repeat(64)}_${"2".repeat(16)}`;
    const headers = { "cf-connecting-ip": "203.0.113.77", "user-agent": `agent/1 (ann@example.com ${secret})` };
    const meta = { [infoKey]: { name: `mail ann@example.com`, version: secret } };
    const uri = `skill://${space}/refunds/SKILL.md`;
    await modern(`/mcp/${space}`, "resources/read", { uri }, { token, headers, meta });
    await search(space, [
      ..."please refund the order of ann@example.com with".split(" "),
      ...secret.split("_"),
      "5551234567",
    ]);
    const rows = await Promise.all(
      ["search_picks", "release_reads"].map((table) =>
        env.DB.prepare(`SELECT * FROM ${table} WHERE namespace = ?1`).bind(space).all(),
      ),
    );
    const text = JSON.stringify(rows.map(({ results }) => results));
    expect(rows.map(({ results }) => results.length)).toEqual([1, 1]);
    const personal = [
      "ann",
      "example.com",
      "203.0.113",
      secret,
      "0000",
      "1111",
      "555",
      "refund the",
      token,
      token.split("_")[1]!,
    ];
    expect(personal.filter((one) => text.includes(one))).toEqual([]);
    expect(text).toContain('"words":"of order please refund skr the with"');
    expect(text).toContain('"client":"agent","client_version":"1"');
  });

  it("disturbs no answer when it cannot be written", async () => {
    const space = await newNamespace();
    await seedSkill(space, "refunds");
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    await env.DB.prepare("ALTER TABLE release_reads RENAME TO release_reads_gone").run();
    const asked = { uri: `skill://${space}/refunds/SKILL.md` };
    const answer = await modern(`/mcp/${space}`, "skills/get", asked);
    await env.DB.prepare("ALTER TABLE release_reads_gone RENAME TO release_reads").run();
    expect([answer.status, answer.error]).toEqual([200, undefined]);
    expect(log.mock.calls.map(([line]) => (JSON.parse(line as string) as { door: string }).door)).toEqual([
      "tally",
      "tally",
    ]);
    await modern(`/mcp/${space}`, "skills/get", asked);
    expect((await readsOf(space))["reads"]).toMatchObject([{ reads: 1 }]);
  });

  it("is forgotten by the hourly run once it is old", async () => {
    const space = await newNamespace();
    vi.useFakeTimers({ toFake: ["Date"] });
    const now = Date.now();
    for (const ago of [0, pickDays - 1, pickDays, pickDays + 1]) {
      vi.setSystemTime(now - ago * day);
      await search(space, ["refund"]);
    }
    for (const ago of [0, readDays - 1, readDays]) {
      vi.setSystemTime(now - ago * day);
      const { visit, written } = isolate();
      const tally = visit(space);
      tally.read({ ...keyOf(space, "refunds"), version: "1.0.0" as Version });
      tally.settle();
      await written();
    }
    vi.setSystemTime(now);
    vi.spyOn(console, "log").mockImplementation(() => {});
    await worker.scheduled({} as ScheduledController, env);
    const daysOf = async (table: string) =>
      (
        await env.DB.prepare(`SELECT day FROM ${table} WHERE namespace = ?1 ORDER BY day`)
          .bind(space)
          .all<{ day: number }>()
      ).results.map((row) => dayOf(now) - row.day);
    expect(await daysOf("search_picks")).toEqual([pickDays - 1, 0]);
    expect(await daysOf("release_reads")).toEqual([readDays - 1, 0]);
  });

  it("goes with its namespace, and nothing is added once that is deleted", async () => {
    const space = await newNamespace();
    await seedSkill(space, "refunds");
    const asked = { uri: `skill://${space}/refunds/SKILL.md` };
    await modern(`/mcp/${space}`, "skills/get", asked);
    await search(space, ["refund"], ["refunds"]);
    await api("DELETE", `/namespaces/${space}`);
    await search(space, ["late"]);
    const late = isolate();
    const tally = late.visit(space);
    tally.read({ ...keyOf(space, "refunds"), version: "1.0.0" as Version });
    tally.settle();
    await late.written();
    vi.spyOn(console, "log").mockImplementation(() => {});
    const countOf = async (table: string) =>
      env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE namespace = ?1`).bind(space).first("n");
    expect([await countOf("search_picks"), await countOf("release_reads")]).toEqual([1, 1]);
    await worker.scheduled({} as ScheduledController, env);
    expect([await countOf("search_picks"), await countOf("release_reads")]).toEqual([0, 0]);
    expect(
      await env.DB.prepare("SELECT purged_at FROM namespaces WHERE name = ?1").bind(space).first("purged_at"),
    ).not.toBeNull();
  });
});
