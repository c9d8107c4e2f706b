import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { maxNamespacesPerCreator } from "../../src/domain/limits.ts";
import { api, newNamespace, newToken } from "../harness.ts";
import { actionsOf, apiOf, newMember } from "./tenancy.ts";

let names = 0;
const newName = () => `made-${String.fromCharCode(97 + (names % 8))}${"x".repeat(1 + Math.floor(names++ / 8))}`;

const create = (creators: string | undefined, token: string | null, input: object = { name: newName() }) =>
  apiOf({ NAMESPACE_CREATORS: creators! }, { method: "POST", path: "/namespaces", token, body: input });

describe("who creates namespaces", () => {
  it("is the operator, where the deployment says nothing or nonsense", async () => {
    const token = await newToken(await newNamespace(), "admin");
    for (const creators of [undefined, "", "operator", "everybody", "Tokens"]) {
      expect((await create(creators, null)).body["code"]).toBe("unauthorized");
      expect((await create(creators, token)).body["code"]).toBe("forbidden");
    }
  });

  it("is whoever holds any living token, with `tokens`", async () => {
    const namespace = await newNamespace();
    expect((await create("tokens", null)).status).toBe(401);
    expect((await create("tokens", "junk")).status).toBe(401);
    const { status, body } = await create("tokens", await newToken(namespace, "reader"), {
      name: "made-by-reader",
      title: "Made",
      description: "By a reader of another namespace",
      visibility: "private",
      default_visibility: "unlisted",
    });
    expect([status, body]).toMatchObject([
      201,
      {
        name: "made-by-reader",
        title: "Made",
        description: "By a reader of another namespace",
        visibility: "private",
        default_visibility: "unlisted",
      },
    ]);
    const me = await api("GET", "/me", undefined, body["token"] as string);
    expect(me.body).toMatchObject({ namespace: "made-by-reader", role: "admin", member: null });
    const shown = await api("GET", "/namespaces/made-by-reader", undefined, body["token"] as string);
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
      expect((await create("tokens", await newToken(home, "reader"))).status).toBe(201);
    }
    for (const token of [first, await newToken(home, "admin"), made.body["token"], chained.body["token"]]) {
      const { status, body } = await create("tokens", token as string);
      expect([status, body["code"]]).toEqual([403, "quota_exceeded"]);
    }
    expect((await create("tokens", await newToken(await newNamespace(), "reader"))).status).toBe(201);
    const { name, token } = chained.body as { name: string; token: string };
    expect((await api("DELETE", `/namespaces/${name}`, undefined, token)).status).toBe(204);
    expect((await create("tokens", first)).status).toBe(201);
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
