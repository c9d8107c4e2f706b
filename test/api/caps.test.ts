import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import {
  maxCollections,
  maxLivingLinks,
  maxLivingTokens,
  maxMembers,
  maxOpenInvitations,
} from "../../src/domain/limits.ts";
import { api, newNamespace } from "../harness.ts";
import { actionsOf } from "./tenancy.ts";

/** So many rows as if somebody had made them one by one; they end when `ends` says. */
const ids = (count: number) => JSON.stringify(Array.from({ length: count }, () => crypto.randomUUID()));
const tomorrow = Date.now() + 86_400_000;

const fillTokens = (namespace: string, kind: string, count: number, ends = tomorrow) =>
  env.DB.prepare(
    `INSERT INTO tokens (id, namespace, kind, role, label, secret_hash, created_at, expires_at)
     SELECT value, ?1, ?2, 'reader', '', value, 1, ?4 FROM json_each(?3)`,
  )
    .bind(namespace, kind, ids(count), ends)
    .run();

const fillInvitations = (namespace: string, count: number, ends = tomorrow) =>
  env.DB.prepare(
    `INSERT INTO invitations (id, namespace, role, label, secret_hash, created_at, created_by, expires_at)
     SELECT value, ?1, 'reader', '', value, 1, 'operator', ?3 FROM json_each(?2)`,
  )
    .bind(namespace, ids(count), ends)
    .run();

const fillMembers = (namespace: string, count: number) =>
  env.DB.prepare(
    `INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by)
     SELECT value, ?1, 'https://x.example', value, 'reader', 1, 'operator' FROM json_each(?2)`,
  )
    .bind(namespace, ids(count))
    .run();

const fillCollections = (namespace: string, count: number) =>
  env.DB.prepare(
    `INSERT INTO collections (namespace, name, title, instructions, visibility, is_all, edition, revision, stamp,
       created_at, updated_at)
     SELECT ?1, value, '', '', 'public', 1, 1, 1, '', 1, 1 FROM json_each(?2)`,
  )
    .bind(namespace, ids(count))
    .run();

const post = (namespace: string, path: string, body: object = {}) =>
  api("POST", `/namespaces/${namespace}/${path}`, body);

const expectFull = async (answer: Promise<{ status: number; body: Record<string, unknown> }>, limit: number) => {
  const { status, body } = await answer;
  const said = expect.stringMatching(new RegExp(`may have ${limit.toLocaleString("en")} .+; .+`)) as unknown;
  expect([status, body["code"], body["detail"]]).toEqual([403, "quota_exceeded", said]);
};

describe("a namespace has at once", () => {
  it(`${maxLivingTokens} living tokens, whoever holds them, and whatever has ended does not count`, async () => {
    const namespace = await newNamespace();
    await fillTokens(namespace, "token", maxLivingTokens - 1);
    await fillTokens(namespace, "token", 5, Date.now() - 1);
    await fillTokens(namespace, "link", 5);
    const last = await post(namespace, "tokens");
    expect(last.status).toBe(201);
    const lines = await actionsOf(namespace);
    await expectFull(post(namespace, "tokens"), maxLivingTokens);
    const id = last.body["id"] as string;
    await expectFull(post(namespace, `tokens/${id}/rotate`, { overlap_hours: 1 }), maxLivingTokens);
    expect(await actionsOf(namespace)).toEqual(lines);
    // A leak can be mended however full it is.
    const rotated = await post(namespace, `tokens/${id}/rotate`, { overlap_hours: 0 });
    expect(rotated.status).toBe(201);
    await api("DELETE", `/namespaces/${namespace}/tokens/${rotated.body["id"] as string}`);
    expect((await post(namespace, "tokens")).status).toBe(201);
    expect((await post(await newNamespace(), "tokens")).status).toBe(201);
  });

  it("no more of them when many are asked for at the same time", async () => {
    const namespace = await newNamespace();
    await fillTokens(namespace, "token", maxLivingTokens - 2);
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(namespace, "tokens")));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
  });

  it(`${maxLivingLinks} living read links`, async () => {
    const namespace = await newNamespace();
    await fillTokens(namespace, "link", maxLivingLinks - 1);
    const { status, body } = await post(namespace, "links");
    expect(status).toBe(201);
    await expectFull(post(namespace, "links"), maxLivingLinks);
    await api("DELETE", `/namespaces/${namespace}/links/${body["id"] as string}`);
    expect((await post(namespace, "links")).status).toBe(201);
  });

  it(`${maxOpenInvitations} open invitations`, async () => {
    const namespace = await newNamespace();
    await fillInvitations(namespace, maxOpenInvitations - 1);
    await fillInvitations(namespace, 5, Date.now() - 1);
    const { status, body } = await post(namespace, "invitations", { role: "reader" });
    expect(status).toBe(201);
    await expectFull(post(namespace, "invitations", { role: "reader" }), maxOpenInvitations);
    await api("DELETE", `/namespaces/${namespace}/invitations/${body["id"] as string}`);
    expect((await post(namespace, "invitations", { role: "reader" })).status).toBe(201);
  });

  it(`${maxMembers} members, and who is invited past them waits with an invitation that stays open`, async () => {
    const namespace = await newNamespace();
    await fillMembers(namespace, maxMembers);
    const { body } = await post(namespace, "invitations", { role: "reader" });
    const accept = () =>
      api(
        "POST",
        `/invitations/${body["secret"] as string}`,
        { issuer: "https://id.example.com", subject: "late" },
        null,
      );
    await expectFull(accept(), maxMembers);
    const members = await api("GET", `/namespaces/${namespace}/members`);
    const [first] = members.body["members"] as { id: string }[];
    expect((await api("DELETE", `/namespaces/${namespace}/members/${first!.id}`)).status).toBe(204);
    expect((await accept()).status).toBe(201);
  });

  it(`${maxCollections} collections, which can still be replaced`, async () => {
    const namespace = await newNamespace();
    const put = (name: string, title: string) =>
      api("PUT", `/namespaces/${namespace}/collections/${name}`, { title, skills: "all" });
    await fillCollections(namespace, maxCollections - 1);
    expect((await put("last", "Last")).status).toBe(201);
    await expectFull(put("one-more", "One more"), maxCollections);
    await expectFull(put("one-more?dry_run=true", "One more"), maxCollections);
    expect((await put("last", "Changed")).status).toBe(200);
    await api("DELETE", `/namespaces/${namespace}/collections/last`);
    expect((await put("one-more", "One more")).status).toBe(201);
  });
});
