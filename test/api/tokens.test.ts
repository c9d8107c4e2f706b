import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken, operator, publish, seedSkill, skillMdOf } from "../harness.ts";
import { actionsOf, apiOf, newMember } from "./tenancy.ts";

const mint = async (namespace: string, input: unknown, token?: string) =>
  api("POST", `/namespaces/${namespace}/tokens`, input, token);

const publishAs = (namespace: string, path: string, token: string) =>
  publish(namespace, { "SKILL.md": skillMdOf(path.split("/").at(-1)!) }, `?path=${path}`, token);

describe("a token's rights", () => {
  it.each([
    [{}, "publisher", ["skills:read", "skills:publish", "collections:write"]],
    [{ role: "reader" }, "reader", ["skills:read"]],
    [
      { role: "admin" },
      "admin",
      ["skills:read", "skills:publish", "collections:write", "audit:read", "namespace:admin"],
    ],
    [{ scopes: ["skills:publish"] }, "publisher", ["skills:read", "skills:publish"]],
    [{ scopes: ["skills:read", "skills:read"] }, "reader", ["skills:read"]],
    [{ scopes: ["audit:read"] }, "admin", ["skills:read", "audit:read"]],
    [{ path: "billing" }, "publisher", ["skills:read", "skills:publish"]],
    [{ path: "billing", role: "reader" }, "reader", ["skills:read"]],
    [{ path: "billing", scopes: ["skills:publish"] }, "publisher", ["skills:read", "skills:publish"]],
  ])("of %o are those of %s, as %o", async (input, role, scopes) => {
    const namespace = await newNamespace();
    const { status, body } = await mint(namespace, input);
    const path = (input as { path?: string }).path ?? null;
    expect([status, body]).toMatchObject([201, { role, scopes, path, minted_by: "operator", member: null }]);
    const shown = await api("GET", `/namespaces/${namespace}/tokens/${body["id"] as string}`);
    const { token, ...rest } = body;
    expect(token).toMatch(/^skr_/);
    expect(shown.body).toEqual({ ...rest, last_used_at: null });
  });

  it.each([
    [{ role: "reader", scopes: ["skills:read"] }, "not both"],
    [{ scopes: [] }, ""],
    [{ scopes: ["everything"] }, ""],
    [{ scopes: "skills:read" }, ""],
    [{ role: "admin", path: "billing" }, "cannot be admin"],
    [{ scopes: ["audit:read"], path: "billing" }, "audit:read"],
    [{ label: "x".repeat(129) }, ""],
  ])("cannot be %o", async (input, said) => {
    const { status, body } = await mint(await newNamespace(), input);
    expect([status, body["code"]]).toEqual([400, "invalid_request"]);
    expect(body["detail"]).toContain(said);
  });

  it.each(["", "/", "billing/", "../billing", "Billing", "a//b"])("cannot be held to the path %j", async (path) => {
    const { status, body } = await mint(await newNamespace(), { path });
    expect([status, body["code"]]).toEqual([400, "invalid_path"]);
  });

  it("hold a token with a path to the skills at and below it, in a private namespace too", async () => {
    const namespace = await newNamespace("private");
    await seedSkill(namespace, "other");
    const token = (await mint(namespace, { path: "billing" })).body["token"] as string;
    expect((await publishAs(namespace, "billing/refunds", token)).status).toBe(201);
    expect((await publishAs(namespace, "billing2", token)).status).toBe(403);
    expect((await publishAs(namespace, "other", token)).status).toBe(403);
    const { body } = await api("GET", `/namespaces/${namespace}/skills`, undefined, token);
    expect((body["skills"] as { path: string }[]).map(({ path }) => path)).toEqual(["billing/refunds"]);
    expect((await api("GET", `/namespaces/${namespace}`, undefined, token)).body).not.toHaveProperty("revision");
  });

  it("are never more than those of the token that mints it", async () => {
    const namespace = await newNamespace();
    const narrow = (await mint(namespace, { scopes: ["namespace:admin"] })).body["token"] as string;
    for (const more of [{ role: "admin" }, { role: "publisher" }, {}, { scopes: ["audit:read"] }, { path: "a" }]) {
      const { status, body } = await mint(namespace, more, narrow);
      expect([more, status, body["code"]]).toEqual([more, 403, "forbidden"]);
    }
    const { status, body } = await mint(namespace, { role: "reader" }, narrow);
    expect([status, body["minted_by"]]).toEqual([201, `token:${narrow.split("_")[1]}`]);
    expect((await mint(namespace, { scopes: ["namespace:admin"] }, narrow)).status).toBe(201);
  });

  it("come with the person in whose name it was minted, and shrink with them", async () => {
    const namespace = await newNamespace();
    const { id, token, person } = await newMember(namespace, "admin");
    await newMember(namespace, "admin");
    const minted = (await mint(namespace, { role: "admin" }, token)).body;
    expect(minted["member"]).toEqual(person);
    expect((await api("PATCH", `/namespaces/${namespace}/members/${id}`, { role: "publisher" })).status).toBe(200);
    const me = await api("GET", "/me", undefined, minted["token"] as string);
    expect(me.body).toMatchObject({
      role: "publisher",
      scopes: ["skills:read", "skills:publish", "collections:write"],
    });
    expect((await mint(namespace, {}, minted["token"] as string)).status).toBe(403);
  });
});

