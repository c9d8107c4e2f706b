import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import type { Namespace } from "../../src/domain/names.ts";
import { scopesOfRole } from "../../src/domain/principal.ts";
import type { Principal } from "../../src/domain/principal.ts";
import { changeRole } from "../../src/storage/members.ts";
import { api, modern, newNamespace, newToken } from "../harness.ts";
import { actionsOf, newMember } from "./tenancy.ts";

const at = (namespace: string, id: string) => `/namespaces/${namespace}/members/${id}`;
const isAlive = async (token: unknown) => (await api("GET", "/me", undefined, token as string)).status === 200;
const listed = async (namespace: string) => {
  const { body } = await api("GET", `/namespaces/${namespace}/members`);
  return (body["members"] as { id: string }[]).map(({ id }) => id);
};

describe("members", () => {
  it("are listed in the order in which they came, with who they are", async () => {
    const namespace = await newNamespace();
    const [first, second] = [await newMember(namespace, "admin"), await newMember(namespace, "reader")];
    const { body } = await api("GET", `/namespaces/${namespace}/members`, undefined, first.token);
    expect(body["members"]).toMatchObject([
      { id: first.id, ...first.person, role: "admin" },
      { id: second.id, ...second.person, role: "reader" },
    ]);
    expect(body["next_cursor"]).toBeNull();
  });

  it("are listed page by page", async () => {
    const namespace = await newNamespace();
    const rows = Array.from({ length: 101 }, (_, i) => ({ id: i.toString(16).padStart(16, "0"), subject: `s${i}` }));
    await env.DB.prepare(
      `INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by)
       SELECT value ->> 'id', ?1, 'https://x.example', value ->> 'subject', 'reader', 5, 'operator' FROM json_each(?2)`,
    )
      .bind(namespace, JSON.stringify(rows))
      .run();
    const first = await api("GET", `/namespaces/${namespace}/members`);
    const cursor = first.body["next_cursor"] as string;
    const second = await api("GET", `/namespaces/${namespace}/members?cursor=${cursor}`);
    const ids = [first, second].flatMap(({ body }) => (body["members"] as { id: string }[]).map(({ id }) => id));
    expect(ids).toEqual(rows.map(({ id }) => id));
  });

  it("get another role, at once and for every token of theirs; saying what is so already writes nothing", async () => {
    const namespace = await newNamespace("private");
    const { id, token } = await newMember(namespace, "reader");
    const change = (role: string) => api("PATCH", at(namespace, id), { role });
    expect((await change("admin")).body).toMatchObject({ id, role: "admin" });
    // The token was minted for a reader, and a role is a ceiling, never a gift.
    expect((await api("GET", "/me", undefined, token)).body["role"]).toBe("reader");
    expect((await change("admin")).status).toBe(200);
    expect((await actionsOf(namespace)).filter((action) => action === "change-member")).toHaveLength(1);
    expect((await api("PATCH", at(namespace, id), { role: "owner" })).body["code"]).toBe("invalid_request");
  });

  it("get no role that the caller does not have", async () => {
    const namespace = await newNamespace();
    const { id } = await newMember(namespace, "reader");
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { scopes: ["namespace:admin"] });
    const refused = await api("PATCH", at(namespace, id), { role: "publisher" }, body["token"] as string);
    expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
  });

  it("lose with their membership every token, link and open invitation in their name, and nothing else", async () => {
    const namespace = await newNamespace("private");
    const [leaver, stayer] = [await newMember(namespace, "admin"), await newMember(namespace, "admin")];
    const post = async (path: string, input: unknown, token: string) =>
      (await api("POST", `/namespaces/${namespace}/${path}`, input, token)).body;
    const ofToken = await post("tokens", { role: "admin" }, leaver.token);
    const second = await post("tokens", {}, ofToken["token"] as string);
    const link = await post("links", {}, ofToken["token"] as string);
    const invitation = await post("invitations", { role: "admin" }, leaver.token);
    const others = [
      await post("tokens", {}, stayer.token),
      { token: await newToken(namespace, "admin") },
      { token: stayer.token },
    ];
    const door = new URL(link["url"] as string).pathname;
    expect((await modern(door, "skills/list")).status).toBe(200);
    expect((await api("DELETE", at(namespace, leaver.id))).status).toBe(204);
    for (const token of [leaver.token, ofToken["token"], second["token"]]) expect(await isAlive(token)).toBe(false);
    expect((await modern(door, "skills/list")).status).toBe(404);
    expect((await api("GET", `/invitations/${invitation["secret"] as string}`, undefined, null)).status).toBe(404);
    for (const { token } of others) expect(await isAlive(token)).toBe(true);
    expect(await listed(namespace)).toEqual([stayer.id]);
    expect((await actionsOf(namespace))[0]).toBe("remove-member");
    expect((await api("DELETE", at(namespace, leaver.id))).status).toBe(404);
  });

  it("who are demoted leave no open invitations behind", async () => {
    const namespace = await newNamespace();
    const [demoted] = [await newMember(namespace, "admin"), await newMember(namespace, "admin")];
    const { body } = await api("POST", `/namespaces/${namespace}/invitations`, { role: "admin" }, demoted.token);
    await api("PATCH", at(namespace, demoted.id), { role: "publisher" });
    const accepted = await api(
      "POST",
      `/invitations/${body["secret"] as string}`,
      { issuer: "https://id.example.com", subject: "friend" },
      null,
    );
    expect(accepted.status).toBe(404);
  });

  it("may leave by themselves, whatever their role, and send nobody else away", async () => {
    const namespace = await newNamespace("private");
    const [reader, other] = [await newMember(namespace, "reader"), await newMember(namespace, "reader")];
    const answers = [];
    for (const id of [other.id, "0".repeat(16)]) {
      const { status, body } = await api("DELETE", at(namespace, id), undefined, reader.token);
      answers.push([status, body["detail"]]);
    }
    expect(answers[0]![0]).toBe(403);
    expect(answers[1]).toEqual(answers[0]);
    expect((await api("PATCH", at(namespace, reader.id), { role: "admin" }, reader.token)).status).toBe(403);
    expect((await api("DELETE", at(namespace, reader.id), undefined, reader.token)).status).toBe(204);
    expect(await isAlive(reader.token)).toBe(false);
    expect(await listed(namespace)).toEqual([other.id]);
  });
});

