import { closeConnections, fire, send } from "./load.ts";
import { start } from "./machine.ts";
import type { Bundle } from "./machine.ts";
import { table, whole } from "./report.ts";
import { bare, bytesOf, createNamespace, eras, mcp, publish, textOf } from "./requests.ts";
import type { Shot } from "./load.ts";

/**
 * How much memory sixteen reads of 16 MiB at once take, by the highest resident size of workerd, which here holds the
 * simulated D1 and R2 as well. Each reader stops for a second after its first bytes: what a server does not hold back
 * then piles up. In production an isolate has 128 MB for everything; locally nothing enforces that.
 */
const namespace = "memory";
const concurrent = 16;
const pauseMs = 1_000;
const fileBytes = 16 * 1024 * 1024 - 4_096;
/** Half of what an isolate has. */
const limitMiB = 64;

export async function seedLargeFiles(origin: string): Promise<void> {
  await send(origin, createNamespace(namespace));
  await send(origin, publish(namespace, "large-text", { "large.txt": textOf(fileBytes) }));
  await send(origin, publish(namespace, "large-bytes", { "large.bin": bytesOf(fileBytes) }));
}

/** Each kind in a process of its own, because the highest size of a process never falls. */
export async function reportMemory(
  bundle: Bundle,
  state: string,
  verdict: (isMet: boolean) => string,
): Promise<string> {
  const text = `skill://${namespace}/large-text/large.txt`;
  const bytes = `skill://${namespace}/large-bytes/large.bin`;
  const read = (era: (typeof eras)[number], uri: string) => mcp(`/mcp/${namespace}`, era, "resources/read", { uri });
  const question = { namespace, path: "large-bytes", file: "large.bin" };
  const kinds: [string, Shot][] = [
    ["bare route, base64 of the whole file", bare("base64", question)],
    ["bare route, the stream of R2", bare("stream", question)],
    ...eras.map((era): [string, Shot] => [`${era} binary`, read(era, bytes)]),
    ...eras.map((era): [string, Shot] => [`${era} text`, read(era, text)]),
  ];
  const rows: string[][] = [];
  for (const [name, shot] of kinds) {
    const { before, peak } = await peakOf(bundle, state, shot);
    const limit = name.startsWith("bare") ? "" : `${verdict(peak - before <= limitMiB)} ${limitMiB}`;
    rows.push([name, whole(before), whole(peak), whole(peak - before), limit]);
  }
  return table([`${concurrent} reads of 16 MiB at once`, "MiB before", "peak", "more", "limit"], rows);
}

async function peakOf(bundle: Bundle, state: string, shot: Shot): Promise<{ before: number; peak: number }> {
  const machine = await start(bundle, state);
  try {
    const warm = mcp(`/mcp/${namespace}`, "2026-07-28", "skills/list", {});
    await fire(machine.origin, () => warm, { count: 200, width: concurrent });
    const before = (await machine.memoryMiB()).now;
    await fire(machine.origin, () => ({ ...shot, pauseMs }), { count: concurrent, width: concurrent });
    return { before, peak: (await machine.memoryMiB()).peak };
  } finally {
    closeConnections();
    await machine.stop();
  }
}
