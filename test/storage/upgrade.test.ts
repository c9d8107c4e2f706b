import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { digestOf, digestOfText } from "../../src/domain/digest.ts";
import type { Digest } from "../../src/domain/digest.ts";
import type { Entry } from "../../src/domain/entry.ts";
import { movingUri, pinnedUri } from "../../src/domain/uri.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import type { Version } from "../../src/domain/version.ts";
import { keepIndex } from "../../src/publish/reindex.ts";
import { sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import { api, eras, modern, newToken, publish, send, skillMdOf } from "../harness.ts";

/**
 * A database that was filled at the first migration goes through every later one. Its rows hold what they held, and
 * the present program serves them to the last byte, publishes on top of them, and sweeps only what nobody references.
 *
 * Migrations that are deployed are never edited: `migrations.sha256` pins them. A new one adds its line:
 *
 *     (cd migrations && sha256sum *.sql > ../test/storage/migrations.sha256)
 */
const migrationTexts = import.meta.glob<string>("../../migrations/*.sql", {
  query: "?raw",
  import: "default",
  eager: true,
});
const records = import.meta.glob<string>("./*.{sql,json,sha256}", { query: "?raw", import: "default", eager: true });

const firstVersion = records["./first-version.sql"]!;
const bytesByDigest = JSON.parse(records["./first-version.json"]!) as Record<Digest, string>;
const [first, ...later] = env.TEST_MIGRATIONS;

/** Minted by the first version; a secret of nobody. */
const readerOfClosedDoors = "skr_d98077de61165d3f_1c766d4de7cd4a7af982175cf00807c919ef52975a5aba16179501a773994f80";

type Row = Record<string, string | number | null>;

const inserts = firstVersion.split("\n").filter((line) => line.startsWith("INSERT "));

/** The columns that the first version knew, by table: what is looked at for ever. */
const columns = new Map(
  inserts.map((statement) => {
    const [, table, list] = /^INSERT INTO (\w+) \(([^)]+)\)/.exec(statement)!;
    return [table!, list!];
  }),
);

const rowsOf = async (sql: string): Promise<Row[]> => (await env.DB.prepare(sql).all<Row>()).results;

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

/** Back to before the first migration; the tables are empty, so the last made can go first. */
async function dropEverything(): Promise<void> {
  const tables = await rowsOf(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 4) NOT IN ('sqli', '_cf_') ORDER BY rowid",
  );
  const views = await rowsOf("SELECT name FROM sqlite_master WHERE type = 'view'");
  await env.DB.batch([
    env.DB.prepare("PRAGMA defer_foreign_keys = ON"),
    ...views.map(({ name }) => env.DB.prepare(`DROP VIEW ${name}`)),
    ...tables.toReversed().map(({ name }) => env.DB.prepare(`DROP TABLE ${name}`)),
  ]);
}

async function fill(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare("PRAGMA defer_foreign_keys = ON"),
    ...inserts.map((statement) => env.DB.prepare(statement)),
  ]);
  const blobs = new Blobs(env.BLOBS);
  await Promise.all(
    Object.entries(bytesByDigest).map(([digest, base64]) => blobs.put(digest as Digest, fromBase64(base64))),
  );
}

/** What the tables of the first version hold, in its own columns: how many rows, and a digest of them all. */
async function contents(): Promise<Record<string, { count: number; digest: Digest }>> {
  const found: Record<string, { count: number; digest: Digest }> = {};
  for (const [table, list] of columns) {
    const rows = await rowsOf(`SELECT ${list} FROM ${table} ORDER BY ${list}`);
    found[table] = { count: rows.length, digest: await digestOfText(JSON.stringify(rows)) };
  }
  return found;
}

describe("the migrations", () => {
  it("are the ones that databases out there have been through", async () => {
    const known = records["./migrations.sha256"]!.trim().split("\n");
    const present = await Promise.all(
      Object.entries(migrationTexts).map(async ([path, text]) => {
        const hex = (await digestOfText(text)).slice("sha256:".length);
        return `${hex}  ${path.replace("../../migrations/", "")}`;
      }),
    );
    expect(present.sort(byName), "an old migration was edited, or a new one needs its line").toEqual(
      known.sort(byName),
    );
  });

  const byName = (a: string, b: string) => (a.slice(66) < b.slice(66) ? -1 : 1);
});

