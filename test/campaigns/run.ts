import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import type { Counts } from "./campaign.ts";
import { folders, others } from "./campaigns.ts";
import { renderOddities } from "./oddities.ts";

/**
 * `npm run campaign -- --runs 1000000`: every campaign at length, for a schedule and not for `npm test`. The samples
 * are judged in a thread of their own, so that this one can see from outside when one never ends or memory grows.
 *
 *   --runs    samples of each campaign (1,000,000)
 *   --seed    by default another in every run; a failure prints the one that shows it again
 *   --only    names of campaigns, separated by commas
 *   --table   prints the table of oddities for the README instead
 */
const campaigns = [folders, ...others];
/** Each chunk has a seed of its own, so that a failure is had again within seconds. */
const chunkRuns = 1_000;
/** Generous: the slowest, a bomb of 32 MiB, takes half a second on a machine that does nothing else. */
const deadlineMs = 10_000;
const hangMs = 60_000;
const progressMs = 10_000;
const MiB = 1024 * 1024;
/** Upload, unpacked files, archives and two parsers' trees of one sample, and what the runtime itself takes. */
const maxRssBytes = 1_024 * MiB;

interface Task {
  seed: number;
  runs: number;
  only: string[];
  /** Where the thread is: the campaign, the chunk's seed, and a count of samples that only ever grows. */
  place: Int32Array;
}

type Message =
  | { kind: "chunk"; name: string; runs: number; counts: Counts }
  | { kind: "failure"; name: string; seed: number; message: string }
  | { kind: "end" };

async function judge({ seed, runs, only, place }: Task): Promise<void> {
  const chosen = campaigns.filter(({ name }) => only.length === 0 || only.includes(name));
  for (let done = 0; done < runs; done += chunkRuns) {
    for (const { name, run } of chosen) {
      const chunk = { seed: (seed + done / chunkRuns) | 0, runs: Math.min(chunkRuns, runs - done), deadlineMs };
      place[0] = campaigns.findIndex((one) => one.name === name);
      place[1] = chunk.seed;
      try {
        const counts = await run({ ...chunk, onSample: () => Atomics.add(place, 2, 1) });
        tell({ kind: "chunk", name, runs: chunk.runs, counts });
      } catch (error) {
        tell({
          kind: "failure",
          name,
          seed: chunk.seed,
          message: error instanceof Error ? error.message : String(error),
        });
        return;
      }
    }
  }
  tell({ kind: "end" });
}

const tell = (message: Message) => parentPort!.postMessage(message, []);

/** Resolves to what went wrong, or to undefined at the end of all samples. */
function watch(task: Task, totals: Map<string, Counts>): Promise<string | undefined> {
  const { place } = task;
  const worker = new Worker(import.meta.filename, { workerData: task });
  return new Promise((done) => {
    const finish = (failure: string | undefined) => {
      clearInterval(clock);
      void worker.terminate().then(() => done(failure));
    };
    let [last, since] = [-1, performance.now()];
    const clock = setInterval(() => {
      const count = Atomics.load(place, 2);
      if (count !== last) [last, since] = [count, performance.now()];
      const rss = process.memoryUsage().rss;
      if (performance.now() - since > hangMs) finish(`a sample of ${placeOf(place)} does not end`);
      else if (rss > maxRssBytes) finish(`${Math.round(rss / MiB)} MiB of memory at a sample of ${placeOf(place)}`);
    }, 250);
    worker.on("message", (message: Message) => {
      if (message.kind === "end") finish(undefined);
      else if (message.kind === "chunk") addTo(totals, message);
      else finish(`${message.message}\n${againOf(message.name, message.seed)}`);
    });
    worker.on("error", (error) => finish(`${String(error)} at a sample of ${placeOf(place)}`));
  });
}

const againOf = (name: string, seed: number) =>
  `again: npm run campaign -- --only ${name} --seed ${seed} --runs ${chunkRuns}`;
const placeOf = (place: Int32Array) =>
  `${campaigns[place[0]!]!.name}\n${againOf(campaigns[place[0]!]!.name, place[1]!)}`;

function addTo(totals: Map<string, Counts>, { name, counts }: { name: string; counts: Counts }): void {
  const total = totals.get(name) ?? {};
  for (const [fared, count] of Object.entries(counts)) total[fared] = (total[fared] ?? 0) + count;
  totals.set(name, total);
}

function print(totals: ReadonlyMap<string, Counts>, start: number): void {
  const seconds = Math.round((performance.now() - start) / 1_000);
  console.log(`${seconds} s, ${Math.round(process.memoryUsage().rss / MiB)} MiB`);
  for (const [name, counts] of totals) {
    const sum = Object.values(counts).reduce((a, b) => a + b, 0);
    const shares = Object.entries(counts).map(([fared, count]) => `${fared} ${((100 * count) / sum).toFixed(1)} %`);
    console.log(`  ${name.padEnd(9)} ${sum.toLocaleString("en")} samples: ${shares.join(", ")}`);
  }
}

function readTask(): Task | undefined {
  const { values } = parseArgs({
    options: {
      runs: { type: "string", default: "1000000" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      only: { type: "string", default: "" },
      table: { type: "boolean", default: false },
    },
  });
  if (values.table) return undefined;
  const only = values.only === "" ? [] : values.only.split(",");
  const unknown = only.filter((name) => !campaigns.some((campaign) => campaign.name === name));
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  if (unknown.length > 0 || !Number.isSafeInteger(runs) || runs < 1 || !Number.isSafeInteger(seed)) {
    throw new Error(
      `--runs and --seed are whole numbers, --only names of ${campaigns.map(({ name }) => name).join(", ")}`,
    );
  }
  return { runs, seed, only, place: new Int32Array(new SharedArrayBuffer(12)) };
}

async function main(): Promise<number> {
  const task = readTask();
  if (task === undefined) {
    console.log(renderOddities());
    return 0;
  }
  const start = performance.now();
  const totals = new Map<string, Counts>();
  console.log(`seed ${task.seed}, ${task.runs.toLocaleString("en")} samples of each campaign`);
  const progress = setInterval(() => print(totals, start), progressMs);
  const failure = await watch(task, totals);
  clearInterval(progress);
  print(totals, start);
  console.log(failure === undefined ? "no counterexample" : `FAILED: ${failure}`);
  return failure === undefined ? 0 : 1;
}

if (isMainThread) process.exit(await main());
await judge(workerData as Task);
// What was told may still be on its way when a thread ends by itself, so the other one ends this one.
setInterval(() => {}, hangMs);
