import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { formatCursor } from "../../src/domain/cursor.ts";
import { packTarGz, packZip } from "../../src/publish/pack.ts";
import {
  api,
  modern,
  newNamespace,
  newToken,
  publish,
  read,
  seedSkill,
  send,
  skillMdOf,
  toFiles,
  upload,
} from "../harness.ts";
import type { Answer } from "../harness.ts";

interface Finding {
  code: string;
  file: string;
  line: number | null;
  column: number | null;
  severity: string;
  message: string;
  fix: string;
}

const files = {
  "SKILL.md": skillMdOf("pdf-forms"),
  "references/a b.md": "# A\n",
  "bin/x.bin": Uint8Array.from([0, 255]),
};

function releaseOf(answer: Answer) {
  return answer.body["release"] as Record<string, unknown>;
}

describe("publishing", () => {
  it.each(["zip", "tar.gz", "multipart"])("a folder as %s: 201 with release, entry and findings", async (kind) => {
    const namespace = await newNamespace();
    const form = new FormData();
    for (const file of toFiles(files)) form.append("files", new File([file.bytes], `pdf-forms/${file.path}`));
    const answer =
      kind === "zip"
        ? await upload(namespace, packZip(toFiles(files)), "application/zip")
        : kind === "tar.gz"
          ? await upload(namespace, await packTarGz(toFiles(files)), "application/gzip")
          : await upload(namespace, form, undefined);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toBe(`/api/v1/namespaces/${namespace}/skills/pdf-forms/-/releases/1.0.0`);
    expect(answer.body).toMatchObject({ changed: true, findings: [] });
    expect(releaseOf(answer)).toMatchObject({
      namespace,
      path: "pdf-forms",
      version: "1.0.0",
      is_current: true,
      uri: `skill://${namespace}/pdf-forms/SKILL.md`,
      pinned_uri: `skill://${namespace}/@1.0.0/pdf-forms/SKILL.md`,
      files: 3,
    });
    const listed = await modern(`/mcp/${namespace}`, "skills/list");
    expect(listed.result!["skills"]).toEqual([answer.body["entry"]]);
  });

  it("the same bytes again: 200, nothing new, whatever the intake", async () => {
    const namespace = await newNamespace();
    await publish(namespace, files);
    const revision = async () => (await api("GET", `/namespaces/${namespace}`)).body["revision"];
    const before = await revision();
    const form = new FormData();
    for (const file of toFiles(files)) form.append("files", new File([file.bytes], file.path));
    for (const again of [
      await publish(namespace, files),
      await upload(namespace, await packTarGz(toFiles(files)), "application/gzip"),
      await upload(namespace, form, undefined),
    ]) {
      expect([again.status, again.body["changed"], releaseOf(again)["version"]]).toEqual([200, false, "1.0.0"]);
    }
    expect(await revision()).toBe(before);
  });

  it("other bytes: the next patch, and current moves", async () => {
    const namespace = await newNamespace();
    await publish(namespace, files);
    const next = await publish(namespace, { ...files, "new.md": "n" });
    expect([next.status, releaseOf(next)["version"], releaseOf(next)["is_current"]]).toEqual([201, "1.0.1", true]);
  });

  it("a version by request, by frontmatter, and the patch after it", async () => {
    const namespace = await newNamespace();
    const md = (text: string, extra = "") => ({ "SKILL.md": `---\nname: notes\ndescription: ${text}\n${extra}---\n` });
    const version = async (answer: Promise<Answer>) => releaseOf(await answer)["version"];
    expect(await version(publish(namespace, md("a"), "?version=2.3.4"))).toBe("2.3.4");
    expect(await version(publish(namespace, md("b", 'metadata:\n  version: "3.0.0"\n')))).toBe("3.0.0");
    expect(await version(publish(namespace, md("c")))).toBe("3.0.1");
    expect(await version(publish(namespace, md("d", 'metadata:\n  version: "9.9.9"\n'), "?version=4.0.0"))).toBe(
      "4.0.0",
    );
    const odd = await publish(namespace, md("e", "metadata:\n  version: latest\n"));
    expect([odd.status, releaseOf(odd)["version"]]).toEqual([201, "4.0.1"]);
    expect(odd.body["findings"]).toMatchObject([{ code: "version_ignored", severity: "warning", line: 5 }]);
  });

  it("a pre-release becomes current for nobody, and the next patch ignores it", async () => {
    const namespace = await newNamespace();
    const md = (text: string) => ({ "SKILL.md": skillMdOf("notes", text) });
    await publish(namespace, md("a"));
    const pre = await publish(namespace, md("b"), "?version=2.0.0-rc.1");
    expect([pre.status, releaseOf(pre)["is_current"]]).toEqual([201, false]);
    expect(releaseOf(await publish(namespace, md("c")))["version"]).toBe("1.0.1");
  });

  it("with current=false leaves current where it is", async () => {
    const namespace = await newNamespace();
    await publish(namespace, { "SKILL.md": skillMdOf("notes", "a") });
    const quiet = await publish(namespace, { "SKILL.md": skillMdOf("notes", "b") }, "?current=false");
    expect([quiet.status, releaseOf(quiet)["is_current"]]).toEqual([201, false]);
    const { body } = await api("GET", `/namespaces/${namespace}/skills/notes`);
    expect(body["current"]).toBe("1.0.0");
    expect(releaseOf(await publish(namespace, { "SKILL.md": skillMdOf("notes", "c") }))["version"]).toBe("1.0.2");
  });

  it("the same version with other bytes: 409, with the version to use", async () => {
    const namespace = await newNamespace();
    await publish(namespace, { "SKILL.md": skillMdOf("notes", "a") }, "?version=1.2.0");
    const clash = await publish(namespace, { "SKILL.md": skillMdOf("notes", "b") }, "?version=1.2.0");
    expect([clash.status, clash.body["code"]]).toEqual([409, "version_exists"]);
    expect(clash.body["detail"]).toContain("1.2.1");
    const same = await publish(namespace, { "SKILL.md": skillMdOf("notes", "a") }, "?version=1.2.0");
    expect(same.status).toBe(200);
  });

  it("the executable bit survives from archive to archive, and its change is a change", async () => {
    const namespace = await newNamespace();
    const script = (executable: boolean) =>
      packZip([
        ...toFiles({ "SKILL.md": skillMdOf("notes") }),
        { path: "run.sh", bytes: new TextEncoder().encode("#!/bin/sh\n"), executable },
      ]);
    await upload(namespace, script(false), "application/zip");
    const changed = await upload(namespace, script(true), "application/zip");
    expect([changed.status, releaseOf(changed)["version"]]).toEqual([201, "1.0.1"]);
    const { body } = await api("GET", `/namespaces/${namespace}/skills/notes/-/releases/current/manifest`);
    expect(
      (body["files"] as { file: string; executable: boolean }[]).find((row) => row.file === "run.sh")!.executable,
    ).toBe(true);
    const form = new FormData();
    form.append("files", new File([skillMdOf("notes")], "SKILL.md"));
    form.append("files", new File(["#!/bin/sh\n"], "run.sh"));
    expect((await upload(namespace, form, undefined)).status).toBe(200);
  });

  it("under a path of folders, whose last segment is the name", async () => {
    const namespace = await newNamespace();
    const answer = await publish(namespace, files, "?path=documents/pdf-forms");
    expect(releaseOf(answer)["uri"]).toBe(`skill://${namespace}/documents/pdf-forms/SKILL.md`);
    const wrong = await publish(namespace, files, "?path=documents/other");
    expect([wrong.status, wrong.body["code"]]).toEqual([422, "invalid_release"]);
    expect(wrong.body["findings"]).toMatchObject([{ code: "name_mismatch" }]);
  });

  it("never inside another skill, nor around one: 409", async () => {
    const namespace = await newNamespace();
    await seedSkill(namespace, "tools", {}, "?path=acme/tools");
    for (const [name, path] of [
      ["inner", "acme/tools/inner"],
      ["deeper", "acme/tools/a/b/deeper"],
      ["acme", "acme"],
    ] as const) {
      const clash = await publish(namespace, { "SKILL.md": skillMdOf(name) }, `?path=${path}`);
      expect([path, clash.status, clash.body["code"]]).toEqual([path, 409, "path_conflict"]);
      expect(clash.body["detail"]).toContain("acme/tools");
      expect((await publish(namespace, { "SKILL.md": skillMdOf(name) }, `?path=${path}&dry_run=true`)).status).toBe(
        409,
      );
    }
    expect((await publish(namespace, { "SKILL.md": skillMdOf("tools-2") }, "?path=acme/tools-2")).status).toBe(201);
  });

  it("a dry run reports everything and changes nothing", async () => {
    const namespace = await newNamespace();
    const answer = await publish(namespace, files, "?dry_run=true");
    expect([answer.status, answer.body["dry_run"], answer.body["changed"]]).toEqual([200, true, true]);
    expect(releaseOf(answer)).toMatchObject({ path: "pdf-forms", version: "1.0.0" });
    expect((await api("GET", `/namespaces/${namespace}/skills`)).body["skills"]).toEqual([]);
    expect((await api("GET", `/namespaces/${namespace}`)).body["revision"]).toBe(0);
    const bad = await publish(namespace, { "SKILL.md": "no frontmatter" }, "?dry_run=true");
    expect(bad.status).toBe(422);
  });

  it("a change of visibility alone: 200, no new release, at once everywhere", async () => {
    const namespace = await newNamespace();
    await publish(namespace, files);
    const hidden = await publish(namespace, files, "?visibility=private");
    expect([hidden.status, hidden.body["changed"]]).toEqual([200, true]);
    expect((await modern(`/mcp/${namespace}`, "skills/list")).result!["skills"]).toEqual([]);
    const kept = await publish(namespace, { ...files, "b.md": "b" });
    expect(kept.status).toBe(201);
    expect((await modern(`/mcp/${namespace}`, "skills/list")).result!["skills"]).toEqual([]);
  });
});

