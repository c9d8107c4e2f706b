import { formatCursor } from "../../src/domain/cursor.ts";
import { fire, send } from "./load.ts";
import { operator } from "./machine.ts";
import type { D1, Machine } from "./machine.ts";
import { median, table, whole } from "./report.ts";
import { createNamespace, mcp, publish } from "./requests.ts";
import type { Shot } from "./load.ts";

/**
 * What a namespace costs as it grows. Rows are made in SQL from one published skill, because a million publishes would
 * take days. The operator asks, for whom no page is remembered: what is measured is the database.
 */
const rounds = 6;
const width = 16;
/** Rows of one statement. */
const step = 50_000;
const template = "bulk-0000000";

interface Operation {
  name: string;
  count: number;
  next: (namespace: string, size: number) => Shot;
}

let publishes = 0;
const nameOf = (index: number) => `bulk-${String(index).padStart(7, "0")}`;

const operations: readonly Operation[] = [
  { name: "list, first page", count: 64, next: (namespace) => ask(namespace, "skills/list", {}) },
  {
    name: "list, middle page",
    count: 64,
    next: (namespace, size) => {
      const cursor = formatCursor(`skills:${namespace}`, { page: 25, key: nameOf(Math.floor(size / 2)) });
      return ask(namespace, "skills/list", { cursor });
    },
  },
  {
    name: "get",
    count: 128,
    next: (namespace, size) =>
      ask(namespace, "skills/get", {
        uri: `skill://${namespace}/${nameOf(Math.floor(Math.random() * size))}/SKILL.md`,
      }),
  },
  { name: "publish of a new skill", count: 16, next: (namespace) => publish(namespace, `new-${++publishes}`, {}) },
];

function ask(namespace: string, method: string, params: Record<string, unknown>): Shot {
  const shot = mcp(`/mcp/${namespace}`, "2026-07-28", method, params);
  return { ...shot, headers: { ...shot.headers, authorization: `Bearer ${operator}` } };
}

export async function reportGrowth(machine: Machine, sizes: readonly number[]): Promise<string> {
  for (const size of sizes) await fill(machine, size);
  const samples = new Map<string, number[]>();
  for (let round = -1; round < rounds; round++) {
    for (const { name, count, next } of operations) {
      for (const size of sizes) {
        const before = await machine.cpuUs();
        await fire(machine.origin, () => next(namespaceOf(size), size), { count, width });
        const cpuUs = ((await machine.cpuUs()) - before) / count;
        const key = `${name} ${size}`;
        if (round >= 0) samples.set(key, [...(samples.get(key) ?? []), cpuUs]);
      }
    }
  }
  const rows = operations.map(({ name }) => {
    const cpu = sizes.map((size) => median(samples.get(`${name} ${size}`)!));
    return [name, ...cpu.map(whole), (cpu.at(-1)! / cpu[0]!).toFixed(2)];
  });
  return table(["CPU µs a request", ...sizes.map((size) => `${whole(size)} skills`), "last : first"], rows);
}

function namespaceOf(size: number): string {
  return `grown-${size}`;
}

async function fill({ origin, database }: Machine, size: number): Promise<void> {
  const namespace = namespaceOf(size);
  await send(origin, createNamespace(namespace));
  await send(origin, publish(namespace, template, {}));
  // A skill names its current release and a release its skill, so the one is there before the other.
  const statements = [
    await copyOf(database, "skills", ["current"]),
    await copyOf(database, "releases", ["id"]),
    `${numbers} UPDATE skills SET current = '1.0.0' WHERE namespace = ?1 AND path IN (SELECT ${renamed("?4")} FROM n)`,
  ];
  for (let from = 1; from < size; from += step) {
    for (const sql of statements) {
      await database
        .prepare(sql)
        .bind(namespace, from, Math.min(from + step, size), template)
        .run();
    }
  }
}

/** ?1 namespace, ?2 first number, ?3 the number to stop before, ?4 the skill that is copied. */
const numbers = "WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)";
const renamed = (column: string) => `replace(${column}, ?4, printf('bulk-%07d', i))`;

/** Copies whole rows, whatever columns later migrations give them, under another name wherever the name occurs. */
async function copyOf(database: D1, tableName: string, without: readonly string[]): Promise<string> {
  const { results } = await database.prepare("SELECT name, type FROM pragma_table_info(?1)").bind(tableName).all();
  const columns = (results as { name: string; type: string }[]).filter((column) => !without.includes(column.name));
  const values = columns.map(({ name, type }) => (type === "TEXT" && name !== "namespace" ? renamed(name) : name));
  return `${numbers} INSERT INTO ${tableName} (${columns.map((column) => column.name).join(", ")})
    SELECT ${values.join(", ")} FROM n, ${tableName} WHERE namespace = ?1 AND path = ?4`;
}
