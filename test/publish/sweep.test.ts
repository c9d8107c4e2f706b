import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { digestOf } from "../../src/domain/digest.ts";
import type { Digest } from "../../src/domain/digest.ts";
import { claimLeaseMs, orphanGraceMs, sweepBatchBlobs, sweepBudgetMs } from "../../src/domain/limits.ts";
import type { Namespace } from "../../src/domain/names.ts";
import worker from "../../src/index.ts";
import { packZip } from "../../src/publish/pack.ts";
import { erase, sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import { Ledger } from "../../src/storage/ledger.ts";
import { Orphans } from "../../src/storage/orphans.ts";
import { api, modern, newNamespace, publish, seedSkill, skillMdOf, toFiles } from "../harness.ts";

const hour = 3_600_000;
const day = 24 * hour;
const blobs = new Blobs(env.BLOBS);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Storage is shared by the tests of a file, so their time only moves forward. */
let now = Date.now();
const later = (ms: number) => (now += ms);
const sweepNow = () => sweep(env.DB, blobs, () => now);

/** What a publish leaves that crashes before its commit. */
async function abandon(...texts: string[]): Promise<Digest[]> {
  const ledger = new Ledger(env.DB, "nobody" as Namespace);
  const all = await Promise.all(
    texts.map(async (text) => ({ digest: await digestOf(bytesOf(text)), size: text.length, text })),
  );
  await ledger.touch(all, now);
  await Promise.all(all.map(({ digest, text }) => blobs.put(digest, bytesOf(text))));
  await ledger.markStored(all.map(({ digest }) => digest));
  return all.map(({ digest }) => digest);
}

async function isStored(digest: Digest): Promise<{ row: boolean; bytes: boolean }> {
  const row = await env.DB.prepare(`SELECT 1 FROM blobs WHERE digest = ?1`).bind(digest).first();
  const bytes = await blobs.read(digest).then(
    () => true,
    () => false,
  );
  return { row: row !== null, bytes };
}

const gone = { row: false, bytes: false };
const there = { row: true, bytes: true };

describe("a sweep", () => {
  it("removes what nobody references, rows and bytes, once it is older than the grace", async () => {
    const [digest] = await abandon("an orphan");
    later(orphanGraceMs - 1);
    expect(await sweepNow()).toMatchObject({ orphaned: 0, isComplete: true });
    expect(await isStored(digest!)).toEqual(there);
    later(1);
    expect(await sweepNow()).toMatchObject({ orphaned: 1, isComplete: true });
    expect(await isStored(digest!)).toEqual(gone);
  });

  it("leaves alone what was touched again", async () => {
    const [digest] = await abandon("touched twice");
    later(orphanGraceMs - 1);
    await abandon("touched twice");
    later(hour);
    await sweepNow();
    expect(await isStored(digest!)).toEqual(there);
  });

  it("leaves every published byte where it is, for agents and for downloads, however often it runs", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "kept", { "references/a.md": "# A\n" });
    const archive = `/api/v1/namespaces/${namespace}/skills/kept/-/releases/1.0.0`;
    for (let days = 0; days < 3; days++) {
      later(day);
      await sweepNow();
      const uri = `skill://${namespace}/kept/references/a.md`;
      const { result } = await modern(`/mcp/${namespace}`, "resources/read", { uri });
      expect(result!["contents"]).toMatchObject([{ text: "# A\n" }]);
    }
    const { results } = await env.DB.prepare(`SELECT zip_digest, tar_digest FROM releases WHERE namespace = ?1`)
      .bind(namespace)
      .all<{ zip_digest: Digest; tar_digest: Digest }>();
    expect(await isStored(results[0]!.zip_digest)).toEqual(there);
    expect(await isStored(results[0]!.tar_digest)).toEqual(there);
    expect((await api("GET", archive.slice("/api/v1".length))).status).toBe(200);
  });

  it("removes the bytes of a deleted skill with the next run, and none that another skill shares", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "first", { "own.md": "only here", "shared.md": "in both" });
    await seedSkill(namespace, "second", { "shared.md": "in both" });
    later(day);
    await sweepNow();
    await api("DELETE", `/namespaces/${namespace}/skills/first`);
    later(hour);
    await sweepNow();
    expect(await isStored(await digestOf(bytesOf("only here")))).toEqual(gone);
    expect(await isStored(await digestOf(bytesOf("in both")))).toEqual(there);
  });

  it("keeps bytes that are an archive here and a file there until both are gone", async () => {
    const namespace = await newNamespace();
    const files = { "SKILL.md": skillMdOf("inner") };
    const zip = packZip(toFiles(files));
    await publish(namespace, files);
    await publish(namespace, { "SKILL.md": skillMdOf("outer"), "inner.zip": zip });
    const digest = await digestOf(zip);
    const rows = await env.DB.prepare(`SELECT path FROM releases WHERE zip_digest = ?1`).bind(digest).all();
    expect(rows.results).toEqual([{ path: "inner" }]);
    for (const [path, left] of [
      ["inner", there],
      ["outer", gone],
    ] as const) {
      later(day);
      await sweepNow();
      await api("DELETE", `/namespaces/${namespace}/skills/${path}`);
      later(hour);
      await sweepNow();
      expect(await isStored(digest)).toEqual(left);
    }
  });

  it("erases bytes that come when their row is forgotten, within a grace and an hour", async () => {
    const [digest] = await abandon("late bytes");
    later(orphanGraceMs);
    await sweepNow();
    await blobs.put(digest!, bytesOf("late bytes"));
    later(orphanGraceMs - 1);
    await sweepNow();
    expect(await isStored(digest!)).toEqual({ row: false, bytes: true });
    later(hour);
    expect(await sweepNow()).toMatchObject({ revisited: 1 });
    expect(await isStored(digest!)).toEqual(gone);
    later(day);
    expect(await sweepNow()).toMatchObject({ resumed: 0, orphaned: 0, revisited: 0 });
  });

  it("leaves late bytes to a publish that reserved them anew", async () => {
    const namespace = await newNamespace();
    const [digest] = await abandon("late, then published");
    later(orphanGraceMs);
    await sweepNow();
    await blobs.put(digest!, bytesOf("late, then published"));
    await seedSkill(namespace, "late", { "late.md": "late, then published" });
    later(orphanGraceMs);
    await sweepNow();
    later(day);
    await sweepNow();
    expect(await isStored(digest!)).toEqual(there);
  });

  it("forgets receipts past their lifetime", async () => {
    const namespace = await newNamespace();
    const insert = `INSERT INTO receipts (namespace, principal, key, request_hash, status, body, created_at)
      VALUES (?1, 'operator', ?2, '', 200, '', ?3)`;
    await env.DB.prepare(insert)
      .bind(namespace, "old", now - day)
      .run();
    await env.DB.prepare(insert).bind(namespace, "new", now).run();
    expect(await sweepNow()).toMatchObject({ receipts: 1 });
  });
});

