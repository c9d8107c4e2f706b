import { describe, expect, it } from "vitest";

import { pathFindings, pathSetFindings } from "../../src/domain/file-path.ts";
import { maxPathBytes, maxPathDepth } from "../../src/domain/limits.ts";

const codes = (path: string) => pathFindings(path).map((finding) => finding.code);

describe("a file's path", () => {
  it.each([
    "SKILL.md",
    ".env",
    ".github/workflows/ci.yml",
    "a b.md",
    " leading.md",
    "100%.md",
    "%2e%2e/x.md",
    "h#.md",
    "q?.md",
    "a&b.md",
    "at@home.md",
    "@scope/x.md",
    "@1.0.0",
    "@v1/x.md",
    "(x).md",
    "日本語/手引き.md",
    "caf\u00e9.md",
    "🎉👩‍👩‍👧.md",
    "...a/..b.md",
    "console.md",
    "com10.txt",
    "aa:b.md",
    "a/b/c/d/e/f/g/h.md",
    "x".repeat(maxPathBytes),
    "__pycache__/x.pyc",
  ])("may be %s", (path) => {
    expect(pathFindings(path)).toEqual([]);
  });

  it.each([
    ["x".repeat(maxPathBytes + 1), "path_too_long"],
    ["é".repeat(128), "path_too_long"],
    ["a/b/c/d/e/f/g/h/i.md", "path_too_deep"],
    ["cafe\u0301.md", "path_not_nfc"],
    ["\u{2126}.md", "path_not_nfc"],
    ["/etc/passwd", "path_absolute"],
    ["C:/x.md", "path_absolute"],
    ["c:x.md", "path_absolute"],
    ["a\\b.md", "path_backslash"],
    ["..\\..\\x", "path_backslash"],
    ['say "hi".md', "path_quote"],
    ["../x.md", "path_dot_segment"],
    ["a/../../x.md", "path_dot_segment"],
    ["a/./b.md", "path_dot_segment"],
    ["..", "path_dot_segment"],
    ["a//b.md", "path_empty_segment"],
    ["a/", "path_empty_segment"],
    ["", "path_empty_segment"],
    ["a\nb.md", "path_control_character"],
    ["a\u0000.md", "path_control_character"],
    ["a\u007f.md", "path_control_character"],
    ["a\u0085.md", "path_control_character"],
    ["a\ud83c.md", "path_not_unicode"],
    ["a\ufffd.md", "path_not_unicode"],
    ["notes.", "path_trailing_dot_or_space"],
    ["notes /x.md", "path_trailing_dot_or_space"],
    [".../x.md", "path_trailing_dot_or_space"],
    ["nul", "path_device_name"],
    ["a/CON.md", "path_device_name"],
    ["Com1.tar.gz", "path_device_name"],
    ["lpt9 .txt", "path_device_name"],
    ["aux/x.md", "path_device_name"],
    ["CONIN$", "path_device_name"],
    ["@1.2.0/x.md", "path_reads_as_version"],
    ["a/@2.0.0-rc.1/x.md", "path_reads_as_version"],
  ])("may not be %j: %s, an error with a fix", (path, code) => {
    const [finding, ...rest] = pathFindings(path);
    expect(rest).toEqual([]);
    expect(finding).toMatchObject({ code, severity: "error", line: null, column: null });
    expect(finding?.fix).toMatch(/\.$/u);
  });

  it("has its NFC form in the finding, ready to use", () => {
    expect(pathFindings("re\u0301sume\u0301/a.md")[0]).toMatchObject({
      file: "re\u0301sume\u0301/a.md",
      fixed: "résumé/a.md",
    });
  });

  it("is told of everything that is wrong with it at once", () => {
    expect(codes('/a\\..\\"b\u0301\n/nul./../@1.0.0/x/y/z/0/1')).toEqual([
      "path_too_deep",
      "path_absolute",
      "path_backslash",
      "path_quote",
      "path_control_character",
      "path_dot_segment",
      "path_trailing_dot_or_space",
      "path_device_name",
      "path_reads_as_version",
    ]);
  });

  it("names the limits by number and unit", () => {
    expect(pathFindings("x".repeat(300))[0]?.message).toContain(
      `300 bytes in UTF-8; the limit is ${maxPathBytes} bytes`,
    );
    expect(pathFindings("a/".repeat(9) + "x")[0]?.message).toContain(
      `10 segments; the limit is ${maxPathDepth} segments`,
    );
  });

  it("is clipped in the finding when it is endless, without half a character", () => {
    const { file } = pathFindings("a" + "🎉".repeat(40_000))[0]!;
    expect(file.length).toBeLessThan(300);
    expect(file.isWellFormed()).toBe(true);
  });
});

describe("the paths of one skill", () => {
  const set = (...paths: string[]) => pathSetFindings(paths).map(({ code, file }) => `${code} ${file}`);

  it("may share folders and names", () => {
    expect(set("SKILL.md", "a/SKILL.md", "a/b.md", "b/b.md", "a.md", "ab/c")).toEqual([]);
  });

  it("may not repeat a path, however often it comes", () => {
    expect(set("a.md", "b.md", "a.md", "a.md")).toEqual(["path_duplicate a.md"]);
  });

  it.each([
    ["SKILL.md", "skill.md"],
    ["Docs/a.md", "docs/A.md"],
    ["straße.md", "STRASSE.md"],
    ["ΟΔΟΣ.md", "οδος.md"],
    ["ſ.md", "s.md"],
    ["\u212a.md", "k.md"],
    ["caf\u00e9.md", "CAFE\u0301.md"],
  ])("may not hold %s and %s, which are one file on other disks", (first, second) => {
    expect(set(first, second)).toEqual([`path_collision ${second}`]);
  });

  it("may not hold a file where another path needs a folder, in any case of letters", () => {
    expect(set("a", "a/b.md", "a/c.md")).toEqual(["path_file_and_folder a"]);
    expect(set("x/Docs", "X/docs/y/z.md")).toEqual(["path_file_and_folder x/Docs"]);
  });

  it("are compared in linear time", () => {
    const paths = Array.from({ length: 512 }, (_, at) => `${at}/${"a/".repeat(30_000)}x`);
    expect(pathSetFindings(paths)).toEqual([]);
  }, 10_000);
});
