import { deflateSync, gzipSync, zipSync } from "fflate";
import { packTar } from "modern-tar";
import type { TarHeader } from "modern-tar";
import { describe, expect, it } from "vitest";

import {
  maxDrainedBytes,
  maxFileBytes,
  maxFilesPerUpload,
  maxSkillBytes,
  maxUploadBytes,
} from "../../src/domain/limits.ts";
import { Problem } from "../../src/domain/problem.ts";
import { readUpload } from "../../src/publish/archive.ts";
import type { Upload } from "../../src/publish/archive.ts";
import { crc32 } from "../../src/publish/crc32.ts";
import { bytesOf, concat, isSame, noise, paxRecord, rawZip, tarEnd, tarEntry, tarHeader, textOf } from "./bytes.ts";

const MiB = 1024 * 1024;

function read(contentType: string | null, body: Uint8Array | null, headers: Record<string, string> = {}) {
  const stream = body === null ? null : new Response(body as Uint8Array<ArrayBuffer>).body;
  return readUpload({ contentType, body: stream, headers: new Headers(headers) });
}

const readZip = (body: Uint8Array) => read("application/zip", body);
const readTar = (body: Uint8Array) => read("application/x-tar", body);
const readTarGz = (body: Uint8Array) => read("application/gzip", body);

/** Name → content, as fflate writes it. */
const zipOf = (files: Record<string, string | Uint8Array>) =>
  zipSync(
    Object.fromEntries(
      Object.entries(files).map(([name, content]) => [name, typeof content === "string" ? bytesOf(content) : content]),
    ),
  );

const tarOf = (files: Record<string, string | Uint8Array>, more: Partial<TarHeader> = {}) =>
  packTar(
    Object.entries(files).map(([name, content]) => {
      const body = typeof content === "string" ? bytesOf(content) : content;
      return { header: { name, size: body.length, mtime: new Date(0), ...more }, body };
    }),
  );

const boundary = "x-boundary-x";
const formHead = (filename: string, field = "files") =>
  `Content-Disposition: form-data; name="${field}"; filename="${filename}"\r\nContent-Type: application/octet-stream`;

/** A form out of raw part headers and bodies. */
function formOf(...parts: [head: string, content: string | Uint8Array][]): Uint8Array {
  const wire = parts.flatMap(([head, content]) => [
    bytesOf(`--${boundary}\r\n${head}\r\n\r\n`),
    typeof content === "string" ? bytesOf(content) : content,
    bytesOf("\r\n"),
  ]);
  return concat(...wire, bytesOf(`--${boundary}--\r\n`));
}

const readForm = (body: Uint8Array) => read(`multipart/form-data; boundary=${boundary}`, body);

const paths = (upload: Upload) => upload.files.map((file) => file.path);
const codes = (upload: Upload) => upload.findings.map((finding) => finding.code);
const errors = (upload: Upload) =>
  upload.findings.filter(({ severity }) => severity === "error").map(({ code, file }) => `${code} ${file}`);
const contents = (upload: Upload) => Object.fromEntries(upload.files.map(({ path, bytes }) => [path, textOf(bytes)]));

async function refusal(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Problem);
  return error as Problem;
}

/** The one error of an upload that could not be unpacked. */
async function stop(work: Promise<Upload>) {
  const upload = await work;
  const found = upload.findings.filter(({ severity }) => severity === "error");
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({ file: "", line: null });
  expect(upload.isComplete).toBe(false);
  return found[0]!;
}

const oddNames = [
  "SKILL.md",
  ".env",
  "a b/c d.md",
  "100%.md",
  "%20.md",
  "h#.md",
  "q?.md",
  "a&b.md",
  "@home.md",
  "(x).md",
  "日本語/手引き.md",
  "caf\u00e9.md",
  "🎉.md",
  "semi;colon=1.md",
  "it's.md",
  "1",
  "__proto__",
  "references/deep/er/still/x.md",
];
const oddContents: Record<string, Uint8Array> = {
  "bom.md": concat(new Uint8Array([0xef, 0xbb, 0xbf]), bytesOf("# x\n")),
  "crlf.md": bytesOf("a\r\nb\r\n\r\n--x\r\n"),
  "utf16.txt": new Uint8Array([0xff, 0xfe, 0x61, 0, 0x0a, 0]),
  "zeros.bin": new Uint8Array([0, 0, 1, 0]),
  "empty.txt": new Uint8Array(),
  "boundary.txt": bytesOf(`\r\n--${boundary.slice(0, -1)}\r\n--`),
  "invalid.txt": new Uint8Array([0xc3, 0x28, 0xa0, 0xff]),
  "noise.bin": noise(100_000),
  "flat.bin": new Uint8Array(300_000),
};

