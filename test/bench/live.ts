import { Agent, request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";

import { send } from "./load.ts";
import { operator } from "./machine.ts";
import type { Machine } from "./machine.ts";
import { median, table, whole } from "./report.ts";
import { createNamespace, mcp, publish } from "./requests.ts";
import type { Era } from "./requests.ts";

/**
 * What is kept open: streams of either era at one namespace, a publish, and how long after its answer the first and the
 * last of them was told; what a stream takes in memory and a delivery in CPU; and that nothing is left afterwards.
 * Workers, database and objects share one process here, and this program the machine with them.
 */
const counts = [100, 1_000, 5_000];
/** "To reach": the last of so many, in milliseconds. */
const limits: Readonly<Record<number, number>> = { 1_000: 250, 5_000: 1_000 };
const openAtOnce = 32;
/** Sessions of one owner are capped, so that they come from many addresses. */
const sessionsPerAddress = 500;
const deadlineMs = 60_000;
const listenersOfMany = 20;
const publishesOfMany = 1_000;

const agent = new Agent({ maxSockets: Infinity, maxFreeSockets: 0 });

interface Stream {
  close(): void;
  /** When a list_changed came, each by `performance.now()`. */
  told: number[];
}

export async function reportLive(machine: Machine, era: Era, verdict: (isMet: boolean) => string): Promise<string> {
  const rows: string[][] = [];
  for (const count of counts) rows.push(await measure(machine, era, count, verdict));
  return table(
    [`Open streams, ${era}`, "told", "first ms", "last ms", "limit", "KiB a stream", "CPU µs a delivery", "left after"],
    rows,
  );
}

async function measure(
  machine: Machine,
  era: Era,
  count: number,
  verdict: (isMet: boolean) => string,
): Promise<string[]> {
  const { origin } = machine;
  const namespace = `live-${era.slice(0, 4)}-${count}`;
  await send(origin, createNamespace(namespace));
  const before = (await machine.memoryMiB()).now;
  const streams = await openAll(origin, namespace, era, count);
  const memory = ((await machine.memoryMiB()).now - before) * 1024;
  const cpuBefore = await machine.cpuUs();
  await send(origin, publish(namespace, "news", {}));
  const answered = performance.now();
  await until(() => streams.every(({ told }) => told.length > 0));
  const cpu = (await machine.cpuUs()) - cpuBefore;
  const times = streams.flatMap(({ told }) => told.slice(0, 1)).map((at) => Math.max(0, at - answered));
  const last = Math.max(...times);
  for (const stream of streams) stream.close();
  const left = await leftAfter(origin, namespace);
  const limit = limits[count];
  return [
    whole(count),
    whole(times.length),
    whole(Math.min(...times)),
    whole(last),
    limit === undefined ? "" : `${verdict(last <= limit)} ${limit}`,
    whole(memory / count),
    whole(cpu / count),
    whole(left),
  ];
}

/** Many publishes one after the other: how long the slowest of them was not told to somebody. */
export async function reportManyPublishes({ origin }: Machine, era: Era): Promise<string> {
  const namespace = `many-${era.slice(0, 4)}`;
  await send(origin, createNamespace(namespace));
  const streams = await openAll(origin, namespace, era, listenersOfMany);
  const delays: number[] = [];
  for (let index = 0; index < publishesOfMany; index++) {
    await send(origin, publish(namespace, "news", { "number.txt": String(index) }));
    const answered = performance.now();
    // What was told before the answer, told of it as well: the change was made by then.
    await until(() => streams.every(({ told }) => told.length > 0));
    delays.push(Math.max(...streams.map(({ told }) => told.at(-1)! - answered), 0));
    for (const stream of streams) stream.told.length = 0;
  }
  for (const stream of streams) stream.close();
  const slowest = Math.max(...delays);
  return `${whole(publishesOfMany)} publishes to ${listenersOfMany} listeners of ${era}: told ${whole(median(delays))} ms after the answer in the median, ${whole(slowest)} ms at the slowest`;
}

async function openAll(origin: string, namespace: string, era: Era, count: number): Promise<Stream[]> {
  const streams: Stream[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) streams.push(await open(origin, namespace, era, index));
  };
  await Promise.all(Array.from({ length: openAtOnce }, worker));
  return streams;
}

async function open(origin: string, namespace: string, era: Era, index: number): Promise<Stream> {
  const group = Math.floor(index / sessionsPerAddress);
  const from = { "cf-connecting-ip": `10.0.${group}.1` };
  const path = `/mcp/${namespace}`;
  if (era === "2026-07-28") {
    const shot = mcp(path, era, "subscriptions/listen", { notifications: { resourcesListChanged: true } });
    return listen(origin + path, { method: "POST", headers: { ...shot.headers, ...from } }, String(shot.body));
  }
  const params = { protocolVersion: era, capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } };
  const shot = mcp(path, era, "initialize", params);
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { ...shot.headers, ...from },
    body: String(shot.body),
  });
  await response.text();
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error(`no session: ${response.status}`);
  const headers = { accept: "text/event-stream", "mcp-session-id": session, ...from };
  return listen(origin + path, { method: "GET", headers }, undefined);
}

/** Resolves with the first bytes, which are there once the stream is joined to its Feed. */
function listen(
  url: string,
  options: { method: string; headers: Record<string, string> },
  body: string | undefined,
): Promise<Stream> {
  return new Promise((done, fail) => {
    const told: number[] = [];
    const outgoing: ClientRequest = request(url, { ...options, agent }, (incoming: IncomingMessage) => {
      if (incoming.statusCode !== 200) fail(new Error(`${url}: ${incoming.statusCode}`));
      incoming.on("data", (chunk: Buffer) => {
        if (chunk.includes("list_changed")) told.push(performance.now());
        done({ told, close: () => outgoing.destroy() });
      });
      incoming.on("error", () => {});
    });
    outgoing.on("error", fail);
    outgoing.end(body);
  });
}

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("not everybody was told");
    await new Promise((done) => setTimeout(done, 1));
  }
}

/** How many sockets the Feed still has, once clients that left had time to be noticed. */
async function leftAfter(origin: string, namespace: string): Promise<number> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const response = await fetch(`${origin}/api/v1/namespaces/${namespace}/quotas`, {
      headers: { authorization: `Bearer ${operator}` },
    });
    const { listeners } = (await response.json()) as { listeners: { used: number } };
    if (listeners.used === 0 || performance.now() > end) return listeners.used;
    await new Promise((done) => setTimeout(done, 250));
  }
}
