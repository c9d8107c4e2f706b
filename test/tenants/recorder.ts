import { env } from "cloudflare:workers";

import type { Env } from "../../src/env.ts";

/**
 * Bindings that write down every call that leaves the isolate: the statements of each D1 round trip (a batch is one),
 * each R2 operation and each call of a Durable Object. Fresh bindings also mean fresh memos, so that nothing of an earlier request is remembered.
 */
export interface Recording {
  bindings: Env;
  calls: string[];
}

interface Known {
  statement: D1PreparedStatement;
  sql: string;
}

export function recorded(more: Partial<Env> = {}): Recording {
  const calls: string[] = [];
  const known = new WeakMap<object, Known>();
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const run =
      (name: "first" | "all" | "run" | "raw") =>
      (...given: never[]) => {
        calls.push(`d1 ${name}: ${sql}`);
        return (statement[name] as (...all: never[]) => unknown)(...given);
      };
    const bind = (...given: unknown[]) => wrap(statement.bind(...given), sql);
    const wrapped = { bind, first: run("first"), all: run("all"), run: run("run"), raw: run("raw") };
    known.set(wrapped, { statement, sql });
    return wrapped as unknown as D1PreparedStatement;
  };
  const batch = (statements: D1PreparedStatement[]) => {
    const all = statements.map((statement) => known.get(statement)!);
    calls.push(`d1 batch of ${all.length}: ${all.map(({ sql }) => sql).join(";")}`);
    return env.DB.batch(all.map(({ statement }) => statement));
  };
  const DB = { prepare: (sql: string) => wrap(env.DB.prepare(sql), sql), batch } as unknown as D1Database;
  const BLOBS = new Proxy(env.BLOBS, {
    get:
      (bucket, name) =>
      (...given: unknown[]) => {
        calls.push(`r2 ${String(name)}`);
        return (Reflect.get(bucket, name) as (...all: unknown[]) => unknown).apply(bucket, given);
      },
  });
  const FEEDS = objectsOf("feeds", env.FEEDS!, calls);
  const SESSIONS = objectsOf("sessions", env.SESSIONS!, calls);
  return { calls, bindings: { ...env, DB, BLOBS, FEEDS, SESSIONS, ...more } };
}

/** Which object is called depends on the address, so only what it is asked is written down. */
function objectsOf(kind: string, objects: DurableObjectNamespace, calls: string[]): DurableObjectNamespace {
  const stubOf = (stub: DurableObjectStub) =>
    new Proxy(stub, {
      get:
        (_, name) =>
        (...given: unknown[]) => {
          calls.push(`${kind} ${String(name)}`);
          return (stub as unknown as Record<string | symbol, (...all: unknown[]) => unknown>)[name]!(...given);
        },
    });
  const getByName = (name: string) => stubOf(objects.getByName(name));
  return { getByName } as unknown as DurableObjectNamespace;
}