describe("the last admin", () => {
  it("cannot be removed or demoted, not even by the operator", async () => {
    const namespace = await newNamespace();
    const admin = await newMember(namespace, "admin");
    await newMember(namespace, "publisher");
    const attempts = [
      await api("DELETE", at(namespace, admin.id), undefined, admin.token),
      await api("DELETE", at(namespace, admin.id)),
      await api("PATCH", at(namespace, admin.id), { role: "reader" }, admin.token),
    ];
    for (const { status, body } of attempts) expect([status, body["code"]]).toEqual([409, "last_admin"]);
    expect(await isAlive(admin.token)).toBe(true);
    const second = await newMember(namespace, "admin");
    expect((await api("DELETE", at(namespace, admin.id), undefined, admin.token)).status).toBe(204);
    expect(await listed(namespace)).toContain(second.id);
  });

  it("remains when all admins leave at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const namespace = await newNamespace();
      const admins = [];
      for (let i = 0; i < 3; i++) admins.push(await newMember(namespace, "admin"));
      const answers = await Promise.all(
        admins.map(({ id, token }, i) =>
          i === 0
            ? api("PATCH", at(namespace, id), { role: "reader" }, token)
            : api("DELETE", at(namespace, id), undefined, token),
        ),
      );
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
      const { body } = await api("GET", `/namespaces/${namespace}/members`);
      expect((body["members"] as { role: string }[]).filter(({ role }) => role === "admin")).toHaveLength(1);
    }
  });

  it("is one of two who demote each other at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const namespace = await newNamespace();
      const [one, other] = [await newMember(namespace, "admin"), await newMember(namespace, "admin")];
      const answers = await Promise.all([
        api("PATCH", at(namespace, other.id), { role: "reader" }, one.token),
        api("PATCH", at(namespace, one.id), { role: "reader" }, other.token),
      ]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });
});

describe("a member who lost their role", () => {
  it("changes nothing any more with what their token was allowed when the request began", async () => {
    const namespace = (await newNamespace("private")) as Namespace;
    const [member, other] = [await newMember(namespace, "admin"), await newMember(namespace, "admin")];
    const principal: Principal = {
      kind: "token",
      id: member.tokenId,
      namespace,
      role: "admin",
      scopes: scopesOfRole.admin,
      below: "",
      member: member.person,
    };
    const actor = { principal, namespace, now: Date.now(), from: { address: "", agent: "" } };
    await changeRole(env.DB, actor, other.id, "publisher");
    await changeRole(env.DB, actor, other.id, "admin");
    await api("PATCH", at(namespace, member.id), { role: "publisher" });
    const before = await actionsOf(namespace);
    await expect(changeRole(env.DB, actor, other.id, "reader")).rejects.toMatchObject({ code: "invalid_token" });
    expect(await actionsOf(namespace)).toEqual(before);
  });
});
