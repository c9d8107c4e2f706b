import { describe, expect, it } from "vitest";

import { buildEntry } from "../../src/domain/entry.ts";
import { readSkillMd } from "../../src/domain/frontmatter.ts";
import { findingTable } from "../../src/domain/lint-table.ts";
import { lintRelease } from "../../src/domain/lint.ts";
import { Remarks } from "../../src/domain/lint/remark.ts";
import type { Pair, YamlNode } from "../../src/domain/lint/yaml-node.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";

const encoder = new TextEncoder();

function read(text: string) {
  const remarks = new Remarks();
  const skill = readSkillMd(encoder.encode(text), remarks);
  return { skill, codes: remarks.kept.map(({ code, line, column }) => `${code} ${line}:${column}`), remarks };
}

/** The tree as the plain JSON that the SDK would make of it. */
function toJson(node: YamlNode): unknown {
  if (node.kind === "mapping") return pairsToJson(node.pairs);
  if (node.kind === "sequence") return node.items.map(toJson);
  return node.kind === "scalar" ? node.value : "(unreadable)";
}

function pairsToJson(pairs: readonly Pair[]): unknown {
  return Object.fromEntries(pairs.map((pair) => [pair.key, toJson(pair.value)]));
}

describe("the frontmatter reader", () => {
  it("gives every key its line, column and value", () => {
    const { skill, codes } = read('---\nname: pdf\n"quoted key":  [a, b]\nmetadata:\n  author: "me"\n---\nbody\n');
    expect(codes).toEqual([]);
    expect(skill).toMatchObject({ openLine: 1, bodyLine: 7, hasFields: true });
    expect(skill.pairs.map(({ key, keySpan, lastLine }) => ({ key, ...keySpan, lastLine }))).toEqual([
      { key: "name", line: 2, start: 0, end: 4, lastLine: 2 },
      { key: "quoted key", line: 3, start: 0, end: 12, lastLine: 3 },
      { key: "metadata", line: 4, start: 0, end: 8, lastLine: 5 },
    ]);
    expect(skill.pairs[1]!.value.span).toEqual({ line: 3, start: 15, end: 21 });
    expect(pairsToJson(skill.pairs)).toEqual({ name: "pdf", "quoted key": ["a", "b"], metadata: { author: "me" } });
  });

  it("goes on after each fault, so that several are found in one pass", () => {
    const { codes, skill } = read(
      [
        "---",
        "name: pdf",
        "description: Use this: always",
        "license: &a MIT",
        "metadata:",
        "\tauthor: me",
        "  tags: *x",
        '  note: "\\q"',
        "  fine: yes it is",
        "stray words",
        "name: again",
        "list: [a, b",
        "end: done",
        "---",
        "",
      ].join("\n"),
    );
    expect(codes).toEqual([
      "unquoted_colon 3:22",
      "anchor_or_tag 4:10",
      "tab_indent 6:1",
      "anchor_or_tag 7:9",
      "bad_escape 8:10",
      "not_key_value 10:1",
      "duplicate_key 11:1",
      "unclosed_flow 12:7",
    ]);
    expect(skill.pairs.map((pair) => pair.key)).toEqual(["name", "description", "license", "metadata", "list", "end"]);
    expect(toJson(skill.pairs[3]!.value)).toMatchObject({ author: "me", fine: "yes it is" });
  });

  it("tells a wrapped paragraph once, not once for each of its lines", () => {
    const { codes } = read("---\nname: pdf\ndescription: one\ntwo words\nthree words\nfour words\n---\n");
    expect(codes).toEqual(["not_key_value 4:1"]);
  });

  it("counts columns in UTF-16 code units of the line as sent, also after CRLF", () => {
    expect(read("---\r\nname: pdf\r\ndescription: 🎉é: x\r\n---\r\n").codes).toEqual([
      "crlf null:null",
      "unquoted_colon 3:17",
    ]);
  });

  it("finds the fields of a frontmatter that does not stand first, or is not closed or opened", () => {
    expect(pairsToJson(read("<!-- hi -->\n---\nname: pdf\n---\n").skill.pairs)).toEqual({ name: "pdf" });
    expect(pairsToJson(read("---\nname: pdf\n\n# Body\n").skill.pairs)).toEqual({ name: "pdf" });
    expect(pairsToJson(read("name: pdf\ndescription: d\n---\n# Body\n").skill.pairs)).toEqual({
      name: "pdf",
      description: "d",
    });
  });

  it("never throws, whatever the bytes, and neither does the scanner", () => {
    const random = randomOf(7);
    const names = ["SKILL.md", "skill.md", ".npmrc", "a.pem", "a/SKILL.md"];
    for (let round = 0; round < 3000; round++) {
      const bytes = Uint8Array.from({ length: random(60) }, () => random(256));
      const start = random(2) === 0 ? encoder.encode("---\nname: ") : new Uint8Array();
      const files = [{ path: names[random(names.length)]!, bytes: new Uint8Array([...start, ...bytes]) }];
      expect(() => lintRelease({ path: "pdf" as SkillPath, files, refusals: [] })).not.toThrow();
    }
  });

  it.each([
    ["brackets", "[".repeat(200_000)],
    ["list marks", "- ".repeat(100_000)],
    ["anchors", "& ".repeat(100_000)],
    ["colons", ": ".repeat(100_000)],
    ["spaces before a hash", `>${" ".repeat(200_000)}x`],
    ["quotes", "'".repeat(200_001)],
    ["bad lines", "\n x y\n".repeat(30_000)],
    ["tabs", "\n\ta: b".repeat(30_000)],
    ["open quotes", '\na: "b'.repeat(30_000)],
    ["deep lists", "\n" + Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth)}-`).join("\n")],
  ])("reads %s in linear time", (_name, text) => {
    const start = Date.now();
    read(`---\nname: pdf\ndescription: ${text}\n---\n`);
    read(`---\n${text}\n---\n`);
    expect(Date.now() - start).toBeLessThan(3000);
  });
});

/** A small seeded generator (mulberry32): `random(n)` is 0 … n-1. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

const keys = ["name", "description", "metadata", "license", "compatibility", "allowed-tools", "extra", "author", '"k"'];
const values =
  `pdf|pdf|A text.|Use it: now|"quoted"|'single'|"open|'open|"a\\qb"|"\\u0041"|[a, b]|[a, b|{a: b}|{a: 1}|{a: b, a: c}|` +
  `[a: b]|{a}|[]|{}|[,]|[a,]|1.0|017|0x1F|.inf|1e999|true|no|~||2024-01-01|*alias|&anchor|&anchor x|!tag|@at|%p|\`tick|` +
  `- item|? q|-x|?x|:x|a:b|a #c|a#c|# only comment|>|>-|\\||\\|+|\\|2|> text|- - a|- a: b|- [x|--|...|---|----|<<|` +
  `__proto__: x|? a: b|.nan: x|"k": v|"k" v|"k":v|k:v|'it''s'|"a" b|[a] b|{a: b} # c|"a"# c|\u2028---|\rx|\uFEFF`;
const valueList = values
  .replaceAll("\\|", "\u0001")
  .split("|")
  .map((value) => value.replaceAll("\u0001", "|"));
const indents = ["", "", "", "  ", "  ", "    ", " ", "\t", "  \t", "      "];

/** A frontmatter that is mostly well-formed, with oddities of every kind in it. */
function randomSkillMd(random: (below: number) => number): string {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  const lines = ["name: pdf", "description: A text."];
  const count = random(2) === 0 ? random(2) : random(6);
  for (let index = 0; index < count; index++) {
    const shape = random(10);
    const line =
      shape < 5
        ? `${pick(keys)}:${pick([" ", " ", " ", "  ", "\t", ""])}${pick(valueList)}`
        : shape < 7
          ? `- ${pick(valueList)}`
          : shape < 8
            ? pick(["", "   ", "\t", "# comment", "  # comment"])
            : pick(valueList);
    lines.splice(random(4) === 0 ? random(lines.length + 1) : lines.length, 0, pick(indents) + line);
  }
  const text = `---\n${lines.join("\n")}\n${pick(["---", "---", "---", "---", "--- ", "----", "...", ""])}\nbody\n`;
  const start = pick(["", "", "", "", "", "", "", "\uFEFF", "\n", " "]);
  return random(8) === 0 ? mutate(start + text, random) : start + text;
}

function mutate(text: string, random: (below: number) => number): string {
  const at = random(text.length);
  const piece = [":", " ", "\n", "\t", '"', "'", "#", "-", "[", "]", "{", "}", ",", "\r", "\\", "|", ">", "\r\n"];
  return text.slice(0, at) + piece[random(piece.length)]! + text.slice(at + random(2));
}

const isOfSdk = (code: string) => (findingTable as Record<string, { by: string }>)[code]!.by === "sdk";

describe("the scanner beside the official SDK", () => {
  it.each(Array.from({length: 60}, (_, i) => i + 2000))("agrees about what is refused, and reads the same values (seed %i)", async (seed) => {
    const random = randomOf(seed);
    const verdicts = { accepted: 0, refused: 0 };
    for (let round = 0; round < 5000; round++) {
      const text = randomSkillMd(random).replace(/name: pdf/, random(5) === 0 ? "name: " + pick2(valueList, random) : "name: pdf");
      const files = [{ path: "SKILL.md", bytes: encoder.encode(text) }];
      const built = await buildEntry("acme" as Namespace, "pdf" as SkillPath, files);
      const found = lintRelease({ path: "pdf" as SkillPath, files, refusals: [] });
      const errors = found.filter(({ severity, code }) => severity === "error" && isOfSdk(code));
      const shown = JSON.stringify(text);
      if ("entry" in built) {
        verdicts.accepted++;
        expect(
          errors.map(({ message }) => message),
          shown,
        ).toEqual([]);
        expect(pairsToJson(read(text).skill.pairs), shown).toEqual(built.entry.frontmatter);
      } else {
        verdicts.refused++;
        const line = /\bline (\d+):/.exec(built.refusals.join())?.[1];
        const lines = errors.map((error) => String(error.line));
        expect(lines.length, `${shown} ${built.refusals.join()}`).toBeGreaterThan(0);
        // Where the SDK stops, this goes on; so the line where it stopped must be among those told.
        if (line !== undefined) expect(lines, `${shown} ${built.refusals.join()}`).toContain(line);
      }
    }
    // Neither verdict may be so rare that agreeing about it proves nothing.
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(800);
  });
});
function pick2<T>(l: readonly T[], r: (n:number)=>number): T { return l[r(l.length)]!; }
