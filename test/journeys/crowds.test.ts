import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { packTarGz, packZip } from "../../src/publish/pack.ts";
import { api, modern, newNamespace, newToken, operator, publish, read, send, skillMdOf, toFiles } from "../harness.ts";
import type { Answer } from "../harness.ts";

const md = (text: string, name = "notes") => ({ "SKILL.md": skillMdOf(name, text) });
const revision = async (namespace: string) => (await api("GET", `/namespaces/${namespace}`)).body["revision"] as number;
const versionOf = (answer: Answer) => (answer.body["release"] as { version: string }).version;

describe("publishers at once", () => {
  it("on one version with other bytes: one 201, one 409", async () => {
    for (let round = 0; round < 5; round++) {
      const namespace = await newNamespace();
      const answers = await Promise.all(["a", "b"].map((text) => publish(namespace, md(text), "?version=1.0.0")));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      expect(await revision(namespace)).toBe(1);
    }
  });

  it("on one version with the same bytes: one 201, the rest 200", async () => {
    const namespace = await newNamespace();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => publish(namespace, md("same"), "?version=1.0.0")),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
    expect(await revision(namespace)).toBe(1);
  });

  it("asking for the next version each get one of their own", async () => {
    const namespace = await newNamespace();
    const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => publish(namespace, md(`text ${index}`))));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(answers.map(versionOf).sort()).toEqual(["1.0.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.0.5"]);
    expect(await revision(namespace)).toBe(6);
  });

  it("a hundred on one namespace: none lost, revisions without gap", async () => {
    const namespace = await newNamespace();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => publish(namespace, md("crowd", `skill-${index}`))),
    );
    expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
    expect(await revision(namespace)).toBe(100);
    const { result } = await modern(`/mcp/${namespace}`, "skills/list");
    expect(new Set((result!["skills"] as { uri: string }[]).map((entry) => entry.uri)).size).toBe(100);
  });

  it("of an inner and an outer path: one is refused", async () => {
    for (let round = 0; round < 5; round++) {
      const namespace = await newNamespace();
      const answers = await Promise.all([
        publish(namespace, md("a", "outer"), "?path=outer"),
        publish(namespace, md("b", "inner"), "?path=outer/inner"),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
  });

  it("and a delete: the skill is either there or not, and no version is used twice", async () => {
    const namespace = await newNamespace();
    await publish(namespace, md("a"));
    const [published, removed] = await Promise.all([
      publish(namespace, md("b")),
      api("DELETE", `/namespaces/${namespace}/skills/notes`),
    ]);
    expect([published.status, removed.status]).toEqual([201, 204]);
    const again = await publish(namespace, md("c"));
    expect([201, 200]).toContain(again.status);
    const spent = await env.DB.prepare(
      "SELECT version FROM spent_versions WHERE namespace = ?1 UNION ALL SELECT version FROM releases WHERE namespace = ?1",
    )
      .bind(namespace)
      .all<{ version: string }>();
    const versions = spent.results.map((row) => row.version);
    expect(new Set(versions).size).toBe(versions.length);
  });
});

describe("a retry without a key", () => {
  it("of a release that was not to become current is a no-op", async () => {
    const namespace = await newNamespace();
    await publish(namespace, md("a"));
    const first = await publish(namespace, md("b"), "?current=false");
    const again = await publish(namespace, md("b"), "?current=false");
    expect([first.status, again.status, versionOf(again)]).toEqual([201, 200, "1.0.1"]);
    expect(await revision(namespace)).toBe(2);
  });
});

describe("two prunes at once", () => {
  it("never withdraw between them what each of them spared", async () => {
    for (let round = 0; round < 6; round++) {
      const namespace = await newNamespace();
      const one = { "one/SKILL.md": skillMdOf("one") };
      const two = { "two/SKILL.md": skillMdOf("two") };
      await publish(namespace, { ...one, ...two }, "?path=team");
      const answers = await Promise.all([one, two].map((files) => publish(namespace, files, "?path=team&prune=true")));
      for (const { status } of answers) expect([200, 201]).toContain(status);
      const { result } = await modern(`/mcp/${namespace}`, "skills/list");
      expect((result!["skills"] as unknown[]).length).toBe(1);
    }
  });
});

describe("an Idempotency-Key", () => {
  const keyed = async (
    namespace: string,
    key: string,
    files: Record<string, string>,
    { query = "", token = operator, kind = "zip" }: { query?: string; token?: string; kind?: string } = {},
  ): Promise<Answer> => {
    const body = kind === "zip" ? packZip(toFiles(files)) : await packTarGz(toFiles(files));
    const headers = {
      authorization: `Bearer ${token}`,
      "idempotency-key": key,
      "content-type": kind === "zip" ? "application/zip" : "application/gzip",
    };
    return read(await send(`/api/v1/namespaces/${namespace}/skills${query}`, { method: "POST", headers, body }));
  };

  it("repeats the first answer, marked as repeated, even when the world has moved on", async () => {
    const namespace = await newNamespace();
    const first = await keyed(namespace, "k1", md("a"));
    await publish(namespace, md("b"));
    const again = await keyed(namespace, "k1", md("a"));
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(again.body).toEqual(first.body);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(await revision(namespace)).toBe(2);
    expect((await keyed(namespace, "k2", md("a"))).status).toBe(201);
  });

  it("covers parameters and files, not their packaging", async () => {
    const namespace = await newNamespace();
    await keyed(namespace, "k", md("a"), { query: "?visibility=public" });
    expect(
      (await keyed(namespace, "k", md("a"), { query: "?visibility=public", kind: "tar.gz" })).headers.get(
        "idempotent-replayed",
      ),
    ).toBe("true");
    for (const [files, query] of [
      [md("b"), "?visibility=public"],
      [md("a"), "?visibility=private"],
      [md("a"), ""],
    ] as const) {
      const reused = await keyed(namespace, "k", files, { query });
      expect([reused.status, reused.body["code"]]).toEqual([422, "idempotency_key_reused"]);
    }
  });

  it("belongs to its principal and its namespace", async () => {
    const [one, two] = [await newNamespace(), await newNamespace()];
    await keyed(one, "k", md("a"));
    expect((await keyed(two, "k", md("b"))).status).toBe(201);
    expect((await keyed(one, "k", md("c"), { token: await newToken(one, "publisher") })).status).toBe(201);
  });

  it("keeps only successes: a refused request may be mended and sent again", async () => {
    const namespace = await newNamespace();
    expect((await keyed(namespace, "k", { "SKILL.md": "broken" })).status).toBe(422);
    expect((await keyed(namespace, "k", md("a"))).status).toBe(201);
    const noop = await keyed(namespace, "k-noop", md("a"));
    expect(noop.status).toBe(200);
    expect((await keyed(namespace, "k-noop", md("a"))).headers.get("idempotent-replayed")).toBe("true");
  });

  it("does nothing in a dry run", async () => {
    const namespace = await newNamespace();
    expect((await keyed(namespace, "k", md("a"), { query: "?dry_run=true" })).status).toBe(200);
    expect((await keyed(namespace, "k", md("b"))).status).toBe(201);
  });

  it("sent by a crowd at once has one effect and one answer", async () => {
    const namespace = await newNamespace();
    const answers = await Promise.all(Array.from({ length: 8 }, () => keyed(namespace, "k", md("a"))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body);
    expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
    expect(await revision(namespace)).toBe(1);
  });

  it("is forgotten after a day", async () => {
    const namespace = await newNamespace();
    await keyed(namespace, "k", md("a"));
    await env.DB.prepare("UPDATE receipts SET created_at = created_at - 86400001 WHERE namespace = ?1")
      .bind(namespace)
      .run();
    const later = await keyed(namespace, "k", md("b"));
    expect([later.status, later.headers.get("idempotent-replayed")]).toEqual([201, null]);
  });

  it.each(["", " ", "é", "x".repeat(256), "a b"])("%j is refused", async (key) => {
    const namespace = await newNamespace();
    const headers = { authorization: `Bearer ${operator}`, "idempotency-key": key, "content-type": "application/zip" };
    const attempt = async () =>
      send(`/api/v1/namespaces/${namespace}/skills`, { method: "POST", headers, body: packZip(toFiles(md("a"))) });
    const status = await attempt().then(
      (response) => response.status,
      () => 400,
    );
    expect(status).toBe(400);
  });
});
