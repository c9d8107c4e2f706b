import { beforeAll, describe, expect, it } from "vitest";

import { api, newNamespace, newToken, publish, skillMdOf } from "../harness.ts";
import { ask, withoutNames } from "./answers.ts";
import type { Attempt } from "./answers.ts";
import { eras, message } from "./methods.ts";

/** Collections hold skills of other tenants, so they are where two tenants meet. */
let mine: string;
let theirs: string;
let token: string;
let admin: string;

const body = (method: string, path: string, content: unknown): Attempt => ({
  method,
  path: `/api/v1/namespaces/${path}`,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(content),
});

async function publishAll(namespace: string, names: string[]): Promise<void> {
  for (const name of names) {
    const { status } = await publish(namespace, { "SKILL.md": skillMdOf(name, `A quagga named ${name}`) });
    expect(status).toBe(201);
  }
}

beforeAll(async () => {
  [mine, theirs] = [await newNamespace(), await newNamespace()];
  await publishAll(theirs, ["stays-open", "turns-private", "turns-unlisted", "gets-deleted", "gets-yanked"]);
  await publishAll(mine, ["my-skill"]);
  const all = ["turns-private", "turns-unlisted", "gets-deleted", "gets-yanked", "stays-open"];
  const picked = [{ path: "my-skill" }, ...all.map((path) => ({ namespace: theirs, path }))];
  await api("PUT", `/namespaces/${mine}/collections/desk`, { title: "Desk", skills: picked });
  await api("PUT", `/namespaces/${mine}/collections/desk`, { title: "Desk", skills: [{ path: "my-skill" }] });
  await api("PUT", `/namespaces/${mine}/collections/kept`, { title: "Kept", skills: picked });
  await api("PATCH", `/namespaces/${theirs}/skills/turns-private`, { visibility: "private" });
  await api("PATCH", `/namespaces/${theirs}/skills/turns-unlisted`, { visibility: "unlisted" });
  await api("PATCH", `/namespaces/${theirs}/skills/gets-yanked/-/releases/1.0.0`, { yanked: true });
  await api("DELETE", `/namespaces/${theirs}/skills/gets-deleted`);
  [token, admin] = [await newToken(mine, "publisher"), await newToken(mine, "admin")];
  for (const one of [token, admin]) await api("GET", "/me", undefined, one);
});

describe("a collection that picked another tenant's skill before it was hidden", () => {
  it.each(eras)("shows it no more in any list of its own, whoever asks, in %s", async (era) => {
    const path = `/mcp/${mine}/kept`;
    const search = { name: "search_skills", arguments: { query: "quagga turns private unlisted deleted yanked" } };
    const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const attempts = [
      ...["skills/list", "resources/list", "prompts/list"].map((method) => message(path, era, method, {})),
      message(path, era, "tools/call", search),
      message(path, era, "initialize", client),
    ];
    for (const attempt of attempts) {
      for (const one of [undefined, token]) {
        const seen = await ask(attempt, one);
        expect([attempt.body, /turns-private|turns-unlisted|gets-/.test(seen.body)]).toEqual([attempt.body, false]);
      }
    }
  });

  it("reads it like what was deleted, to its owner's publisher too", async () => {
    for (const method of ["skills/get", "resources/read", "resources/directory/read"]) {
      const readOf = async (name: string, file: string) => {
        const uri = `skill://${theirs}/${name}${method.includes("directory") ? "" : file}`;
        const seen = await ask(message(`/mcp/${mine}/kept`, "2026-07-28", method, { uri }), token);
        return [withoutNames(seen, { name }), seen.calls];
      };
      expect(await readOf("turns-private", "/SKILL.md")).toEqual(await readOf("gets-deleted", "/SKILL.md"));
      expect(await readOf("turns-private", "/SKILL.md")).toEqual(await readOf("never-there", "/SKILL.md"));
    }
  });

  it("cannot be made anew with it, in the words for what was never there", async () => {
    const put = async (name: string, version?: string) => {
      const item = { namespace: theirs, path: name, ...(version === undefined ? {} : { version }) };
      const seen = await ask(body("PUT", `${mine}/collections/fresh`, { skills: [item] }), token);
      expect(seen.status).toBe(422);
      return [withoutNames(seen, { name }), seen.calls];
    };
    for (const version of [undefined, "1.0.0", "9.9.9"]) {
      expect(await put("turns-private", version)).toEqual(await put("never-there", version));
      expect(await put("gets-deleted", version)).toEqual(await put("never-there", version));
    }
  });

  it("that returns to the edition that had it leaves it out like one that was deleted", async () => {
    const seen = await ask(body("POST", `${mine}/collections/desk/return`, { edition: 1 }), token);
    expect(seen.status).toBe(200);
    const { findings } = JSON.parse(seen.body) as { findings: { code: string; message: string; file: string }[] };
    const about = (name: string) => findings.filter(({ message }) => message.includes(`/${name}"`));
    const [hidden, gone] = [about("turns-private"), about("gets-deleted")];
    expect([hidden.length, gone.length]).toEqual([1, 1]);
    const text = (finding: object, name: string) =>
      JSON.stringify(finding)
        .replaceAll(name, "X")
        .replaceAll(/skills\[\d\]/g, "place");
    expect(text(hidden[0]!, "turns-private")).toBe(text(gone[0]!, "gets-deleted"));
  });
});

describe("whoever hides a skill that another tenant picked", () => {
  it("learns of public collections that hold it, and of no private one", async () => {
    await api("PUT", `/namespaces/${mine}/collections/secret`, {
      visibility: "private",
      title: "Secret desk",
      skills: [{ namespace: theirs, path: "stays-open" }],
    });
    const owner = await newToken(theirs, "admin");
    await api("GET", "/me", undefined, owner);
    for (const attempt of [
      body("PATCH", `${theirs}/skills/stays-open?dry_run=true`, { visibility: "private" }),
      body("PATCH", `${theirs}/skills/stays-open/-/releases/1.0.0?dry_run=true`, { yanked: true }),
      { method: "DELETE", path: `/api/v1/namespaces/${theirs}/skills/stays-open?dry_run=true` },
    ]) {
      const seen = await ask(attempt, owner);
      const { collections } = JSON.parse(seen.body) as { collections: { name: string }[] };
      expect(collections.map(({ name }) => name)).toEqual(["desk", "kept"]);
      expect(seen.body).not.toContain("ecret");
    }
  });
});