describe("a release that is refused", () => {
  it("comes back with every problem at once, each with its line, and leaves nothing behind", async () => {
    const namespace = await newNamespace();
    const md =
      "---\nname: Bad Name\ndescription: Fill in: forms\nmetadata:\n  retries: 3\n---\nSee [it](references/none.md)\n";
    const { status, headers, body } = await publish(namespace, {
      "SKILL.md": md,
      "aux.md": "x",
      "SECRET.pem": "-----BEGIN PRIVATE KEY-----\n",
    });
    expect([status, headers.get("content-type"), body["code"]]).toEqual([
      422,
      "application/problem+json",
      "invalid_release",
    ]);
    const findings = body["findings"] as Finding[];
    const brief = findings.map(({ code, file, line }) => `${code} ${file} ${line}`);
    expect(brief).toEqual(
      expect.arrayContaining([
        "name_invalid SKILL.md 2",
        "unquoted_colon SKILL.md 3",
        "metadata_value_not_string SKILL.md 5",
        "path_device_name aux.md null",
        "secret_file SECRET.pem 1",
      ]),
    );
    for (const finding of findings) {
      expect(finding.message.length).toBeGreaterThan(5);
      expect(finding.fix.length).toBeGreaterThan(5);
      expect(["error", "warning", "notice"]).toContain(finding.severity);
    }
    expect((await api("GET", `/namespaces/${namespace}/skills`)).body["skills"]).toEqual([]);
  });

  it.each([
    ["an empty zip", packZip([]), "application/zip", 422],
    ["no zip at all", new TextEncoder().encode("hello"), "application/zip", 422],
    ["an empty body", new Uint8Array(), "application/gzip", 422],
    ["another content type", new Uint8Array(1), "text/plain", 415],
    ["no content type", new Uint8Array(1), undefined, 415],
    ["a form without a boundary", new Uint8Array(1), "multipart/form-data", 415],
  ])("%s", async (_, body, type, expected) => {
    const { status } = await upload(await newNamespace(), body, type);
    expect(status).toBe(expected);
  });

  it("an upload over 20 MiB: 413, naming the limit", async () => {
    const { status, body } = await upload(
      await newNamespace(),
      new Uint8Array(20 * 1024 * 1024 + 1),
      "application/zip",
    );
    expect([status, body["code"]]).toEqual([413, "too_large"]);
    expect(body["detail"]).toContain("20971520");
  });

  it.each([
    ["path=Bad", "invalid_path"],
    ["path=a/../b", "invalid_path"],
    ["path=", "invalid_path"],
    ["version=1", "invalid_version"],
    ["version=v1.0.0", "invalid_version"],
    ["version=1.0.0%2Bbuild", "invalid_version"],
    ["version=01.0.0", "invalid_version"],
    ["visibility=secret", "invalid_request"],
    ["dry_run=maybe", "invalid_request"],
    ["current=1", "invalid_request"],
    ["dry-run=true", "invalid_request"],
  ])("?%s: 400 %s", async (query, code) => {
    const answer = await publish(await newNamespace(), files, `?${query}`);
    expect([answer.status, answer.body["code"]]).toEqual([400, code]);
  });

  it("for its rights: 401 without a token, 403 for a reader or a stranger, and nothing is stored", async () => {
    const namespace = await newNamespace();
    expect((await publish(namespace, files, "", null)).status).toBe(401);
    expect((await publish(namespace, files, "", "nonsense")).status).toBe(401);
    expect((await publish(namespace, files, "", await newToken(namespace, "reader"))).status).toBe(403);
    expect((await publish(namespace, files, "", await newToken(await newNamespace(), "admin"))).status).toBe(403);
    expect((await publish("never-created", files)).status).toBe(404);
    expect((await api("GET", `/namespaces/${namespace}/skills`)).body["skills"]).toEqual([]);
    expect((await publish(namespace, files, "", await newToken(namespace, "publisher"))).status).toBe(201);
  });
});

