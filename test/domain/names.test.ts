import { describe, expect, it } from "vitest";

import { formatCursor, parseCursor } from "../../src/domain/cursor.ts";
import { decodeLossless, mediaTypeOf } from "../../src/domain/media-type.ts";
import { isNamespace, isSkillPath } from "../../src/domain/names.ts";
import { compareVersions, isVersion, nextPatch } from "../../src/domain/version.ts";
import type { Version } from "../../src/domain/version.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("names", () => {
  it.each(["acme", "a1b", "acme-tools-2"])("%s is a namespace", (name) => expect(isNamespace(name)).toBe(true));

  it.each(["ab", "Acme", "acme_", "-acme", "acme-", "a--b", "acme.io", "api", "featured", "x".repeat(65)])(
    "%s is none",
    (name) => expect(isNamespace(name)).toBe(false),
  );

  it.each(["pdf", "a/b", "billing/refunds/eu", "a/b/c/d/e/f/g/h"])("%s is a skill path", (path) =>
    expect(isSkillPath(path)).toBe(true),
  );

  it.each([
    "",
    "/a",
    "a/",
    "a//b",
    "A",
    "a/@1.0.0/b",
    "a/..",
    "a/b/c/d/e/f/g/h/i",
    "x".repeat(65),
    `${"abcdefgh/".repeat(7)}${"x".repeat(64)}x`,
  ])("%s is none", (path) => expect(isSkillPath(path)).toBe(false));
});

describe("versions", () => {
  // The order that semver.org section 11 gives.
  const ordered = [
    "0.0.1",
    "0.9.10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.10.0",
    "2.0.0",
  ] as Version[];

  it("have semver's precedence", () => {
    expect(ordered.toReversed().sort(compareVersions)).toEqual(ordered);
    expect([...ordered].sort((a, b) => compareVersions(b, a))).toEqual(ordered.toReversed());
  });

  it.each(ordered)("%s is one", (version) => expect(isVersion(version)).toBe(true));

  it.each([
    "1",
    "1.0",
    "v1.0.0",
    "1.0.0+build",
    "01.0.0",
    "1.0.0-01",
    "1.0.0-",
    "1.0.0-a..b",
    " 1.0.0",
    "1.0.0\n",
    "1e3.0.0",
    `1.0.0-${"x".repeat(64)}`,
    "9999999999.0.0",
  ])("%j is none", (version) => expect(isVersion(version)).toBe(false));

  it("begin with 1.0.0 and go on with the next patch", () => {
    expect([nextPatch(undefined), nextPatch("1.9.9" as Version)]).toEqual(["1.0.0", "1.9.10"]);
  });
});

describe("cursors", () => {
  it("come back as they went, whatever the key", () => {
    for (const key of ["", "a/b", "é🎉", '"]']) {
      expect(parseCursor("list", formatCursor("list", { page: 3, key }))).toEqual({ page: 3, key });
    }
  });

  it.each([
    "",
    "x",
    "WzFd",
    "null",
    btoa('["1","list",0,"a"]'),
    btoa('["1","list",1.5,"a"]'),
    btoa('["1","list",1,5]'),
    btoa('["1","other",1,"a"]'),
    btoa('{"page":1}'),
  ])("%j is refused", (cursor) => expect(() => parseCursor("list", cursor)).toThrow("not from this list"));
});

describe("media types", () => {
  it.each([
    ["SKILL.md", "text/markdown"],
    ["a/b.TS", "text/typescript"],
    ["run.py", "text/x-python"],
    ["data.jsonl", "application/jsonl"],
    ["LICENSE", "text/plain"],
    [".gitignore", "text/plain"],
    ["x.unknown", "text/plain"],
    ["x.constructor", "text/plain"],
    ["x.__proto__", "text/plain"],
  ])("%s is %s", (path, type) => expect(mediaTypeOf(path, bytes("text"))).toBe(type));

  it("of unknown names follow the bytes", () => {
    expect(mediaTypeOf("blob", Uint8Array.from([0xff, 0xfe]))).toBe("application/octet-stream");
  });

  it("count as text only what survives the way to text and back", () => {
    expect(decodeLossless(Uint8Array.from([0xef, 0xbb, 0xbf, 0x61]))).toBe("\uFEFFa");
    expect(decodeLossless(Uint8Array.from([0xff]))).toBeUndefined();
    expect(decodeLossless(Uint8Array.from([0xed, 0xa0, 0x80]))).toBeUndefined();
  });
});
