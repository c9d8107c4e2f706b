import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { cases, seed } from "./cases.ts";
import type { Case } from "./cases.ts";
import { reportGrowth } from "./growth.ts";
import { reportHeld } from "./held.ts";
import { closeConnections, fire, send } from "./load.ts";
import { reportLive, reportManyPublishes } from "./live.ts";
import { build, migrate, start } from "./machine.ts";
import type { Bundle, Machine } from "./machine.ts";
import { reportMemory, seedLargeFiles } from "./memory.ts";
import { reportNeighbour } from "./neighbour.ts";
import { median, ratio, table, whole } from "./report.ts";
import type { Sample } from "./report.ts";
import { readSet } from "./search/data.ts";
import { reportSearchGrowth } from "./search/growth.ts";
import { reportSearch } from "./search/report.ts";
import { eras, mcp } from "./requests.ts";

/**
 * `npm run bench`: what requests cost, as ratios to a constant route and to bare routes that do the same storage work
 * without MCP; what large reads hold in memory; what a growing catalogue costs. What is compared runs interleaved,
 * round by round, because this machine is never quiet: trust ratios only. Ends with 1 where a target is missed.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Only growth, up to a million skills. */
    million: { type: "boolean", default: false },
    /** Only requests whose name holds this text; "neighbour": only the noisy neighbour. */
    only: { type: "string" },
    /** As `npm run bench -- live` for short: only what stays open. */
    live: { type: "boolean", default: false },
    /** Of a labelled set, as `npm run bench -- search --data DIR`; the set of this repository without it. */
    data: { type: "string" },
    /** As `npm run bench -- search --sizes 1000,10000`: what a search costs in registries of so many skills. */
    sizes: { type: "string" },
    rounds: { type: "string", default: "10" },
  },
});

const rounds = Number(options.rounds);
/** 167, and of tenants 24, of what stays open 13, of finding (search, servers, counts) and the importers' rules 28. */
const maxBundleKiB = 310;
const starts = 3;

async function main(): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "bench-state-"));
  try {
    const bundle = await build("test/bench/worker.ts");
    if (positionals.includes("search")) await measureSearch(bundle, state);
    else if (positionals.includes("held")) await measureHeld(bundle, state);
    else if (options.live || positionals.includes("live")) await measureLive(bundle, state);
    else if (options.million) await measureGrowth(bundle, state, [1_000, 1_000_000]);
    else await measureEverything(bundle, state);
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

async function measureEverything(bundle: Bundle, state: string): Promise<void> {
  const { gzipBytes } = await build("src/index.ts");
  const isSmall = gzipBytes <= maxBundleKiB * 1024;
  say(`Bundle: ${(gzipBytes / 1024).toFixed(1)} KiB minified and gzipped, ${verdict(isSmall)} ${maxBundleKiB}`);
  if (options.only === "neighbour") return measureNeighbour(bundle, state);
  await during(bundle, state, async (machine) => {
    await migrate(machine.database);
    await seed(machine.origin);
    await seedLargeFiles(machine.origin);
    const all = cases().filter(({ name, bare }) => bare === undefined || name.includes(options.only ?? ""));
    say(reportRequests(all, await measure(machine, all)));
  });
  if (options.only !== undefined) return;
  await measureNeighbour(bundle, `${state}/neighbour`);
  say(`From start to first answer, workerd with its D1 and R2: ${whole(await startMs(bundle, state))} ms`);
  say(await reportMemory(bundle, state, verdict));
  await measureGrowth(bundle, `${state}/growth`, [1_000, 100_000]);
}

async function measureNeighbour(bundle: Bundle, state: string): Promise<void> {
  await during(bundle, state, async (machine) => {
    await migrate(machine.database);
    say(await reportNeighbour(machine, rounds, verdict));
  });
}

async function measureSearch(bundle: Bundle, state: string): Promise<void> {
  const set = await readSet(options.data ?? join(import.meta.dirname, "search-data"));
  if (options.sizes !== undefined) {
    return reportSearchGrowth({ bundle, state, set }, options.sizes.split(",").map(Number), say);
  }
  await during(bundle, state, async (machine) => {
    await migrate(machine.database);
    await reportSearch(machine, set, say);
  });
}

async function measureHeld(bundle: Bundle, state: string): Promise<void> {
  await during(bundle, state, async (machine) => {
    await migrate(machine.database);
    await reportHeld(machine, say, verdict);
  });
}

async function measureLive(bundle: Bundle, state: string): Promise<void> {
  for (const era of eras) {
    const machine = await start(bundle, `${state}/live-${era}`, { vars: manyListeners });
    try {
      await migrate(machine.database);
      say(await reportLive(machine, era, verdict));
      say(await reportManyPublishes(machine, era));
    } finally {
      closeConnections();
      await machine.stop();
    }
  }
}

/** The caps of a deployment are for fairness; what one object carries is to be found out. */
const manyListeners = { LIVE_LISTENERS: "100000", LIVE_LISTENERS_PER_PRINCIPAL: "100000", LIVE_KEEP_ALIVE_MS: "5000" };

async function measureGrowth(bundle: Bundle, state: string, sizes: readonly number[]): Promise<void> {
  await during(bundle, state, async (machine) => {
    await migrate(machine.database);
    say(await reportGrowth(machine, sizes));
  });
}

async function during(bundle: Bundle, state: string, work: (machine: Machine) => Promise<void>): Promise<void> {
  const machine = await start(bundle, state);
  try {
    await work(machine);
  } finally {
    closeConnections();
    await machine.stop();
  }
}

async function measure(machine: Machine, all: readonly Case[]): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(all.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const { name, next, count, width } of all) {
      const before = await machine.cpuUs();
      const times = await fire(machine.origin, next, { count, width });
      const cpuUs = ((await machine.cpuUs()) - before) / count;
      // The first round warms up: code is compiled, caches fill.
      if (round >= 0) samples.get(name)!.push({ cpuUs, latencyMs: median(times) });
    }
  }
  return samples;
}

function reportRequests(all: readonly Case[], samples: ReadonlyMap<string, Sample[]>): string {
  const rows = all.map(({ name, bare, target }) => {
    const own = samples.get(name)!;
    const cpu = own.map((sample) => sample.cpuUs);
    const times = bare === undefined ? undefined : ratio(own, samples.get(bare)!);
    return [
      name,
      whole(Math.min(...cpu)),
      whole(median(cpu)),
      median(own.map((sample) => sample.latencyMs)).toFixed(1),
      ratio(own, samples.get("constant")!).toFixed(1),
      times === undefined ? "" : `${times.toFixed(2)} × ${bare!.replace("bare ", "")}`,
      times === undefined || target === undefined ? "" : `${verdict(times <= target)} ${target.toFixed(1)}`,
    ];
  });
  return table(["request", "CPU µs, best", "median", "p50 ms", "× constant", "× bare route", "target"], rows);
}

/** The median of a few fresh processes over a catalogue that is there already. */
async function startMs(bundle: Bundle, state: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < starts; count++) {
    const begun = performance.now();
    await during(bundle, state, async ({ origin }) => {
      await send(origin, mcp("/mcp/bench", "2026-07-28", "skills/list", {}));
      times.push(performance.now() - begun);
    });
  }
  return median(times);
}

function verdict(isMet: boolean): string {
  if (!isMet) process.exitCode = 1;
  return isMet ? "≤" : "MISSED";
}

function say(text: string): void {
  console.log(`\n${text}`);
}

await main();