describe("a good upload", () => {
  const files: [string, Uint8Array][] = [
    ...oddNames.map((name): [string, Uint8Array] => [name, bytesOf(`this is ${name}`)]),
    ...Object.entries(oddContents),
  ];
  const entries = files.map(([name, body]) => ({ header: { name, size: body.length }, body }));
  const bodies: [string, string, () => Promise<Uint8Array> | Uint8Array][] = [
    ["a zip", "application/zip", () => rawZip(files.map(([name, data]) => ({ name, data })))],
    [
      "a deflated zip",
      "application/x-zip-compressed",
      () =>
        rawZip(
          files.map(([name, data]) => ({
            name,
            data: deflateSync(data),
            method: 8,
            size: data.length,
            crc: crc32(data),
          })),
        ),
    ],
    ["a tar", "application/x-tar", () => packTar(entries)],
    ["a tar.gz", "application/gzip", async () => gzipSync(await packTar(entries))],
    [
      "a form",
      `multipart/form-data; boundary="${boundary}"`,
      () => formOf(...files.map(([n, b]): [string, Uint8Array] => [formHead(n), b])),
    ],
  ];

  it.each(bodies)("as %s keeps every odd name and byte", async (_, contentType, make) => {
    const upload = await read(contentType, await make());
    expect(upload.findings).toEqual([]);
    expect(upload.isComplete).toBe(true);
    expect(upload.folder).toBeUndefined();
    expect(paths(upload)).toEqual(files.map(([name]) => name));
    for (const [at, [, bytes]] of files.entries()) expect(isSame(upload.files[at]!.bytes, bytes)).toBe(true);
  });

  it.each(["application/zip", "Application/ZIP; charset=binary", "application/x-zip", "application/x-zip-compressed"])(
    "may say that a zip is %s",
    async (type) => {
      expect(paths(await read(type, zipOf({ "SKILL.md": "x" })))).toEqual(["SKILL.md"]);
    },
  );

  it.each([
    "application/gzip",
    "application/x-gzip",
    "application/x-tar+gzip",
    "application/tar+gzip",
    "application/x-gtar-compressed",
    "application/x-compressed-tar",
    "application/x-tgz",
  ])("may say that a tar.gz is %s", async (type) => {
    expect(paths(await read(type, gzipSync(await tarOf({ "SKILL.md": "x" }))))).toEqual(["SKILL.md"]);
  });

  it("keeps the executable bit of a zip from Unix or macOS, and claims none for one from Windows", async () => {
    const upload = await readZip(
      rawZip([
        { name: "SKILL.md" },
        { name: "run.sh", mode: 0o100755 },
        { name: "mac.sh", mode: 0o100711, host: 19 },
        { name: "windows.sh", mode: 0o100755, host: 0 },
        { name: "mute.sh", mode: 0 },
      ]),
    );
    expect(upload.files.map((file) => file.executable)).toEqual([false, true, true, undefined, undefined]);
  });

  it("keeps the executable bit of a tar, and claims none for a form", async () => {
    const tar = await readTar(concat(tarEntry({ name: "SKILL.md" }), tarEntry({ name: "x", mode: 0o700 }), tarEnd));
    expect(tar.files.map((file) => file.executable)).toEqual([false, true]);
    const form = await readForm(formOf([formHead("SKILL.md"), "x"]));
    expect(form.files[0]).toEqual({ path: "SKILL.md", bytes: bytesOf("x") });
  });

  it("may come in many small chunks", async () => {
    const zip = zipOf({ "SKILL.md": "hello", "a/b.md": "x" });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of zip) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const upload = await readUpload({ contentType: "application/zip", body, headers: new Headers() });
    expect(contents(upload)).toEqual({ "SKILL.md": "hello", "a/b.md": "x" });
  });

  it("may have nothing in it: what is missing is for the lint to say", async () => {
    for (const upload of [
      await readZip(rawZip([])),
      await readTar(tarEnd),
      await readForm(bytesOf(`--${boundary}--\r\n`)),
    ]) {
      expect(upload).toEqual({ files: [], findings: [], isComplete: true });
    }
  });
});

describe("one wrapping folder", () => {
  it("is stripped and told, from every intake", async () => {
    const files = { "pdf-tools/SKILL.md": "x", "pdf-tools/a/b.md": "y" };
    const form = formOf([formHead("pdf-tools/SKILL.md"), "x"], [formHead("pdf-tools/a/b.md"), "y"]);
    for (const upload of [await readZip(zipOf(files)), await readTar(await tarOf(files)), await readForm(form)]) {
      expect(upload.folder).toBe("pdf-tools");
      expect(contents(upload)).toEqual({ "SKILL.md": "x", "a/b.md": "y" });
      expect(upload.findings).toEqual([]);
    }
  });

  it("is stripped whatever its case or dots, and when its SKILL.md is spelt badly", async () => {
    expect((await readZip(zipOf({ "My Skill v1.0/skill.md": "x" }))).folder).toBe("My Skill v1.0");
  });

  it("is not seen when SKILL.md lies at the root", async () => {
    for (const name of ["SKILL.md", "skill.md"]) {
      const upload = await readZip(zipOf({ [name]: "x" }));
      expect(upload.folder).toBeUndefined();
      expect(paths(upload)).toEqual([name]);
    }
  });

  it("is not seen among several folders, or beside a file", async () => {
    for (const names of [
      ["a/SKILL.md", "b/SKILL.md"],
      ["a/SKILL.md", "LICENSE"],
    ]) {
      const upload = await readZip(rawZip(names.map((name) => ({ name }))));
      expect(upload.folder).toBeUndefined();
      expect(paths(upload)).toEqual(names);
    }
  });

  it("is stripped once only, so that a folder of skills keeps its skills apart", async () => {
    const upload = await readZip(zipOf({ "skills/a/SKILL.md": "x", "skills/b/SKILL.md": "y" }));
    expect(upload.folder).toBe("skills");
    expect(paths(upload)).toEqual(["a/SKILL.md", "b/SKILL.md"]);
  });

  it("is found although junk lies beside it", async () => {
    const upload = await readZip(zipOf({ "a/SKILL.md": "x", "__MACOSX/a/._SKILL.md": "y", ".DS_Store": "z" }));
    expect(upload.folder).toBe("a");
    expect(paths(upload)).toEqual(["SKILL.md"]);
  });

  it("may be spelt in NFD, since its name is not published", async () => {
    const upload = await readZip(zipOf({ "cafe\u0301/SKILL.md": "x" }));
    expect(upload).toMatchObject({ folder: "caf\u00e9", findings: [] });
  });

  it("does not count towards the limits of a path", async () => {
    const upload = await readZip(zipOf({ "x/SKILL.md": "", "x/1/2/3/4/5/6/7/8": "", [`x/${"y".repeat(255)}`]: "" }));
    expect(upload.findings).toEqual([]);
  });

  it("named `.` is how tar and find write a folder from inside", async () => {
    const upload = await readTar(
      concat(
        tarEntry({ name: "./", type: "5" }),
        tarEntry({ name: "./SKILL.md" }),
        tarEntry({ name: "./a/b" }),
        tarEnd,
      ),
    );
    expect(upload).toMatchObject({ findings: [], isComplete: true });
    expect(paths(upload)).toEqual(["SKILL.md", "a/b"]);
  });

  it("named `..` is no folder to strip", async () => {
    const upload = await readTar(concat(tarEntry({ name: "../SKILL.md" }), tarEntry({ name: "../b" }), tarEnd));
    expect(upload.folder).toBeUndefined();
    expect(errors(upload)).toEqual(["path_dot_segment ../SKILL.md", "path_dot_segment ../b"]);
    expect(upload.files).toEqual([]);
  });
});

