import { beforeAll, describe, expect, it } from "vitest";

import { maxSkillsPerUpload } from "../../src/domain/limits.ts";
import { api, eras, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";
import type { Files, modern } from "../harness.ts";

/** `completion/complete`: the names that a person may have begun, and the files of skills, part by part. */
type Call = typeof modern;

interface Completion {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

const secret = `skr_${"a".repeat(16)}_${"b".repeat(64)}_${"c".repeat(16)}`;

let namespace: string;
let token: string;

beforeAll(async () => {
  namespace = await newNamespace();
  token = await newToken(namespace, "reader");
  await seedSkill(namespace, "pdf-forms", { "references/fields.md": "# Fields\n", "references/Grüße.md": "Hallo\n" });
  await seedSkill(namespace, "fill-pdf");
  await seedSkill(namespace, "refunds", {}, "?path=billing/refunds");
  await seedSkill(namespace, "pdf-secrets", { "notes.md": "secret\n" }, "?visibility=private");
  await seedSkill(namespace, "pdf-unlisted", {}, "?visibility=unlisted");
  await publish(namespace, { "SKILL.md": skillMdOf("pdf-forms", "Later"), "later.md": "" }, "?version=2.0.0");
  await api("PUT", `/namespaces/${namespace}/collections/desk`, {
    visibility: "public",
    skills: [{ path: "billing/refunds" }, { path: "pdf-forms", version: "1.0.0" }, { path: "pdf-secrets" }],
  });
});

describe.each(eras)("completion over %s", (_, call: Call) => {
  const complete = async (address: string, ref: object, argument: object, credential?: string) =>
    call(address, "completion/complete", { ref, argument }, credential === undefined ? {} : { token: credential });

  const offered = async (address: string, ref: object, argument: object, credential?: string): Promise<string[]> => {
    const { result, error } = await complete(address, ref, argument, credential);
    if (error !== undefined) throw new Error(error.message);
    const { values, total, hasMore } = result!["completion"] as Completion;
    expect([total, hasMore]).toEqual([values.length, false]);
    return values;
  };

  const useSkill = { type: "ref/prompt", name: "use-skill" };
  const namesFor = (address: string, value: string, credential?: string) =>
    offered(address, useSkill, { name: "skill", value }, credential);

  const template = (address: string) =>
    address === `/mcp/${namespace}` ? `skill://${namespace}/{+path}` : "skill://{+path}";
  const pathsFor = (address: string, value: string, credential?: string) =>
    offered(address, { type: "ref/resource", uri: template(address) }, { name: "path", value }, credential);

  describe("of a skill's name", () => {
    it("offers what begins so, then what has it further in, whatever the case", async () => {
      const address = `/mcp/${namespace}`;
      expect(await namesFor(address, "")).toEqual(["billing/refunds", "fill-pdf", "pdf-forms"]);
      expect(await namesFor(address, "PDF")).toEqual(["pdf-forms", "fill-pdf"]);
      expect(await namesFor(address, "pdf-f")).toEqual(["pdf-forms"]);
      expect(await namesFor(address, "refunds")).toEqual(["billing/refunds"]);
      expect(await namesFor(address, "zebra")).toEqual([]);
    });

    it("offers in a collection the names that it holds, each of which is a prompt there", async () => {
      const address = `/mcp/${namespace}/desk`;
      expect(await namesFor(address, "")).toEqual(["refunds", "pdf-forms"]);
      for (const skill of await namesFor(address, "")) {
        const { error } = await call(address, "prompts/get", { name: "use-skill", arguments: { skill } });
        expect(error).toBeUndefined();
      }
    });

    it("offers nobody a private skill but who may read it, and nobody an unlisted one", async () => {
      for (const address of [`/mcp/${namespace}`, `/mcp/${namespace}/desk`]) {
        expect(await namesFor(address, "pdf-s")).toEqual([]);
        expect(await namesFor(address, "pdf-s", token)).toEqual(["pdf-secrets"]);
        expect(await namesFor(address, "pdf-u", token)).toEqual([]);
      }
    });

    it("leaves the task to the person", async () => {
      expect(await offered(`/mcp/${namespace}`, useSkill, { name: "task", value: "fi" })).toEqual([]);
    });

    it("knows the prompts of the address, of private skills for who may read them, and no others", async () => {
      const ask = (address: string, name: string, credential?: string) =>
        complete(address, { type: "ref/prompt", name }, { name: "task", value: "" }, credential);
      expect((await ask(`/mcp/${namespace}`, "pdf-forms")).error).toBeUndefined();
      expect((await ask(`/mcp/${namespace}/desk`, "refunds")).error).toBeUndefined();
      for (const name of ["pdf-absent", "pdf-secrets"]) {
        for (const address of ["/mcp", `/mcp/${namespace}`, `/mcp/${namespace}/desk`]) {
          const { error } = await ask(address, name);
          expect([error?.code, error?.message]).toEqual([-32602, `Unknown prompt "${name}"`]);
        }
      }
      expect((await ask(`/mcp/${namespace}`, "pdf-secrets", token)).error).toBeUndefined();
    });
  });

  describe("of a file's address", () => {
    it("goes a part at a time: skills, then the files of one", async () => {
      const address = `/mcp/${namespace}`;
      expect(await pathsFor(address, "")).toEqual([
        "billing/refunds/SKILL.md",
        "fill-pdf/SKILL.md",
        "pdf-forms/SKILL.md",
      ]);
      expect(await pathsFor(address, "pdf")).toEqual(["pdf-forms/SKILL.md"]);
      expect(await pathsFor(address, "pdf-forms/")).toEqual(["pdf-forms/SKILL.md", "pdf-forms/later.md"]);
      expect(await pathsFor(address, "@1.0.0/pdf-forms/ref")).toEqual([
        "@1.0.0/pdf-forms/references/Gr%C3%BC%C3%9Fe.md",
        "@1.0.0/pdf-forms/references/fields.md",
      ]);
      expect(await pathsFor(address, "@9.0.0/pdf-forms/")).toEqual([]);
    });

    it("begins at the root with the namespaces", async () => {
      expect(await pathsFor("/mcp", namespace.slice(0, 5))).toContain(`${namespace}/`);
      expect(await pathsFor("/mcp", `${namespace}/fi`)).toEqual([`${namespace}/fill-pdf/SKILL.md`]);
      expect(await pathsFor("/mcp", `${namespace}/pdf-forms/l`)).toEqual([`${namespace}/pdf-forms/later.md`]);
    });

    it("offers addresses that are read as they are", async () => {
      const address = `/mcp/${namespace}`;
      for (const path of await pathsFor(address, "@1.0.0/pdf-forms/")) {
        const { error } = await call(address, "resources/read", { uri: `skill://${namespace}/${path}` });
        expect([path, error]).toEqual([path, undefined]);
      }
    });

    it("offers nobody the files of a private skill, or a private namespace, but who may read them", async () => {
      const hidden = await newNamespace("private");
      await seedSkill(hidden, "inner");
      const own = await newToken(hidden, "reader");
      expect(await pathsFor("/mcp", hidden)).toEqual([]);
      expect(await pathsFor("/mcp", `${hidden}/`)).toEqual([]);
      expect(await pathsFor("/mcp", `${hidden}/inner/`)).toEqual([]);
      expect(await pathsFor("/mcp", hidden, own)).toEqual([`${hidden}/`]);
      expect(await pathsFor("/mcp", `${hidden}/inner/`, own)).toEqual([`${hidden}/inner/SKILL.md`]);
      expect(await pathsFor(`/mcp/${namespace}`, "pdf-secrets/")).toEqual([]);
      expect(await pathsFor(`/mcp/${namespace}`, "pdf-secrets/", token)).toEqual([
        "pdf-secrets/SKILL.md",
        "pdf-secrets/notes.md",
      ]);
    });
  });

  it.each([
    ["an unknown prompt", { type: "ref/prompt", name: "No such prompt" }, { name: "skill", value: "" }],
    ["an unknown argument of a prompt", useSkill, { name: "version", value: "" }],
    [
      "the template of another address",
      { type: "ref/resource", uri: "skill://other/{+path}" },
      { name: "path", value: "" },
    ],
    ["a template of another scheme", { type: "ref/resource", uri: "file:///{path}" }, { name: "path", value: "" }],
    ["an unknown argument of the template", { type: "ref/resource", uri: "skill://{+path}" }, { name: "p", value: "" }],
    ["a reference of another kind", { type: "ref/tool", name: "load_skill" }, { name: "uri", value: "" }],
    ["a value that is no text", useSkill, { name: "skill", value: 5 }],
    ["no value", useSkill, { name: "skill" }],
  ])("refuses %s with a sentence", async (_, ref, argument) => {
    const { status, error } = await complete("/mcp", ref, argument);
    expect([status, error?.code]).toEqual([200, -32602]);
    expect(error!.message).not.toBe("");
  });

  it("never repeats a secret, wherever it was typed", async () => {
    const at = `/mcp/${namespace}`;
    const uri = `skill://${namespace}/{+path}`;
    for (const [ref, argument] of [
      [useSkill, { name: "skill", value: secret }],
      [useSkill, { name: secret, value: "" }],
      [
        { type: "ref/prompt", name: secret },
        { name: "skill", value: "" },
      ],
      [
        { type: "ref/resource", uri },
        { name: "path", value: secret },
      ],
      [
        { type: "ref/resource", uri },
        { name: secret, value: "" },
      ],
      [
        { type: "ref/resource", uri: `skill://${secret}/{+path}` },
        { name: "path", value: "" },
      ],
      [
        { type: secret, name: secret },
        { name: "skill", value: "" },
      ],
    ] as const) {
      const { body } = await complete(at, ref, argument);
      expect(JSON.stringify(body)).not.toContain("bbbb");
    }
  });

  it.each(["\0", "a\0", "%", "_", "é", "\u{10FFFF}", "🎉", "\uD83C", "../", "@", "@1.0.0/", "//", "x".repeat(10_000)])(
    "takes %j for a person's letters and no more",
    async (value) => {
      for (const address of [`/mcp/${namespace}`, `/mcp/${namespace}/desk`, "/mcp"]) {
        expect(await namesFor(address, value)).toEqual([]);
        expect(await pathsFor(address, value)).toEqual([]);
      }
    },
  );

  it("holds 100 values at most, and says that there are more", async () => {
    const large = await newNamespace();
    const names = Array.from({ length: 130 }, (_, index) => `many-${String(index).padStart(3, "0")}`);
    for (const some of [names.slice(0, maxSkillsPerUpload), names.slice(maxSkillsPerUpload)]) {
      const files: Files = {};
      for (const name of some) files[`${name}/SKILL.md`] = skillMdOf(name);
      expect((await publish(large, files)).status).toBe(201);
    }
    const uri = `skill://${large}/{+path}`;
    for (const [ref, name, suffix] of [
      [useSkill, "skill", ""],
      [{ type: "ref/resource", uri }, "path", "/SKILL.md"],
    ] as const) {
      const ask = async (value: string) =>
        (await complete(`/mcp/${large}`, ref, { name, value })).result!["completion"] as Completion;
      const many = await ask("many-");
      expect(many.values).toEqual(names.slice(0, 100).map((one) => one + suffix));
      expect(many.hasMore).toBe(true);
      expect(many).not.toHaveProperty("total");
      expect((await ask("many-12")).values).toEqual(names.slice(120).map((one) => one + suffix));
      expect((await ask("many-12")).hasMore).toBe(false);
    }
  });
});
