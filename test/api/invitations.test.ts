import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { api, newNamespace, newToken } from "../harness.ts";
import { actionsOf, apiOf, forgotten } from "./tenancy.ts";

const someone = { issuer: "https://id.example.com", subject: "someone" };
let people = 0;
const somebody = () => ({ ...someone, subject: `somebody-${++people}` });

const invite = async (namespace: string, input: unknown = { role: "publisher" }, token?: string) =>
  api("POST", `/namespaces/${namespace}/invitations`, input, token);
const accept = (secret: unknown, person: unknown) => api("POST", `/invitations/${String(secret)}`, person, null);
const look = (secret: unknown) => api("GET", `/invitations/${String(secret)}`, undefined, null);

describe("an invitation", () => {
  it("is a link, shown once, that says what it invites to", async () => {
    const namespace = await newNamespace("private");
    const { status, body } = await invite(namespace, { role: "publisher", label: "for Ann" });
    expect([status, body]).toMatchObject([201, { role: "publisher", label: "for Ann", created_by: "operator" }]);
    expect(body["secret"]).toMatch(/^ski_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{16}$/);
    expect(body["link"]).toBe(`http://localhost/api/v1/invitations/${body["secret"] as string}`);
    const hours = (Date.parse(body["expires_at"] as string) - Date.parse(body["created_at"] as string)) / 3_600_000;
    expect(hours).toBe(168);
    expect((await look(body["secret"])).body).toEqual({
      namespace,
      title: namespace,
      role: "publisher",
      expires_at: body["expires_at"],
    });
    const { secret, link: _, ...rest } = body;
    const listed = await api("GET", `/namespaces/${namespace}/invitations`);
    expect(listed.body).toEqual({ invitations: [rest], next_cursor: null });
    expect(JSON.stringify(listed.body)).not.toContain((secret as string).split("_")[2]);
  });

  it("makes whoever accepts it a member, with a token in their name", async () => {
    const namespace = await newNamespace("private");
    const invitation = (await invite(namespace)).body;
    const person = somebody();
    const { status, body } = await accept(invitation["secret"], person);
    expect([status, body]).toMatchObject([201, { namespace, member: { ...person, role: "publisher" } }]);
    const me = await api("GET", "/me", undefined, body["token"] as string);
    expect(me.body).toMatchObject({ id: body["token_id"], namespace, role: "publisher", member: person });
    const { id } = body["member"] as { id: string };
    const listed = await api("GET", `/namespaces/${namespace}/invitations`);
    expect(listed.body["invitations"]).toMatchObject([{ member_id: id, accepted_at: expect.any(String) as string }]);
    expect(await actionsOf(namespace)).toEqual(["accept-invitation", "create-invitation", "create-namespace"]);
  });

  it("works once, whoever asks again", async () => {
    const namespace = await newNamespace();
    const { secret } = (await invite(namespace)).body;
    expect((await accept(secret, somebody())).status).toBe(201);
    expect((await accept(secret, somebody())).status).toBe(404);
    expect((await look(secret)).status).toBe(404);
  });

  it("works once when many accept it at the same time", async () => {
    const namespace = await newNamespace();
    const { secret } = (await invite(namespace)).body;
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept(secret, somebody())));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 404, 404, 404, 404]);
    const { body } = await api("GET", `/namespaces/${namespace}/members`);
    expect(body["members"]).toHaveLength(1);
    expect((await api("GET", `/namespaces/${namespace}/tokens`)).body["tokens"]).toHaveLength(1);
  });

  it("stays open when the person is a member already", async () => {
    const namespace = await newNamespace();
    const person = somebody();
    expect((await accept((await invite(namespace)).body["secret"], person)).status).toBe(201);
    const { secret } = (await invite(namespace, { role: "admin" })).body;
    const { status, body } = await accept(secret, person);
    expect([status, body["code"]]).toEqual([409, "member_exists"]);
    expect((await look(secret)).status).toBe(200);
    expect((await accept(secret, somebody())).status).toBe(201);
  });

  it("that is dead answers like one that nobody ever wrote", async () => {
    const namespace = await newNamespace();
    const [revoked, expired, spent] = [await invite(namespace), await invite(namespace), await invite(namespace)];
    const revoke = `/namespaces/${namespace}/invitations/${revoked.body["id"] as string}`;
    expect((await api("DELETE", revoke)).status).toBe(204);
    expect((await api("DELETE", revoke)).status).toBe(204);
    expect((await actionsOf(namespace)).filter((action) => action === "revoke-invitation")).toHaveLength(1);
    await env.DB.prepare("UPDATE invitations SET expires_at = ?2 WHERE id = ?1")
      .bind(expired.body["id"], Date.now() - 1)
      .run();
    await accept(spent.body["secret"], somebody());
    const gone = await newNamespace();
    const orphan = await invite(gone);
    await api("DELETE", `/namespaces/${gone}`);
    const secret = revoked.body["secret"] as string;
    const forged = secret.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const secrets = [revoked, expired, spent, orphan].map(({ body }) => body["secret"]);
    const answers = new Set<string>();
    for (const candidate of [...secrets, forged, await forgotten("ski"), await forgotten("skr"), "x"]) {
      for (const answer of [await look(candidate), await accept(candidate, someone)]) {
        answers.add(JSON.stringify([answer.status, answer.body]));
      }
    }
    expect(answers.size).toBe(1);
    expect([...answers][0]).toContain("not_found");
  });

  it("that is forged never reaches the database", async () => {
    const DB = new Proxy({} as D1Database, {
      get: () => {
        throw new Error("asked");
      },
    });
    const path = `/invitations/ski_${"0".repeat(16)}_${"0".repeat(64)}_${"0".repeat(16)}`;
    expect((await apiOf({ DB }, { method: "GET", path, token: null })).status).toBe(404);
    expect((await apiOf({ DB }, { method: "POST", path, token: null, body: someone })).status).toBe(404);
  });

  it("says nothing of itself to whoever sends a bad token along", async () => {
    const { secret } = (await invite(await newNamespace())).body;
    expect((await api("GET", `/invitations/${secret as string}`, undefined, "junk")).status).toBe(401);
  });

  it("invites to no more than the inviter has", async () => {
    const namespace = await newNamespace();
    const minted = await api("POST", `/namespaces/${namespace}/tokens`, { scopes: ["namespace:admin"] });
    const narrow = minted.body["token"] as string;
    for (const role of ["admin", "publisher"]) expect((await invite(namespace, { role }, narrow)).status).toBe(403);
    expect((await invite(namespace, { role: "reader" }, narrow)).status).toBe(201);
    expect((await invite(namespace, { role: "admin" }, await newToken(namespace, "admin"))).status).toBe(201);
  });

  it.each([
    {},
    { role: "owner" },
    { role: "reader", expires_in_hours: 0 },
    { role: "reader", expires_in_hours: 721 },
    { role: "reader", email: "a@example.com" },
  ])("is refused as %o", async (input) => {
    expect((await invite(await newNamespace(), input)).body["code"]).toBe("invalid_request");
  });
});

