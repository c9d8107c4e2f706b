import { beforeAll, describe, expect, it } from "vitest";

import { api, newNamespace, newToken, seedSkill, send } from "../harness.ts";

/** Discovery 0.1.0: an index that lists files, and those files. */
let open: string;
let closed: string;
let link: string;

const base = ".well-known/skills";

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  await seedSkill(open, "pdf-forms", { "notes/a b & ü.txt": "public words\n" });
  await seedSkill(open, "pdf-forms", { "other.txt": "the second of a name\n" }, "?path=zoo/pdf-forms");
  await seedSkill(open, "half", { "what?.txt": "no address for such a tool\n" });
  await seedSkill(open, "hidden", { "hidden.txt": "unlisted\n" }, "?visibility=unlisted");
  await seedSkill(closed, "inner", { "inner.txt": "closed words\n" });
  await api("POST", "/namespaces", { name: "registry" });
  await seedSkill("registry", "featured-skill");
  await api("PUT", "/namespaces/registry/collections/featured", { visibility: "public", skills: "all" });
  link = new URL((await api("POST", `/namespaces/${closed}/links`, {})).body["url"] as string).pathname.slice(0, -4);
});

const list = async (place: string) => {
  const { skills } = (await (await send(`${place}/${base}/index.json`)).json()) as {
    skills: { name: string; description: string; files: string[] }[];
  };
  return skills.map(({ name, files }) => [name, ...files.toSorted()]);
};

describe("the older discovery index", () => {
  it("lists the files of each skill, at the root, of a namespace, and below a read link", async () => {
    expect(await list("")).toEqual([["featured-skill", "SKILL.md"]]);
    // One of a name; and none of which such a tool would get only a part.
    expect(await list(`/${open}`)).toEqual([["pdf-forms", "SKILL.md", "notes/a b & ü.txt"]]);
    expect(await list(link)).toEqual([["inner", "SKILL.md", "inner.txt"]]);
    const { headers } = await send(`/${open}/${base}/index.json`, { headers: { origin: "https://anywhere.example" } });
    expect([headers.get("access-control-allow-origin"), headers.get("cache-control")]).toEqual([
      "*",
      "public, max-age=5",
    ]);
    expect((await send(`${link}/${base}/index.json`)).headers.get("cache-control")).toContain("no-store");
  });

  it("has the files at the addresses that tools make of their names", async () => {
    const text = async (path: string) => (await send(path)).text();
    expect(await text(`/${open}/${base}/pdf-forms/notes/a%20b%20&%20%C3%BC.txt`)).toBe("public words\n");
    expect(await text(`/${base}/featured-skill/SKILL.md`)).toContain("name: featured-skill");
    expect(await text(`${link}/${base}/inner/inner.txt`)).toBe("closed words\n");
  });

  it.each(["hidden/hidden.txt", "hidden/SKILL.md", "none/SKILL.md", "pdf-forms/none.txt", "pdf-forms/other.txt"])(
    "has nothing at %s",
    async (path) => {
      expect((await send(`/${open}/${base}/${path}`)).status).toBe(404);
    },
  );

  it("of a private namespace is that of an unknown one, and opens with a token", async () => {
    const headers = { authorization: `Bearer ${await newToken(closed, "reader")}` };
    for (const path of ["index.json", "inner/inner.txt"]) {
      const [there, nowhere] = [`/${closed}/${base}/${path}`, `/never-made/${base}/${path}`];
      expect(await (await send(there)).text()).toEqual(await (await send(nowhere)).text());
      expect([(await send(there)).status, (await send(there, { headers })).status]).toEqual([404, 200]);
    }
  });

  it("refuses a name that is no spelling of one", async () => {
    for (const path of ["pdf-forms/%E0%A4%A", "pdf-forms/..%2f..%2fx", "%2e%2e/SKILL.md", "pdf%2Dforms/SKILL.md"]) {
      expect([path, (await send(`/${open}/${base}/${path}`)).status]).toEqual([path, 404]);
    }
  });
});
