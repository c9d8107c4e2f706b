import { beforeAll, describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { api, newNamespace, newToken, seedSkill, send } from "../harness.ts";
import { snapshot } from "../tenants/answers.ts";

/** What an address does not know is refused: a misspelt `dry_run` would change what was only asked about. */
let namespace: string;

const changes = app.routes.filter(({ path, method }) => path.startsWith("/api/v1/") && !/^(?:GET|ALL)$/.test(method));
const takesDryRun = [
  "PATCH /api/v1/namespaces/:namespace",
  "DELETE /api/v1/namespaces/:namespace",
  "PUT /api/v1/namespaces/:namespace/collections/:name",
  "DELETE /api/v1/namespaces/:namespace/collections/:name",
  "POST /api/v1/namespaces/:namespace/collections/:name/return",
  "PUT /api/v1/namespaces/:namespace/servers/:server",
  "DELETE /api/v1/namespaces/:namespace/servers/:server",
  "POST /api/v1/namespaces/:namespace/skills",
  "PATCH /api/v1/namespaces/:namespace/skills/:rest{.+}",
  "DELETE /api/v1/namespaces/:namespace/skills/:rest{.+}",
];

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "refunds");
  await api("PUT", `/namespaces/${namespace}/collections/desk`, { skills: "all" });
});

function addressOf(path: string): string {
  return path
    .replace("/api/v1", "")
    .replace(":namespace", namespace)
    .replace(":rest{.+}", "refunds")
    .replace(":name", "desk")
    .replace(":server", "jobs")
    .replace(":id", "0123456789abcdef")
    .replace(":secret", "ski_x");
}

describe("a parameter that a change does not know", () => {
  it.each(changes.map(({ method, path }) => [method, path] as const))(
    "is refused by %s %s before anything changes, with those that there are",
    async (method, path) => {
      const before = await snapshot();
      const { status, body } = await api(method, `${addressOf(path)}?dry_rum=true`, {});
      expect([status, body["code"]]).toEqual([400, "invalid_request"]);
      expect(body["detail"]).toContain('no parameter "dry_rum"; there are ');
      expect((body["detail"] as string).includes("dry_run")).toBe(takesDryRun.includes(`${method} ${path}`));
      expect(await snapshot()).toBe(before);
    },
  );

  it("is dry_run itself where nothing can be foretold", async () => {
    for (const { method, path } of changes.filter((one) => !takesDryRun.includes(`${one.method} ${one.path}`))) {
      expect([method, path, (await api(method, `${addressOf(path)}?dry_run=true`, {})).status]).toEqual([
        method,
        path,
        400,
      ]);
    }
    expect(changes.length).toBeGreaterThan(takesDryRun.length);
  });

  it("comes after the credential, and is repeated only so far", async () => {
    const path = `/namespaces/${namespace}?${"x".repeat(5_000)}=1`;
    expect((await api("DELETE", path, undefined, null)).status).toBe(401);
    expect((await api("DELETE", path, undefined, await newToken(namespace, "publisher"))).status).toBe(403);
    const { status, body } = await api("DELETE", path);
    expect(status).toBe(400);
    expect((body["detail"] as string).length).toBeLessThan(300);
  });

  it("dry_run is true or false and said once, or refused", async () => {
    for (const query of ["dry_run=", "dry_run=1", "dry_run=TRUE", "dry_run=false&dry_run=true", "dry_run"]) {
      const { status } = await api("DELETE", `/namespaces/${namespace}?${query}`);
      expect([query, status]).toEqual([query, 400]);
    }
    expect((await api("GET", `/namespaces/${namespace}`)).status).toBe(200);
  });
});

describe("members of a body that nobody knows", () => {
  it("are named, but only so far", async () => {
    const named = await api("POST", "/namespaces", { name: "abc", visibilty: "private" });
    expect(named.body["detail"]).toContain('Unrecognized key: "visibilty"');
    const bodies = [
      { ["k".repeat(50_000)]: 1 },
      Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1])),
    ];
    for (const body of bodies) {
      const { status, body: answer } = await api("POST", "/namespaces", body);
      expect(status).toBe(400);
      expect(answer["detail"]).toContain("Unrecognized key");
      expect((answer["detail"] as string).length).toBeLessThan(500);
    }
  });
});

describe("foretelling what happens to a namespace", () => {
  let mine: string;
  let other: string;
  let admin: string;

  const names = (body: Record<string, unknown>) =>
    (body["collections"] as { namespace: string; name: string }[]).map((one) => `${one.namespace}/${one.name}`);

  beforeAll(async () => {
    [mine, other] = [await newNamespace(), await newNamespace()];
    admin = await newToken(mine, "admin");
    await seedSkill(mine, "one");
    await seedSkill(other, "two");
    const picked = [{ namespace: mine, path: "one" }];
    await api("PUT", `/namespaces/${mine}/collections/all-of-it`, { skills: "all", visibility: "private" });
    await api("PUT", `/namespaces/${mine}/collections/named`, { skills: picked });
    await api("PUT", `/namespaces/${mine}/collections/elsewhere`, { skills: [{ namespace: other, path: "two" }] });
    await api("PUT", `/namespaces/${other}/collections/borrowed`, { skills: picked });
    await api("PUT", `/namespaces/${other}/collections/secretly`, { skills: picked, visibility: "private" });
  });

  it.each([
    ["DELETE", undefined, { visibility: "public", title: "Mine" }],
    ["PATCH", { visibility: "private" }, { visibility: "private", title: "Mine" }],
  ])("%s names the namespace as it would be and the collections that hold its skills", async (method, body, shown) => {
    await api("PATCH", `/namespaces/${mine}`, { title: "Mine" });
    await api("GET", "/me", undefined, admin);
    const before = await snapshot();
    const answer = await api(method, `/namespaces/${mine}?dry_run=true`, body, admin);
    expect([answer.status, answer.body]).toMatchObject([200, { dry_run: true, name: mine, ...shown }]);
    // Its own first; a private collection of others is not betrayed.
    expect(names(answer.body)).toEqual([`${mine}/all-of-it`, `${mine}/named`, `${other}/borrowed`]);
    expect(answer.body["more_collections"]).toBe(false);
    expect(await snapshot()).toBe(before);
    expect((await send(`/mcp/${mine}`, { method: "GET" })).status).not.toBe(401);
  });

  it("names so many collections, and says when there are more", async () => {
    const space = await newNamespace();
    for (let index = 0; index <= 100; index++)
      await api("PUT", `/namespaces/${space}/collections/desk-${index}`, { skills: "all" });
    const { body } = await api("DELETE", `/namespaces/${space}?dry_run=true`);
    expect([names(body).length, body["more_collections"]]).toEqual([100, true]);
  });

  it("is refused to whoever may not do it", async () => {
    for (const method of ["DELETE", "PATCH"]) {
      const ask = async (token: string | null) =>
        (await api(method, `/namespaces/${mine}?dry_run=true`, { title: "x" }, token)).status;
      expect([await ask(null), await ask(await newToken(mine, "publisher"))]).toEqual([401, 403]);
    }
  });
});
