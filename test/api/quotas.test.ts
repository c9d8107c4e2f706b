import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { packZip } from "../../src/publish/pack.ts";
import {
  api,
  newNamespace,
  newToken,
  operator,
  origin,
  publish,
  read,
  skillMdOf,
  toFiles,
  upload,
} from "../harness.ts";
import type { Answer } from "../harness.ts";

const day = Date.parse("2026-12-01T00:00:00Z");
const dayMs = 86_400_000;
let namespace: string;

// Three quarters into a day, which passes only where a test says so.
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: day + 0.75 * dayMs });
  namespace = await newNamespace();
});
afterEach(() => void vi.useRealTimers());

const nothingSet = { skills: null, bytes: null, publishes_a_day: null };
const quotas = () => api("GET", `/namespaces/${namespace}/quotas`);
const setQuotas = (change: Record<string, unknown>) =>
  api("PUT", `/namespaces/${namespace}/quotas`, { ...nothingSet, ...change });
const put = (name: string, query = "", more = {}) =>
  publish(namespace, { "SKILL.md": skillMdOf(name), ...more }, `?path=${name}${query}`);
const used = async () => {
  const { skills, bytes, publishes_a_day: publishes } = (await quotas()).body as Record<string, { used: number }>;
  return [skills!.used, bytes!.used, publishes!.used];
};
const sizeOf = (name: string) => skillMdOf(name).length;