describe("a database of the first version", () => {
  let filled: Awaited<ReturnType<typeof contents>>;

  beforeAll(async () => {
    await dropEverything();
    await applyD1Migrations(env.DB, [first!]);
    await fill();
    filled = await contents();
  });

  it("has rows of every table in which something was published", () => {
    const counts = Object.fromEntries(Object.entries(filled).map(([table, { count }]) => [table, count]));
    expect(counts).toMatchObject({ namespaces: 2, tokens: 1, skills: 7, releases: 8 });
  });

  it.each(later.map(({ name }, index) => ({ name, index })))("keeps them through $name", async ({ index }) => {
    await applyD1Migrations(env.DB, env.TEST_MIGRATIONS.slice(0, index + 2));
    expect(await contents()).toEqual(filled);
    expect(await rowsOf("PRAGMA foreign_key_check")).toEqual([]);
  });

  it("has been through all of them", async () => {
    const applied = await rowsOf("SELECT name FROM d1_migrations ORDER BY id");
    expect(applied.map((row) => row["name"])).toEqual(env.TEST_MIGRATIONS.map(({ name }) => name));
  });
});

interface StoredRelease {
  namespace: Namespace;
  path: SkillPath;
  version: Version;
  is_current: number;
  visibility: string;
  entry: string;
  pinned_entry: string;
  zip_digest: Digest;
  tar_digest: Digest;
}

async function storedReleases(): Promise<StoredRelease[]> {
  const sql = `SELECT r.*, s.visibility, r.version IS s.current AS is_current FROM releases r
               JOIN skills s USING (namespace, path) ORDER BY r.id`;
  return (await env.DB.prepare(sql).all<StoredRelease>()).results;
}

