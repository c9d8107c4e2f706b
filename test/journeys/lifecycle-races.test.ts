import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import type { Version } from "../../src/domain/version.ts";
import type { Env } from "../../src/env.ts";
import { api, newNamespace, newToken, operator, read } from "../harness.ts";
import { Injector } from "./faults/injector.ts";
import { look, withoutRevision } from "./faults/reader.ts";
import { call, done, inFolders, notes, post, publishes, twoReleases, yank } from "./faults/scenarios.ts";
import type { Scenario } from "./faults/scenarios.ts";
import { putBack, take } from "./faults/snapshot.ts";
import type { Snapshot } from "./faults/snapshot.ts";

import { everyNth } from "../campaigns/scale.ts";
/**
 * Two changes of one skill at once. The second one runs from beginning to end before each call of the first, and then
 * both run side by side. Whatever comes first, the end has to be that of one after the other.
 */
type Change = Scenario["request"];

const publishNext = post(notes("third"));
const publishHidden = post(notes("third"), "?visibility=private");
const publishSame = post(notes("second"));
const yankCurrent = call("PATCH", "notes/-/releases/1.0.1", { yanked: true });
const yankOlder = call("PATCH", "notes/-/releases/1.0.0", { yanked: true });
const unyankOlder = call("PATCH", "notes/-/releases/1.0.0", { yanked: false });
const moveToOlder = call("PATCH", "notes", { current: "1.0.0" });
const hide = call("PATCH", "notes", { visibility: "private" });
const remove = call("DELETE", "notes");
const pruneAllBut = (...skills: string[]) =>
  post(inFolders(Object.fromEntries(skills.map((name) => [name, "new"]))), "?path=team&prune=true");

interface Race {
  name: string;
  prepare: Scenario["prepare"];
  one: Change;
  other: Change;
  /** Both say the same: the second to come changes nothing and still counts as a revision. */
  isTwice?: boolean;
}

const team = publishes([inFolders({ one: "old", two: "old", gone: "old" }), "?path=team&prune=true"]);
const withOlderYanked = async (namespace: Namespace) => {
  await twoReleases(namespace);
  await yank(namespace, "1.0.0");
};

const races: Race[] = [
  { name: "a publish and a yank of current", prepare: twoReleases, one: publishNext, other: yankCurrent },
  { name: "the same bytes again and a yank of current", prepare: twoReleases, one: publishSame, other: yankCurrent },
  { name: "a move of current and a yank of its target", prepare: twoReleases, one: moveToOlder, other: yankOlder },
  { name: "a move of current and a yank of current", prepare: twoReleases, one: moveToOlder, other: yankCurrent },
  { name: "yanks of both releases", prepare: twoReleases, one: yankOlder, other: yankCurrent },
  { name: "one yank twice", prepare: twoReleases, one: yankCurrent, other: yankCurrent, isTwice: true },
  { name: "an un-yank and a yank", prepare: withOlderYanked, one: unyankOlder, other: yankCurrent },
  { name: "an un-yank and a delete", prepare: withOlderYanked, one: unyankOlder, other: remove },
  { name: "hiding a skill and a publish", prepare: twoReleases, one: hide, other: publishNext },
  { name: "hiding a skill and a move of current", prepare: twoReleases, one: hide, other: moveToOlder },
  { name: "hiding a skill and a delete", prepare: twoReleases, one: hide, other: remove },
  {
    name: "a first publish that hides and one that does not",
    prepare: publishes(),
    one: post(notes("first"), "?version=2.0.0&visibility=private"),
    other: post(notes("second"), "?version=1.0.0"),
  },
  { name: "a publish that hides and a delete", prepare: twoReleases, one: publishHidden, other: remove },
  { name: "a yank and a delete", prepare: twoReleases, one: yankCurrent, other: remove },
  { name: "one delete twice", prepare: twoReleases, one: remove, other: remove, isTwice: true },
  { name: "two prunes", prepare: team, one: pruneAllBut("one"), other: pruneAllBut("two") },
  {
    name: "a prune and a publish of what it prunes",
    prepare: team,
    one: pruneAllBut("one", "two"),
    other: post(notes("late"), "?path=team/notes"),
  },
  {
    name: "a prune and a delete of what it prunes",
    prepare: team,
    one: pruneAllBut("one"),
    other: call("DELETE", "team/gone"),
  },
];

async function send(namespace: Namespace, change: Change, bindings: Env = env): Promise<number> {
  return (await read(await app.fetch(change(namespace, operator), bindings, createExecutionContext()))).status;
}

/** Every release that any order of the changes can bring about. */
const releases = ["1.0.0", "1.0.1", "1.0.2", "1.0.3", "2.0.0"].map((version) => release("notes", version));
const releasesOfTeam = ["team/one", "team/two", "team/gone", "team/notes"].flatMap((path) =>
  ["1.0.0", "1.0.1"].map((version) => release(path, version)),
);

function release(path: string, version: string) {
  return { path: path as SkillPath, version: version as Version };
}

const revisionIn = (state: string): number => (JSON.parse(state) as { revision: number }).revision;

