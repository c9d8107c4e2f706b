import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import { app } from "../../../src/app.ts";
import type { Namespace } from "../../../src/domain/names.ts";
import { newNamespace, newToken, read } from "../../harness.ts";
import type { Answer } from "../../harness.ts";
import { Injector, secret } from "./injector.ts";
import type { Call, Plan } from "./injector.ts";
import { glance, listIn, look, withoutRevision } from "./reader.ts";
import type { World } from "./reader.ts";
import type { Scenario } from "./scenarios.ts";
import { putBack, take } from "./snapshot.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * A scenario with the two states between which there is nothing: how readers see the namespace before the request,
 * and after it. Every run begins at `before`, lets attempts fail as planned, retries, and has to end at `after`.
 */
export interface Run {
  /** One plan for each attempt; a healthy retry follows them all. */
  plans: readonly Plan[];
  /** At every call, or only while one hangs. Between attempts everything is looked at in any case. */
  looksAtEveryCall?: boolean;
  /** Somebody lists and reads all the time, whatever the publisher does. */
  hasFreeReader?: boolean;
}

export class Stage {
  readonly scenario: Scenario;
  /** The calls of the request when nothing fails. */
  readonly calls: readonly Call[];
  /** Everything that was injected on this stage. */
  readonly injected: string[] = [];
  /** Answers so far that told nothing of their cause: each has to be in the log. */
  unexplained = 0;
  readonly #namespace: Namespace;
  readonly #token: string;
  /** Before anything was published here: its bytes are nobody else's, or the next stage would find them stored. */
  readonly #empty: Snapshot;
  readonly #start: Snapshot;
  readonly #world: World;
  readonly #before: string;
  readonly #after: string;

  private constructor(
    scenario: Scenario,
    setting: { token: string; empty: Snapshot; start: Snapshot; world: World; calls: readonly Call[] },
    states: { before: string; after: string },
  ) {
    this.scenario = scenario;
    this.calls = setting.calls;
    this.#namespace = setting.world.namespace;
    this.#token = setting.token;
    this.#empty = setting.empty;
    this.#start = setting.start;
    this.#world = setting.world;
    this.#before = states.before;
    this.#after = states.after;
  }

  static async open(scenario: Scenario): Promise<Stage> {
    const namespace = (await newNamespace()) as Namespace;
    const empty = await take(namespace);
    await scenario.prepare(namespace);
    const token = await newToken(namespace, "admin");
    const start = await take(namespace);
    const first = await releasesOf(namespace);
    const injector = new Injector(env, new Map());
    const answer = await read(
      await app.fetch(scenario.request(namespace, token), injector.env, createExecutionContext()),
    );
    must(answer.status === scenario.status, `healthy: ${answer.status} ${JSON.stringify(answer.body)}`);
    const releases = [...first];
    for (const release of await releasesOf(namespace)) {
      const isKnown = first.some(({ path, version }) => path === release.path && version === release.version);
      if (!isKnown) releases.push(release);
    }
    const world = { namespace, releases };
    const after = await look(world);
    await putBack(start);
    const before = await look(world);
    return new Stage(scenario, { token, empty, start, world, calls: injector.calls }, { before, after });
  }