describe("what systems leave behind", () => {
  it("is dropped with one notice for each kind, which counts and shows an example", async () => {
    const upload = await readZip(
      zipOf({
        "SKILL.md": "x",
        "__MACOSX/._SKILL.md": "",
        "__MACOSX/a/._b": "",
        "._SKILL.md": "",
        ".DS_Store": "",
        "a/.ds_store": "",
        "Thumbs.db": "",
        "ehthumbs.db": "",
        "a/Desktop.ini": "",
        ".git/HEAD": "",
        "vendor/lib/.git/config": "",
        "worktree/.git": "",
        ".svn/entries": "",
        ".hg/store": "",
        "Icon\r": "",
        ".Spotlight-V100/x": "",
        ".Trashes/501/x": "",
        ".fseventsd/x": "",
        "$RECYCLE.BIN/x": "",
      }),
    );
    expect(paths(upload)).toEqual(["SKILL.md"]);
    expect(upload.isComplete).toBe(true);
    expect(new Set(codes(upload))).toEqual(new Set(["junk_dropped"]));
    expect(upload.findings).toHaveLength(14);
    expect(upload.findings.every(({ severity, file }) => severity === "notice" && file === "")).toBe(true);
    const messages = upload.findings.map(({ message }) => message);
    expect(messages).toContain('3 files of the kind ".git/" left out, e.g. ".git/HEAD".');
    expect(messages).toContain('2 files of the kind "__MACOSX/" left out, e.g. "__MACOSX/._SKILL.md".');
    expect(messages).toContain('1 file of the kind "Icon\\r" left out, e.g. "Icon\\r".');
  });

  it("is not what an author's dotfile is", async () => {
    const kept = [
      ".env",
      ".gitignore",
      ".github/x.yml",
      ".gitattributes",
      "x.git/y",
      "__pycache__/a.pyc",
      "node_modules/a.js",
    ];
    const upload = await readZip(zipOf(Object.fromEntries(["SKILL.md", ...kept].map((name) => [name, ""]))));
    expect(paths(upload)).toEqual(["SKILL.md", ...kept]);
    expect(upload.findings).toEqual([]);
  });

  it("is neither counted nor weighed nor judged", async () => {
    const git = Array.from({ length: 600 }, (_, at) => ({
      name: `.git/objects/${at}`,
      size: 4_000_000_000,
      method: 8,
    }));
    const upload = await readZip(rawZip([{ name: "SKILL.md" }, ...git, { name: ".git/hook", mode: 0o120777 }]));
    expect(paths(upload)).toEqual(["SKILL.md"]);
    expect(codes(upload)).toEqual(["junk_dropped"]);
    const tar = await readTar(
      concat(
        tarEntry({ name: "SKILL.md" }),
        tarEntry({ name: ".git/x" }, noise(2 * MiB)),
        tarEntry({ name: "a" }, "b"),
        tarEnd,
      ),
    );
    expect(contents(tar)).toEqual({ "SKILL.md": "", a: "b" });
  });

  it("may not inflate without end either", async () => {
    const git = tarEntry({ name: ".git/x" }, new Uint8Array(12 * MiB));
    const found = await stop(
      readTarGz(gzipSync(concat(git, git, git, tarEntry({ name: "SKILL.md" }), tarEnd), { level: 1 })),
    );
    expect(found).toMatchObject({ code: "skill_too_large" });
    expect(found.message).toContain(String(maxSkillBytes + maxUploadBytes));
  });
});

describe("a request that is no upload", () => {
  it.each([null, "", "text/plain", "application/json", "application/x-7z-compressed", "constructor"])(
    "of type %s is told which types are",
    async (type) => {
      const { code, status, message } = await refusal(read(type, bytesOf("x")));
      expect({ code, status }).toEqual({ code: "unsupported_media_type", status: 415 });
      for (const accepted of ["application/zip", "application/gzip", "application/x-tar", "multipart/form-data"]) {
        expect(message).toContain(accepted);
      }
    },
  );

  it("may not be encoded once more", async () => {
    const work = read("application/x-tar", tarEnd, { "Content-Encoding": "gzip" });
    expect((await refusal(work)).code).toBe("unsupported_media_type");
    expect((await read("application/x-tar", tarEnd, { "Content-Encoding": "identity" })).isComplete).toBe(true);
  });

  it("of a form without a boundary says so", async () => {
    expect((await refusal(read("multipart/form-data", formOf()))).message).toContain("boundary");
  });

  it("over the limit is refused by its declared length, unread", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({ pull: () => void pulled++ }, { highWaterMark: 0 });
    const headers = new Headers({ "Content-Length": String(maxUploadBytes + 1) });
    const found = await refusal(readUpload({ contentType: "application/zip", body, headers }));
    expect(found).toMatchObject({ code: "too_large", status: 413 });
    expect(found.message).toContain(`${maxUploadBytes} bytes (maxUploadBytes)`);
    expect(pulled).toBe(0);
  });

  it("that never ends is cut at the limit, and its stream cancelled", async () => {
    let sent = 0;
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          sent += MiB;
          controller.enqueue(new Uint8Array(MiB));
        },
        cancel() {
          isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const headers = new Headers({ "Content-Length": "10" });
    expect((await refusal(readUpload({ contentType: "application/zip", body, headers }))).code).toBe("too_large");
    expect(sent).toBe(maxUploadBytes + maxDrainedBytes + MiB);
    expect(isCancelled).toBe(true);
  });
});

