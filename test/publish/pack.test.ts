import fc from "fast-check";
import { deflateSync, gunzipSync, unzipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { describe, expect, it } from "vitest";

import type { SkillFile } from "../../src/domain/entry.ts";
import { pathFindings, pathSetFindings } from "../../src/domain/file-path.ts";
import { maxFilesPerSkill } from "../../src/domain/limits.ts";
import { Problem } from "../../src/domain/problem.ts";
import { readUpload } from "../../src/publish/archive.ts";
import { crc32 } from "../../src/publish/crc32.ts";
import { gunzip } from "../../src/publish/gzip.ts";
import { Inflater } from "../../src/publish/inflate.ts";
import { findJunkKind } from "../../src/publish/junk.ts";
import { packTarGz, packZip } from "../../src/publish/pack.ts";
import { bytesOf, concat, isSame, noise, tarEnd, tarEntry, textOf } from "./bytes.ts";

const seed = 20_261_130;

function read(contentType: string, body: Uint8Array) {
  const stream = new Response(body as Uint8Array<ArrayBuffer>).body;
  return readUpload({ contentType, body: stream, headers: new Headers() });
}

const packers = [
  ["zip", "application/zip", async (files: readonly SkillFile[]) => packZip(files)],
  ["tar.gz", "application/gzip", packTarGz],
] as const;

const files: SkillFile[] = [
  { path: "z.md", bytes: bytesOf("z") },
  { path: "scripts/run.sh", bytes: bytesOf("#!/bin/sh\n".repeat(100)), executable: true },
  { path: "10", bytes: new Uint8Array() },
  { path: "SKILL.md", bytes: bytesOf("---\nname: x\n---\n"), executable: false },
  { path: "A.md", bytes: noise(1000) },
  { path: "__proto__", bytes: bytesOf("p") },
  { path: "日本語/手引き é🎉.md", bytes: bytesOf("text") },
  { path: `${"long/".repeat(7)}${"x".repeat(220)}`, bytes: bytesOf("deep") },
  { path: `${"長い/".repeat(7)}${"x".repeat(200)}`, bytes: bytesOf("wide") },
];
const inOrder = ["SKILL.md", ...files.map(({ path }) => path).filter((path) => path !== "SKILL.md")];
inOrder.splice(1, inOrder.length, ...inOrder.slice(1).sort());

describe.each(packers)("a %s that we make", (_, contentType, pack) => {
  it("gives back paths, bytes and executable bits, SKILL.md first and the rest by path", async () => {
    const upload = await read(contentType, await pack(files));
    expect(upload.findings).toEqual([]);
    expect(upload.folder).toBeUndefined();
    expect(upload.files.map(({ path }) => path)).toEqual(inOrder);
    for (const { path, bytes, executable } of files) {
      const expected = { path, bytes, executable: executable === true };
      expect(upload.files.find((file) => file.path === path)).toEqual(expected);
    }
  });

  it("is the same to the byte however often and in whatever order its files come", async () => {
    const first = await pack(files);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(isSame(await pack(files.toReversed()), first)).toBe(true);
  });

  it("may hold as many files as a skill, and none", async () => {
    const many = Array.from({ length: maxFilesPerSkill - 1 }, (_, at) => ({
      path: `f/${at}`,
      bytes: bytesOf(`${at}`),
    }));
    const upload = await read(contentType, await pack([{ path: "SKILL.md", bytes: bytesOf("x") }, ...many]));
    expect(upload.files).toHaveLength(maxFilesPerSkill);
    expect((await read(contentType, await pack([]))).files).toEqual([]);
  });

  it("round-trips whatever files a skill may have", async () => {
    await fc.assert(
      fc.asyncProperty(skillFiles, async (sample) => {
        const upload = await read(contentType, await pack(sample));
        expect(upload.findings).toEqual([]);
        expect(upload.files).toHaveLength(sample.length);
        const byPath = new Map(upload.files.map((file) => [file.path, file]));
        for (const { path, bytes, executable } of sample) {
          expect(byPath.get(path)?.executable).toBe(executable === true);
          expect(isSame(byPath.get(path)!.bytes, bytes)).toBe(true);
        }
      }),
      { seed, numRuns: 200 },
    );
  });

  it("damaged anywhere is refused or read, never a crash, and never with other bytes unsaid", async () => {
    const archive = await pack(files);
    const original = new Map(files.map(({ path, bytes }) => [path, textOf(bytes)]));
    const damage = fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(archive.length), async (changes, cut) => {
        const copy = archive.slice(0, cut < 20 ? cut : undefined);
        for (const [at, value] of changes) if (at < copy.length) copy[at] = value;
        const upload = await read(contentType, copy);
        if (upload.findings.some(({ severity }) => severity === "error")) return;
        for (const { path, bytes } of upload.files) {
          if (original.has(path)) expect(textOf(bytes)).toBe(original.get(path));
        }
      }),
      { seed, numRuns: 400 },
    );
  });
});

const segment = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
  .map((text) => text.normalize("NFC").replaceAll("/", "_"));