  close(): Promise<void> {
    return putBack(this.#empty);
  }

  async run(run: Run): Promise<void> {
    await putBack(this.#start);
    const late: Injector[] = [];
    let state = this.#before;
    for (const plan of run.plans) {
      const { answer, injector } = await this.#attempt(plan, run, state);
      late.push(injector);
      this.injected.push(...injector.injected);
      state = await this.#lookAfter(state);
      this.#checkAnswer(answer, state);
    }
    await this.#retry(state);
    if (!run.plans.some((plan) => [...plan.values()].includes("late"))) return;
    for (const injector of late) await injector.deliver();
    // The revision alone may have risen once more: a change that says what is already so does not look whether it is.
    const end = await look(this.#world);
    must(withoutRevision(end) === withoutRevision(this.#after), `what arrived late changed what was there: ${end}`);
  }

  async #attempt(plan: Plan, run: Run, state: string): Promise<{ answer: Answer | undefined; injector: Injector }> {
    const violations: unknown[] = [];
    // What is wrong is kept until the end: thrown here, the program would take it for one more fault.
    const observe = async () => {
      try {
        const list = await glance(this.#namespace);
        must(this.#isEither(list), `a list of neither state: ${list}`);
      } catch (error) {
        violations.push(error);
      }
    };
    let isAnswered = false;
    const injector = new Injector(env, plan, {
      ...(run.looksAtEveryCall === true ? { beforeCall: observe, afterCall: observe } : {}),
      onHang: async () => {
        must(!isAnswered, "the request was answered although one of its calls still hangs");
        await observe();
      },
    });
    const reader =
      run.hasFreeReader === true ? new FreeReader(this.#namespace, listIn(state), listIn(this.#after)) : undefined;
    const request = this.scenario.request(this.#namespace, this.#token);
    const answered = Promise.resolve(app.fetch(request, injector.env, createExecutionContext())).then(read);
    const answer = await Promise.race([answered, injector.crash.then(() => undefined)]);
    isAnswered = true;
    await injector.end();
    await reader?.stop();
    if (violations.length > 0) throw violations[0] as Error;
    return { answer, injector };
  }

  #isEither(list: string): boolean {
    return list === listIn(this.#before) || list === listIn(this.#after);
  }

  /** Everything changed, or nothing; and what changed once does not change back. */
  async #lookAfter(earlier: string): Promise<string> {
    const state = await look(this.#world);
    must(state === this.#before || state === this.#after, `a mixture: ${state}`);
    must(earlier === this.#before || state === earlier, "what was visible is gone");
    return state;
  }

  /** Either the answer to the request, or a problem that tells nothing of what went wrong inside. */
  #checkAnswer(answer: Answer | undefined, state: string): void {
    if (answer === undefined) return;
    const { status, statusAgain } = this.scenario;
    const text = JSON.stringify(answer.body);
    if (status === answer.status || statusAgain === answer.status) {
      must(state === this.#after, `answered ${answer.status}, but nothing changed`);
      return;
    }
    if (answer.body["code"] === "internal") this.unexplained++;
    must(answer.status >= 500 && answer.status < 600, `a fault of ours is answered ${answer.status}: ${text}`);
    must(answer.headers.get("content-type") === "application/problem+json", "the answer is no problem");
    must(Object.keys(answer.body).sort().join() === "code,detail,status,title,type", `not only a problem: ${text}`);
    must(answer.body["code"] === "internal" || answer.body["code"] === "busy", `the code is ${text}`);
    must(!/D1|R2|SQL|\.ts|at \w+ \(/.test(text) && !text.includes(secret), `the answer tells too much: ${text}`);
  }

  /** The same request with nothing that fails. */
  async #retry(state: string): Promise<void> {
    const { status, statusAgain, isKeyed } = this.scenario;
    const hasHappened = isKeyed === true ? await hasReceipt(this.#namespace) : state === this.#after;
    const answer = await this.#send();
    const isReplay = answer.headers.get("idempotent-replayed") === "true";
    must(
      answer.status === (hasHappened ? statusAgain : status),
      `the retry: ${answer.status} ${JSON.stringify(answer.body)}`,
    );
    must(isReplay === (isKeyed === true && hasHappened), "an answer is repeated exactly if it was kept");
    must((await look(this.#world)) === this.#after, "the retry did not end where the request would have");
    if (isKeyed !== true) return;
    const again = await this.#send();
    must(again.headers.get("idempotent-replayed") === "true", "a second retry is not answered by the key");
    must(JSON.stringify(again.body) === JSON.stringify(answer.body), "a second retry has another answer");
  }

  async #send(): Promise<Answer> {
    return read(await app.fetch(this.scenario.request(this.#namespace, this.#token), env, createExecutionContext()));
  }
}

/** Lists and reads without pause. Lists go from one state to the other once, and never back. */
class FreeReader {
  #isStopped = false;
  readonly #reading: Promise<void>;

  constructor(namespace: Namespace, before: string, after: string) {
    this.#reading = this.#read(namespace, before, after);
    // Awaited in `stop`; until then nobody else has to know.
    this.#reading.catch(() => {});
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#reading;
  }

  async #read(namespace: Namespace, before: string, after: string): Promise<void> {
    let last = before;
    while (!this.#isStopped) {
      // Between a list and its reads current may move; a client then lists once more, and there is no second move.
      const list = await glance(namespace).catch(() => glance(namespace));
      must(list === last || list === after, `a list of neither state: ${list}`);
      last = list;
    }
  }
}

async function releasesOf(namespace: Namespace): Promise<World["releases"]> {
  const { results } = await env.DB.prepare(
    `SELECT path, version FROM releases WHERE namespace = ?1 UNION
     SELECT path, version FROM spent_versions WHERE namespace = ?1 ORDER BY 1, 2`,
  )
    .bind(namespace)
    .all<World["releases"][number]>();
  return results;
}

async function hasReceipt(namespace: Namespace): Promise<boolean> {
  return (await env.DB.prepare("SELECT 1 FROM receipts WHERE namespace = ?1").bind(namespace).first()) !== null;
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