describe("the work of a run", () => {
  const seedRows = (count: number, prefix: string) =>
    env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
       INSERT INTO blobs (digest, size, state, touched_at)
       SELECT 'sha256:' || ?2 || printf('%060d', i), 1, 'stored', ?3 FROM n`,
    )
      .bind(count, prefix, now)
      .run();

  it("goes in batches that R2 takes, until nothing is left", async () => {
    const sizes: number[] = [];
    const counted = new Blobs(env.BLOBS);
    vi.spyOn(counted, "delete").mockImplementation(async (digests) => void sizes.push(digests.length));
    await seedRows(2 * sweepBatchBlobs + 5, "aaaa");
    later(orphanGraceMs);
    const swept = await sweep(env.DB, counted, () => now);
    expect(swept).toMatchObject({ orphaned: 2 * sweepBatchBlobs + 5, isComplete: true });
    expect(Math.max(...sizes)).toBe(sweepBatchBlobs);
  });

  it("ends with its budget of time, and the next run goes on", async () => {
    await seedRows(sweepBatchBlobs + 5, "bbbb");
    later(orphanGraceMs);
    // Every look at the clock costs a seventh of the budget: time for two batches, of which the first finds nothing.
    const slow = await sweep(env.DB, blobs, () => later(Math.floor(sweepBudgetMs / 7)));
    expect(slow).toMatchObject({ orphaned: sweepBatchBlobs, isComplete: false });
    expect(await sweepNow()).toMatchObject({ orphaned: 5, isComplete: true });
  });

  it("reads none of what releases keep, however much that is", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "many", Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}.md`, `${i}`])));
    later(day);
    await sweepNow();
    const { results } = await env.DB.prepare(`SELECT count(*) AS count FROM blobs WHERE kept = 1`).all();
    expect(results[0]!["count"]).toBeGreaterThan(60);
    const reads: number[] = [];
    const watched = watchReads(env.DB, reads);
    later(hour);
    await sweep(watched, blobs, () => now);
    expect(reads.length).toBeGreaterThan(3);
    // Three or four by each statement, which say that there is nothing.
    expect(Math.max(...reads)).toBeLessThan(5);
  });

  it("keeps the promise of a day: the grace, one run, and ten more that fail", () => {
    expect(orphanGraceMs + 11 * hour).toBeLessThan(day);
    expect(claimLeaseMs).toBeLessThan(hour);
    expect(sweepBudgetMs * 2).toBeLessThan(claimLeaseMs);
  });
});