describe("who accepts", () => {
  it.each([
    { issuer: "https://login.example.com/tenant/v2.0", subject: "a" },
    { issuer: "https://login.example.com/", subject: "x".repeat(255) },
    { issuer: "http://localhost:9000", subject: "auth0|5f7c8ec7c33c6c004bbafe82" },
    { issuer: "http://127.0.0.1", subject: "two words" },
    { issuer: "http://[::1]:1", subject: "~" },
  ])("is a person such as %o", async (person) => {
    const { secret } = (await invite(await newNamespace())).body;
    expect((await accept(secret, person)).status).toBe(201);
  });

  it.each([
    {},
    { issuer: someone.issuer },
    { subject: someone.subject },
    { ...someone, role: "admin" },
    { ...someone, subject: "" },
    { ...someone, subject: " x" },
    { ...someone, subject: "x".repeat(256) },
    { ...someone, subject: "a\nb" },
    { ...someone, subject: "a\u200bb" },
    { ...someone, subject: 7 },
    { ...someone, issuer: "http://id.example.com" },
    { ...someone, issuer: "http://localhost.example.com" },
    { ...someone, issuer: "ftp://id.example.com" },
    { ...someone, issuer: "javascript:alert(1)" },
    { ...someone, issuer: "id.example.com" },
    { ...someone, issuer: "https://ID.example.com" },
    { ...someone, issuer: "https://id.example.com:443" },
    { ...someone, issuer: "https://id.example.com/?a=b" },
    { ...someone, issuer: "https://id.example.com#x" },
    { ...someone, issuer: "https://user@id.example.com" },
    { ...someone, issuer: " https://id.example.com" },
    { ...someone, issuer: `https://id.example.com/${"x".repeat(255)}` },
  ])("is nobody such as %o, and the invitation stays", async (person) => {
    const { secret } = (await invite(await newNamespace())).body;
    const { status, body } = await accept(secret, person);
    expect([status, body["code"]]).toEqual([400, "invalid_request"]);
    expect((await look(secret)).status).toBe(200);
  });
});