describe("a broken container is one error with a fix", () => {
  const good = zipOf({ "SKILL.md": "hello hello hello hello", "b.md": "x" });

  it.each([
    ["nothing", new Uint8Array()],
    ["text", bytesOf("PK this is no zip at all, whatever it says")],
    ["its first half", good.subarray(0, good.length >> 1)],
    ["all but its last byte", good.subarray(0, -1)],
    ["a tar.gz", gzipSync(tarEnd)],
    ["bytes after its end", concat(good, bytesOf("x"))],
    ["bytes before its start", concat(bytesOf("#!/bin/sh\n"), good)],
    ["fewer entries than it says", rawZip([{ name: "a" }], { count: 2 })],
    ["more entries than it says", rawZip([{ name: "a" }, { name: "b" }], { count: 1 })],
    ["a directory elsewhere", rawZip([{ name: "a" }], { start: 3 })],
    ["a directory past its end", rawZip([{ name: "a" }], { start: 0xfffffff0 })],
    ["another name in the local header", rawZip([{ name: "a.md", local: { name: "b.md" } }])],
    ["a longer name in the local header", rawZip([{ name: "a.md", local: { name: "a.md.exe" } }])],
    ["another method in the local header", rawZip([{ name: "a.md", local: { method: 8 } }])],
    ["another size in the local header", rawZip([{ name: "a.md", local: { size: 7 } }])],
    ["another CRC in the local header", rawZip([{ name: "a.md", local: { crc: 7 } }])],
    ["data past its directory", rawZip([{ name: "a.md", compressedSize: 1000, size: 1000 }])],
    ["a zip64 record that contradicts it", rawZip([{ name: "a" }], { count64: 2 })],
    ["a zip64 size without its field", rawZip([{ name: "a", size: 0xffffffff }])],
  ])("zip: %s", async (_, body) => {
    const found = await stop(readZip(body));
    expect(found.code).toBe("archive_broken");
    expect(found.fix).toMatch(/\.$/u);
  });

  it("zip64 values that no file could have", async () => {
    const extra = concat(new Uint8Array([1, 0, 8, 0]), new Uint8Array(8).fill(0xff));
    expect((await stop(readZip(rawZip([{ name: "a", size: 0xffffffff, extra }])))).code).toBe("archive_broken");
    const record = rawZip([{ name: "a" }], { count: 0xffff, count64: 2 ** 52 });
    expect((await stop(readZip(record))).code).toBe("archive_broken");
  });

  it.each([1, 0x41])("an encrypted zip (flags %i) is told to come without a password", async (flag) => {
    const found = await stop(readZip(rawZip([{ name: "a.md", flags: 0x0800 | flag }])));
    expect(found).toMatchObject({ code: "archive_encrypted", fix: expect.stringContaining("without a password") });
  });

  it.each([9, 12, 14, 93, 99])("a zip by the method %i is told which can be read", async (method) => {
    const found = await stop(readZip(rawZip([{ name: "a.md", method, data: bytesOf("x") }])));
    expect(found).toMatchObject({ code: "archive_method", message: expect.stringContaining(`method ${method}`) });
  });

  it("tar: a wrong checksum, a cut anywhere, no tar, bytes after the end", async () => {
    const tar = concat(tarEntry({ name: "SKILL.md" }, "hello"), tarEnd);
    const flipped = tar.slice();
    flipped[3]! ^= 1;
    const bodies = [
      flipped,
      tar.subarray(0, 100),
      tar.subarray(0, 514),
      tar.subarray(0, 1024),
      concat(tar, bytesOf("x")),
    ];
    for (const body of [
      ...bodies,
      new Uint8Array(),
      bytesOf("x".repeat(600)),
      zipOf({ "SKILL.md": "x".repeat(600) }),
    ]) {
      expect((await stop(readTar(body))).code).toBe("archive_broken");
    }
  });

  it("gzip: a wrong CRC, length or byte, a cut, no gzip, two in one", async () => {
    const archive = gzipSync(concat(tarEntry({ name: "SKILL.md" }, noise(3000)), tarEnd));
    const patched = (at: number) => {
      const copy = archive.slice();
      copy[at < 0 ? copy.length + at : at]! ^= 1;
      return copy;
    };
    const bodies = [
      patched(-8),
      patched(-1),
      patched(600),
      patched(0),
      archive.subarray(0, 700),
      archive.subarray(0, -1),
    ];
    for (const body of [
      ...bodies,
      archive.subarray(0, 5),
      concat(archive, gzipSync(bytesOf("x"))),
      tarEnd,
      new Uint8Array(),
    ]) {
      const upload = await readTarGz(body);
      expect(errors(upload)).toContain("archive_broken ");
      expect(upload.isComplete).toBe(false);
    }
  });

  it("gzip: a header with a name, a comment, extra fields and its own CRC is fine", async () => {
    const archive = gzipSync(concat(tarEntry({ name: "SKILL.md" }, "x"), tarEnd));
    const header = archive.slice(0, 10);
    header[3] = 2 | 4 | 8 | 16;
    const more = [
      new Uint8Array([3, 0, 1, 2, 3]),
      bytesOf("skill.tar\u0000"),
      bytesOf("comment\u0000"),
      new Uint8Array(2),
    ];
    expect(contents(await readTarGz(concat(header, ...more, archive.subarray(10))))).toEqual({ "SKILL.md": "x" });
    expect((await stop(readTarGz(concat(header, new Uint8Array([255, 255]))))).code).toBe("archive_broken");
  });

  it("form: a cut, another boundary, no part headers, text around it", async () => {
    const form = formOf([formHead("SKILL.md"), "hello"], [formHead("b.md"), "x"]);
    const bodies = [
      new Uint8Array(),
      bytesOf("hello"),
      form.subarray(0, 30),
      form.subarray(0, -6),
      form.subarray(0, form.length >> 1),
      concat(bytesOf("preamble\r\n"), form),
      concat(form, bytesOf("epilogue")),
      bytesOf(`--${boundary}\r\n\r\nx\r\n--${boundary}--\r\n`),
      formOf(["Content-Type: text/plain", "x"]),
      formOf(["Content-Disposition: attachment; filename=x", "x"]),
      formOf(["no header", "x"]),
    ];
    for (const body of bodies) expect(errors(await readForm(body))).toEqual(["archive_broken "]);
    const other = await stop(read("multipart/form-data; boundary=other", form));
    expect(other.code).toBe("archive_broken");
  });
});