/** What no order of changes may ever bring about. */
async function expectSound(namespace: Namespace): Promise<void> {
  const broken = await env.DB.prepare(
    `SELECT path, 'current is not living' AS what FROM skills s WHERE namespace = ?1 AND current IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.namespace = ?1 AND r.path = s.path AND r.version = s.current
         AND r.yanked_at IS NULL)
     UNION ALL
     SELECT path, 'a living release, but none is current' FROM skills s WHERE namespace = ?1 AND current IS NULL
       AND EXISTS (SELECT 1 FROM releases r WHERE r.namespace = ?1 AND r.path = s.path AND r.yanked_at IS NULL)
     UNION ALL
     SELECT path, 'a deleted skill has a release' FROM skills s WHERE namespace = ?1 AND deleted_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM releases r WHERE r.namespace = ?1 AND r.path = s.path)
     UNION ALL
     SELECT path, 'a version was used twice' FROM releases JOIN spent_versions USING (namespace, path, version)
       WHERE namespace = ?1`,
  )
    .bind(namespace)
    .all();
  expect(broken.results).toEqual([]);
  const ids = async (table: string) =>
    (await env.DB.prepare(`SELECT id, shelf FROM ${table} WHERE namespace = ?1 ORDER BY id`).bind(namespace).all())
      .results;
  expect(await ids("search_docs")).toEqual(await ids("search_due"));
}

describe.each(races)("$name", ({ prepare, one, other, isTwice }) => {
  let namespace: Namespace;
  let empty: Snapshot;
  let start: Snapshot;
  const observe = () => look({ namespace, releases: prepare === team ? releasesOfTeam : releases });
  let started: number;
  let calls: number;
  let serial: string[];

  beforeAll(async () => {
    namespace = (await newNamespace()) as Namespace;
    empty = await take(namespace);
    await prepare(namespace);
    start = await take(namespace);
    started = revisionIn(await observe());
    const counting = new Injector(env, new Map());
    await send(namespace, one, counting.env);
    calls = counting.calls.length;
    await send(namespace, other);
    serial = [await observe()];
    await putBack(start);
    await send(namespace, other);
    await send(namespace, one);
    serial.push(await observe());
  });

  // The next race finds no bytes stored.
  afterAll(() => putBack(empty));

  async function expectSerial(statuses: number[]): Promise<void> {
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    await expectSound(namespace);
    const end = await observe();
    const orders = serial.filter((state) => withoutRevision(state) === withoutRevision(end));
    expect(orders, `neither order ends like this: ${statuses.join()} ${end}`).not.toEqual([]);
    const revisions = isTwice === true ? [started + 1, started + 2] : orders.map(revisionIn);
    expect(revisions).toContain(revisionIn(end));
  }

  it("ends like one after the other, wherever the second slips in", async () => {
    for (const moment of everyNth([...Array(calls).keys()], 3)) {
      await putBack(start);
      let made = 0;
      let slipped: Promise<number> | undefined;
      const injector = new Injector(env, new Map(), {
        beforeCall: async () => {
          if (made++ === moment) await (slipped = send(namespace, other));
        },
      });
      const status = await send(namespace, one, injector.env);
      await expectSerial([status, await slipped!]);
    }
  });

  it("ends like one after the other when both run side by side", async () => {
    for (let round = 0; round < 3; round++) {
      await putBack(start);
      await expectSerial(await Promise.all([send(namespace, one), send(namespace, other)]));
    }
  });
});

describe("three at once", () => {
  it("publish, delete, publish: no version is used twice, whatever survives", async () => {
    const namespace = (await newNamespace()) as Namespace;
    await twoReleases(namespace);
    const start = await take(namespace);
    const again = post(notes("fourth"));
    for (let round = 0; round < 6; round++) {
      await putBack(start);
      const statuses = await Promise.all([publishNext, remove, again].map((change) => send(namespace, change)));
      expect(statuses).toEqual([201, 204, 201]);
      await expectSound(namespace);
      const used = await env.DB.prepare(
        `SELECT version FROM releases WHERE namespace = ?1 UNION ALL
         SELECT version FROM spent_versions WHERE namespace = ?1 ORDER BY version`,
      )
        .bind(namespace)
        .all<{ version: string }>();
      expect(used.results.map((row) => row.version)).toEqual(["1.0.0", "1.0.1", "1.0.2", "1.0.3"]);
      expect(revisionIn(await look({ namespace, releases }))).toBe(5);
    }
  });
});

describe("a token revoked during an upload", () => {
  it("publishes nothing, at whichever moment, and nothing after that", async () => {
    for (let moment = 0; ; moment++) {
      const namespace = (await newNamespace()) as Namespace;
      const token = await newToken(namespace, "publisher");
      // Its first use in an hour is written down beside the work, which is no moment of the upload.
      await api("GET", `/namespaces/${namespace}/skills`, undefined, token);
      const before = await look({ namespace, releases });
      let made = 0;
      const injector = new Injector(env, new Map(), {
        beforeCall: async () => {
          if (made++ === moment) await revoke(namespace);
        },
      });
      const { status } = await read(
        await app.fetch(publishNext(namespace, token), injector.env, createExecutionContext()),
      );
      if (made <= moment) return;
      const after = await look({ namespace, releases });
      expect(status).toBe(401);
      expect(after).toBe(before);
      expect((await read(await app.fetch(publishNext(namespace, token), env, createExecutionContext()))).status).toBe(
        401,
      );
    }
  });

  async function revoke(namespace: Namespace): Promise<void> {
    const { body } = await api("GET", `/namespaces/${namespace}/tokens`);
    const [{ id }] = body["tokens"] as [{ id: string }];
    await done(api("DELETE", `/namespaces/${namespace}/tokens/${id}`));
  }
});
