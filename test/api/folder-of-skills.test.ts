import { describe, expect, it } from "vitest";

import { packTarGz, packZip } from "../../src/publish/pack.ts";
import { api, modern, newNamespace, publish, skillMdOf, toFiles, upload } from "../harness.ts";
import type { Files } from "../harness.ts";

function folderOf(count: number, text = "first"): Files {
  const files: Files = {};
  for (let index = 0; index < count; index++) {
    files[`skill-${index}/SKILL.md`] = skillMdOf(`skill-${index}`, `${text} ${index}`);
    files[`skill-${index}/references/guide.md`] = `# Guide ${index}\n`;
  }
  return files;
}

const revision = async (namespace: string) => (await api("GET", `/namespaces/${namespace}`)).body["revision"] as number;

async function listed(namespace: string): Promise<string[]> {
  const { result } = await modern(`/mcp/${namespace}`, "skills/list");
  return (result!["skills"] as { uri: string }[]).map((entry) =>
    entry.uri.replace(`skill://${namespace}/`, "").replace("/SKILL.md", ""),
  );
}

describe("an upload without a SKILL.md at its root", () => {
  it.each(["zip", "tar.gz", "multipart"])("as %s publishes each folder that has one, in one revision", async (kind) => {
    const namespace = await newNamespace();
    const files = toFiles(folderOf(5));
    const form = new FormData();
    for (const file of files) form.append("files", new File([file.bytes], `my-skills/${file.path}`));
    const { status, body } =
      kind === "zip"
        ? await upload(namespace, packZip(files), "application/zip")
        : kind === "tar.gz"
          ? await upload(namespace, await packTarGz(files), "application/gzip")
          : await upload(namespace, form, undefined);
    expect([status, body["changed"], body["findings"], body["pruned"]]).toEqual([201, true, [], []]);
    const skills = body["skills"] as { changed: boolean; release: { path: string; version: string }; entry: object }[];
    expect(skills.map(({ changed, release }) => [changed, release.path, release.version])).toEqual(
      [0, 1, 2, 3, 4].map((index) => [true, `skill-${index}`, "1.0.0"]),
    );
    expect(await revision(namespace)).toBe(1);
    expect((await listed(namespace)).length).toBe(5);
  });

  it("leaves what is unchanged: 201 while one is new, 200 when none is", async () => {
    const namespace = await newNamespace();
    await publish(namespace, folderOf(3));
    const one = await publish(namespace, { ...folderOf(3), "skill-1/new.md": "n" });
    expect(one.status).toBe(201);
    const skills = one.body["skills"] as { changed: boolean; release: { version: string } }[];
    expect(skills.map(({ changed, release }) => [changed, release.version])).toEqual([
      [false, "1.0.0"],
      [true, "1.0.1"],
      [false, "1.0.0"],
    ]);
    const none = await publish(namespace, { ...folderOf(3), "skill-1/new.md": "n" });
    expect([none.status, none.body["changed"]]).toEqual([200, false]);
    expect(await revision(namespace)).toBe(2);
  });

  it("takes ?path= as the beginning of every path", async () => {
    const namespace = await newNamespace();
    await publish(namespace, folderOf(2), "?path=team/tools");
    expect(await listed(namespace)).toEqual(["team/tools/skill-0", "team/tools/skill-1"]);
  });

  it("publishes topmost folders only: a deeper SKILL.md is a file of the skill around it", async () => {
    const namespace = await newNamespace();
    const { body } = await publish(namespace, {
      "group/outer/SKILL.md": skillMdOf("outer"),
      "group/outer/inner/SKILL.md": skillMdOf("inner"),
      "other/SKILL.md": skillMdOf("other"),
    });
    expect(await listed(namespace)).toEqual(["other", "outer"]);
    expect(body["findings"]).toMatchObject([
      { code: "nested_skill", file: "group/outer/inner/SKILL.md", severity: "notice" },
    ]);
  });

  it("tells of files that lie in no skill", async () => {
    const { status, body } = await publish(await newNamespace(), { ...folderOf(2), "README.md": "x", LICENSE: "y" });
    expect(status).toBe(201);
    expect(body["findings"]).toMatchObject([
      { code: "outside_skills", severity: "notice", message: expect.stringContaining("2 files") as string },
    ]);
  });

  it("is all or none: one bad skill refuses all, with findings named from the root of the upload", async () => {
    const namespace = await newNamespace();
    const files = {
      ...folderOf(3),
      "skill-1/SKILL.md": "---\nname: skill-1\ndescription: a: b\n---\n",
      "skill-2/SKILL.md": "none",
    };
    const { status, body } = await publish(namespace, files);
    expect(status).toBe(422);
    const errors = (body["findings"] as { code: string; file: string; line: number; severity: string }[]).filter(
      (finding) => finding.severity === "error",
    );
    expect(errors.map(({ code, file, line }) => [code, file, line])).toEqual([
      ["unquoted_colon", "skill-1/SKILL.md", 3],
      ["frontmatter_missing", "skill-2/SKILL.md", 1],
    ]);
    expect(await listed(namespace)).toEqual([]);
    expect(await revision(namespace)).toBe(0);
  });

  it("refuses two folders with one name, and one whose version exists with other bytes", async () => {
    const namespace = await newNamespace();
    const twins = await publish(namespace, {
      "a/notes/SKILL.md": skillMdOf("notes"),
      "b/notes/SKILL.md": skillMdOf("notes"),
    });
    expect([twins.status, JSON.stringify(twins.body["findings"])]).toEqual([
      422,
      expect.stringContaining("duplicate_skill"),
    ]);
    await publish(namespace, folderOf(2));
    const clash = await publish(namespace, folderOf(2, "second"), "?version=1.0.0");
    expect([clash.status, clash.body["code"]]).toEqual([409, "version_exists"]);
    expect(await revision(namespace)).toBe(1);
  });

  it("refuses more than 100 skills, and a skill of more than 512 files", async () => {
    const many = await publish(await newNamespace(), folderOf(101));
    expect([many.status, JSON.stringify(many.body["findings"])]).toEqual([
      422,
      expect.stringContaining("too_many_skills"),
    ]);
    const files: Files = { "big/SKILL.md": skillMdOf("big"), "small/SKILL.md": skillMdOf("small") };
    for (let index = 0; index < 512; index++) files[`big/f/${index}.txt`] = "";
    const large = await publish(await newNamespace(), files);
    expect([large.status, JSON.stringify(large.body["findings"])]).toEqual([
      422,
      expect.stringContaining("too_many_files"),
    ]);
  });

  it("of 40 skills is one publish", async () => {
    const namespace = await newNamespace();
    const { status } = await publish(namespace, folderOf(40));
    expect(status).toBe(201);
    expect((await listed(namespace)).length).toBe(40);
    expect(await revision(namespace)).toBe(1);
  });
});

