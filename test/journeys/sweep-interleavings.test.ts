import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { digestOf } from "../../src/domain/digest.ts";
import type { Digest } from "../../src/domain/digest.ts";
import { buildEntry } from "../../src/domain/entry.ts";
import type { SkillFile } from "../../src/domain/entry.ts";
import { claimLeaseMs, orphanGraceMs } from "../../src/domain/limits.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { Problem } from "../../src/domain/problem.ts";
import type { Version } from "../../src/domain/version.ts";
import { publish } from "../../src/publish/publish.ts";
import { draftOf } from "../../src/publish/release.ts";
import { erase, sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import type { Actor as Maker } from "../../src/storage/rights.ts";
import { Ledger } from "../../src/storage/ledger.ts";
import type { Blob, Change } from "../../src/storage/ledger.ts";
import { Lifecycle } from "../../src/storage/lifecycle.ts";
import { Orphans } from "../../src/storage/orphans.ts";
import type { Claim } from "../../src/storage/orphans.ts";
import { isFull } from "../campaigns/scale.ts";
import { api, newNamespace, seedSkill, skillMdOf, toFiles } from "../harness.ts";

/** The interleavings at the head of src/publish/sweep.ts, each driven step by step against real D1 and R2. */
const hour = 3_600_000;
const blobs = new Blobs(env.BLOBS);
const orphans = new Orphans(env.DB);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Storage is shared by the tests of a file, so their time only moves forward. */
let now = Date.now();
const later = (ms: number) => (now += ms);
const sweepNow = () => sweep(env.DB, blobs, () => now);

const publishSteps = ["touch", "put", "mark", "commit"] as const;
type PublishStep = (typeof publishSteps)[number];

class Crash extends Error {}

/** Storage that does something else first, before a step of a publish. */
function storesWith(namespace: Namespace, before: (step: PublishStep) => Promise<void>) {
  const ledger = new (class extends Ledger {
    override async touch(...all: Parameters<Ledger["touch"]>) {
      await before("touch");
      return super.touch(...all);
    }
    override async markStored(...all: Parameters<Ledger["markStored"]>) {
      await before("mark");
      return super.markStored(...all);
    }
    override async commit(...all: Parameters<Ledger["commit"]>) {
      await before("commit");
      return super.commit(...all);
    }
  })(env.DB, namespace);
  let isFirst = true;
  const hooked = new (class extends Blobs {
    override async put(...all: Parameters<Blobs["put"]>) {
      if (isFirst) {
        isFirst = false;
        await before("put");
      }
      return super.put(...all);
    }
  })(env.BLOBS);
  return { ledger, blobs: hooked };
}

async function draft(namespace: Namespace, text: string) {
  const path = "notes" as SkillPath;
  const files: SkillFile[] = toFiles({
    "SKILL.md": skillMdOf("notes", text),
    "a.md": `${text} a`,
    "b.md": `${text} b`,
  });
  const built = await buildEntry(namespace, path, files);
  if ("refusals" in built) throw new Error(built.refusals.join());
  return draftOf(namespace, path, built.entry, files);
}

/** One real publish; "busy" when it was refused so. */
async function publishWith(
  namespace: Namespace,
  text: string,
  { before = async () => {}, at = now }: { before?: (step: PublishStep) => Promise<void>; at?: number } = {},
): Promise<"published" | "busy" | "crashed"> {
  const options = {
    version: undefined,
    visibility: undefined,
    mayBecomeCurrent: true,
    isDryRun: false,
    prune: undefined,
    actor: operatorOf(namespace, at),
  };
  try {
    await publish([await draft(namespace, text)], options, storesWith(namespace, before));
    return "published";
  } catch (error) {
    if (error instanceof Crash) return "crashed";
    if (error instanceof Problem && error.code === "busy") return "busy";
    throw error;
  }
}

const crashBefore = (crash: PublishStep) => async (step: PublishStep) => {
  if (step === crash) throw new Crash();
};

async function referencedDigests(): Promise<Digest[]> {
  const { results } = await env.DB.prepare(
    `SELECT digest FROM release_files UNION SELECT zip_digest FROM releases UNION SELECT tar_digest FROM releases`,
  ).all<{ digest: Digest }>();
  return results.map((row) => row.digest).sort();
}

/** What R2 holds, with the version of each object: other bytes would be another version. */
async function listStored(): Promise<Map<Digest, string>> {
  const { objects, truncated } = await env.BLOBS.list();
  expect(truncated).toBe(false);
  return new Map(objects.map(({ key, version }) => [`sha256:${key.split("/").at(-1)}` as Digest, version]));
}

async function markedDigests(): Promise<Digest[]> {
  const { results } = await env.DB.prepare(`SELECT digest FROM blobs WHERE state = 'stored'`).all<{ digest: Digest }>();
  return results.map((row) => row.digest);
}

const verified = new Set<string>();

/** The first invariant: what is referenced, or may be at any moment, has its bytes, and they are the right ones. */
async function expectAllReadable(): Promise<void> {
  const [referenced, marked, stored] = await Promise.all([referencedDigests(), markedDigests(), listStored()]);
  expect(marked).toEqual(expect.arrayContaining(referenced));
  expect(marked.filter((digest) => !stored.has(digest))).toEqual([]);
  for (const digest of marked) {
    const version = `${digest} ${stored.get(digest)}`;
    if (!verified.has(version)) expect(await digestOf(await blobs.read(digest))).toBe(digest);
    verified.add(version);
  }
}

/** The second invariant: after a day of hourly sweeps nothing is left that nobody references. */
async function expectNothingLeftAfterADay(): Promise<void> {
  for (let hours = 0; hours < 24; hours += 6) {
    later(6 * hour);
    await sweepNow();
  }
  const referenced = await referencedDigests();
  expect([...(await listStored()).keys()].sort()).toEqual(referenced);
  const { results } = await env.DB.prepare(`SELECT digest FROM blobs ORDER BY digest`).all<{ digest: Digest }>();
  expect(results.map((row) => row.digest)).toEqual(referenced);
  later(24 * hour);
  await sweepNow();
  expect(await env.DB.prepare(`SELECT count(*) AS count FROM erased`).first("count")).toBe(0);
  await expectAllReadable();
}

/** A sweep taken apart, with its time a grace after that of the publish. */
function sweepSteps(): (() => Promise<void>)[] {
  let claim: Claim;
  return [
    async () => void (claim = await orphans.claimOrphaned(now + orphanGraceMs)),
    async () => erase(claim, blobs, now + orphanGraceMs),
    async () => void (await orphans.forget(claim, now + orphanGraceMs)),
  ];
}

/** Every way to place the three steps of a sweep into the five gaps around the four steps of a publish. */
const gaps = [0, 1, 2, 3, 4];
const placements = gaps.flatMap((claim) =>
  gaps
    .filter((gap) => gap >= claim)
    .flatMap((erase) => gaps.filter((gap) => gap >= erase).map((f) => [claim, erase, f])),
);

/** What the head of sweep.ts promises for a placement. */
function expected([claim, , forget]: number[], hasOrphans: boolean): string {
  if (claim === 4) return "published";
  if (claim === 0) return hasOrphans && forget! > 0 ? "busy" : "published";
  return "busy";
}

describe("a publish and a sweep of the same bytes", () => {
  const cases = placements.flatMap((at) => [true, false].map((hasOrphans) => ({ at, hasOrphans })));

  it("has 35 interleavings", () => {
    expect(placements).toHaveLength(35);
  });

  it.each(cases)("claim, erase, forget before steps $at, orphans before: $hasOrphans", async ({ at, hasOrphans }) => {
    const namespace = (await newNamespace()) as Namespace;
    const text = `${at.join("-")} ${hasOrphans}`;
    if (hasOrphans) expect(await publishWith(namespace, text, { before: crashBefore("commit") })).toBe("crashed");
    const steps = sweepSteps();
    const sweepTo = async (gap: number) => {
      for (const [index, place] of at.entries()) if (place === gap) await steps[index]!();
    };
    let reached = -1;
    // A publish that finds its bytes stored has no put; the sweep's steps before it come before the next one then.
    const sweepUpTo = async (gap: number) => {
      while (reached < gap) await sweepTo(++reached);
    };
    const before = (step: PublishStep) => sweepUpTo(publishSteps.indexOf(step));
    const outcome = await publishWith(namespace, text, { before });
    expect(outcome).toBe(expected(at, hasOrphans));
    await expectAllReadable();
    await sweepUpTo(publishSteps.length);
    await expectAllReadable();
    later(orphanGraceMs);
    // A refused publisher tries again and is told to send the bytes again; another gets the same as before.
    expect(await publishWith(namespace, text)).toBe("published");
    await expectAllReadable();
    await sweepNow();
    await expectAllReadable();
  });

  it("leaves nothing behind", expectNothingLeftAfterADay);
});

describe("a publish that crashes", () => {
  it.each(publishSteps)("before %s leaves nothing after a day, and can be repeated", async (step) => {
    const namespace = (await newNamespace()) as Namespace;
    expect(await publishWith(namespace, `crash ${step}`, { before: crashBefore(step) })).toBe("crashed");
    await expectNothingLeftAfterADay();
    expect(await publishWith(namespace, `crash ${step}`)).toBe("published");
    await expectAllReadable();
  });
});

type Lost = "fails" | "succeeds and its answer is lost";

/** The database, whose first batch (the forget of a run that finds orphans) goes wrong. */
function databaseWithBadBatch(how: Lost): D1Database {
  return new Proxy(env.DB, {
    get: (target, name) => {
      if (name === "prepare") return target.prepare.bind(target);
      return async (statements: D1PreparedStatement[]) => {
        if (how !== "fails") await target.batch(statements);
        throw new Crash();
      };
    },
  });
}

function blobsWithBadDelete(how: Lost): Blobs {
  return new (class extends Blobs {
    override async delete(digests: readonly Digest[]) {
      if (digests.length === 0) return;
      if (how !== "fails") await super.delete(digests);
      throw new Crash();
    }
  })(env.BLOBS);
}

const crashes: { name: string; run: () => Promise<unknown>; isFinished?: boolean }[] = [
  { name: "after its claim", run: async () => orphans.claimOrphaned(now).then(() => Promise.reject(new Crash())) },
  { name: "when erase fails", run: () => sweep(env.DB, blobsWithBadDelete("fails"), () => now) },
  {
    name: "when the answer to erase is lost",
    run: () => sweep(env.DB, blobsWithBadDelete("succeeds and its answer is lost"), () => now),
  },
  { name: "when forget fails", run: () => sweep(databaseWithBadBatch("fails"), blobs, () => now) },
  {
    name: "when the answer to forget is lost",
    run: () => sweep(databaseWithBadBatch("succeeds and its answer is lost"), blobs, () => now),
    isFinished: true,
  },
];

describe("a sweep that ends early", () => {
  it.each(crashes)("$name: publishers of these bytes wait for the next run, which ends it", async (crash) => {
    const namespace = (await newNamespace()) as Namespace;
    await publishWith(namespace, crash.name, { before: crashBefore("commit") });
    later(orphanGraceMs);
    await expect(crash.run()).rejects.toThrow(Crash);
    const isFinished = crash.isFinished === true;
    expect(await publishWith(namespace, crash.name)).toBe(isFinished ? "published" : "busy");
    await expectAllReadable();
    // Too early: a delete of the run that ended may still be on its way.
    later(claimLeaseMs - 1);
    expect(await sweepNow()).toMatchObject({ resumed: 0 });
    later(hour);
    expect(await sweepNow()).toMatchObject({ resumed: isFinished ? 0 : 5, isComplete: true });
    expect(await publishWith(namespace, crash.name)).toBe("published");
    await expectNothingLeftAfterADay();
  });
});

describe("two sweeps at once", () => {
  it("never share a claim", async () => {
    const namespace = (await newNamespace()) as Namespace;
    await publishWith(namespace, "two sweeps", { before: crashBefore("commit") });
    later(orphanGraceMs);
    const claims = await Promise.all([1, 2].map(() => orphans.claimOrphaned(now)));
    expect(claims.map(({ digests }) => digests.length).sort()).toEqual([0, 5]);
    expect((await orphans.claimAbandoned(now)).digests).toEqual([]);
    await Promise.all(claims.map((claim) => orphans.forget(claim, now)));
    await expectNothingLeftAfterADay();
  });

  it("a sweep whose claim was taken over drops no row, and a publish after the second is safe from the first", async () => {
    const namespace = (await newNamespace()) as Namespace;
    await publishWith(namespace, "taken over", { before: crashBefore("commit") });
    later(orphanGraceMs);
    const first = await orphans.claimOrphaned(now);
    later(claimLeaseMs);
    const second = await orphans.claimAbandoned(now);
    expect([...second.digests].sort()).toEqual([...first.digests].sort());
    await expect(erase(first, blobs, now)).rejects.toThrow("too old");
    expect(await orphans.forget(first, now)).toBe(0);
    await erase(second, blobs, now);
    expect(await orphans.forget(second, now)).toBe(5);
    expect(await publishWith(namespace, "taken over")).toBe("published");
    expect(await orphans.forget(first, now)).toBe(0);
    await expectAllReadable();
    await expectNothingLeftAfterADay();
  });

  it("whole runs side by side end well", async () => {
    const namespace = (await newNamespace()) as Namespace;
    await publishWith(namespace, "side by side", { before: crashBefore("commit") });
    later(orphanGraceMs);
    const runs = await Promise.all([sweepNow(), sweepNow(), sweepNow()]);
    expect(runs.reduce((sum, run) => sum + run.orphaned, 0)).toBe(5);
    await expectNothingLeftAfterADay();
  });
});

/** A publisher in slow motion, with one release whose file, zip and tar.gz are among a few blobs. */
class SlowPublisher {
  readonly #ledger: Ledger;
  readonly #namespace: Namespace;
  readonly path: SkillPath;
  readonly #blobs: readonly (Blob & { text: string })[];
  #missing: Digest[] = [];

  constructor(namespace: Namespace, name: string, all: readonly (Blob & { text: string })[]) {
    this.#ledger = new Ledger(env.DB, namespace);
    this.#namespace = namespace;
    this.path = name as SkillPath;
    this.#blobs = all;
  }

  async touch(at: number): Promise<void> {
    const distinct = [...new Map(this.#blobs.map((blob) => [blob.digest, blob])).values()];
    this.#missing = [...(await this.#ledger.touch(distinct, at))];
  }

  async put(): Promise<void> {
    for (const digest of this.#missing) {
      await blobs.put(digest, bytesOf(this.#blobs.find((blob) => blob.digest === digest)!.text));
    }
  }

  mark(): Promise<void> {
    return this.#ledger.markStored(this.#missing);
  }

  async commit(at: number): Promise<void> {
    const [file, zip, tar] = this.#blobs;
    const release: Change["releases"][number] = {
      path: this.path,
      version: "1.0.0" as Version,
      name: this.path,
      description: "",
      tree: file!.digest,
      executables: [],
      files: [{ ...file!, file: "SKILL.md", mediaType: "text/markdown", isText: true, executable: false }],
      zip: zip!,
      tar: tar!,
      entry: "{}",
      pinnedEntry: "{}",
      entryBytes: 2,
      terms: {},
      tools: [],
      visibility: "public",
      becomesCurrent: true,
    };
    const change = {
      visibilities: [],
      withdrawn: [],
      spared: [],
      receipt: undefined,
      actor: operatorOf(this.#namespace, at),
    };
    await this.#ledger.commit({ ...change, releases: [release] });
  }

  async deleteSkill(at: number): Promise<void> {
    await new Lifecycle(env.DB, operatorOf(this.#namespace, at)).delete(this.path);
  }
}

function operatorOf(namespace: Namespace, now: number): Maker {
  return { principal: { kind: "operator" }, namespace, now, from: { address: "", agent: "" } };
}

async function blobOf(text: string): Promise<Blob & { text: string }> {
  return { digest: await digestOf(bytesOf(text)), size: text.length, text };
}

/** A whole sweep by its steps, without the leftovers of other tests. */
async function removeOrphans(): Promise<void> {
  const claim = await orphans.claimOrphaned(now);
  await erase(claim, blobs, now);
  await orphans.forget(claim, now);
}

describe("a publish that outlives its rows", () => {
  it("E: marks no row but its own, however the same bytes are reserved meanwhile", async () => {
    const namespace = (await newNamespace()) as Namespace;
    const blob = await blobOf("interleaving E");
    const [slow, other] = ["slow", "other"].map((name) => new SlowPublisher(namespace, name, [blob, blob, blob]));
    await slow!.touch(now);
    await slow!.put();
    later(orphanGraceMs);
    await removeOrphans();
    await other!.touch(now);
    await slow!.mark();
    await expect(slow!.commit(now)).rejects.toMatchObject({ code: "busy" });
    await expectAllReadable();
    await other!.put();
    await other!.mark();
    await other!.commit(now);
    await slow!.touch(now);
    await slow!.put();
    await slow!.mark();
    await slow!.commit(now);
    await expectAllReadable();
    await expectNothingLeftAfterADay();
  });

  it("D: puts after forget, and a later sweep erases what no row knows", async () => {
    const namespace = (await newNamespace()) as Namespace;
    const blob = await blobOf("interleaving D");
    const slow = new SlowPublisher(namespace, "slow", [blob, blob, blob]);
    await slow.touch(now);
    later(orphanGraceMs);
    await removeOrphans();
    await slow.put();
    await slow.mark();
    await expect(slow.commit(now)).rejects.toMatchObject({ code: "busy" });
    expect([...(await listStored()).keys()]).toContain(blob.digest);
    await expectNothingLeftAfterADay();
  });

  it("D: the same bytes published while the second erase holds them are busy, and then sent again", async () => {
    const namespace = (await newNamespace()) as Namespace;
    const blob = await blobOf("interleaving D, published again");
    const [slow, other] = ["slow", "other"].map((name) => new SlowPublisher(namespace, name, [blob, blob, blob]));
    await slow!.touch(now);
    later(orphanGraceMs);
    await removeOrphans();
    await slow!.put();
    later(orphanGraceMs);
    const claim = await orphans.claimErased(now);
    expect(claim.digests).toEqual([blob.digest]);
    await expect(other!.touch(now)).rejects.toMatchObject({ code: "busy" });
    await erase(claim, blobs, now);
    await expect(other!.touch(now)).rejects.toMatchObject({ code: "busy" });
    await orphans.forget(claim, now);
    await other!.touch(now);
    await other!.put();
    await other!.mark();
    await other!.commit(now);
    await expectAllReadable();
    await expectNothingLeftAfterADay();
  });

  it("finds its blob stored, and commits after a sweep took it: busy, and a retry sends the bytes", async () => {
    const namespace = (await newNamespace()) as Namespace;
    const text = "stored when touched";
    await publishWith(namespace, text, { before: crashBefore("commit") });
    const before = async (step: PublishStep) => {
      if (step !== "commit") return;
      later(orphanGraceMs);
      await removeOrphans();
    };
    expect(await publishWith(namespace, text, { before })).toBe("busy");
    expect(await publishWith(namespace, text)).toBe("published");
    await expectNothingLeftAfterADay();
  });

  it("does not send what its namespace holds, and commits after that was deleted and swept: busy, then sent", async () => {
    const namespace = (await newNamespace()) as Namespace;
    const text = "held when touched";
    await seedSkill(namespace, "holder", { "a.md": `${text} a` });
    const before = async (step: PublishStep) => {
      if (step !== "commit") return;
      await api("DELETE", `/namespaces/${namespace}/skills/holder`);
      later(orphanGraceMs);
      await removeOrphans();
    };
    expect(await publishWith(namespace, text, { before })).toBe("busy");
    expect(await publishWith(namespace, text)).toBe("published");
    await expectAllReadable();
    await expectNothingLeftAfterADay();
  });
});

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Actor {
  kind: "publisher" | "sweep";
  steps: (() => Promise<void>)[];
  /** When it is dead at the latest. */
  endsAt: number;
}

/**
 * Up to four publishers and two sweeps over two blobs, each step of which comes whenever chance says. A publish may
 * live for two graces after its touch, or for one where its clock was old; a sweep for as long as its claims.
 */
class Chance {
  readonly #random: () => number;
  readonly #namespace: Namespace;
  readonly #blobs: readonly (Blob & { text: string })[];
  readonly #name: string;
  #actors: Actor[] = [];
  #last: Actor | undefined;
  /** How often an actor that had a turn has the next one too. */
  readonly #haste: number;
  #skills: SlowPublisher[] = [];
  #count = 0;
  log: string[] = [];

  constructor(seed: number, namespace: Namespace, all: readonly (Blob & { text: string })[]) {
    this.#random = randomOf(seed);
    this.#namespace = namespace;
    this.#blobs = all;
    this.#name = `s${seed}`;
    this.#haste = this.#random();
  }

  /** Races need publishers that are old when a sweep comes; mere chance brings them together too seldom. */
  async begin(): Promise<void> {
    for (const count of [1, 2]) if (this.#random() < 1 / count) await this.#startPublisher();
    for (const actor of this.#actors) while (this.#random() < 0.4) await this.#advance(actor);
    later(orphanGraceMs);
    if (this.#random() < 0.7) await this.#startSweep();
  }

  /** Returns whether anything in storage may have changed. */
  async step(): Promise<boolean> {
    this.#actors = this.#actors.filter((actor) => actor.steps.length > 0 && actor.endsAt > now);
    if (this.#random() < this.#haste && this.#actors.includes(this.#last!)) return this.#advance(this.#last!);
    const dice = this.#random();
    if (dice < 0.1) this.log.push(`time ${later(this.#pick([1, hour, orphanGraceMs]))}`);
    else if (dice < 0.35) return this.#startPublisher();
    else if (dice < 0.55) return this.#startSweep();
    else if (dice < 0.65) return this.#deleteSkill();
    else if (dice < 0.67) this.#actors.splice(Math.floor(this.#random() * this.#actors.length), 1);
    else if (this.#actors.length > 0) {
      return this.#advance(this.#random() < 0.5 ? this.#actors[0]! : this.#pick(this.#actors));
    }
    return false;
  }

  #pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!;
  }

  async #advance(actor: Actor): Promise<boolean> {
    this.#last = actor;
    try {
      await actor.steps.shift()?.();
    } catch (error) {
      // Busy ends a publish; a claim that is too old ends a sweep. Nothing else may go wrong.
      const isExpected = error instanceof Problem ? error.code === "busy" : String(error).includes("too old to erase");
      if (!isExpected) throw error;
      this.log.push("refused");
      actor.steps = [];
    }
    return true;
  }

  #begin(actor: Actor): Promise<boolean> {
    this.#actors.push(actor);
    return this.#advance(actor);
  }

  async #startPublisher(): Promise<boolean> {
    if (this.#actors.filter(({ kind }) => kind === "publisher").length >= 4) return false;
    const name = `${this.#name}-${this.#count++}`;
    const chosen = [1, 2, 3].map(() => this.#pick(this.#blobs));
    const one = new SlowPublisher(this.#namespace, name, chosen);
    const isOld = this.#random() < 0.2;
    const at = now - (isOld ? Math.floor(this.#random() * 20 * hour) : 0);
    const say = (what: string) => this.log.push(`${name} ${what} ${chosen.map((blob) => blob.text.at(-1)).join("")}`);
    const steps = [
      async () => void (say("touch"), await one.touch(at)),
      async () => void (say("put"), await one.put()),
      async () => void (say("mark"), await one.mark()),
      async () => {
        say("commit");
        await one.commit(at);
        this.#skills.push(one);
      },
    ];
    return this.#begin({ kind: "publisher", steps, endsAt: now + (isOld ? 1 : 2) * orphanGraceMs });
  }

  async #startSweep(): Promise<boolean> {
    if (this.#actors.filter(({ kind }) => kind === "sweep").length >= 2) return false;
    const name = `sweep-${this.#count++}`;
    const take = this.#pick([
      "claimOrphaned",
      "claimOrphaned",
      "claimOrphaned",
      "claimAbandoned",
      "claimErased",
    ] as const);
    let claim: Claim;
    const steps = [
      async () => {
        claim = await orphans[take](now);
        this.log.push(`${name} ${take} ${claim.digests.length}`);
      },
      async () => void (this.log.push(`${name} erase`), await erase(claim, blobs, now)),
      async () => void (this.log.push(`${name} forget`), await orphans.forget(claim, now)),
    ];
    return this.#begin({ kind: "sweep", steps, endsAt: Infinity });
  }

  /** What publishers left stays for the next seed; what sweeps left would only make its publishers busy. */
  async end(): Promise<void> {
    for (const skill of this.#skills) await skill.deleteSkill(now);
    later(claimLeaseMs);
    await sweepNow();
  }

  async #deleteSkill(): Promise<boolean> {
    const [gone] = this.#skills.splice(Math.floor(this.#random() * this.#skills.length), 1);
    await gone?.deleteSkill(now);
    return gone !== undefined;
  }
}

describe("chance", () => {
  const seeds = Array.from({ length: isFull ? 8 : 1 }, (_, index) => index * 25);

  it("begins with empty storage, for the sake of its speed", async () => {
    await env.DB.batch([
      env.DB.prepare(`UPDATE skills SET current = NULL`),
      env.DB.prepare(`DELETE FROM release_files`),
      env.DB.prepare(`DELETE FROM releases`),
    ]);
    await expectNothingLeftAfterADay();
    expect((await listStored()).size).toBe(0);
  });

  it.each(seeds)("25 interleavings from seed %i: what is referenced is there at every step", async (first) => {
    const namespace = (await newNamespace()) as Namespace;
    const all = await Promise.all(["chance 0", "chance 1"].map(blobOf));
    for (let seed = first; seed < first + 25; seed++) {
      const chance = new Chance(seed, namespace, all.slice(seed % 2));
      await chance.begin();
      for (let step = 0; step < 30; step++) {
        if (!(await chance.step())) continue;
        await expectAllReadable().catch((error: unknown) => {
          throw new Error(`seed ${seed}, step ${step}:\n${chance.log.join("\n")}`, { cause: error });
        });
      }
      await chance.end();
    }
    await expectNothingLeftAfterADay();
    expect((await listStored()).size).toBe(0);
  });
});