describe("a zip", () => {
  it("from Finder is read without its resource forks, names in UTF-8 without the flag", async () => {
    const upload = await readZip(
      rawZip([
        { name: "résumé/", mode: 0o040755, flags: 0 },
        { name: "résumé/SKILL.md", flags: 8, data: bytesOf("x"), local: { crc: 0, size: 0 } },
        { name: "__MACOSX/", mode: 0o040755, flags: 0 },
        { name: "__MACOSX/résumé/._SKILL.md", flags: 8 },
        { name: "résumé/.DS_Store", flags: 8 },
      ]),
    );
    expect(upload.folder).toBe("résumé");
    expect(contents(upload)).toEqual({ "SKILL.md": "x" });
    expect(codes(upload)).toEqual(["junk_dropped", "junk_dropped"]);
  });

  it("from an old Windows tool, with backslashes, is refused with the fix", async () => {
    const upload = await readZip(
      rawZip([
        { name: "pdf\\SKILL.md", host: 0 },
        { name: "pdf\\a\\b.md", host: 0 },
      ]),
    );
    expect(errors(upload)).toEqual(["path_backslash pdf\\SKILL.md", "path_backslash pdf\\a\\b.md"]);
    expect(upload.files).toEqual([]);
    expect(upload.isComplete).toBe(false);
  });

  it("with names in a code page is refused, unless it says them in Unicode apart", async () => {
    const name = new Uint8Array([0x81, 0x2e, 0x6d, 0x64]);
    expect(errors(await readZip(rawZip([{ name: "SKILL.md" }, { name, flags: 0 }])))).toEqual([
      "path_not_unicode \ufffd.md",
    ]);
    const crc = new Uint8Array(new Uint32Array([crc32(name)]).buffer);
    const unicode = bytesOf("ü.md");
    const extra = concat(new Uint8Array([0x75, 0x70, 5 + unicode.length, 0, 1]), crc, unicode);
    const upload = await readZip(rawZip([{ name: "SKILL.md" }, { name, flags: 0, extra }]));
    expect(paths(upload)).toEqual(["SKILL.md", "ü.md"]);
    const stale = await readZip(rawZip([{ name: "SKILL.md" }, { name: "renamed.md", flags: 0, extra }]));
    expect(paths(stale)).toEqual(["SKILL.md", "renamed.md"]);
  });

  it("that was streamed, with data descriptors and zip64 records, is read", async () => {
    const data = bytesOf("hello");
    const upload = await readZip(
      rawZip([{ name: "SKILL.md", data, flags: 8, local: { crc: 0, size: 0 } }], { count64: 1 }),
    );
    expect(contents(upload)).toEqual({ "SKILL.md": "hello" });
    const size = new Uint8Array([1, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    const large = rawZip([{ name: "SKILL.md", data, size: 0xffffffff, extra: size }], { count: 0xffff, count64: 1 });
    expect(contents(await readZip(large))).toEqual({ "SKILL.md": "hello" });
  });

  it("may have a comment, even one that looks like an end record", async () => {
    const comment = rawZip([]);
    expect(paths(await readZip(rawZip([{ name: "SKILL.md" }], { comment: concat(comment, bytesOf("!")) })))).toEqual([
      "SKILL.md",
    ]);
  });

  it("cannot lead out of the folder by names or links, and tells of all of them at once", async () => {
    const upload = await readZip(
      rawZip([
        { name: "SKILL.md" },
        { name: "../../evil.sh" },
        { name: "/etc/cron.d/evil" },
        { name: "C:/evil" },
        { name: "link", mode: 0o120777, data: bytesOf("/etc/passwd") },
        { name: "pipe", mode: 0o010644 },
        { name: "disk", mode: 0o060644 },
      ]),
    );
    expect(errors(upload).toSorted()).toEqual([
      "link_refused disk",
      "link_refused link",
      "link_refused pipe",
      "path_absolute /etc/cron.d/evil",
      "path_absolute C:/evil",
      "path_dot_segment ../../evil.sh",
    ]);
    expect(paths(upload)).toEqual(["SKILL.md"]);
    expect(upload.findings.find(({ file }) => file === "link")?.fix).toBe("Replace the link by a copy of the file.");
  });

  it("may not name a path twice", async () => {
    const upload = await readZip(
      rawZip([
        { name: "SKILL.md", data: bytesOf("shown") },
        { name: "SKILL.md", data: bytesOf("hidden") },
      ]),
    );
    expect(errors(upload)).toEqual(["path_duplicate SKILL.md"]);
    expect(upload.isComplete).toBe(false);
  });

  it("may not name one file in two ways", async () => {
    const upload = await readZip(zipOf({ "SKILL.md": "x", "skill.md": "y", "caf\u00e9": "", "cafe\u0301": "" }));
    expect(errors(upload)).toEqual(["path_not_nfc cafe\u0301", "path_collision skill.md", "path_collision cafe\u0301"]);
  });

  it("with damaged bytes tells of every damaged file", async () => {
    const text = bytesOf("hello hello hello hello hello");
    const deflated = deflateSync(text);
    const flipped = deflated.slice();
    flipped[3]! ^= 0x10;
    const of = (name: string, more: object) => ({
      name,
      method: 8,
      data: deflated,
      size: text.length,
      crc: crc32(text),
      ...more,
    });
    const upload = await readZip(
      rawZip([
        of("SKILL.md", {}),
        of("crc.md", { crc: 1 }),
        of("flipped.md", { data: flipped }),
        of("cut.md", { data: deflated.subarray(0, -4) }),
        of("garbage.md", { data: new Uint8Array(64).fill(0xff) }),
        of("nothing.md", { data: new Uint8Array() }),
        of("longer.md", { size: text.length - 1 }),
        of("shorter.md", { size: text.length + 1 }),
        { name: "stored.md", data: text, crc: 1 },
        { name: "stored-longer.md", data: text, size: 3 },
      ]),
    );
    expect(paths(upload)).toEqual(["SKILL.md"]);
    expect(errors(upload)).toEqual(
      "crc flipped cut garbage nothing longer shorter stored stored-longer"
        .split(" ")
        .map((name) => `file_damaged ${name}.md`),
    );
  });

  it("that declares little is not inflated past it: a bomb costs what it declares", async () => {
    const zeros = new Uint8Array(64 * MiB);
    const bomb = deflateSync(zeros, { level: 9 });
    const entry = { method: 8, data: bomb, crc: crc32(zeros) };
    const small = await readZip(rawZip([{ name: "SKILL.md" }, { name: "bomb", ...entry, size: 10 }]));
    expect(errors(small)).toEqual(["file_damaged bomb"]);
    const honest = await readZip(rawZip([{ name: "SKILL.md" }, { name: "bomb", ...entry, size: zeros.length }]));
    expect(errors(honest)).toEqual(["file_too_large bomb"]);
    expect(honest.findings[0]?.message).toContain(`the limit is ${maxFileBytes} bytes (maxFileBytes)`);
  });

  it("that declares much in all is not inflated at all, even where its entries share their bytes", async () => {
    const zeros = deflateSync(new Uint8Array(MiB));
    const entries = Array.from({ length: 17 }, (_, at) => ({
      name: `${at}`,
      method: 8,
      data: zeros,
      size: MiB,
      crc: 0,
    }));
    const found = await stop(readZip(rawZip([{ name: "SKILL.md" }, ...entries])));
    expect(found.code).toBe("skill_too_large");
    expect(found.message).toContain(`${maxSkillBytes} bytes (maxSkillBytes)`);
  });

  it("fills the limit to the byte", async () => {
    const bytes = noise(maxSkillBytes);
    const upload = await readZip(rawZip([{ name: "SKILL.md", data: bytes }]));
    expect(upload.findings).toEqual([]);
    expect(upload.files[0]!.bytes.length).toBe(maxSkillBytes);
  });
});

describe("a tar", () => {
  it("with links, devices and pipes is refused with a fix for each", async () => {
    const upload = await readTar(
      concat(
        tarEntry({ name: "SKILL.md" }),
        tarEntry({ name: "sym", type: "2", link: "../../../etc/passwd" }),
        tarEntry({ name: "hard", type: "1", link: "SKILL.md" }),
        tarEntry({ name: "char", type: "3" }),
        tarEntry({ name: "block", type: "4" }),
        tarEntry({ name: "fifo", type: "6" }),
        tarEntry({ name: "last.md" }, "read on"),
        tarEnd,
      ),
    );
    expect(errors(upload)).toEqual(["sym", "hard", "char", "block", "fifo"].map((name) => `link_refused ${name}`));
    expect(upload.findings[0]).toMatchObject({
      message: 'The entry is a symbolic link to "../../../etc/passwd".',
      fix: expect.stringContaining("Replace the link by a copy of the file"),
    });
    expect(paths(upload)).toEqual(["SKILL.md", "last.md"]);
  });

  it("with a type that is no file is refused, never published with its holes cut out", async () => {
    const pax = paxRecord("GNU.sparse.major", "1") + paxRecord("GNU.sparse.name", "real.bin");
    const upload = await readTar(
      concat(
        tarEntry({ name: "SKILL.md" }),
        tarEntry({ name: "holes.bin", type: "S" }, "data"),
        tarEntry({ name: "label", type: "V" }),
        tarEntry({ name: "PaxHeaders/sparse.bin", type: "x" }, pax),
        tarEntry({ name: "sparse.bin" }, "data"),
        tarEnd,
      ),
    );
    expect(errors(upload)).toEqual(["type_refused holes.bin", "type_refused label", "type_refused sparse.bin"]);
  });

  it("says long names by PAX, by GNU or by prefix, and all mean the same", async () => {
    const long = `${"d".repeat(120)}/${"日本".repeat(15)}/${"é".repeat(20)}`;
    const ascii = `${"d".repeat(120)}/${"e".repeat(90)}/x`;
    const prefixed = tarHeader({ name: `${"e".repeat(90)}/x` });
    prefixed.set(bytesOf("d".repeat(120)), 345);
    prefixed.set(bytesOf("        "), 148);
    prefixed.set(
      bytesOf(
        `${prefixed
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, "0")}\u0000 `,
      ),
      148,
    );
    const bodies = [
      concat(
        tarEntry({ name: "p", type: "x" }, paxRecord("mtime", "1.5") + paxRecord("path", long)),
        tarEntry({ name: "cut" }),
      ),
      concat(tarEntry({ name: "././@LongLink", type: "L" }, `${long}\u0000`), tarEntry({ name: "cut" })),
    ];
    for (const body of bodies)
      expect(paths(await readTar(concat(tarEntry({ name: "SKILL.md" }), body, tarEnd)))).toEqual(["SKILL.md", long]);
    expect(paths(await readTar(concat(tarEntry({ name: "SKILL.md" }), prefixed, tarEnd)))).toEqual(["SKILL.md", ascii]);
  });

  it("from git keeps its commit to itself", async () => {
    const global = tarEntry({ name: "pax_global_header", type: "g" }, paxRecord("comment", "0".repeat(40)));
    expect(paths(await readTar(concat(global, tarEntry({ name: "SKILL.md" }), tarEnd)))).toEqual(["SKILL.md"]);
  });

  it("applies an extended header to the next entry only", async () => {
    const pax = tarEntry({ name: "p", type: "x" }, paxRecord("path", "a.md"));
    const upload = await readTar(concat(pax, tarEntry({ name: "1" }), tarEntry({ name: "SKILL.md" }), tarEnd));
    expect(paths(upload)).toEqual(["a.md", "SKILL.md"]);
  });

  it.each([
    "",
    "12",
    "99 path=x\n",
    "9 path=x",
    "0 path=x\n",
    "-9 path=x\n",
    "path=x\n",
    "1e1 path=x\n",
    "18 mtime=1\npath=x\n\n",
  ])("with the extended header %j is broken, not read without it", async (pax) => {
    const upload = readTar(concat(tarEntry({ name: "p", type: "x" }, pax), tarEntry({ name: "SKILL.md" }), tarEnd));
    if (pax === "") expect((await upload).findings).toEqual([]);
    else expect((await stop(upload)).code).toBe("archive_broken");
  });

  it("hides no path in PAX: links, escapes and sizes there count", async () => {
    const pax = (key: string, value: string) => tarEntry({ name: "p", type: "x" }, paxRecord(key, value));
    const upload = await readTar(
      concat(
        tarEntry({ name: "SKILL.md" }),
        pax("path", "../evil"),
        tarEntry({ name: "fine" }),
        pax("path", "a\u0000b"),
        tarEntry({ name: "fine" }),
        pax("linkpath", "/etc/shadow"),
        tarEntry({ name: "link", type: "2", link: "fine" }),
        pax("size", "3"),
        tarEntry({ name: "sized", size: 0 }, "abc"),
        tarEnd,
      ),
    );
    expect(errors(upload)).toEqual([
      "path_dot_segment ../evil",
      "path_control_character a\u0000b",
      "link_refused link",
    ]);
    expect(upload.findings.at(-1)?.message).toContain("/etc/shadow");
    expect(contents(upload)).toEqual({ "SKILL.md": "", sized: "abc" });
  });

  it("with a huge declared size is refused before anything of that size is held", async () => {
    const upload = await readTar(
      concat(tarEntry({ name: "SKILL.md" }), tarHeader({ name: "big", size: 8 ** 11 - 1 }), tarEnd),
    );
    expect(errors(upload).toSorted()).toEqual(["archive_broken ", "file_too_large big"]);
    const binary = tarHeader({ name: "big" });
    binary.set([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 124);
    binary.set(bytesOf("        "), 148);
    binary.set(
      bytesOf(
        `${binary
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, "0")}\u0000 `,
      ),
      148,
    );
    expect(errors(await readTar(concat(binary, tarEnd)))).toContain("file_too_large big");
    const pax = tarHeader({ name: "p", type: "x", size: 8 ** 11 - 1 });
    expect((await stop(readTar(concat(pax, tarEnd)))).code).toBe("archive_broken");
  });

  it("as a gzip bomb is inflated up to the limit and no further", async () => {
    const zeros = new Uint8Array(50 * MiB);
    const bombs = [concat(tarHeader({ name: "SKILL.md", size: zeros.length }), zeros, tarEnd), zeros];
    const [file, padding] = await Promise.all(bombs.map((bomb) => readTarGz(gzipSync(bomb, { level: 9 }))));
    expect(errors(file!).toSorted()).toEqual(["file_too_large SKILL.md", "skill_too_large "]);
    expect(errors(padding!)).toEqual(["skill_too_large "]);
  });

  it("in which a folder carries another type of slash is still a folder", async () => {
    const upload = await readTar(
      concat(tarEntry({ name: "a/", type: "\u0000" }), tarEntry({ name: "SKILL.md" }), tarEnd),
    );
    expect(paths(upload)).toEqual(["SKILL.md"]);
  });
});

describe("a form", () => {
  it.each([
    ["undici and curl since 7.81, for a quote", "a/%22q%22.md"],
    ["undici, for a line break", "a%0Ab.md"],
    ["browsers, for a carriage return", "a%0D.md"],
    ["a client in lower case", "a%0d%0a.md"],
    ["curl before 7.81, for a quote", 'a/\\"q\\".md'],
    ["curl, for a backslash", "a;b\\c.md"],
    ["a client that escapes nothing", 'a"b.md'],
    ["a backslash at the end", "a\\"],
    ["nothing", ""],
  ])("may not name a file as %s writes it: the advice is an archive", async (_, name) => {
    const upload = await readForm(formOf([formHead("SKILL.md"), "x"], [formHead(name), "y"]));
    expect(codes(upload)).toEqual(["multipart_name"]);
    expect(upload.findings[0]).toMatchObject({ severity: "error", fix: expect.stringContaining(".tar.gz or .zip") });
    expect(paths(upload)).toEqual(["SKILL.md"]);
    expect(upload.isComplete).toBe(false);
  });

  it("may not name a file by `filename*`, twice, or not at all", async () => {
    const head = 'Content-Disposition: form-data; name="files"';
    for (const rest of [
      `; filename*=UTF-8''a.md`,
      `; filename="a.md"; filename*=UTF-8''b.md`,
      `; filename="a"; filename="b"`,
      "",
    ]) {
      expect(codes(await readForm(formOf([head + rest, "x"])))).toEqual(["multipart_name"]);
    }
  });

  it("may not have other fields, which are named", async () => {
    const upload = await readForm(
      formOf(
        [formHead("SKILL.md"), "x"],
        ['Content-Disposition: form-data; name="version"', "1.0.0"],
        [formHead("a.md", "file"), "y"],
      ),
    );
    expect(errors(upload)).toEqual(["form_field "]);
    expect(upload.findings[0]?.message).toContain('"version", "file"');
    expect(upload.isComplete).toBe(false);
  });

  it("may not encode its bytes, which would not be the author's", async () => {
    const upload = await readForm(
      formOf(
        [formHead("SKILL.md"), "x"],
        [`${formHead("a.md")}\r\nContent-Transfer-Encoding: base64`, "aGk="],
        [`${formHead("b.md")}\r\nContent-Transfer-Encoding: binary`, "y"],
      ),
    );
    expect(errors(upload)).toEqual(["multipart_encoding a.md"]);
    expect(paths(upload)).toEqual(["SKILL.md", "b.md"]);
  });

  it("is read from the client's own bytes: undici", async () => {
    const form = new FormData();
    for (const name of ["SKILL.md", "a/日本 é%&#.md"]) form.append("files", new Blob([`\r\n${name}\r\n`]), name);
    const response = new Response(form);
    const upload = await readUpload({
      contentType: response.headers.get("content-type"),
      body: response.body,
      headers: new Headers(),
    });
    expect(upload.findings).toEqual([]);
    expect(contents(upload)).toEqual({ "SKILL.md": "\r\nSKILL.md\r\n", "a/日本 é%&#.md": "\r\na/日本 é%&#.md\r\n" });
  });

  it("obeys the rules of paths like an archive", async () => {
    const upload = await readForm(
      formOf([formHead("SKILL.md"), "x"], [formHead("../x"), ""], [formHead("/x"), ""], [formHead("./a"), ""]),
    );
    expect(errors(upload)).toEqual(["path_dot_segment ../x", "path_absolute /x"]);
    expect(paths(upload)).toEqual(["SKILL.md", "a"]);
  });

  it("over the limits of a skill is refused", async () => {
    const half = noise(9 * MiB);
    const found = await stop(readForm(formOf([formHead("SKILL.md"), half], [formHead("b"), half])));
    expect(found.code).toBe("skill_too_large");
  });
});

describe("limits hold for every intake", () => {
  const names = (count: number) => ["SKILL.md", ...Array.from({ length: count - 1 }, (_, at) => `f/${at}`)];
  const intakes: [string, (list: string[]) => Promise<Upload>][] = [
    ["zip", (list) => readZip(rawZip(list.map((name) => ({ name }))))],
    ["tar", async (list) => readTar(await tarOf(Object.fromEntries(list.map((name) => [name, ""]))))],
    ["form", (list) => readForm(formOf(...list.map((name): [string, string] => [formHead(name), ""])))],
  ];

  it.each(intakes)("%s: as many files as an upload may have, and not one more", async (_, make) => {
    const full = await make(names(maxFilesPerUpload));
    expect(full.findings).toEqual([]);
    expect(full.files).toHaveLength(maxFilesPerUpload);
    const found = await stop(make(names(maxFilesPerUpload + 1)));
    expect(found.code).toBe("too_many_files");
    expect(found.message).toContain(`${maxFilesPerUpload} files (maxFilesPerUpload)`);
  });

  it.each(intakes)("%s: a path of 256 bytes, nine segments or NFD is refused with the rest", async (_, make) => {
    const upload = await make([
      "SKILL.md",
      "x".repeat(256).replace(/^.{40}/u, "$&/"),
      "1/2/3/4/5/6/7/8/9",
      "cafe\u0301.md",
      "nul.txt",
      "@1.0.0/x",
    ]);
    expect(upload.findings.map(({ code }) => code)).toEqual([
      "path_too_long",
      "path_too_deep",
      "path_not_nfc",
      "path_device_name",
      "path_reads_as_version",
    ]);
    expect(upload.findings[2]?.fixed).toBe("café.md");
    expect(paths(upload)).toEqual(["SKILL.md"]);
  });
});
