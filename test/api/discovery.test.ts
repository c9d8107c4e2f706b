import { beforeAll, describe, expect, it } from "vitest";

import { api, newNamespace, newToken, seedSkill, send } from "../harness.ts";

/** What tools find over plain HTTPS: the indexes of Agent Skills discovery 0.2.0, and public bytes by digest. */
let open: string;
let closed: string;

const secretFile = "only for us\n";

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  await seedSkill(open, "pdf-forms", { "guide.txt": "public words\n" });
  await seedSkill(open, "pdf-forms", {}, "?path=other/pdf-forms");
  await seedSkill(open, "hidden", { "hidden.txt": "unlisted words\n" }, "?visibility=unlisted");
  await seedSkill(open, "inner", { "inner.txt": secretFile }, "?visibility=private");
  await seedSkill(closed, "closed-skill", { "closed.txt": "closed words\n" });
  await api("POST", "/namespaces", { name: "registry" });
  await seedSkill("registry", "featured-skill");
  await api("PUT", "/namespaces/registry/collections/featured", { visibility: "public", skills: "all" });
});

interface Index {
  $schema: string;
  skills: { name: string; type: string; description: string; url: string; digest: string }[];
}

async function hexOf(bytes: ArrayBuffer | string): Promise<string> {
  const raw = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const index = ".well-known/agent-skills/index.json";

describe("the discovery index", () => {
  it("of the root names the featured skills, that of a namespace its own", async () => {
    const root = (await (await send(`/${index}`)).json()) as Index;
    expect(root.$schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    expect(root.skills.map(({ name }) => name)).toEqual(["featured-skill"]);
    const response = await send(`/${open}/${index}`, { headers: { origin: "https://anywhere.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    const { skills } = (await response.json()) as Index;
    // Who installs by name can have one of a name; the first in path order is it.
    expect(skills.map(({ name, type }) => [name, type])).toEqual([["pdf-forms", "archive"]]);
  });

  it("names archives that are what it says, to the byte, at every time", async () => {
    const { skills } = (await (await send(`/${open}/${index}`)).json()) as Index;
    for (const { url, digest } of skills) {
      const bytes = await (await send(url)).arrayBuffer();
      expect(`sha256:${await hexOf(bytes)}`).toBe(digest);
      expect(await (await send(url)).arrayBuffer()).toEqual(bytes);
    }
  });

  it("of a private namespace is that of an unknown one, and opens with a token", async () => {
    const answer = async (name: string, token?: string) => {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await send(`/${name}/${index}`, { headers });
      return { status: response.status, text: await response.text(), cache: response.headers.get("cache-control") };
    };
    const [there, nowhere] = [await answer(closed), await answer("never-made")];
    expect(there).toEqual(nowhere);
    expect(there.status).toBe(404);
    const opened = await answer(closed, await newToken(closed, "reader"));
    expect(opened.status).toBe(200);
    expect(opened.cache).toContain("no-store");
    expect((await answer(open, "junk")).status).toBe(401);
  });
});

describe("/blobs", () => {
  const get = async (hex: string, init: RequestInit = {}) => send(`/blobs/sha256/${hex}`, init);

  it("serves public bytes by their digest, to be kept for a day", async () => {
    const hex = await hexOf("public words\n");
    const response = await get(hex, { headers: { origin: "https://anywhere.example" } });
    expect(await response.text()).toBe("public words\n");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("cache-control")).toBe("public, max-age=86400, immutable");
    expect(response.headers.get("content-security-policy")).toContain("sandbox");
    expect(response.headers.get("content-disposition")).toContain("attachment");
    const again = await get(hex, { headers: { "if-none-match": response.headers.get("etag")! } });
    expect(again.status).toBe(304);
  });

  it("serves the archives of public releases", async () => {
    const { skills } = (await (await send(`/${open}/${index}`)).json()) as Index;
    const response = await get(skills[0]!.digest.slice("sha256:".length));
    expect(response.headers.get("content-type")).toBe("application/gzip");
    expect(`sha256:${await hexOf(await response.arrayBuffer())}`).toBe(skills[0]!.digest);
  });

  it("answers for private and unlisted bytes as for a random digest, whoever asks", async () => {
    const token = await newToken(open, "admin");
    const wanted = [secretFile, "closed words\n", "unlisted words\n", crypto.randomUUID()];
    const answers = await Promise.all(
      wanted.flatMap((text) =>
        [undefined, `Bearer ${token}`].map(async (authorization) => {
          const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
          const response = await get(await hexOf(text), { headers });
          return JSON.stringify([response.status, await response.text(), response.headers.get("cache-control")]);
        }),
      ),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("404");
  });

  it("serves private bytes no longer than they are public", async () => {
    await seedSkill(open, "changing", { "changing.txt": "now you see me\n" });
    const hex = await hexOf("now you see me\n");
    expect((await get(hex)).status).toBe(200);
    await api("PATCH", `/namespaces/${open}/skills/changing`, { visibility: "private" });
    expect((await get(hex)).status).toBe(404);
    await api("PATCH", `/namespaces/${open}/skills/changing`, { visibility: "public" });
    await api("PATCH", `/namespaces/${open}`, { visibility: "private" });
    expect((await get(hex)).status).toBe(404);
    await api("PATCH", `/namespaces/${open}`, { visibility: "public" });
    expect((await get(hex)).status).toBe(200);
  });

  it("knows one spelling of a digest", async () => {
    const hex = await hexOf("public words\n");
    for (const text of [hex.toUpperCase(), hex.slice(1), `${hex}0`, `sha256:${hex}`, "x", `${hex}%20`]) {
      expect([text, (await get(text)).status]).toEqual([text, 404]);
    }
    expect((await get(hex, { headers: { authorization: "Bearer junk" } })).status).toBe(401);
  });
});