describe("the present program, with that database", () => {
  let token: string;
  beforeAll(async () => {
    token = await newToken("closed-doors", "reader");
  });
  const tokenFor = (namespace: string) => (namespace === "closed-doors" ? { token } : {});

  it.each(eras)("lists in %s what was current and public, entry by entry", async (_, ask) => {
    for (const namespace of ["first-light", "closed-doors"]) {
      const { result } = await ask(`/mcp/${namespace}`, "skills/list", {}, tokenFor(namespace));
      // A skill of a private namespace is private by default, and its token sees it.
      const visible = namespace === "closed-doors" ? "private" : "public";
      const expected = (await storedReleases())
        .filter((row) => row.namespace === namespace && row.is_current === 1 && row.visibility === visible)
        .toSorted((a, b) => (a.path < b.path ? -1 : 1));
      expect(expected.length).toBeGreaterThan(0);
      expect(result!["skills"]).toEqual(expected.map((row) => JSON.parse(row.entry) as Entry));
    }
  });

  it.each(eras)("answers in %s for every release under its addresses, and reads every byte of it", async (_, ask) => {
    let files = 0;
    for (const release of await storedReleases()) {
      if (release.visibility === "private" && release.namespace === "first-light") continue;
      const { namespace, path, version } = release;
      const spellings = [
        ...(release.is_current === 1 ? [[movingUri(namespace, path), release.entry] as const] : []),
        [pinnedUri(namespace, path, version), release.pinned_entry] as const,
      ];
      for (const [uri, stored] of spellings) {
        const { result } = await ask(`/mcp/${namespace}`, "skills/get", { uri }, tokenFor(namespace));
        expect(result!["skill"]).toEqual(JSON.parse(stored));
        for (const resource of (result!["skill"] as Entry).resources) {
          const read = await ask(`/mcp/${namespace}`, "resources/read", { uri: resource.uri }, tokenFor(namespace));
          const [{ text, blob }] = read.result!["contents"] as [{ text?: string; blob?: string }];
          const bytes = text === undefined ? fromBase64(blob!) : new TextEncoder().encode(text);
          expect([await digestOf(bytes), bytes.byteLength]).toEqual([resource.digest, resource.size]);
          files++;
        }
      }
    }
    expect(files).toBeGreaterThan(50);
  });

  it("shows the directories of files with odd names", async () => {
    const uri = "skill://first-light/odd-names";
    const { result } = await modern("/mcp/first-light", "resources/directory/read", { uri });
    const children = (result!["resources"] as { name: string }[]).map(({ name }) => name);
    expect(children).toEqual(expect.arrayContaining(["🎉 party.md", "%20%2F.md", "__proto__", "日本語", "café.md"]));
    expect(children).toHaveLength(21);
  });

  it("hands out the archives that were made then", async () => {
    for (const { namespace, path, version, ...release } of await storedReleases()) {
      const archives = { "archive.zip": release.zip_digest, "archive.tar.gz": release.tar_digest };
      for (const [name, digest] of Object.entries(archives)) {
        const address = `/api/v1/namespaces/${namespace}/skills/${path}/-/releases/${version}/${name}`;
        const response = await send(address, { headers: { authorization: `Bearer ${env.ADMIN_TOKEN}` } });
        expect(await digestOf(new Uint8Array(await response.arrayBuffer())), address).toBe(digest);
      }
    }
  });

  it("finds skills by their words, once the hourly run has indexed them", async () => {
    expect(await keepIndex(env.DB, new Blobs(env.BLOBS))).toBeGreaterThan(0);
    expect(await keepIndex(env.DB, new Blobs(env.BLOBS))).toBe(0);
    const { result } = await modern("/mcp/first-light", "tools/call", {
      name: "search_skills",
      arguments: { query: "refund an invoice" },
    });
    expect(JSON.stringify(result)).toContain("skill://first-light/team/billing/refunds/SKILL.md");
    expect(JSON.stringify(result)).not.toContain("whispered");
  });

  it("refuses the token that was minted then, whose check is missing, and says what to do", async () => {
    const { status, body } = await api("GET", "/namespaces/closed-doors/skills", undefined, readerOfClosedDoors);
    expect([status, body["code"]]).toEqual([401, "invalid_token"]);
    expect(body["detail"]).toMatch(/minted before .*; mint a new one/);
    const shown = await api("GET", "/namespaces/closed-doors/tokens");
    expect(shown.body["tokens"]).toHaveLength(2);
  });

  it("sweeps what two publishes left behind, and nothing that is referenced", async () => {
    const inTwoDays = Date.now() + 2 * 86_400_000;
    const swept = await sweep(env.DB, new Blobs(env.BLOBS), () => inTwoDays);
    expect(swept).toMatchObject({ orphaned: 2, isComplete: true });
    const left = await env.BLOBS.list();
    const known = await rowsOf("SELECT digest FROM blobs");
    expect(left.objects.length).toBe(known.length);
    expect(known.length).toBe(Object.keys(bytesByDigest).length - 1);
  });

  it("publishes the same bytes as nothing new, and others as the next release", async () => {
    const files = { "SKILL.md": skillMdOf("ledger", "Keeps the books") };
    expect((await publish("closed-doors", files)).status).toBe(200);
    const next = await publish("closed-doors", { ...files, "more.md": "more\n" });
    expect([next.status, (next.body["release"] as { version: string }).version]).toEqual([201, "1.0.1"]);
    expect((await api("GET", "/namespaces/closed-doors")).body["revision"]).toBe(2);
  });

  it("yanks, moves, hides and deletes", async () => {
    const at = (rest: string) => `/namespaces/first-light/skills/${rest}`;
    const yanked = await api("PATCH", at("notes/-/releases/1.0.1"), { yanked: true });
    expect([yanked.status, yanked.body["current"]]).toEqual([200, "1.0.0"]);
    expect((await api("PATCH", at("notes/-/releases/1.0.1"), { yanked: false })).status).toBe(200);
    expect((await api("PATCH", at("notes"), { current: "1.0.1" })).body["current"]).toBe("1.0.1");
    expect((await api("PATCH", at("odd-names"), { visibility: "private" })).status).toBe(200);
    expect((await api("PATCH", at("soon"), { current: "1.0.0-rc.1" })).body["current"]).toBe("1.0.0-rc.1");
    expect((await api("DELETE", at("team/billing/refunds"))).status).toBe(204);
    const { result } = await modern("/mcp/first-light", "skills/list");
    const listed = (result!["skills"] as Entry[]).map((entry) => entry.frontmatter.name);
    expect(listed).toEqual(["notes", "soon"]);
    const again = await publish(
      "first-light",
      { "SKILL.md": skillMdOf("refunds", "Refunds once more") },
      "?path=team/billing/refunds",
    );
    expect((again.body["release"] as { version: string }).version).toBe("1.0.1");
  });
});
