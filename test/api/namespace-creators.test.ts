import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { maxNamespacesPerCreator, namespaceTombstoneMs } from "../../src/domain/limits.ts";
import worker from "../../src/index.ts";
import { api, newNamespace, newToken, read } from "../harness.ts";
import { actionsOf, apiOf, newMember } from "./tenancy.ts";

let names = 0;
const newName = () => `made-${String.fromCharCode(97 + (names % 8))}${"x".repeat(1 + Math.floor(names++ / 8))}`;

const create = (creators: string | undefined, token: string | null, input: object = { name: newName() }) =>
  apiOf({ NAMESPACE_CREATORS: creators! }, { method: "POST", path: "/namespaces", token, body: input });

/** A stranger at an address, where anybody may. */
const createFrom = async (address: string) => {
  const headers = { "content-type": "application/json", "cf-connecting-ip": address };
  const body = JSON.stringify({ name: newName() });
  const bindings = { ...env, NAMESPACE_CREATORS: "anyone" };
  const request = new Request("http://localhost/api/v1/namespaces", { method: "POST", headers, body });
  const { status, body: answer } = await read(await worker.fetch(request, bindings, createExecutionContext()));
  return { status, code: answer["code"], name: answer["name"] as string, token: answer["token"] as string };
};

describe("who creates namespaces", () => {
  it("is the operator, where the deployment says nothing or nonsense", async () => {
    const token = await newToken(await newNamespace(), "admin");
    for (const creators of [undefined, "", "operator", "everybody", "Tokens"]) {
      expect((await create(creators, null)).body["code"]).toBe("unauthorized");
      expect((await create(creators, token)).body["code"]).toBe("forbidden");
    }
  });

  it("is nobody with a token that only reads, or is held to a path, with `tokens`", async () => {
    const namespace = await newNamespace();
    const member = await newMember(namespace, "reader");
    const mint = async (grant: object) =>
      (await api("POST", `/namespaces/${namespace}/tokens`, grant)).body["token"] as string;
    const narrow = [{ role: "reader" }, { path: "team" }, { scopes: ["audit:read"] }, { scopes: ["namespace:admin"] }];
    for (const token of [member.token, ...(await Promise.all(narrow.map(mint)))]) {
      const { status, body } = await create("tokens", token);
      expect([status, body["code"], body["detail"]]).toEqual([403, "forbidden", expect.stringContaining("publish")]);
    }
    expect((await create("tokens", await mint({ scopes: ["skills:publish"] }))).status).toBe(201);
  });

  it("is whoever publishes in any namespace, with `tokens`", async () => {
    const namespace = await newNamespace();
    expect((await create("tokens", null)).status).toBe(401);
    expect((await create("tokens", "junk")).status).toBe(401);
    const { status, body } = await create("tokens", await newToken(namespace, "publisher"), {
      name: "made-by-publisher",
      title: "Made",
      description: "By a publisher of another namespace",
      visibility: "private",
      default_visibility: "unlisted",
    });
    expect([status, body]).toMatchObject([
      201,
      {
        name: "made-by-publisher",
        title: "Made",
        description: "By a publisher of another namespace",
        visibility: "private",
        default_visibility: "unlisted",
      },
    ]);
    const me = await api("GET", "/me", undefined, body["token"] as string);
    expect(me.body).toMatchObject({ namespace: "made-by-publisher", role: "admin", member: null });
    const shown = await api("GET", "/namespaces/made-by-publisher", undefined, body["token"] as string);
    const { token: _, ...rest } = body;
    expect(shown.body).toEqual(rest);
    const dead = await newToken(namespace, "admin");
    await api("DELETE", `/namespaces/${namespace}/tokens/${dead.split("_")[1]}`);
    expect((await create("tokens", dead)).status).toBe(401);
  });

  it("is anybody, with `anyone`, who gets the only key to what they made", async () => {
    const { status, body } = await create("anyone", null, { name: "made-by-nobody" });
    expect(status).toBe(201);
    const minted = await api("GET", "/namespaces/made-by-nobody/tokens", undefined, body["token"] as string);
    expect(minted.body["tokens"]).toMatchObject([{ role: "admin", minted_by: "anonymous" }]);
    expect((await api("GET", "/namespaces/made-by-nobody/tokens", undefined, null)).status).toBe(401);
    expect(await actionsOf("made-by-nobody")).toEqual(["create-namespace"]);
  });

  it("becomes the first member and admin, where their token has a person", async () => {
    const { token, person } = await newMember(await newNamespace(), "publisher");
    const { body } = await create("tokens", token, { name: "made-by-person" });
    const admin = body["token"] as string;
    const members = await api("GET", "/namespaces/made-by-person/members", undefined, admin);
    expect(members.body["members"]).toMatchObject([{ ...person, role: "admin" }]);
    expect((await api("GET", "/me", undefined, admin)).body).toMatchObject({ role: "admin", member: person });
    expect(await actionsOf("made-by-person")).toEqual(["create-namespace"]);
  });

  it("gets no token as the operator", async () => {
    expect((await create("anyone", env.ADMIN_TOKEN!)).body).not.toHaveProperty("token");
  });

  it(`makes at most ${maxNamespacesPerCreator}, whichever tokens they mint for it`, async () => {
    const home = await newNamespace();
    const first = await newToken(home, "admin");
    const made = await create("tokens", first);
    const chained = await create("tokens", made.body["token"] as string);
    expect([made.status, chained.status]).toEqual([201, 201]);
    for (let i = 2; i < maxNamespacesPerCreator; i++) {
      expect((await create("tokens", await newToken(home, "publisher"))).status).toBe(201);
    }
    for (const token of [first, await newToken(home, "admin"), made.body["token"], chained.body["token"]]) {
      const { status, body } = await create("tokens", token as string);
      expect([status, body["code"]]).toEqual([403, "quota_exceeded"]);
    }
    expect((await create("tokens", await newToken(await newNamespace(), "publisher"))).status).toBe(201);
    const { name, token } = chained.body as { name: string; token: string };
    expect((await api("DELETE", `/namespaces/${name}`, undefined, token)).status).toBe(204);
    // Its name is not free yet, so that names cannot be taken in turns.
    expect((await create("tokens", first)).body["code"]).toBe("quota_exceeded");
    const long = Date.now() - namespaceTombstoneMs - 1;
    await env.DB.prepare("UPDATE namespaces SET deleted_at = ?2, purged_at = ?2 WHERE name = ?1")
      .bind(name, long)
      .run();
    expect((await create("tokens", first)).status).toBe(201);
  });

  it(`makes at most ${maxNamespacesPerCreator} from one address prefix, with what their tokens make`, async () => {
    const made = [];
    for (let i = 0; i < maxNamespacesPerCreator; i++) made.push(await createFrom(`2001:db8:0:7::${i}`));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    expect(await createFrom("2001:db8:0:7:ffff::1")).toMatchObject({ status: 403, code: "quota_exceeded" });
    expect((await create("anyone", made[0]!.token)).body["code"]).toBe("quota_exceeded");
    expect((await create("tokens", made[1]!.token)).body["code"]).toBe("quota_exceeded");
    expect((await createFrom("2001:db8:0:8::1")).status).toBe(201);
    await api("DELETE", `/namespaces/${made[0]!.name}`);
    expect((await createFrom("2001:db8:0:7::1")).status).toBe(403);
    const { results } = await env.DB.prepare("SELECT DISTINCT created_by FROM namespaces").all<{
      created_by: string;
    }>();
    expect(JSON.stringify(results)).not.toContain("2001");
  });

  it("makes no more when many are asked for at the same time", async () => {
    const token = await newToken(await newNamespace(), "admin");
    const answers = await Promise.all(
      Array.from({ length: maxNamespacesPerCreator + 3 }, () => create("tokens", token)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(maxNamespacesPerCreator);
  });
});

describe("a name", () => {
  it("that looks like one that is taken is refused, without saying which", async () => {
    expect((await api("POST", "/namespaces", { name: "hidden-co11ie", visibility: "private" })).status).toBe(201);
    for (const name of ["hidden-collie", "hiddenc0llie", "h1dden-co-ll-ie", "hidden-col1ie"]) {
      const { status, body } = await api("POST", "/namespaces", { name });
      expect([name, status, body["code"]]).toEqual([name, 409, "namespace_similar"]);
      expect(body["detail"]).not.toContain("hidden-co11ie");
      expect((await api("GET", `/namespaces/${name}`)).status).toBe(404);
      expect(await actionsOf(name)).toEqual([]);
    }
    expect((await api("POST", "/namespaces", { name: "hidden-co11ie" })).body["code"]).toBe("namespace_exists");
    expect((await api("POST", "/namespaces", { name: "hidden-collies" })).status).toBe(201);
  });

  it.each(["adm1n", "ap-i", "we11-known", "slgn-in", "featur-ed"])("such as %s looks reserved", async (name) => {
    const { status, body } = await api("POST", "/namespaces", { name });
    expect([status, body["code"]]).toEqual([400, "invalid_namespace"]);
  });

  it("is taken by one of those who ask for it, or for its look-alikes, at the same time", async () => {
    const asked = ["race-l", "race-1", "race-i", "racel", "race-l", "race-1"];
    const answers = await Promise.all(asked.map((name) => api("POST", "/namespaces", { name })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
  });
});
