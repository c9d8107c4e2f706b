import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { api, modern, newNamespace, newToken, seedSkill } from "../harness.ts";
import { actionsOf } from "./tenancy.ts";

const make = (namespace: string, input: unknown = {}, token?: string) =>
  api("POST", `/namespaces/${namespace}/links`, input, token);

const namesAt = async (url: unknown) => {
  const { result } = await modern(new URL(url as string).pathname, "skills/list");
  return (result?.["skills"] as { frontmatter: { name: string } }[] | undefined)?.map(
    (skill) => skill.frontmatter.name,
  );
};

describe("a read link", () => {
  it("opens a private namespace to clients that send no token; shown once, then listed without its secret", async () => {
    const namespace = await newNamespace("private");
    await seedSkill(namespace, "inner");
    const { status, body } = await make(namespace, { label: "for a chat tool" }, await newToken(namespace, "admin"));
    expect([status, body]).toMatchObject([201, { label: "for a chat tool", collection: null, revoked_at: null }]);
    const secret = /^http:\/\/localhost\/r\/(skl_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{16})\/mcp$/.exec(
      body["url"] as string,
    )![1]!;
    expect(body["index"]).toBe(`http://localhost/r/${secret}/.well-known/agent-skills/index.json`);
    expect(await namesAt(body["url"])).toEqual(["inner"]);
    const { url: _, index: __, ...rest } = body;
    const listed = await api("GET", `/namespaces/${namespace}/links`);
    expect(listed.body).toMatchObject({ links: [{ ...rest, last_used_at: expect.any(String) as string }] });
    expect(JSON.stringify(listed.body)).not.toContain(secret.split("_")[2]);
    expect((await api("GET", `/namespaces/${namespace}/tokens`)).body["tokens"]).toHaveLength(1);
  });

  it("opens one collection, and nothing else", async () => {
    const namespace = await newNamespace("private");
    for (const name of ["inner", "other"]) await seedSkill(namespace, name);
    const collection = { title: "Desk", visibility: "private", skills: [{ path: "inner" }] };
    expect((await api("PUT", `/namespaces/${namespace}/collections/desk`, collection)).status).toBeLessThan(300);
    const { body } = await make(namespace, { collection: "desk" });
    expect(await namesAt(body["url"])).toEqual(["inner"]);
  });

  it("is refused for a collection that does not exist, and writes nothing", async () => {
    const namespace = await newNamespace();
    const { status, body } = await make(namespace, { collection: "desk" });
    expect([status, body["code"]]).toEqual([404, "not_found"]);
    expect(body["detail"]).toContain('"desk"');
    expect(await actionsOf(namespace)).toEqual(["create-namespace"]);
  });

  it("is dead the moment it is revoked, or has run out", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "inner");
    const [revoked, expired] = [(await make(namespace)).body, (await make(namespace)).body];
    expect((await api("DELETE", `/namespaces/${namespace}/links/${revoked["id"] as string}`)).status).toBe(204);
    expect((await api("DELETE", `/namespaces/${namespace}/links/${revoked["id"] as string}`)).status).toBe(204);
    await env.DB.prepare("UPDATE tokens SET expires_at = ?2 WHERE id = ?1").bind(expired["id"], Date.now()).run();
    for (const { url } of [revoked, expired]) expect(await namesAt(url)).toBeUndefined();
    const log = await actionsOf(namespace);
    expect(log.filter((action) => action.endsWith("-link"))).toEqual(["revoke-link", "create-link", "create-link"]);
  });

  it("is no token, and a token is no link", async () => {
    const namespace = await newNamespace("private");
    const { url, id } = (await make(namespace)).body;
    const secret = (url as string).split("/")[4]!;
    expect((await api("GET", `/namespaces/${namespace}/skills`, undefined, secret)).status).toBe(401);
    const asToken = secret.replace("skl_", "skr_");
    expect((await api("GET", `/namespaces/${namespace}/skills`, undefined, asToken)).status).toBe(401);
    const token = await newToken(namespace, "reader");
    expect(await namesAt(`http://localhost/r/${token}/mcp`)).toBeUndefined();
    for (const path of [`tokens/${String(id)}`, `tokens/${String(id)}/rotate`]) {
      const method = path.endsWith("rotate") ? "POST" : "DELETE";
      expect((await api(method, `/namespaces/${namespace}/${path}`)).status).toBe(404);
    }
    const tokenId = token.split("_")[1]!;
    expect((await api("DELETE", `/namespaces/${namespace}/links/${tokenId}`)).status).toBe(404);
  });

  it.each([{ expires_in_days: 0 }, { expires_in_days: 366 }, { collection: "../x" }, { role: "admin" }])(
    "is refused as %o",
    async (input) => {
      expect((await make(await newNamespace(), input)).body["code"]).toBe("invalid_request");
    },
  );
});
