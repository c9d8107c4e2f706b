import { parentPort, workerData } from "node:worker_threads";

import { defaultReadsPerWindow, defaultWritesPerWindow, rateWindowMs } from "../../src/domain/limits.ts";
import { send } from "./load.ts";
import type { Shot } from "./load.ts";
import { mcp, publish, textOf } from "./requests.ts";

/**
 * The noise of neighbour.ts, in a thread of its own, so that the program that measures has nothing else to do. Told a
 * number of milliseconds, it publishes and reads for that long, both at the rate limits, and says when it is done.
 */
const { origin, namespace, skillBytes } = workerData as { origin: string; namespace: string; skillBytes: number };

const list = mcp(`/mcp/${namespace}`, "2026-07-28", "skills/list", {});
let skills = 0;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread, not a window.
const say = (word: string) => parentPort!.postMessage(word);

parentPort!.on("message", (stretchMs: number) => {
  const count = Math.ceil((defaultWritesPerWindow / rateWindowMs) * stretchMs);
  // Packed before the clock runs: that is work of this program, not of the server.
  const publishes = Array.from({ length: count }, () => {
    const name = `skill-${skills++}`;
    return publish(namespace, name, { "notes.txt": `${name}\n${textOf(skillBytes)}` });
  });
  say("begun");
  void Promise.all([
    pace(publishes, rateWindowMs / defaultWritesPerWindow),
    pace(
      Array.from({ length: Math.ceil((defaultReadsPerWindow / rateWindowMs) * stretchMs) }, () => list),
      rateWindowMs / defaultReadsPerWindow,
    ),
  ]).then(() => say("done"));
});

/** A request every `everyMs`, whether or not the one before is answered. */
async function pace(shots: readonly Shot[], everyMs: number): Promise<void> {
  const begun = performance.now();
  const sent: Promise<void>[] = [];
  for (const [index, shot] of shots.entries()) {
    sent.push(send(origin, shot));
    await sleep(begun + (index + 1) * everyMs - performance.now());
  }
  await Promise.all(sent);
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, Math.max(0, ms)));
}
