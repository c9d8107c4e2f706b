import { defaultReadsPerWindow, defaultWritesPerWindow, rateWindowMs } from "../../src/domain/limits.ts";
import { fire, send } from "./load.ts";
import type { Shot } from "./load.ts";
import type { Machine } from "./machine.ts";
import { median, table } from "./report.ts";
import { createNamespace, mcp, publish, textOf } from "./requests.ts";

/**
 * A noisy neighbour: what a namespace's readers wait while another publishes skills of 50 KB and reads, both as fast as
 * its rate limits allow. Quiet and noisy stretches take turns, and each noisy one is compared with the quiet one right
 * before it, so that what else the machine does weighs on both.
 */
const [noisy, quiet] = ["noisy-neighbour", "quiet-reader"];
const skillBytes = 50_000;
const stretchMs = 3_000;
const quietPauseMs = 15;
const maxRatio = 1.2;

export async function reportNeighbour(
  { origin }: Machine,
  rounds: number,
  verdict: (isMet: boolean) => string,
): Promise<string> {
  const perStretch = Math.ceil((defaultWritesPerWindow / rateWindowMs) * stretchMs);
  for (const namespace of [noisy, quiet]) {
    await send(origin, createNamespace(namespace));
    await send(origin, publish(namespace, "first", { "notes.txt": textOf(skillBytes) }));
  }
  const list = (namespace: string) => mcp(`/mcp/${namespace}`, "2026-07-28", "skills/list", {});
  await fire(origin, () => list(quiet), { count: 300, width: 4 });
  const samples: { alone: number; beside: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Made before the clock runs: packing is work of this program, not of the server.
    const publishes = Array.from({ length: perStretch }, (_, index) =>
      publish(noisy, `skill-${round}-${index}`, { "notes.txt": `${round} ${index}\n${textOf(skillBytes)}` }),
    );
    const alone = await readFor(origin, list(quiet));
    const ended = new AbortController();
    const noise = Promise.all([
      pace(origin, publishes, rateWindowMs / defaultWritesPerWindow, ended.signal),
      pace(origin, () => list(noisy), rateWindowMs / defaultReadsPerWindow, ended.signal),
    ]);
    const beside = await readFor(origin, list(quiet));
    ended.abort();
    await noise;
    samples.push({ alone: median(alone), beside: median(beside) });
  }
  const ratio = median(samples.map(({ alone, beside }) => beside / alone));
  const ms = (value: number) => value.toFixed(2);
  return table(
    ["A reader beside a neighbour at its limits", "ms alone", "ms beside", "ratio", "limit"],
    [
      [
        `skills/list, median of ${rounds} rounds`,
        ms(median(samples.map(({ alone }) => alone))),
        ms(median(samples.map(({ beside }) => beside))),
        ms(ratio),
        `${verdict(ratio <= maxRatio)} ${maxRatio}`,
      ],
    ],
  );
}

/** One request after the other, with a pause between, for one stretch. */
async function readFor(origin: string, shot: Shot): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + stretchMs; performance.now() < end;) {
    times.push(...(await fire(origin, () => shot, { count: 1, width: 1 })));
    await sleep(quietPauseMs);
  }
  return times;
}

/** A request every `everyMs`, whether or not the one before is answered; a list of them once each. */
async function pace(origin: string, shots: readonly Shot[] | (() => Shot), everyMs: number, signal: AbortSignal) {
  const sent: Promise<void>[] = [];
  const begun = performance.now();
  for (let index = 0; !signal.aborted; index++) {
    const shot = typeof shots === "function" ? shots() : shots[index];
    if (shot === undefined) break;
    sent.push(send(origin, shot));
    await sleep(Math.max(0, begun + (index + 1) * everyMs - performance.now()));
  }
  await Promise.all(sent);
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