describe("prune", () => {
  const prepare = async () => {
    const namespace = await newNamespace();
    await publish(namespace, folderOf(3), "?path=team");
    await publish(namespace, { ...folderOf(3, "next"), "skill-2/x.md": "" }, "?path=team");
    await publish(namespace, { "SKILL.md": skillMdOf("elsewhere") });
    return namespace;
  };

  it("as a dry run reports the skills that vanished and changes nothing of them", async () => {
    const namespace = await prepare();
    const { status, body } = await publish(namespace, folderOf(1, "next"), "?path=team&prune=dry_run");
    expect([status, body["pruned"], body["changed"]]).toEqual([200, ["team/skill-1", "team/skill-2"], false]);
    expect((await listed(namespace)).length).toBe(4);
  });

  it("yanks every release of them, under its path only, in the revision of the publish", async () => {
    const namespace = await prepare();
    const before = await revision(namespace);
    const { status, body } = await publish(namespace, folderOf(1, "third"), "?path=team&prune=true");
    expect([status, body["pruned"]]).toEqual([201, ["team/skill-1", "team/skill-2"]]);
    expect(await listed(namespace)).toEqual(["elsewhere", "team/skill-0"]);
    expect(await revision(namespace)).toBe(before + 1);
    const uri = `skill://${namespace}/team/@1.0.1/skill-2/SKILL.md`;
    expect((await modern(`/mcp/${namespace}`, "skills/get", { uri })).error).toBeUndefined();
    const back = await publish(namespace, folderOf(3, "fourth"), "?path=team&prune=true");
    expect([back.status, back.body["pruned"]]).toEqual([201, []]);
    expect((await listed(namespace)).length).toBe(4);
  });

  it("in a dry run of the whole publish yanks nothing", async () => {
    const namespace = await prepare();
    const { body } = await publish(namespace, folderOf(1, "next"), "?path=team&prune=true&dry_run=true");
    expect(body["pruned"]).toEqual(["team/skill-1", "team/skill-2"]);
    expect((await listed(namespace)).length).toBe(4);
  });

  it("needs ?path= and several skills: 400", async () => {
    const namespace = await newNamespace();
    expect((await publish(namespace, folderOf(2), "?prune=true")).status).toBe(400);
    expect((await publish(namespace, { "SKILL.md": skillMdOf("notes") }, "?path=notes&prune=true")).status).toBe(400);
    expect((await publish(namespace, folderOf(2), "?path=team&prune=maybe")).status).toBe(400);
    expect(await revision(namespace)).toBe(0);
  });
});