const skillFiles = fc
  .uniqueArray(
    fc.record(
      {
        path: fc.array(segment, { minLength: 1, maxLength: 8 }).map((segments) => segments.join("/")),
        bytes: fc.oneof(
          fc.uint8Array({ maxLength: 2000 }),
          fc.nat(70_000).map((length) => noise(length, length)),
        ),
        executable: fc.boolean(),
      },
      { requiredKeys: ["path", "bytes"] },
    ),
    { selector: ({ path }) => path, maxLength: 12 },
  )
  .map((list): SkillFile[] => {
    const lawful = list.filter(({ path }) => pathFindings(path).length === 0 && findJunkKind(path) === undefined);
    const skill: SkillFile = { path: "SKILL.md", bytes: bytesOf("# x") };
    const whole: SkillFile[] = [skill, ...lawful.filter(({ path }) => path !== skill.path)];
    return pathSetFindings(whole.map(({ path }) => path)).length === 0 ? whole : [skill];
  });

describe("our archives are read by other people's readers", () => {
  it("zip: fflate, with the modes and the first moment of a zip", () => {
    const archive = packZip(files);
    const entries = unzipSync(archive);
    // fflate itself loses a file of the name `__proto__`.
    const names = files.map(({ path }) => path).filter((path) => path !== "__proto__");
    expect(Object.keys(entries).sort()).toEqual(names.sort());
    expect(textOf(entries["scripts/run.sh"]!)).toBe("#!/bin/sh\n".repeat(100));
  });

  it("tar.gz: modern-tar, with modes, no owner and no time; gzip without time and system", async () => {
    const archive = await packTarGz(files);
    expect([...archive.subarray(4, 8)]).toEqual([0, 0, 0, 0]);
    expect(archive[9]).toBe(3);
    const entries = await unpackTar(gunzipSync(archive), { strict: true });
    expect(entries.map(({ header }) => header.name)).toEqual(inOrder);
    for (const { header } of entries) {
      expect(header.mode).toBe(header.name === "scripts/run.sh" ? 0o755 : 0o644);
      expect(header).toMatchObject({ uid: 0, gid: 0, mtime: new Date(0) });
    }
  });
});

describe("hostile bytes", () => {
  const types = ["application/zip", "application/gzip", "application/x-tar", "multipart/form-data; boundary=b"];

  it("never crash an intake", async () => {
    const start = fc.constantFrom(
      "",
      "PK\u0003\u0004",
      "PK\u0005\u0006",
      "--b\r\n",
      '--b\r\nContent-Disposition: form-data; name="files"; filename="a',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...types),
        start,
        fc.uint8Array({ maxLength: 600 }),
        async (type, head, tail) => {
          try {
            await read(type, concat(bytesOf(head), tail));
          } catch (error) {
            expect(error).toBeInstanceOf(Problem);
          }
        },
      ),
      { seed, numRuns: 1000 },
    );
  });

  it("as deflate end with an error or with some bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 400 }), (bytes) => {
        try {
          let length = 0;
          for (const chunk of new Inflater(bytes)) length += chunk.length;
          expect(length).toBeLessThan(400 * 1100);
        } catch (error) {
          expect(error).toMatchObject({ name: "Stop" });
        }
      }),
      { seed, numRuns: 2000 },
    );
  });

  it("are inflated no further than the reader asks", async () => {
    const bomb = await packTarGz([{ path: "SKILL.md", bytes: new Uint8Array(16 * 1024 * 1024) }]);
    const chunks = gunzip(bomb);
    const first = chunks.next().value!;
    expect(first.length).toBeLessThan(40_000);
    chunks.return(undefined);
  });

  it("in a tar of many headers and no files end soon", async () => {
    const folder = tarEntry({ name: "a/", type: "5" });
    const many = concat(...Array.from({ length: 20_000 }, () => folder), tarEntry({ name: "SKILL.md" }), tarEnd);
    expect((await read("application/x-tar", many)).files).toHaveLength(1);
  }, 10_000);
});

describe("inflating", () => {
  const texts = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.nat(40_000).map((n) => noise(n, n)),
      fc.constant(bytesOf("ab ".repeat(20_000))),
    ),
    {
      maxLength: 6,
    },
  );

  it("gives back what fflate deflates, at every level", () => {
    const level = fc.constantFrom(0, 1, 3, 6, 9) as fc.Arbitrary<0 | 1 | 3 | 6 | 9>;
    fc.assert(
      fc.property(texts, level, (parts, level) => {
        const bytes = concat(...parts);
        const deflated = concat(deflateSync(bytes, { level }), bytesOf("what follows"));
        const inflater = new Inflater(deflated);
        expect(isSame(concat(...inflater), bytes)).toBe(true);
        expect(inflater.at).toBe(deflated.length - "what follows".length);
      }),
      { seed, numRuns: 100 },
    );
  });

  it("gives back what the platform's zlib deflates", async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (parts) => {
        const bytes = concat(...parts);
        const stream = new Response(bytes).body!.pipeThrough(new CompressionStream("deflate-raw"));
        const inflater = new Inflater(new Uint8Array(await new Response(stream).arrayBuffer()));
        expect(isSame(concat(...inflater), bytes)).toBe(true);
      }),
      { seed, numRuns: 100 },
    );
  });

  it("of endless empty blocks ends soon", () => {
    const blocks = new Uint8Array(5 * 1024 * 1024);
    for (let at = 0; at < blocks.length; at += 5) blocks.set([0, 0, 0, 0xff, 0xff], at);
    expect(() => [...new Inflater(blocks)]).toThrow("damaged");
  }, 10_000);
});

describe("CRC-32", () => {
  it("is that of the standard, in one go or in parts", () => {
    expect(crc32(bytesOf("123456789"))).toBe(0xcbf43926);
    expect(crc32(bytesOf("6789"), crc32(bytesOf("12345")))).toBe(0xcbf43926);
    expect(crc32(new Uint8Array())).toBe(0);
  });
});
