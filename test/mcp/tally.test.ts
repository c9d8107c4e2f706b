import { afterEach, describe, expect, it, vi } from "vitest";

import { maxTallyWaiting, tallyBatch, tallyTurnMs } from "../../src/domain/limits.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import type { Choice, Pick, ReleaseRead } from "../../src/domain/tally.ts";
import type { Version } from "../../src/domain/version.ts";
import { TallyBuffer } from "../../src/mcp/tally-buffer.ts";
import type { TallyWriter } from "../../src/mcp/tally-buffer.ts";
import type { TallyBatch } from "../../src/storage/tally.ts";

/** What an isolate counts, without a database: who writes when, and what becomes of what cannot be written. */
const acme = "acme" as Namespace;
const place = { namespace: "acme", collection: "" };

const pick = (id: number): Pick => ({
  pickId: `pick_${String(id).padStart(22, "0")}`,
  ...place,
  day: 20_000,
  words: "refund",
  shown: ["acme/refunds"],
});
const choice = (id: number): Choice => ({ pickId: pick(id).pickId, ...place, skill: "acme/refunds" });
const read = (path = "refunds", client = "agent"): ReleaseRead => ({
  namespace: acme,
  path: path as SkillPath,
  version: "1.0.0" as Version,
  day: 20_000,
  client: { name: client, version: "1" },
  era: "2026",
  isCurrent: true,
});

/** A store that notes what it gets; the first `failures` batches fail. */
function store({ pauseMs = 0, failures = 0, unmet = (): Choice[] => [] } = {}) {
  const batches: TallyBatch[] = [];
  const works: Promise<unknown>[] = [];
  let failed = 0;
  const writer: TallyWriter = {
    pauseMs,
    waitUntil: (work) => works.push(work),
    write: (batch) => {
      batches.push(batch);
      return failed++ < failures ? Promise.reject(new Error("no store")) : Promise.resolve(unmet());
    },
  };
  return { writer, batches, works, done: () => Promise.all(works) };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("what an isolate has counted", () => {
  it("is written after a pause, by one request for all, equal reads as one", async () => {
    vi.useFakeTimers();
    const buffer = new TallyBuffer();
    const { writer, batches, works, done } = store({ pauseMs: 1_000 });
    for (let again = 0; again < 3; again++) {
      buffer.addRead(read());
      buffer.wake(writer);
    }
    buffer.addPick(pick(1));
    buffer.wake(writer);
    expect([works.length, batches.length]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(1_000);
    await done();
    expect(batches).toEqual([{ picks: [pick(1)], choices: [], reads: [{ ...read(), count: 3 }] }]);
    expect(buffer.size).toBe(0);
    buffer.addRead(read());
    buffer.wake(writer);
    expect(works.length).toBe(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.length).toBe(2);
  });

  it("is written at once when there is enough, and not a second time when the pause is over", async () => {
    vi.useFakeTimers();
    const buffer = new TallyBuffer();
    const { writer, batches, works, done } = store({ pauseMs: 1_000 });
    for (let id = 0; id < tallyBatch; id++) {
      buffer.addPick(pick(id));
      buffer.wake(writer);
    }
    expect(works.length).toBe(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(batches.map(({ picks }) => picks.length)).toEqual([tallyBatch]);
    await vi.advanceTimersByTimeAsync(1_000);
    await done();
    expect(batches.length).toBe(1);
  });

  it("is bounded, however long the store takes", async () => {
    const buffer = new TallyBuffer();
    const { writer, batches, works } = store();
    let release = () => {};
    const held = new Promise<Choice[]>((resolve) => (release = () => resolve([])));
    const { write } = writer;
    writer.write = async (batch) => {
      await write(batch);
      return held;
    };
    for (let id = 0; id < 3 * maxTallyWaiting; id++) {
      buffer.addPick(pick(id));
      buffer.addChoice(choice(id));
      buffer.addRead(read(`skill-${id}`));
      buffer.wake(writer);
    }
    expect([buffer.size <= 3 * maxTallyWaiting, works.length]).toEqual([true, 1]);
    release();
    await Promise.all(works);
    expect(
      Math.max(...batches.map(({ picks, choices, reads }) => Math.max(picks.length, choices.length, reads.length))),
    ).toBe(tallyBatch);
    expect(buffer.size).toBe(0);
  });

  it("is tried once more when it could not be written, and then lost without a word to anybody but the log", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const buffer = new TallyBuffer();
    const once = store({ failures: 1 });
    buffer.addPick(pick(1));
    buffer.wake(once.writer);
    await once.done();
    expect(once.batches.length).toBe(2);
    expect(once.batches[0]).toEqual(once.batches[1]);
    const never = store({ failures: 9 });
    buffer.addPick(pick(2));
    buffer.wake(never.writer);
    await never.done();
    expect([never.batches.length, buffer.size]).toEqual([2, 0]);
    const lines = log.mock.calls.map(([line]) => JSON.parse(line as string) as { door: string; lost: number });
    expect(lines.map(({ door, lost }) => [door, lost])).toEqual([
      ["tally", 0],
      ["tally", 0],
      ["tally", 1],
    ]);
    expect(JSON.stringify(lines)).not.toContain('refund"');
    const after = store();
    buffer.addPick(pick(3));
    buffer.wake(after.writer);
    await after.done();
    expect(after.batches.map(({ picks }) => picks)).toEqual([[pick(3)]]);
  });

  it("tries a choice once more whose pick is not there yet, after a pause", async () => {
    vi.useFakeTimers();
    const buffer = new TallyBuffer();
    const { writer, batches, done } = store({ pauseMs: 1_000, unmet: () => batches.at(-1)!.choices as Choice[] });
    buffer.addChoice(choice(1));
    buffer.wake(writer);
    await vi.advanceTimersByTimeAsync(5_000);
    await done();
    expect(batches.map(({ choices }) => choices)).toEqual([[choice(1)], [choice(1)]]);
    expect(buffer.size).toBe(0);
  });

  it("is taken over from a request that the platform ended", async () => {
    vi.useFakeTimers();
    const buffer = new TallyBuffer();
    const { writer, batches } = store();
    buffer.addPick(pick(1));
    buffer.wake({ ...writer, write: () => new Promise(() => {}) });
    buffer.addPick(pick(2));
    buffer.wake(writer);
    expect(batches.length).toBe(0);
    vi.setSystemTime(Date.now() + tallyTurnMs);
    buffer.wake(writer);
    await vi.advanceTimersByTimeAsync(0);
    expect(batches.map(({ picks }) => picks)).toEqual([[pick(2)]]);
  });
});
