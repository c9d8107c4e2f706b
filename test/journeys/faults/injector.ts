import type { Env } from "../../../src/env.ts";

/**
 * Bindings that fail on purpose. Every call that leaves the isolate is counted in the order in which it is made; the
 * plan says which of them fail, and how.
 */
export const kindsOfRead = ["refused", "lost", "hung"] as const;
export const kindsOfWrite = [...kindsOfRead, "hung and lost", "crashed before", "crashed after", "late"] as const;

/**
 * refused         the call is never made, and fails at once
 * lost            the call is made, its answer is lost
 * hung            the call is never made; nobody says so before the deadline
 * hung and lost   the call is made, its answer is awaited until the deadline
 * crashed before  the isolate ends at this call; nothing after it happens
 * crashed after   the same, with the call made
 * late            the deadline passes, and the call arrives after everything else, when `deliver` is called
 */
export type FaultKind = (typeof kindsOfWrite)[number];

export interface Call {
  name: string;
  isWrite: boolean;
}

export type Plan = ReadonlyMap<number, FaultKind>;

export interface Watch {
  beforeCall?: (call: Call) => Promise<void>;
  /** Before the answer is given. */
  afterCall?: (call: Call) => Promise<void>;
  /** While a call hangs: its deadline is over when this is. */
  onHang?: (call: Call) => Promise<void>;
}

/** No answer may ever repeat this. */
export const secret = "only-the-log-may-say-this";

const statementCalls = new Set(["first", "all", "run", "raw"]);
const bucketCalls = new Set(["put", "get", "head", "delete", "list"]);

type Method = (...parameters: unknown[]) => Promise<unknown>;

export class Injector {
  readonly calls: Call[] = [];
  readonly injected: string[] = [];
  readonly env: Env;
  /** Resolves when the isolate ends. */
  readonly crash: Promise<void>;
  readonly #plan: Plan;
  readonly #watch: Watch;
  readonly #statements = new WeakMap<D1PreparedStatement, { real: D1PreparedStatement; sql: string }>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #late: (() => Promise<unknown>)[] = [];
  #isOver = false;
  #announceCrash: () => void = () => {};

  constructor(real: Env, plan: Plan, watch: Watch = {}) {
    this.#plan = plan;
    this.#watch = watch;
    this.crash = new Promise((resolve) => (this.#announceCrash = resolve));
    this.env = { ...real, DB: this.#database(real.DB), BLOBS: this.#bucket(real.BLOBS) };
  }

  /** The request is over: calls under way arrive, but whoever made them makes no further ones. */
  async end(): Promise<void> {
    this.#isOver = true;
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** What was late arrives. How it ends nobody learns any more. */
  async deliver(): Promise<void> {
    await Promise.allSettled(this.#late.splice(0).map((call) => call()));
  }

  #database(real: D1Database): D1Database {
    return new Proxy(real, {
      get: (_, name) => {
        if (name === "prepare") return (sql: string) => this.#statement(real.prepare(sql), sql);
        if (name !== "batch") throw new Error(`the injector does not know db.${String(name)}`);
        return (wrapped: D1PreparedStatement[]) => {
          const statements = wrapped.map((statement) => this.#statements.get(statement)!);
          const sql = statements.map((statement) => statement.sql).join(";");
          return this.#call(describe("batch", sql), () => real.batch(statements.map((statement) => statement.real)));
        };
      },
    });
  }

  #statement(real: D1PreparedStatement, sql: string): D1PreparedStatement {
    const wrapped: D1PreparedStatement = new Proxy(real, {
      get: (_, name) => {
        if (name === "bind") return (...parameters: unknown[]) => this.#statement(real.bind(...parameters), sql);
        if (!statementCalls.has(String(name))) throw new Error(`the injector does not know .${String(name)}`);
        const method = Reflect.get(real, name) as Method;
        return (...all: unknown[]) => this.#call(describe(String(name), sql), () => method.apply(real, all));
      },
    });
    this.#statements.set(wrapped, { real, sql });
    return wrapped;
  }

  #bucket(real: R2Bucket): R2Bucket {
    return new Proxy(real, {
      get: (_, name) => {
        if (!bucketCalls.has(String(name))) throw new Error(`the injector does not know bucket.${String(name)}`);
        const method = Reflect.get(real, name) as Method;
        const call = { name: `R2 ${String(name)}`, isWrite: name === "put" || name === "delete" };
        return (...all: unknown[]) => this.#call(call, () => method.apply(real, all));
      },
    });
  }

  async #call<Answer>(call: Call, real: () => Promise<Answer>): Promise<Answer> {
    if (this.#isOver) return never();
    const fault = this.#plan.get(this.calls.push(call) - 1);
    await this.#watch.beforeCall?.(call);
    if (fault !== undefined) {
      this.injected.push(`${fault}: ${call.name}`);
      return this.#fail(fault, call, real);
    }
    const answer = await this.#make(real);
    await this.#watch.afterCall?.(call);
    return this.#isOver ? never() : answer;
  }

  async #fail<Answer>(fault: FaultKind, call: Call, real: () => Promise<Answer>): Promise<Answer> {
    const isMade = fault === "lost" || fault === "hung and lost" || fault === "crashed after";
    if (isMade) await this.#make(real).catch(() => {});
    if (fault === "late") this.#late.push(real);
    if (fault === "crashed before" || fault === "crashed after") {
      this.#isOver = true;
      this.#announceCrash();
      return never();
    }
    const hangs = fault === "hung" || fault === "hung and lost" || fault === "late";
    if (hangs) await this.#watch.onHang?.(call);
    if (this.#isOver) return never();
    throw new Error(`${call.name}: ${hangs ? "the deadline is over" : "network connection lost"} (${secret})`);
  }

  async #make<Answer>(real: () => Promise<Answer>): Promise<Answer> {
    const made = real();
    this.#underWay.add(made);
    try {
      return await made;
    } finally {
      this.#underWay.delete(made);
    }
  }
}

/** What an isolate that ended hears of its calls. */
function never<Answer>(): Promise<Answer> {
  return new Promise(() => {});
}

/** The tables that a statement writes tell one call from another better than its text. */
function describe(method: string, sql: string): Call {
  const written = [...sql.matchAll(/\b(INSERT INTO|UPDATE|DELETE FROM) ([a-z_]+)/g)].map((match) => match[2]!);
  const tables = [...new Set(written)];
  return { name: `D1 ${method} ${tables.length > 0 ? `to ${tables.join(", ")}` : "read"}`, isWrite: tables.length > 0 };
}