describe("tokens", () => {
  it("are listed newest first, page by page, and never with their secrets or with read links", async () => {
    const namespace = await newNamespace();
    const secrets: string[] = [];
    for (let i = 0; i < 103; i++) secrets.push(await newToken(namespace, "reader"));
    await api("POST", `/namespaces/${namespace}/links`, {});
    const first = await api("GET", `/namespaces/${namespace}/tokens`);
    const cursor = first.body["next_cursor"] as string;
    const second = await api("GET", `/namespaces/${namespace}/tokens?cursor=${cursor}`);
    const rows = [first, second].map(({ body }) => body["tokens"] as { id: string; created_at: string }[]);
    expect(rows.map((page) => page.length)).toEqual([100, 3]);
    expect(second.body["next_cursor"]).toBeNull();
    const ids = rows.flat().map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set(secrets.map((token) => token.split("_")[1])));
    const times = rows.flat().map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    const shown = JSON.stringify([first.body, second.body]);
    for (const token of secrets) expect(shown).not.toContain(token.split("_")[2]);
    for (const wrong of ["x", cursor.slice(1)]) {
      const { body } = await api("GET", `/namespaces/${namespace}/tokens?cursor=${wrong}`);
      expect(body["code"]).toBe("invalid_cursor");
    }
    const other = await api("GET", `/namespaces/${await newNamespace()}/tokens?cursor=${cursor}`);
    expect(other.body["code"]).toBe("invalid_cursor");
  });

  it("stop working the moment they are revoked; said again, nothing is written down", async () => {
    const namespace = await newNamespace();
    const { body } = await mint(namespace, { role: "reader" });
    const address = `/namespaces/${namespace}/tokens/${body["id"] as string}`;
    expect((await api("DELETE", address)).status).toBe(204);
    expect((await api("GET", "/me", undefined, body["token"] as string)).status).toBe(401);
    expect((await api("DELETE", address)).status).toBe(204);
    expect(await actionsOf(namespace)).toEqual(["revoke-token", "mint-token", "create-namespace"]);
  });

  it("revoked twice at the same time leave one line of the audit log", async () => {
    const namespace = await newNamespace();
    const { body } = await mint(namespace, {});
    const address = `/namespaces/${namespace}/tokens/${body["id"] as string}`;
    const answers = await Promise.all([1, 2, 3].map(() => api("DELETE", address)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect((await actionsOf(namespace)).filter((action) => action === "revoke-token")).toHaveLength(1);
  });
});

describe("a rotated token", () => {
  const rotate = (namespace: string, id: unknown, input?: unknown, token?: string) =>
    api("POST", `/namespaces/${namespace}/tokens/${String(id)}/rotate`, input, token);
  const isAlive = async (token: unknown) => (await api("GET", "/me", undefined, token as string)).status === 200;
  const daysOf = (row: Record<string, unknown>) =>
    (Date.parse(row["expires_at"] as string) - Date.parse(row["created_at"] as string)) / 86_400_000;

  it("has a successor with the same rights, label and lifetime, and itself ends after the overlap", async () => {
    const namespace = await newNamespace();
    const old = (await mint(namespace, { path: "billing", label: "ci", expires_in_days: 7 })).body;
    const { status, body } = await rotate(namespace, old["id"], { overlap_hours: 2 });
    expect(status).toBe(201);
    const same = ["role", "scopes", "path", "label", "member"];
    for (const name of same) expect(body[name]).toEqual(old[name]);
    expect(body["token"]).not.toBe(old["token"]);
    expect(daysOf(body)).toBe(7);
    expect([await isAlive(old["token"]), await isAlive(body["token"])]).toEqual([true, true]);
    const shown = (await api("GET", `/namespaces/${namespace}/tokens/${old["id"] as string}`)).body;
    expect(shown["rotated_to"]).toBe(body["id"]);
    const hours = (Date.parse(shown["expires_at"] as string) - Date.parse(body["created_at"] as string)) / 3_600_000;
    expect(hours).toBe(2);
    expect((await actionsOf(namespace))[0]).toBe("rotate-token");
  });

  it("ends at once with an overlap of 0, and after a day when nothing is said", async () => {
    const namespace = await newNamespace();
    const first = (await mint(namespace, {})).body;
    const second = (await rotate(namespace, first["id"])).body;
    expect(await isAlive(first["token"])).toBe(true);
    const third = (await rotate(namespace, second["id"], { overlap_hours: 0 })).body;
    expect([await isAlive(second["token"]), await isAlive(third["token"])]).toEqual([false, true]);
  });

  it("never lives longer than it would have", async () => {
    const namespace = await newNamespace();
    const old = (await mint(namespace, { expires_in_days: 1 })).body;
    await rotate(namespace, old["id"], { overlap_hours: 168 });
    const shown = (await api("GET", `/namespaces/${namespace}/tokens/${old["id"] as string}`)).body;
    expect(shown["expires_at"]).toBe(old["expires_at"]);
  });

  it("is refused when it is revoked, or was rotated already, also by two at once", async () => {
    const namespace = await newNamespace();
    const dead = (await mint(namespace, {})).body;
    await api("DELETE", `/namespaces/${namespace}/tokens/${dead["id"] as string}`);
    expect((await rotate(namespace, dead["id"])).body["code"]).toBe("token_ended");
    const old = (await mint(namespace, {})).body;
    const answers = await Promise.all([1, 2, 3].map(() => rotate(namespace, old["id"])));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    expect((await rotate(namespace, "0".repeat(16))).status).toBe(404);
  });

  it.each([{ overlap_hours: -1 }, { overlap_hours: 169 }, { overlap_hours: 0.5 }, { hours: 1 }])(
    "is refused with %o",
    async (input) => {
      const namespace = await newNamespace();
      const { body } = await mint(namespace, {});
      expect((await rotate(namespace, body["id"], input)).body["code"]).toBe("invalid_request");
    },
  );

  it("hands nobody more than they have: a narrow admin cannot rotate a wide one", async () => {
    const namespace = await newNamespace();
    const narrow = (await mint(namespace, { scopes: ["namespace:admin"] })).body["token"] as string;
    const wide = (await mint(namespace, { role: "admin" })).body;
    expect((await rotate(namespace, wide["id"], {}, narrow)).status).toBe(403);
    expect(await isAlive(wide["token"])).toBe(true);
  });

  it("ends with the membership of whoever rotated it", async () => {
    const namespace = await newNamespace();
    const [leaver] = [await newMember(namespace, "admin"), await newMember(namespace, "admin")];
    const old = (await mint(namespace, {})).body;
    const successor = (await rotate(namespace, old["id"], {}, leaver.token)).body;
    expect(await isAlive(successor["token"])).toBe(true);
    await api("DELETE", `/namespaces/${namespace}/members/${leaver.id}`);
    expect(await isAlive(successor["token"])).toBe(false);
  });
});

describe("/me", () => {
  it("says who the credential of the request is", async () => {
    const namespace = await newNamespace();
    expect((await api("GET", "/me", undefined, null)).body).toEqual({ kind: "anonymous" });
    expect((await api("GET", "/me", undefined, operator)).body).toEqual({ kind: "operator" });
    expect((await api("GET", "/me", undefined, "junk")).status).toBe(401);
    const minted = (await mint(namespace, { path: "billing", label: "ci" })).body;
    expect((await api("GET", "/me", undefined, minted["token"] as string)).body).toEqual({
      kind: "token",
      id: minted["id"],
      namespace,
      role: "publisher",
      scopes: ["skills:read", "skills:publish"],
      path: "billing",
      label: "ci",
      expires_at: minted["expires_at"],
      member: null,
    });
  });

  it("asks the database nothing about what this registry never wrote", async () => {
    const DB = new Proxy({} as D1Database, {
      get: () => {
        throw new Error("asked");
      },
    });
    for (const token of [
      `skr_${"0".repeat(16)}_${"0".repeat(64)}`,
      `skr_${"0".repeat(16)}_${"0".repeat(64)}_${"0".repeat(16)}`,
    ]) {
      const { status } = await apiOf({ DB }, { method: "GET", path: "/me", token });
      expect(status).toBe(401);
    }
  });
});
