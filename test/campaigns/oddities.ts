import { packZip } from "../../src/publish/pack.ts";
import { bytesOf, concat, rawZip } from "../publish/bytes.ts";

/**
 * What real skill folders hold that a naive registry trips over, and what this one answers: one row for each, which
 * is a test (oddities.test.ts) and a line of the README. A verdict is the gravest finding; "accepted" has none.
 */
export interface Oddity {
  /** As an author would name it. */
  what: string;
  verdict: "error" | "warning" | "notice" | "accepted";
  /** The code of the finding; none where it is accepted. */
  code?: string;
  /** Where the finding points to in SKILL.md; null for a file or an upload as a whole. */
  line?: number | null;
  /** How many lines `fixed` replaces; absent where nothing can be mended mechanically. */
  fixedLines?: number;
  /** The upload, as files or as a whole archive. */
  files?: Record<string, string | Uint8Array>;
  zip?: () => Uint8Array;
  /** The folder that the upload was packed with. */
  folder?: string;
  query?: string;
}

const name = "name: pdf";
const description = "description: Fill in PDF forms";

const skillMd = (...lines: string[]) => ["---", ...lines, "---", "# PDF", ""].join("\n");
const withFields = (...lines: string[]) => ({ "SKILL.md": skillMd(name, description, ...lines) });
const described = (...lines: string[]) => ({ "SKILL.md": skillMd(name, ...lines) });
const sound = skillMd(name, description);
const beside = (path: string, content: string | Uint8Array = "content") => ({ "SKILL.md": sound, [path]: content });

const KiB = 1024;
const MiB = 1024 * KiB;
/** Two of this size fit an upload, and no compressor makes them tiny enough to be taken for an attack. */
const flat = (bytes: number) => new Uint8Array(bytes);

const link = (target: string) => () =>
  rawZip([
    { name: "SKILL.md", data: bytesOf(sound) },
    { name: "link", data: bytesOf(target), mode: 0o120777 },
  ]);

const utf16 = (text: string) =>
  concat(Uint8Array.of(0xff, 0xfe), Uint8Array.from([...text].flatMap((char) => [char.charCodeAt(0), 0])));
const withMark = (text: string) => concat(Uint8Array.of(0xef, 0xbb, 0xbf), bytesOf(text));

/** 162 characters, the longest seen. */
const longPath = `${"references/".repeat(6)}${"x".repeat(93)}.md`;