/** The database, noting the rows that each statement reads. */
function watchReads(db: D1Database, reads: number[]): D1Database {
  const noted = (result: D1Result) => (reads.push(result.meta.rows_read), result);
  const watch = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get: (target, name) => {
        if (name === "bind") return (...values: unknown[]) => watch(target.bind(...values));
        if (name === "all" || name === "run") return async () => noted(await target.all());
        return Reflect.get(target, name, target) as unknown;
      },
    });
  return new Proxy(db, {
    get: (target, name) => {
      if (name === "prepare") return (sql: string) => watch(target.prepare(sql));
      if (name === "batch") return (all: D1PreparedStatement[]) => Promise.all(all.map((one) => one.all()));
      return Reflect.get(target, name, target) as unknown;
    },
  });
}

describe("the database itself", () => {
  it("refuses to claim what a release references, by whatever statement", async () => {
    await seedSkill(await newNamespace(), "guarded");
    const claimAll = env.DB.prepare(`UPDATE blobs SET state = 'deleting'`).run();
    await expect(claimAll).rejects.toThrow("blob_referenced");
  });

  it("refuses to take a claim back, by whatever statement", async () => {
    await abandon("claimed for ever");
    later(orphanGraceMs);
    const claim = await new Orphans(env.DB).claimOrphaned(now);
    expect(claim.digests.length).toBeGreaterThan(0);
    await expect(env.DB.prepare(`UPDATE blobs SET state = 'stored'`).run()).rejects.toThrow("blob_deleting");
  });
});

describe("erase", () => {
  it("refuses a claim so old that another sweep might own it soon", async () => {
    const claim = { digests: [], claimedAt: now, hasMore: false };
    await expect(erase(claim, blobs, now + sweepBudgetMs)).rejects.toThrow("too old to erase");
    await expect(erase(claim, blobs, now + sweepBudgetMs - 1)).resolves.toBeUndefined();
  });
});

describe("the scheduled Worker", () => {
  afterEach(() => void vi.restoreAllMocks());

  async function runScheduled(bindings: typeof env = env): Promise<{ lines: unknown[]; errors: unknown[] }> {
    const [lines, errors]: unknown[][] = [[], []];
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines!.push(JSON.parse(line)));
    vi.spyOn(console, "error").mockImplementation((line: string) => void errors!.push(JSON.parse(line)));
    await worker.scheduled(createScheduledController({ cron: "17 * * * *" }), bindings);
    return { lines: lines!, errors: errors! };
  }

  const makeAllOld = () => env.DB.prepare(`UPDATE blobs SET touched_at = 0`).run();

  it("sweeps, and writes one line about what it did", async () => {
    await runScheduled();
    const [digest] = await abandon("for the scheduled run");
    await env.DB.prepare(`UPDATE blobs SET touched_at = 0 WHERE digest = ?1`).bind(digest).run();
    const { lines } = await runScheduled();
    expect(lines).toEqual([
      {
        level: "info",
        event: "sweep",
        resumed: 0,
        orphaned: 1,
        revisited: 0,
        receipts: 0,
        counted: 0,
        exchanged: 0,
        signIns: 0,
        purged: 0,
        isComplete: true,
      },
    ]);
    expect(await isStored(digest!)).toEqual(gone);
  });

  it("writes nothing when there was nothing to do", async () => {
    await makeAllOld();
    await runScheduled();
    expect(await runScheduled()).toEqual({ lines: [], errors: [] });
  });

  it("fails visibly when R2 fails, with the cause in the log", async () => {
    await abandon("not today");
    await makeAllOld();
    const broken = new Proxy(env.BLOBS, {
      get: (target, name) =>
        name === "delete"
          ? () => Promise.reject(new Error("R2 is away"))
          : (Reflect.get(target, name, target) as unknown),
    });
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const run = worker.scheduled(createScheduledController(), { ...env, BLOBS: broken });
    await expect(run).rejects.toThrow("R2 is away");
    expect(JSON.parse(logged.mock.calls[0]![0] as string)).toMatchObject({ door: "sweep", message: "R2 is away" });
  });
});
