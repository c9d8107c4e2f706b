import type { SkillFile } from "../../src/domain/entry.ts";

/**
 * Hundreds of skills that nobody wrote: every style of frontmatter that the format allows, every kind of file name
 * and bytes that an author may have. The same in every run, so that a reader can compare what comes back with what
 * was sent. All of them are valid; what is refused is tested elsewhere.
 */
export interface SourceSkill {
  /** Folders and name, as published. */
  path: string;
  files: SkillFile[];
}

/** In `npm test` as many as make a second page of every list. */
export const generatedCount = process.env["CAMPAIGN"] === "full" ? 300 : 120;

/** Each style of a description that YAML has, by its lines in the frontmatter. */
const descriptions: readonly ((index: number) => string[])[] = [
  (index) => [`description: Plain words about task ${index}`],
  (index) => [`description: "Quoted: with a colon, a \\"quote\\", a tab\\t and caf\\u00e9 ${index}"`],
  (index) => [`description: 'Single: it''s number ${index} # no comment'`],
  (index) => [
    "description: >-",
    `  Folded over ${index}`,
    "  lines, joined by spaces.",
    "",
    "  And a second paragraph.",
  ],
  (index) => ["description: |", "  Literal lines", `    keep their indentation ${index}`, "  to the end"],
  (index) => ["description: >+", `  Folded and kept ${index}`, "", ""],
  (index) => [`description: 数据分析 ${index} 日本語の説明 한국어 العربية`],
  (index) => [`description: "Emoji 👩‍👩‍👧‍👦 🎉 and combining e\u0301 ${index}"`],
  (index) => [`description: Plain words over`, `  two lines ${index} # and a comment behind them`],
  (index) => [`description: ${"x".repeat(1024 - String(index).length)}${index}`],
  (index) => [`description: "${"😀".repeat(1024 - String(index).length)}${index}"`],
];

/** Further fields, the ones that the format defines and the ones it lets pass. */
const fields: readonly ((index: number) => string[])[] = [
  () => [],
  () => ["license: MIT"],
  (index) => ["license: 'Proprietary; see LICENSE'", "metadata:", `  version: "2.${index}.0"`, "  author: 王小明"],
  () => ['metadata: { team: "platform", "key with: colon": "[x]" }'],
  () => ["allowed-tools: Bash(git:*) Bash(jq:*) Read", "compatibility: Needs git and jq"],
  () => [
    "x-number: 1.0",
    "x-hex: 0x1F",
    "x-exponent: 1e3",
    "x-null: ~",
    "x-empty:",
    "x-date: 2026-07-28",
    "x-yes: yes",
  ],
  () => ["x-list: [a, 'b', 3, true, null]", "x-nested:", "  - one: 1", "    two: [2]", "  - three", "<<: plain key"],
  (index) => [
    "# A comment on its own",
    `license: Apache-2.0 # and one behind`,
    "metadata:",
    `  index: "${index}"`,
    "  empty: ''",
  ],
];

/** Names that need percent-encoding in an address, look like something else, or are merely unusual. */
const names = [
  "references/guide.md",
  "scripts/run me.sh",
  "assets/数据 表.csv",
  "assets/emoji 🎉.txt",
  "notes#1.md",
  "what?.md",
  "100%.txt",
  "50%25 off.txt",
  "%2e%2e.txt",
  "q&a.md",
  "@handle.md",
  "@folder/file.md",
  "paren (copy).txt",
  "données/été.txt",
  "[brackets]{braces}.md",
  "semi;colon,comma=equals.txt",
  "tilde~dash-under_score.txt",
  "caret^grave`.txt",
  "apostrophe's.txt",
  "dollar$plus+star.txt",
  "exclaim!.txt",
  ".hidden/.config",
  "a/b/c/d/e/f/deep.txt",
  "日本語/説明.md",
  "no-extension",
  "MixedCase.TXT",
  "nested/SKILL.md",
  "..three-dots",
  "عربي.txt",
  "zero\u200dwidth-joiner 👩‍💻.txt",
] as const;

const utf8 = new TextEncoder();
const text = (content: string) => utf8.encode(content);

/** Bytes that a careless server would change on their way through text. */
const contents: readonly ((random: () => number) => Uint8Array)[] = [
  () => new Uint8Array(),
  () => text("# Plain\n\nUTF-8 text: ä 漢 😀\n"),
  () => text("\ufeffwith a byte order mark\n"),
  () => text("CRLF\r\nline\r\nends\r\n"),
  () => text("lone\rcarriage\rreturns"),
  () => utf16("UTF-16 little endian with BOM 漢字 😀\n", true),
  () => utf16("UTF-16 big endian with BOM 漢字 😀\n", false),
  (random) => noise(Math.floor(random() * 20_000) + 1, random),
  () => Uint8Array.of(0xff),
  () => text("a NUL \u0000 inside valid UTF-8\n"),
  () => Uint8Array.of(0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80),
  () => text('{"json": "\u2028 \ufffd \\u0000", "n": 1e400}'),
  () => Uint8Array.from({ length: 256 }, (_, byte) => byte),
  () => text("no line end at the end"),
  () => text("\n".repeat(5_000)),
];

export function generatedSkills(): SourceSkill[] {
  return Array.from({ length: generatedCount }, (_, index) => generateSkill(index));
}

function generateSkill(index: number): SourceSkill {
  const random = seededRandom(index + 1);
  const name = index === 0 ? "a".repeat(64) : index === 1 ? "007" : `skill-${index}`;
  const folders = index % 12 === 5 ? `team-${index % 5}/area/` : "";
  const others = Array.from({ length: index % 6 }, (_, nth) => ({
    path: names[(index * 7 + nth * 11) % names.length]!,
    bytes: contents[(index + nth * 4) % contents.length]!(random),
    executable: nth % 2 === 1,
  }));
  return { path: folders + name, files: [{ path: "SKILL.md", bytes: skillMd(name, index, random) }, ...others] };
}

function skillMd(name: string, index: number, random: () => number): Uint8Array {
  const lines = [
    "---",
    // Without quotes, a name of digits would be a number.
    /^\d+$/.test(name) ? `name: "${name}"` : `name: ${name}`,
    ...descriptions[index % descriptions.length]!(index),
    ...fields[index % fields.length]!(index),
    index % 10 === 3 ? "---  " : "---",
    `# Skill ${index}`,
    "",
    ...Array.from({ length: Math.floor(random() * 40) }, (_, line) => `Step ${line}: ${random()}`),
    index % 4 === 1 ? "No line end here 😀" : "",
  ];
  const ends = lines.join(index % 5 === 2 ? "\r\n" : "\n");
  return text(index % 7 === 4 ? `\ufeff${ends}` : ends);
}

function utf16(content: string, isLittle: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 + content.length * 2));
  view.setUint16(0, 0xfeff, isLittle);
  for (let at = 0; at < content.length; at++) view.setUint16(2 + at * 2, content.charCodeAt(at), isLittle);
  return new Uint8Array(view.buffer);
}

/** Bytes that no compressor can shrink. */
export function noise(length: number, random: () => number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
}

/** Mulberry32: small, and the same everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