const inFrontmatter: readonly Oddity[] = [
  {
    what: 'A description with ": " and no quotes',
    verdict: "error",
    code: "unquoted_colon",
    line: 3,
    fixedLines: 1,
    files: described("description: Use this: always"),
  },
  {
    what: "A quote that is never closed",
    verdict: "error",
    code: "unclosed_quote",
    line: 3,
    fixedLines: 1,
    files: described('description: "Fill in forms'),
  },
  {
    what: "A [list] or {mapping} over several lines",
    verdict: "error",
    code: "unclosed_flow",
    line: 4,
    fixedLines: 2,
    files: withFields("tags: [a,", "  b]"),
  },
  {
    what: "A value that starts with @, % or a backtick",
    verdict: "error",
    code: "unquoted_special",
    line: 3,
    fixedLines: 1,
    files: described("description: @mention this"),
  },
  {
    what: "A line that is no key and value",
    verdict: "error",
    code: "not_key_value",
    line: 4,
    files: withFields("just words"),
  },
  {
    what: "An HTML comment before the frontmatter",
    verdict: "error",
    code: "frontmatter_not_first",
    line: 1,
    files: { "SKILL.md": `<!-- generated -->\n${sound}` },
  },
  {
    what: "A code fence around the frontmatter",
    verdict: "error",
    code: "frontmatter_not_first",
    line: 1,
    files: { "SKILL.md": `\`\`\`yaml\n${sound}\`\`\`\n` },
  },
  {
    what: "Prose before the frontmatter",
    verdict: "error",
    code: "frontmatter_not_first",
    line: 1,
    files: { "SKILL.md": `# PDF\n\n${sound}` },
  },
  {
    what: "A blank line before the frontmatter",
    verdict: "error",
    code: "frontmatter_not_first",
    line: 1,
    files: { "SKILL.md": `\n${sound}` },
  },
  {
    what: "No frontmatter at all",
    verdict: "error",
    code: "frontmatter_missing",
    line: 1,
    files: { "SKILL.md": "# PDF\n\nFill in forms.\n" },
  },
  {
    what: "Frontmatter without its opening ---",
    verdict: "error",
    code: "frontmatter_missing",
    line: 1,
    fixedLines: 1,
    files: { "SKILL.md": sound.slice("---\n".length) },
  },
  {
    what: "Frontmatter that is never closed",
    verdict: "error",
    code: "frontmatter_unclosed",
    line: 1,
    files: { "SKILL.md": `---\n${name}\n${description}\n\n# PDF\n` },
  },
  {
    what: "metadata with a nested mapping",
    verdict: "error",
    code: "metadata_value_nested",
    line: 5,
    fixedLines: 3,
    files: withFields("metadata:", "  author:", "    name: Ann", "    team: forms"),
  },
  {
    what: "metadata with a list",
    verdict: "error",
    code: "metadata_value_nested",
    line: 5,
    fixedLines: 1,
    files: withFields("metadata:", "  tags: [pdf, forms]"),
  },
  {
    what: "metadata with a number, a boolean or nothing",
    verdict: "error",
    code: "metadata_value_not_string",
    line: 5,
    fixedLines: 1,
    files: withFields("metadata:", "  version: 1.0"),
  },
  {
    what: "metadata.version that is no semantic version",
    verdict: "warning",
    code: "version_ignored",
    line: 5,
    files: withFields("metadata:", '  version: "1.0"'),
  },
  {
    what: "allowed-tools separated by commas",
    verdict: "warning",
    code: "allowed_tools_commas",
    line: 4,
    fixedLines: 1,
    files: withFields("allowed-tools: Read, Grep, Bash(git:*)"),
  },
  {
    what: "allowed-tools separated by spaces",
    verdict: "accepted",
    files: withFields("allowed-tools: Read Grep Bash(git:*)"),
  },
  {
    what: "allowed-tools as a list",
    verdict: "warning",
    code: "allowed_tools_not_string",
    line: 4,
    fixedLines: 1,
    files: withFields("allowed-tools: [Read, Grep]"),
  },
  {
    what: "A date, or another value that YAML 1.1 and 1.2 read differently",
    verdict: "warning",
    code: "yaml_ambiguous",
    line: 5,
    fixedLines: 1,
    files: withFields("metadata:", "  updated: 2026-01-02"),
  },
  {
    what: "A key that the format does not define",
    verdict: "warning",
    code: "unknown_key",
    line: 4,
    files: withFields("homepage: https://example.com"),
  },
  {
    what: "A description as a block (| or >)",
    verdict: "accepted",
    files: described("description: >-", "  Fill in PDF forms", "  and check them."),
  },
  {
    what: "A description with white space around it",
    verdict: "accepted",
    files: described('description: "  Fill in PDF forms \\n"'),
  },
  {
    what: "A description over several lines",
    verdict: "accepted",
    files: described("description: Fill in PDF forms", "  and check them"),
  },
  {
    what: "A description of more than 1,024 characters",
    verdict: "error",
    code: "description_too_long",
    line: 3,
    files: described(`description: ${"x".repeat(1_025)}`),
  },
  {
    what: "A description in Chinese, Japanese or Korean",
    verdict: "accepted",
    files: described(`description: ${"表".repeat(1_024)}`),
  },
  {
    what: "A description with a <Tag>",
    verdict: "warning",
    code: "angle_brackets",
    line: 3,
    files: described("description: Fill in <Form> elements"),
  },
  {
    what: "No description, or an empty one",
    verdict: "error",
    code: "description_missing",
    line: 1,
    files: { "SKILL.md": skillMd(name) },
  },
  {
    what: "A name with spaces",
    verdict: "error",
    code: "name_invalid",
    line: 2,
    fixedLines: 1,
    files: { "SKILL.md": skillMd("name: pdf forms", description) },
  },
  {
    what: "A name in upper case",
    verdict: "error",
    code: "name_invalid",
    line: 2,
    fixedLines: 1,
    files: { "SKILL.md": skillMd("name: PDF", description) },
  },
  {
    what: "A name that is a number to YAML",
    verdict: "error",
    code: "name_not_string",
    line: 2,
    fixedLines: 1,
    files: { "SKILL.md": skillMd("name: 2024", description) },
  },
  {
    what: "A name that differs from the path it is published under",
    verdict: "error",
    code: "name_mismatch",
    line: 2,
    fixedLines: 1,
    files: { "SKILL.md": sound },
    query: "&path=team/forms",
  },
  {
    what: "A name that differs from the folder's",
    verdict: "warning",
    code: "folder_mismatch",
    line: 2,
    files: { "SKILL.md": sound },
    folder: "pdf-forms",
  },
  {
    what: "No name",
    verdict: "error",
    code: "name_missing",
    line: 1,
    fixedLines: 1,
    files: { "SKILL.md": skillMd(description) },
  },
  {
    what: "A key twice",
    verdict: "error",
    code: "duplicate_key",
    line: 4,
    files: withFields("name: pdf"),
  },
  {
    what: "An anchor or an alias",
    verdict: "error",
    code: "anchor_or_tag",
    line: 4,
    fixedLines: 1,
    files: withFields("license: &mit MIT"),
  },
  {
    what: "A tag",
    verdict: "error",
    code: "anchor_or_tag",
    line: 4,
    fixedLines: 1,
    files: withFields("license: !!str MIT"),
  },
  {
    what: "A tab that indents",
    verdict: "error",
    code: "tab_indent",
    line: 5,
    fixedLines: 1,
    files: withFields("metadata:", "\tauthor: Ann"),
  },
  {
    what: "The key __proto__",
    verdict: "error",
    code: "proto_key",
    line: 4,
    files: withFields("__proto__: x"),
  },
  {
    what: "An invisible or bidirectional character",
    verdict: "warning",
    code: "invisible_character",
    line: 5,
    fixedLines: 1,
    files: { "SKILL.md": sound.replace("# PDF", "# PDF\u200b") },
  },
];