describe("reading what was published", () => {
  it("lists and gets skills and releases, newest first", async () => {
    const namespace = await newNamespace();
    for (const text of ["a", "b", "c"]) await publish(namespace, { "SKILL.md": skillMdOf("notes", text) });
    const skills = (await api("GET", `/namespaces/${namespace}/skills`, undefined, null)).body["skills"];
    expect(skills).toMatchObject([
      { path: "notes", name: "notes", description: "c", version: "1.0.2", visibility: "public" },
    ]);
    const skill = (await api("GET", `/namespaces/${namespace}/skills/notes`, undefined, null)).body;
    expect(skill).toMatchObject({ path: "notes", current: "1.0.2", release: { version: "1.0.2", description: "c" } });
    const { body } = await api("GET", `/namespaces/${namespace}/skills/notes/-/releases`, undefined, null);
    expect((body["releases"] as { version: string }[]).map((release) => release.version)).toEqual([
      "1.0.2",
      "1.0.1",
      "1.0.0",
    ]);
    expect(body["next_cursor"]).toBeNull();
    const release = (await api("GET", `/namespaces/${namespace}/skills/notes/-/releases/1.0.1`, undefined, null)).body;
    expect(release).toMatchObject({
      version: "1.0.1",
      is_current: false,
      entry: { uri: `skill://${namespace}/@1.0.1/notes/SKILL.md` },
    });
  });

  it("gives a manifest whose digests and sizes the files have, to the byte, over HTTP", async () => {
    const namespace = await newNamespace();
    const odd = {
      ...files,
      "-/x.txt": "dash",
      "a/-/b.txt": "dashes",
      "名前/é 🎉.txt": "x\r\n",
      "100% #1?.txt": "",
      "a&b@(c).md": "b",
    };
    await publish(namespace, odd, "?path=documents/pdf-forms");
    const base = `/namespaces/${namespace}/skills/documents/pdf-forms/-/releases/1.0.0`;
    const { body } = await api("GET", `${base}/manifest`, undefined, null);
    const manifest = body["files"] as { file: string; digest: string; size: number }[];
    expect(manifest.map((row) => row.file).sort()).toEqual(Object.keys(odd).sort());
    for (const row of manifest) {
      const path = row.file.split("/").map(encodeURIComponent).join("/");
      const response = await send(`/api/v1${base}/files/${path}`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      expect([row.file, response.status, bytes.byteLength, `sha256:${hex}`]).toEqual([
        row.file,
        200,
        row.size,
        row.digest,
      ]);
      expect(response.headers.get("etag")).toBe(`"${row.digest}"`);
      expect(response.headers.get("content-length")).toBe(String(row.size));
      expect(response.headers.get("content-security-policy")).toContain("sandbox");
      expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
      expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
    }
  });

  it("names the release by a digest that sha256sum users can remake from the manifest", async () => {
    const namespace = await newNamespace();
    const answer = await publish(namespace, files);
    const { body } = await api("GET", `/namespaces/${namespace}/skills/pdf-forms/-/releases/1.0.0/manifest`);
    const rows = (body["files"] as { file: string; digest: string }[]).sort((a, b) => (a.file < b.file ? -1 : 1));
    const text = rows.map((row) => `${row.digest}  ${row.file}\n`).join("");
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    expect([body["digest"], releaseOf(answer)["digest"]]).toEqual([`sha256:${hex}`, `sha256:${hex}`]);
  });

  it.each(["archive.zip", "archive.tar.gz"])(
    "gives the whole release as %s: the same bytes every time, and publishing them is a no-op",
    async (kind) => {
      const namespace = await newNamespace();
      const answer = await publish(namespace, files);
      const path = `/api/v1/namespaces/${namespace}/skills/pdf-forms/-/releases/1.0.0/${kind}`;
      const [first, second] = [await send(path), await send(path)];
      const bytes = new Uint8Array(await first.arrayBuffer());
      expect(bytes).toEqual(new Uint8Array(await second.arrayBuffer()));
      const archives = releaseOf(answer)["archives"] as Record<string, { digest: string; size: number }>;
      const known = kind === "archive.zip" ? archives["zip"]! : archives["tar_gz"]!;
      expect([first.headers.get("etag"), bytes.byteLength]).toEqual([`"${known.digest}"`, known.size]);
      const type = kind === "archive.zip" ? "application/zip" : "application/gzip";
      expect(first.headers.get("content-type")).toBe(type);
      expect((await upload(namespace, bytes, type)).status).toBe(200);
    },
  );

  it.each([
    "/skills/none",
    "/skills/none/-/releases",
    "/skills/pdf-forms/-/releases/9.9.9",
    "/skills/pdf-forms/-/releases/9.9.9/manifest",
    "/skills/pdf-forms/-/releases/not-a-version",
    "/skills/pdf-forms/-/releases/1.0.0/files/none.md",
    "/skills/pdf-forms/-/releases/1.0.0/files/",
    "/skills/pdf-forms/-/releases/1.0.0/files/%E0%A4%A",
    "/skills/pdf-forms/-/releases/1.0.0/files/..%2F..%2Fx",
    "/skills/pdf-forms/-/releases/1.0.0/archive.rar",
    "/skills/pdf-forms/-/nothing",
    "/skills/pdf-forms/-/releases/1.0.0/manifest/",
    "/skills/Bad Name",
  ])("%s: 404", async (path) => {
    const namespace = await newNamespace();
    await publish(namespace, files);
    const { status, body } = await read(await send(`/api/v1/namespaces/${namespace}${path}`));
    expect([status, body["code"]]).toEqual([404, "not_found"]);
  });

  it("works in a namespace that is called skills", async () => {
    expect((await api("POST", "/namespaces", { name: "skills" })).status).toBe(201);
    await publish("skills", files);
    expect((await api("GET", "/namespaces/skills/skills/pdf-forms/-/releases/1.0.0")).status).toBe(200);
  });

  it("refuses a cursor of another skill's releases, and a forged one", async () => {
    const namespace = await newNamespace();
    await publish(namespace, files);
    for (const key of ["abc", "", "NaN", "1e400", "-1"]) {
      const forged = formatCursor(`api-releases:${namespace}/pdf-forms`, { page: 1, key });
      expect((await api("GET", `/namespaces/${namespace}/skills/pdf-forms/-/releases?cursor=${forged}`)).status).toBe(
        400,
      );
    }
    const { status } = await api("GET", `/namespaces/${namespace}/skills/pdf-forms/-/releases?cursor=abc`);
    expect(status).toBe(400);
  });

  it("serves private skills of a public namespace only to those who may read them", async () => {
    const namespace = await newNamespace();
    await publish(namespace, files, "?visibility=private");
    const token = await newToken(namespace, "reader");
    const path = `/namespaces/${namespace}/skills/pdf-forms`;
    expect((await api("GET", path, undefined, token)).status).toBe(200);
    for (const tail of [
      "",
      "/-/releases",
      "/-/releases/1.0.0",
      "/-/releases/1.0.0/manifest",
      "/-/releases/1.0.0/files/SKILL.md",
    ]) {
      expect((await api("GET", path + tail, undefined, null)).status).toBe(404);
    }
    expect((await api("GET", `/namespaces/${namespace}/skills`, undefined, null)).body["skills"]).toEqual([]);
  });
});

describe("bytes", () => {
  it("are stored once for all tenants, under their digest", async () => {
    const [first, second] = [await newNamespace(), await newNamespace()];
    const shared = { "SKILL.md": skillMdOf("notes", "the same words"), "data.bin": "x".repeat(5000) };
    await publish(first, shared);
    const count = async () => (await env.BLOBS.list()).objects.length;
    const before = await count();
    expect((await publish(second, shared)).status).toBe(201);
    expect(await count()).toBe(before);
  });
});