/** A publish with other vars or another database than the tests have. */
async function publishWith(vars: Partial<Env>, name: string): Promise<Answer> {
  const context = createExecutionContext();
  const request = new Request(`${origin}/api/v1/namespaces/${namespace}/skills`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator}`, "content-type": "application/zip" },
    body: packZip(toFiles({ "SKILL.md": skillMdOf(name) })),
  });
  const response = await worker.fetch(request, { ...env, ...vars }, context);
  await waitOnExecutionContext(context);
  return read(response);
}

describe("the quotas of a namespace", () => {
  it("say what is used of each, and when the day ends", async () => {
    await put("alpha");
    await put("alpha", "", { "more.md": "more" });
    await put("beta");
    expect((await quotas()).body).toEqual({
      skills: { limit: 1_000_000_000, is_default: true, used: 2 },
      bytes: { limit: 1_000_000_000_000, is_default: true, used: 2 * sizeOf("alpha") + 4 + sizeOf("beta") },
      publishes_a_day: { limit: 1_000_000_000, is_default: true, used: 3 },
      listeners: { limit: 2_000, is_default: true, used: 0 },
      day_ends_at: "2026-12-02T00:00:00.000Z",
    });
  });

  it("are shown to whoever publishes, and to no reader or stranger", async () => {
    const ask = async (token: string | null) =>
      (await api("GET", `/namespaces/${namespace}/quotas`, undefined, token)).status;
    expect(await ask(await newToken(namespace, "publisher"))).toBe(200);
    expect(await ask(await newToken(namespace, "reader"))).toBe(403);
    expect(await ask(null)).toBe(401);
    expect(await ask(await newToken(await newNamespace(), "admin"))).toBe(403);
  });

  it("are set by the operator alone", async () => {
    const admin = await newToken(namespace, "admin");
    expect((await api("PUT", `/namespaces/${namespace}/quotas`, nothingSet, admin)).status).toBe(403);
    const { status, body } = await setQuotas({ skills: 7 });
    expect([status, body["skills"]]).toEqual([200, { limit: 7, is_default: false, used: 0 }]);
    expect((await setQuotas({})).body["skills"]).toMatchObject({ limit: 1_000_000_000, is_default: true });
  });

  it("are set all three at once, each a whole number or null", async () => {
    const send = async (body: unknown) => (await api("PUT", `/namespaces/${namespace}/quotas`, body)).status;
    expect(await send({ skills: 7 })).toBe(400);
    expect(await send({ ...nothingSet, skills: -1 })).toBe(400);
    expect(await send({ ...nothingSet, skills: 1.5 })).toBe(400);
    expect(await send({ ...nothingSet, skill: 1 })).toBe(400);
    expect((await api("PUT", "/namespaces/nobody-here/quotas", nothingSet)).status).toBe(404);
    expect((await api("POST", `/namespaces/${namespace}/quotas`, nothingSet)).headers.get("allow")).toBe(
      "GET, HEAD, PUT",
    );
  });

  it("leave a line in the audit log, with what they were", async () => {
    await setQuotas({ skills: 7 });
    await setQuotas({ skills: 8, bytes: 9 });
    const { results } = await env.DB.prepare(
      `SELECT principal, action, target, before, after FROM audit WHERE namespace = ?1 AND action = 'set-quotas'
       ORDER BY id DESC`,
    )
      .bind(namespace)
      .all();
    expect(results[0]).toEqual({
      principal: "operator",
      action: "set-quotas",
      target: "quotas",
      before: JSON.stringify({ ...nothingSet, skills: 7 }),
      after: JSON.stringify({ ...nothingSet, skills: 8, bytes: 9 }),
    });
  });

  it("are 5,000 skills, 5 GiB and 2,000 releases a day where neither vars nor operator say otherwise", async () => {
    const context = createExecutionContext();
    const request = new Request(`${origin}/api/v1/namespaces/${namespace}/quotas`, {
      headers: { authorization: `Bearer ${operator}` },
    });
    const vars = { QUOTA_SKILLS: "", QUOTA_BYTES: "much", QUOTA_PUBLISHES_A_DAY: "-1" };
    const { body } = await read(await worker.fetch(request, { ...env, ...vars }, context));
    expect(body).toMatchObject({
      skills: { limit: 5_000 },
      bytes: { limit: 5 * 1024 ** 3 },
      publishes_a_day: { limit: 2_000 },
    });
  });
});

describe("a publish above a quota", () => {
  it("is refused with the quota, its limit, what is used, what it would add, and who raises it", async () => {
    await put("alpha");
    await setQuotas({ skills: 1 });
    const { status, body } = await put("beta");
    expect([status, body["code"]]).toEqual([403, "quota_exceeded"]);
    expect(body["detail"]).toBe(
      "The namespace may have 1 skills, has 1, and this would add 1. " +
        `The operator raises it with PUT /api/v1/namespaces/${namespace}/quotas`,
    );
    expect(await used()).toEqual([1, sizeOf("alpha"), 1]);
  });

  it("is refused for the deployment's default as for the namespace's own", async () => {
    await put("alpha");
    expect((await publishWith({ QUOTA_SKILLS: "1" }, "beta")).status).toBe(403);
    await setQuotas({ skills: 2 });
    expect((await publishWith({ QUOTA_SKILLS: "1" }, "beta")).status).toBe(201);
  });

  it("is refused before a byte of it is stored, and in a dry run", async () => {
    await setQuotas({ bytes: sizeOf("alpha") - 1 });
    const before = (await env.BLOBS.list()).objects.length;
    const real = await put("alpha");
    const dry = await put("alpha", "&dry_run=true");
    expect([real.status, dry.status]).toEqual([403, 403]);
    expect(real.body["detail"]).toContain(`${sizeOf("alpha") - 1} bytes of releases, has 0`);
    expect((await env.BLOBS.list()).objects.length).toBe(before);
    await setQuotas({ bytes: sizeOf("alpha") });
    expect((await put("alpha", "&dry_run=true")).status).toBe(200);
    expect((await put("alpha")).status).toBe(201);
  });

  it("counts a folder of skills together, and takes all of it or none", async () => {
    await setQuotas({ skills: 2 });
    const folder = (names: string[]) =>
      upload(
        namespace,
        packZip(toFiles(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillMdOf(name)])))),
        "application/zip",
      );
    expect((await folder(["a", "b", "c"])).status).toBe(403);
    expect(await used()).toEqual([0, 0, 0]);
    expect((await folder(["a", "b"])).status).toBe(201);
    expect((await folder(["a", "b"])).status).toBe(200);
  });

  it("names every quota that is too small", async () => {
    await setQuotas({ skills: 0, bytes: 1, publishes_a_day: 0 });
    const { body, headers } = await put("alpha");
    expect(body["detail"]).toMatch(/0 skills, .*1 bytes of releases, .*0 releases a day \(UTC\), /);
    expect(headers.get("retry-after")).toBeNull();
  });

  it("waits for the next day where only the day's releases are used up", async () => {
    await put("alpha");
    await setQuotas({ publishes_a_day: 1 });
    const refused = await put("beta");
    expect(refused.headers.get("retry-after")).toBe(String(0.25 * 86_400));
    expect(refused.body["detail"]).toContain("The day ends at 2026-12-02T00:00:00.000Z.");
    vi.setSystemTime(day + dayMs);
    expect((await put("beta")).status).toBe(201);
    expect((await used())[2]).toBe(1);
    expect((await put("gamma")).status).toBe(403);
  });

  it("that began before midnight and ends after it does not bring the old day back", async () => {
    vi.setSystemTime(day + dayMs);
    await put("alpha");
    vi.setSystemTime(day + dayMs - 1);
    await put("beta");
    vi.setSystemTime(day + dayMs);
    expect((await used())[2]).toBe(2);
  });

  it("gets the last place for one of two that want it at once", async () => {
    await setQuotas({ skills: 1 });
    const answers = await Promise.all(["a", "b", "c", "d"].map((name) => put(name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
    const refused = answers.find(({ status }) => status === 403)!;
    expect(refused.body["detail"]).toContain("may have 1 skills, has 1, and this would add 1");
    expect((await used())[0]).toBe(1);
  });

  it.each(["max_skills", "max_bytes", "max_publishes_per_day"])(
    "is refused by the batch itself where %s shrank while it was under way",
    async (column) => {
      let isShrunk = false;
      const db = new Proxy(env.DB, {
        get(target, name) {
          if (name !== "batch") return target.prepare.bind(target);
          return async (statements: (D1PreparedStatement & { statement: string })[]) => {
            if (!isShrunk && statements.some(({ statement }) => statement.includes("INSERT INTO releases"))) {
              isShrunk = true;
              await target.prepare(`UPDATE namespaces SET ${column} = 0 WHERE name = ?1`).bind(namespace).run();
            }
            return target.batch(statements);
          };
        },
      });
      const { status, body } = await publishWith({ DB: db }, "alpha");
      expect([isShrunk, status, body["code"]]).toEqual([true, 403, "quota_exceeded"]);
      expect(await used()).toEqual([0, 0, 0]);
    },
  );
});

describe("above a quota", () => {
  it("a skill that is there already takes another release, if bytes and day allow", async () => {
    await put("alpha");
    await setQuotas({ skills: 0 });
    expect((await put("alpha", "", { "more.md": "more" })).status).toBe(201);
  });

  it("the same bytes are still nothing new, and yanking, hiding and deleting are possible", async () => {
    await put("alpha");
    await setQuotas({ skills: 0, bytes: 0, publishes_a_day: 0 });
    expect((await put("alpha")).status).toBe(200);
    expect((await put("alpha", "&visibility=private")).status).toBe(200);
    const skill = `/namespaces/${namespace}/skills/alpha`;
    expect((await api("PATCH", `${skill}/-/releases/1.0.0`, { yanked: true })).status).toBe(200);
    expect((await api("PATCH", `${skill}/-/releases/1.0.0`, { yanked: false })).status).toBe(200);
    expect((await api("DELETE", skill)).status).toBe(204);
  });

  it("deleting gives back the place and the bytes, not the day's release", async () => {
    await setQuotas({ skills: 1, bytes: sizeOf("alpha") });
    await put("alpha");
    await api("DELETE", `/namespaces/${namespace}/skills/alpha`);
    expect(await used()).toEqual([0, 0, 1]);
    expect((await put("omega")).status).toBe(201);
  });

  it("a deleted skill that is published again takes a place again", async () => {
    await put("alpha");
    await api("DELETE", `/namespaces/${namespace}/skills/alpha`);
    await setQuotas({ skills: 0 });
    expect((await put("alpha")).status).toBe(403);
    await setQuotas({ skills: 1 });
    expect((await put("alpha")).status).toBe(201);
    expect((await used())[0]).toBe(1);
  });
});
