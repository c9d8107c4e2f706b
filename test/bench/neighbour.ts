import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { fire, send } from "./load.ts";
import type { Shot } from "./load.ts";
import type { Machine } from "./machine.ts";
import { median, table } from "./report.ts";
import { createNamespace, mcp, publish, textOf } from "./requests.ts";

/**
 * A noisy neighbour: what a namespace's readers wait while another publishes skills of 50 KB and reads, both as fast as
 * its rate limits allow (noise.ts). Quiet and noisy stretches take turns, and each noisy one is compared with the quiet
 * one right before it, so that what else the machine does weighs on both.
 */
const [noisy, quiet] = ["noisy-neighbour", "quiet-reader"];
const skillBytes = 50_000;
const stretchMs = 3_000;
const pauseMs = 15;
const maxRatio = 1.2;

export async function reportNeighbour(
  { origin }: Machine,
  rounds: number,
  verdict: (isMet: boolean) => string,
): Promise<string> {
  for (const namespace of [noisy, quiet]) {
    await send(origin, createNamespace(namespace));
    await send(origin, publish(namespace, "first", { "notes.txt": textOf(skillBytes) }));
  }
  const list = mcp(`/mcp/${quiet}`, "2026-07-28", "skills/list", {});
  await fire(origin, () => list, { count: 300, width: 4 });
  const noise = new Worker(new URL("./noise.ts", import.meta.url), {
    workerData: { origin, namespace: noisy, skillBytes },
  });
  try {
    const samples: { alone: number; beside: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      const alone = median(await readFor(origin, list));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread, not a window.
      noise.postMessage(stretchMs);
      await once(noise, "message");
      const ended = once(noise, "message");
      samples.push({ alone, beside: median(await readFor(origin, list)) });
      await ended;
    }
    return reportOf(samples, verdict);
  } finally {
    await noise.terminate();
  }
}

function reportOf(samples: readonly { alone: number; beside: number }[], verdict: (isMet: boolean) => string): string {
  const ratio = median(samples.map(({ alone, beside }) => beside / alone));
  const ms = (value: number) => value.toFixed(2);
  const row = [
    `skills/list, median of ${samples.length} rounds`,
    ms(median(samples.map(({ alone }) => alone))),
    ms(median(samples.map(({ beside }) => beside))),
    ms(ratio),
    `${verdict(ratio <= maxRatio)} ${maxRatio}`,
  ];
  return table(["A reader beside a neighbour at its limits", "ms alone", "ms beside", "ratio", "limit"], [row]);
}

/** One request after the other, with a pause between, for one stretch. */
async function readFor(origin: string, shot: Shot): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + stretchMs; performance.now() < end;) {
    times.push(...(await fire(origin, () => shot, { count: 1, width: 1 })));
    await new Promise((done) => setTimeout(done, pauseMs));
  }
  return times;
}