const inFiles: readonly Oddity[] = [
  {
    what: "skill.md or Skill.md",
    verdict: "error",
    code: "skill_md_case",
    line: null,
    files: { "Skill.md": sound },
  },
  {
    what: "A byte order mark before SKILL.md",
    verdict: "notice",
    code: "bom",
    line: 1,
    files: { "SKILL.md": withMark(sound) },
  },
  {
    what: "CRLF in SKILL.md",
    verdict: "notice",
    code: "crlf",
    line: null,
    files: { "SKILL.md": sound.replaceAll("\n", "\r\n") },
  },
  {
    what: "A lone CR as line end in SKILL.md",
    verdict: "error",
    code: "cr_newlines",
    line: 1,
    files: { "SKILL.md": sound.replaceAll("\n", "\r") },
  },
  {
    what: "SKILL.md in UTF-16",
    verdict: "error",
    code: "skill_md_not_utf8",
    line: null,
    files: { "SKILL.md": utf16(sound) },
  },
  {
    what: "SKILL.md in Latin-1",
    verdict: "error",
    code: "skill_md_not_utf8",
    line: 3,
    files: { "SKILL.md": concat(bytesOf("---\nname: pdf\ndescription: caf"), Uint8Array.of(0xe9), bytesOf("\n---\n")) },
  },
  {
    what: "SKILL.md over 256 KiB",
    verdict: "warning",
    code: "skill_md_large",
    line: null,
    files: { "SKILL.md": `${sound}${"x".repeat(257 * KiB)}` },
  },
  {
    what: "A skill inside another's folder",
    verdict: "notice",
    code: "nested_skill",
    line: null,
    files: beside("skills/inner/SKILL.md", skillMd("name: inner", description)),
  },
  { what: "A link that leaves the folder", verdict: "error", code: "link_refused", line: null, zip: link("../../x") },
  { what: "A link to an absolute path", verdict: "error", code: "link_refused", line: null, zip: link("/etc/passwd") },
  { what: "A link inside the folder", verdict: "error", code: "link_refused", line: null, zip: link("SKILL.md") },
  {
    what: "An executable file",
    verdict: "accepted",
    zip: () =>
      packZip([
        { path: "SKILL.md", bytes: bytesOf(sound) },
        { path: "scripts/run.sh", bytes: bytesOf("#!/bin/sh\n"), executable: true },
      ]),
  },
  { what: "A file name in Chinese, Japanese or Korean", verdict: "accepted", files: beside("資料/手引き.md") },
  { what: "A file name with a space", verdict: "accepted", files: beside("a b/c d.md") },
  { what: "A file name with ( ) & @", verdict: "accepted", files: beside("q&a (copy) @home.md") },
  { what: "A file name with %, # or ?", verdict: "accepted", files: beside("100% #1 what?.md") },
  { what: "A file name with an emoji", verdict: "accepted", files: beside("🎉.md") },
  { what: "A file name with an accent, in NFC", verdict: "accepted", files: beside("caf\u00e9.md") },
  {
    what: "A file name with an accent, in NFD",
    verdict: "error",
    code: "path_not_nfc",
    line: null,
    fixedLines: 0,
    files: beside("cafe\u0301.md"),
  },
  {
    what: "A file name with a backslash",
    verdict: "error",
    code: "path_backslash",
    line: null,
    files: beside("docs\\guide.md"),
  },
  {
    what: "Two file names that differ in case alone",
    verdict: "error",
    code: "path_collision",
    line: null,
    files: { ...beside("Guide.md"), "guide.md": "other" },
  },
  { what: "A path of 162 characters", verdict: "accepted", files: beside(longPath) },
  {
    what: "A path of more than 255 bytes",
    verdict: "error",
    code: "path_too_long",
    line: null,
    files: beside(`${"y".repeat(254)}.md`),
  },
  { what: "An empty file", verdict: "accepted", files: beside("empty.txt", "") },
  { what: "Text with CRLF", verdict: "accepted", files: beside("notes.txt", "a\r\nb\r\n") },
  { what: "Text with a byte order mark", verdict: "accepted", files: beside("data.csv", withMark("a,b\n")) },
  { what: "Text in UTF-16", verdict: "accepted", files: beside("notes.txt", utf16("a\n")) },
  {
    what: "An archive as a file",
    verdict: "notice",
    code: "archive_inside",
    line: null,
    files: beside("templates.zip", packZip([])),
  },
  {
    what: "Fonts and images",
    verdict: "accepted",
    files: { ...beside("a.woff2", Uint8Array.of(0x77, 0xff, 0)), "b.png": Uint8Array.of(0x89, 0x50, 0xff) },
  },
  { what: ".env and key files", verdict: "error", code: "secret_file", line: null, files: beside(".env", "KEY=1") },
  {
    what: ".env and key files, with allow_secrets=true",
    verdict: "warning",
    code: "secret_file",
    line: null,
    files: beside(".env", "KEY=1"),
    query: "&allow_secrets=true",
  },
  {
    what: "__pycache__, node_modules and other caches",
    verdict: "warning",
    code: "vendored_files",
    line: null,
    files: beside("scripts/__pycache__/run.pyc"),
  },
  {
    what: ".DS_Store, Thumbs.db, .git and the like",
    verdict: "notice",
    code: "junk_dropped",
    line: null,
    files: beside("assets/.DS_Store"),
  },
  {
    what: "More than 512 files",
    verdict: "error",
    code: "too_many_files",
    line: null,
    files: {
      "SKILL.md": sound,
      ...Object.fromEntries(Array.from({ length: 512 }, (_, at) => [`notes/${at}.txt`, `${at}`])),
    },
  },
  {
    what: "More than 16 MiB together",
    verdict: "error",
    code: "skill_too_large",
    line: null,
    files: { ...beside("a.bin", flat(9 * MiB)), "b.bin": flat(9 * MiB) },
  },
  {
    what: "More than ChatGPT imports (100 files, 1 MiB a file, 5 MiB together)",
    verdict: "warning",
    code: "budget_chatgpt",
    line: null,
    files: beside("large.bin", flat(2 * MiB)),
  },
];

export const oddities: readonly { title: string; rows: readonly Oddity[] }[] = [
  { title: "In SKILL.md", rows: inFrontmatter },
  { title: "In the files", rows: inFiles },
];

/** The marker in the README below which the table stands. */
export const marker = "<!-- oddities -->";

/** The table as Markdown, for the README. */
export function renderOddities(): string {
  const line = (...cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rowOf = ({ what, verdict, code, fixedLines }: Oddity) =>
    line(
      what.replaceAll("<", "&lt;"),
      verdict,
      code === undefined ? "" : `\`${code}\``,
      fixedLines === undefined ? "" : "yes",
    );
  return oddities
    .map(({ title, rows }) => [
      line(title, "answer", "code", "mended text"),
      line("---", "---", "---", "---"),
      ...rows.map(rowOf),
    ])
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}
