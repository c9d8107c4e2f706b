import { describe, expect, it } from "vitest";

import { app, publisherApis } from "../../src/app.ts";
import { methodsOf } from "../../src/api/other-methods.ts";
import { api, newNamespace, send } from "../harness.ts";
import { refusalsOf, usualRefusals } from "./tenancy.ts";

const id = "0123456789abcdef";

describe("what only admins do", () => {
  it.each([
    ["PATCH", "", { title: "Mine" }],
    ["DELETE", ""],
    ["POST", "/tokens", {}],
    ["GET", "/tokens"],
    ["GET", `/tokens/${id}`],
    ["DELETE", `/tokens/${id}`],
    ["POST", `/tokens/${id}/rotate`, {}],
    ["GET", "/members"],
    ["PATCH", `/members/${id}`, { role: "admin" }],
    ["POST", "/invitations", { role: "reader" }],
    ["GET", "/invitations"],
    ["DELETE", `/invitations/${id}`],
    ["POST", "/links", {}],
    ["GET", "/links"],
    ["DELETE", `/links/${id}`],
    ["GET", "/audit"],
    ["GET", "/audit.jsonl"],
    ["DELETE", `/members/${id}`],
  ])("%s …%s is refused to everybody else, and the same wherever they try", async (method, path, body?) => {
    expect(await refusalsOf(method, path, body)).toEqual(usualRefusals);
  });

  it.each(["tokens", "members", "invitations", "links"])("names nothing of another namespace: %s", async (what) => {
    const namespace = await newNamespace();
    for (const name of [id, "nonsense", "%00"]) {
      expect((await api("DELETE", `/namespaces/${namespace}/${what}/${name}`)).status).toBe(404);
    }
  });
});

describe("a method that an address does not have", () => {
  const samples: Record<string, string> = {
    ":namespace": "space-1",
    ":id": id,
    ":secret": "ski_x",
    ":name": "some",
    ":rest{.+}": "a/b",
  };

  it.each([...methodsOf(publisherApis)])("of %s is 405 with those that it has", async (path, methods) => {
    const address = path
      .split("/")
      .map((segment) => samples[segment] ?? segment)
      .join("/");
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((name) => !methods.has(name))) {
      const { status, headers } = await api(method, address);
      expect([method, status, headers.get("allow")]).toEqual([method, 405, [...methods].join(", ")]);
    }
  });

  it("is known of every route below /api/v1", () => {
    const routes = app.routes.filter(({ path, method }) => path.startsWith("/api/v1/") && method !== "ALL");
    const known = [...methodsOf(publisherApis).keys()].map((path) => `/api/v1${path}`);
    expect(routes.map(({ path }) => path).filter((path) => !known.includes(path))).toEqual([]);
    expect(known.length).toBeGreaterThan(15);
  });

  it.each([
    `/blobs/sha256/${"0".repeat(64)}`,
    "/.well-known/security.txt",
    "/.well-known/agent-skills/index.json",
    "/space-1/.well-known/agent-skills/index.json",
    "/r/skl_x/.well-known/agent-skills/index.json",
    "/.well-known/skills/index.json",
    "/space-1/.well-known/skills/a/SKILL.md",
    "/r/skl_x/archives/space-1/a/1.0.0.tar.gz",
    "/.well-known/oauth-protected-resource/me/mcp",
  ])("of %s is 405 too", async (path) => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const { status, headers } = await send(path, { method });
      expect([method, status, headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
    }
  });

  it("is never HEAD where GET is none, and HEAD is named where GET is", async () => {
    for (const methods of methodsOf(publisherApis).values()) expect(methods.has("HEAD")).toBe(methods.has("GET"));
    expect((await send("/api/v1/namespaces", { method: "HEAD" })).status).toBe(200);
    expect((await send("/api/v1/namespaces", { method: "PUT" })).headers.get("allow")).toBe("POST, GET, HEAD");
  });

  it("does not hide what is not there", async () => {
    expect((await send("/api/v1/namespaces/space-1/nothing", { method: "PUT" })).status).toBe(404);
  });
});
