import { describe, expect, it } from "vitest";

import { chatGptBudget } from "../../src/domain/budget.ts";
import { buildEntry } from "../../src/domain/entry.ts";
import type { Finding } from "../../src/domain/finding.ts";
import { maxFrontmatterLength } from "../../src/domain/frontmatter.ts";
import { adviseSkillMdBytes, maxFindings, maxSkillMdBytes } from "../../src/domain/limits.ts";
import { findingTable } from "../../src/domain/lint-table.ts";
import { lintRelease } from "../../src/domain/lint.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";

const encoder = new TextEncoder();
type Content = string | Uint8Array;
const toBytes = (content: Content) => (typeof content === "string" ? encoder.encode(content) : content);
const toFiles = (files: Record<string, Content>) =>
  Object.entries(files).map(([path, content]) => ({ path, bytes: toBytes(content) }));

interface Row {
  /** What the author did, completing "an author who …" or naming the oddity. */
  says: string;
  /** SKILL.md, or all files. */
  files: Content | Record<string, Content>;
  folder?: string;
  allowSecrets?: boolean;
  path?: string;
  /** Every finding, in order: nothing else may be found. */
  finds: (Partial<Finding> & { code: string })[];
  /** Applying all `fixed` texts makes the SDK accept the skill. */
  mends?: boolean;
}

const filesOf = (row: Row) =>
  typeof row.files === "string" || row.files instanceof Uint8Array ? { "SKILL.md": row.files } : row.files;

async function verdict(files: Record<string, Content>, path = "pdf") {
  const built = await buildEntry("acme" as Namespace, path as SkillPath, toFiles(files));
  return "entry" in built ? [] : built.refusals;
}

async function lint(row: Row): Promise<Finding[]> {
  const files = filesOf(row);
  const { folder, allowSecrets } = row;
  const path = (row.path ?? "pdf") as SkillPath;
  return lintRelease({ path, folder, allowSecrets, files: toFiles(files), refusals: await verdict(files, path) });
}

/** Puts every fixed text in the place of its line, or of the lines that its finding names. */
function applyFixed(text: string, findings: readonly Finding[]): string {
  const lines: (string | undefined)[] = text.split(/\r?\n/);
  for (const { line, fix, fixed } of findings) {
    if (fixed === undefined || line === null) continue;
    const range = /lines (\d+) to (\d+)/.exec(fix);
    const [from, to] = range === null ? [line, line] : [Number(range[1]), Number(range[2])];
    lines.fill(undefined, from - 1, to);
    lines[from - 1] = fixed;
  }
  return lines.filter((line) => line !== undefined).join("\n");
}

/** A SKILL.md whose frontmatter holds these lines after name and description; they start on line 4. */
const md = (...more: string[]) =>
  ["---", "name: pdf", "description: Reads PDF files.", ...more, "---", "Body.", ""].join("\n");
/** A SKILL.md with another description, on line 3. */
const described = (...lines: string[]) => ["---", "name: pdf", ...lines, "---", "Body.", ""].join("\n");
const named = (line: string) => ["---", line, "description: Reads PDF files.", "---", "Body.", ""].join("\n");
const body = (...lines: string[]) => `${md()}${lines.join("\n")}\n`;

const fine: Row[] = [
  { says: "a plain skill", files: md(), finds: [] },
  { says: "a description as folded block", files: described("description: >-", "  Reads: PDF", "  files."), finds: [] },
  {
    says: "a description as literal block",
    files: described("description: |", "  Reads: PDF", "", "  files."),
    finds: [],
  },
  { says: "an untrimmed description", files: described('description: "  Reads PDF files. "'), finds: [] },
  { says: "a description of several lines", files: described("description: Reads", "  PDF files."), finds: [] },
  { says: "a CJK description of 1024 characters", files: described(`description: ${"字".repeat(1024)}`), finds: [] },
  {
    says: "a description of 1024 characters outside the BMP",
    files: described(`description: ${"𝒳".repeat(1024)}`),
    finds: [],
  },
  { says: "a comparison in the description", files: described("description: Where a < b and c > d."), finds: [] },
  { says: "allowed-tools with spaces", files: md("allowed-tools: Read Bash(git add:*, git commit:*) Grep"), finds: [] },
  {
    says: "every field of the format",
    files: md("license: MIT", "compatibility: Any", "metadata:", '  version: "1.0.0"'),
    finds: [],
  },
  {
    says: "comments and blank lines in the frontmatter",
    files: md("", "# a comment", "license: MIT # another"),
    finds: [],
  },
  { says: "white space after the closing ---", files: md().replace("\n---\nBody", "\n--- \nBody"), finds: [] },
  { says: "a folder called like the skill", files: md(), folder: "pdf", finds: [] },
  { says: "a skill in folders", files: md(), path: "tools/pdf", finds: [] },
  { says: "a name that is a number, in quotes", files: named('name: "2024"'), path: "2024", finds: [] },
  {
    says: "an empty file, fonts and images",
    files: { "SKILL.md": md(), "empty.txt": "", "a.ttf": "x", "b.png": "x" },
    finds: [],
  },
  {
    says: "a byte order mark, CRLF or UTF-16 in other text files",
    files: { "SKILL.md": md(), "a.txt": "\uFEFFx\r\n", "b.txt": new Uint8Array([0xff, 0xfe, 0x41, 0]) },
    finds: [],
  },
  {
    says: "a template for secrets",
    files: { "SKILL.md": md(), ".env.example": "A=", "cert.pem": "CERTIFICATE" },
    finds: [],
  },
  { says: "emoji with joiners, and Persian with non-joiners", files: body("👩‍💻 ❤️‍🔥 1️⃣ 🏳️‍🌈 می‌خواهم"), finds: [] },
  {
    says: "links to files, folders, anchors, addresses and code",
    files: {
      "SKILL.md": body(
        "[a](references/a.md) [b](./references/a.md#top) [c](references/) [d](references) [e](#here)",
        "[f](https://example.com/x.md) [g](mailto:a@b.c) [h](<my file.md>) [i](my%20file.md) [j](url)",
        "`[k](nowhere.md)` ``[`l](nowhere.md)`` [m]({file}.md) [n](/root.md) ![o](a.png 'title')",
        "[p]: references/a.md",
        "[t](a%20(1).md)",
        "[^q]: see nowhere.md",
        "```md",
        "[r](nowhere.md)",
        "```",
        "~~~~",
        "```",
        "[s](nowhere.md)",
        "~~~~",
      ),
      "references/a.md": "x",
      "my file.md": "x",
      "a (1).md": "x",
      "a.png": "x",
    },
    finds: [],
  },
  {
    says: "YAML that both versions read alike",
    files: md("metadata:", "  a: 1.2.3", "  b: v1", "  c: 2024-13"),
    finds: [],
  },
];

const utf16 = (text: string) => new Uint8Array([0xff, 0xfe, ...[...text].flatMap((char) => [char.charCodeAt(0), 0])]);
const long = (count: number) => "x".repeat(count);

const asFile: Row[] = [
  {
    says: "has no SKILL.md",
    files: { "README.md": "x" },
    finds: [{ code: "skill_md_missing", file: "SKILL.md", line: null }],
  },
  {
    says: "uploads the folder above",
    files: { "pdf/SKILL.md": md() },
    finds: [
      { code: "skill_md_missing", fix: 'Upload the folder "pdf" itself.' },
      { code: "nested_skill", file: "pdf/SKILL.md" },
    ],
  },
  {
    says: "calls the file skill.md, and has a second problem in it",
    files: { "skill.md": described("description: a: b") },
    finds: [
      { code: "skill_md_case", file: "skill.md", severity: "error", fix: "Rename it to SKILL.md." },
      { code: "unquoted_colon", file: "skill.md", line: 3 },
    ],
  },
  {
    says: "calls the file Skill.md",
    files: { "Skill.md": md() },
    finds: [{ code: "skill_md_case", severity: "error" }],
  },
  {
    says: "has SKILL.md and skill.md",
    files: { "SKILL.md": md(), "skill.md": md() },
    finds: [{ code: "skill_md_case", file: "skill.md", severity: "warning" }],
  },
  {
    says: "has bytes that are not UTF-8, and another problem below",
    files: new Uint8Array([
      ...encoder.encode("---\nname: pdf\ndescription: é"),
      0xe9,
      ...encoder.encode(" x\ntags: 1\n---\n"),
    ]),
    finds: [
      { code: "skill_md_not_utf8", line: 3, column: 15 },
      { code: "unknown_key", line: 4, column: 1 },
    ],
  },
  {
    says: "saves SKILL.md as UTF-16",
    files: utf16(described("description: a: b")),
    finds: [
      { code: "skill_md_not_utf8", line: null },
      { code: "unquoted_colon", line: 3, column: 15 },
    ],
  },
  {
    says: "saves SKILL.md as big-endian UTF-16",
    files: new Uint8Array([0xfe, 0xff, 0, 0x23]),
    finds: [{ code: "skill_md_not_utf8" }, { code: "frontmatter_missing" }],
  },
  {
    says: "writes a SKILL.md beyond what hosts load; its lines are not read",
    files: `${described("description: a: b")}${long(maxSkillMdBytes)}`,
    finds: [
      { code: "budget_chatgpt", file: "" },
      { code: "skill_md_too_large", severity: "error" },
      { code: "frontmatter_refused", line: 3, severity: "error" },
    ],
  },
  {
    says: "writes a SKILL.md beyond what ChatGPT imports",
    files: `${md()}${long(adviseSkillMdBytes)}`,
    finds: [
      { code: "budget_chatgpt", file: "" },
      { code: "skill_md_large", file: "SKILL.md", severity: "warning" },
    ],
  },
  {
    says: "writes 501 lines",
    files: `${md()}${"x\n".repeat(496)}`,
    finds: [{ code: "skill_md_long", severity: "notice" }],
  },
  { says: "writes 500 lines", files: `${md()}${"x\n".repeat(495)}`, finds: [] },
  {
    says: "ends lines with CR, and has another problem",
    files: described("description: a: b").replaceAll("\n", "\r"),
    finds: [
      { code: "cr_newlines", line: 1 },
      { code: "unquoted_colon", line: 3, column: 15 },
    ],
  },
  {
    says: "has one lone CR",
    files: body("one\rtwo"),
    finds: [{ code: "stray_cr", line: 6, column: 4, severity: "warning" }],
  },
  { says: "has CRLF line ends", files: md().replaceAll("\n", "\r\n"), finds: [{ code: "crlf", severity: "notice" }] },
  {
    says: "starts with a byte order mark",
    files: `\uFEFF${md()}`,
    finds: [{ code: "bom", line: 1, column: 1, severity: "notice" }],
  },
  {
    says: "hides characters in the text",
    files: body("a\u200Bb\u200Bc", "a \u202Eb", "tag\u{E0041}", "v\uFE00\uFE01", "nul\0"),
    finds: [
      {
        code: "invisible_character",
        line: 6,
        column: 2,
        severity: "warning",
        fixed: "abc",
        message: expect.stringContaining("U+200B"),
      },
      { code: "invisible_character", line: 7, column: 3, fixed: "a b", message: expect.stringContaining("U+202E") },
      { code: "invisible_character", line: 8, column: 4, fixed: "tag", message: expect.stringContaining("U+E0041") },
      { code: "invisible_character", line: 9, column: 3, fixed: "v\uFE00", message: expect.stringContaining("U+FE01") },
      { code: "invisible_character", line: 10, column: 4, fixed: "nul", message: expect.stringContaining("U+0000") },
    ],
  },
  {
    says: "links to files that are not there",
    files: {
      "SKILL.md": body(
        "See [a](references/b.md#x) and ![i](img/x.png).",
        "[up](../other/SKILL.md) [r](reference/A.md)",
        "",
        "[id]: gone.md",
      ),
      "reference/a.md": "x",
    },
    finds: [
      {
        code: "broken_link",
        line: 6,
        column: 9,
        severity: "warning",
        message: expect.stringContaining("references/b.md#x"),
      },
      { code: "broken_link", line: 6, column: 37 },
      { code: "broken_link", line: 7, column: 6, message: expect.stringContaining("out of the skill") },
      { code: "broken_link", line: 7, column: 29, fixed: "[up](../other/SKILL.md) [r](reference/a.md)" },
      { code: "broken_link", line: 9, column: 7 },
    ],
  },
];

const asYaml: Row[] = [
  {
    says: "writes no frontmatter",
    files: "# PDF\n\nRead it.\n",
    finds: [{ code: "frontmatter_missing", line: 1, message: expect.stringContaining("a heading") }],
  },
  {
    says: "sends an empty SKILL.md",
    files: "",
    finds: [{ code: "frontmatter_missing", message: "SKILL.md is empty." }],
  },
  {
    says: "forgets the opening ---",
    files: "name: pdf\ndescription: d\n---\nBody\n",
    finds: [{ code: "frontmatter_missing", line: 1, column: 1, fixed: "---\nname: pdf" }],
    mends: true,
  },
  {
    says: "puts an HTML comment first",
    files: `<!-- hi -->\n${md()}`,
    finds: [
      { code: "frontmatter_not_first", line: 1, message: expect.stringContaining("line 2, after an HTML comment") },
    ],
  },
  {
    says: "puts the frontmatter into a code fence, with another problem in it",
    files: `\`\`\`yaml\n${described("description: a: b")}\`\`\`\n`,
    finds: [
      { code: "frontmatter_not_first", fix: "Remove the fence around the frontmatter." },
      { code: "unquoted_colon", line: 4, column: 15 },
    ],
  },
  {
    says: "puts prose first",
    files: `Hello.\n\n${md()}`,
    finds: [{ code: "frontmatter_not_first", message: expect.stringContaining("line 3, after text") }],
  },
  {
    says: "puts a blank line first",
    files: `\n${md()}`,
    finds: [{ code: "frontmatter_not_first", message: expect.stringContaining("after a blank line") }],
  },
  {
    says: "puts a space after the opening ---",
    files: md().replace("---", "--- "),
    finds: [{ code: "frontmatter_not_first", fixed: "---" }],
    mends: true,
  },
  {
    says: "does not close the frontmatter",
    files: "---\nname: pdf\ndescription: d\n\n# Body\n",
    finds: [{ code: "frontmatter_unclosed", line: 1 }],
  },
  {
    says: "closes with ----",
    files: md().replace("\n---\n", "\n----\n"),
    finds: [{ code: "frontmatter_unclosed", line: 4, column: 1, fixed: "---" }],
    mends: true,
  },
  {
    says: "closes with ...",
    files: md().replace("\n---\n", "\n...\n"),
    finds: [{ code: "frontmatter_unclosed", line: 4, fixed: "---" }],
    mends: true,
  },
  {
    says: "writes a giant frontmatter",
    files: md(...Array.from({ length: 300 }, (_, index) => `# ${index} ${long(1000)}`)),
    finds: [
      { code: "budget_chatgpt" },
      { code: "skill_md_large" },
      {
        code: "frontmatter_too_large",
        line: 1,
        severity: "error",
        message: expect.stringContaining(String(maxFrontmatterLength)),
      },
    ],
  },
  {
    says: "leaves a colon unquoted",
    files: described("description: Use when: a PDF is given"),
    finds: [{ code: "unquoted_colon", line: 3, column: 22, fixed: 'description: "Use when: a PDF is given"' }],
    mends: true,
  },
  {
    says: "leaves a colon and quotes unquoted",
    files: described(`description: Say "it's": now \\ then`),
    finds: [{ code: "unquoted_colon", fixed: `description: 'Say "it''s": now \\ then'` }],
    mends: true,
  },
  {
    says: "leaves a colon unquoted on a second line",
    files: described("description: Use", "  when: a PDF is given", "  or # two"),
    finds: [
      {
        code: "unquoted_colon",
        line: 4,
        column: 7,
        fix: expect.stringContaining("lines 3 to 5"),
        fixed: 'description: "Use when: a PDF is given or # two"',
      },
    ],
    mends: true,
  },
  {
    says: "starts a value with a backtick",
    files: described("description: `pdf` files"),
    finds: [{ code: "unquoted_special", line: 3, column: 14, fixed: 'description: "`pdf` files"' }],
    mends: true,
  },
  {
    says: "starts a value with @ inside a list",
    files: md("tags: [@a]"),
    finds: [{ code: "unknown_key" }, { code: "unquoted_special", line: 4, column: 8 }],
  },
  {
    says: "quotes over two lines",
    files: described('description: "Reads', '  PDF files."'),
    finds: [{ code: "unclosed_quote", line: 3, column: 14, fixed: 'description: "Reads PDF files."' }],
    mends: true,
  },
  {
    says: "forgets the closing quote",
    files: described('description: "Reads PDF'),
    finds: [{ code: "unclosed_quote", fixed: 'description: "Reads PDF"' }],
    mends: true,
  },
  {
    says: "starts with an apostrophe",
    files: described("description: 'tis a skill"),
    finds: [{ code: "unclosed_quote", fixed: `description: "'tis a skill"` }],
    mends: true,
  },
  {
    says: "writes a list over lines",
    files: md("allowed-tools: [", "  Read,", "  Grep", "]"),
    finds: [{ code: "unclosed_flow", line: 4, column: 16, fixed: "allowed-tools: [ Read, Grep ]" }],
    mends: true,
  },
  {
    says: "starts a description with brackets",
    files: described("description: [Beta] reads PDF"),
    finds: [{ code: "text_after_value", line: 3, column: 21, fixed: 'description: "[Beta] reads PDF"' }],
    mends: true,
  },
  {
    says: "starts a description with quotes",
    files: described('description: "PDF" reader'),
    finds: [{ code: "text_after_value", line: 3, column: 20, fixed: `description: '"PDF" reader'` }],
    mends: true,
  },
  {
    says: "writes a template in braces",
    files: described("description: {{x}}"),
    finds: [{ code: "flow_syntax", line: 3, column: 15, fixed: 'description: "{{x}}"' }],
    mends: true,
  },
  {
    says: "writes a Windows path in double quotes",
    files: described('description: "C:\\pdf"'),
    finds: [{ code: "bad_escape", line: 3, column: 17, fixed: "description: 'C:\\pdf'" }],
    mends: true,
  },
  {
    says: "puts a comment into a long value",
    files: described("description: Reads # really", "  PDF files."),
    finds: [{ code: "comment_inside_value", line: 4, column: 3, fixed: 'description: "Reads # really PDF files."' }],
    mends: true,
  },
  {
    says: "writes infinity",
    files: md("metadata:", "  max: .inf"),
    finds: [{ code: "number_not_json", line: 5, column: 8, fixed: '  max: ".inf"' }],
    mends: true,
  },
  {
    says: "writes an alias",
    files: described("description: *Reads* PDF"),
    finds: [{ code: "anchor_or_tag", line: 3, column: 14, fixed: 'description: "*Reads* PDF"' }],
    mends: true,
  },
  {
    says: "writes an anchor before metadata with a problem",
    files: md("metadata: &m", "  a: 1"),
    finds: [
      { code: "anchor_or_tag", line: 4, column: 11 },
      { code: "metadata_value_not_string", line: 5, column: 6, fixed: '  a: "1"' },
    ],
  },
  { says: "writes a tag", files: md("license: !!str MIT"), finds: [{ code: "anchor_or_tag", line: 4, column: 10 }] },
  {
    says: "gives a block an indentation",
    files: described("description: |2", "   Reads."),
    finds: [{ code: "bad_block_header", line: 3, column: 14 }],
  },
  {
    says: "puts text after >",
    files: described("description: > Reads"),
    finds: [{ code: "bad_block_header", line: 3, column: 14 }],
  },
  {
    says: "wraps without indenting",
    files: described("description: Reads", "PDF files", "and more."),
    finds: [{ code: "not_key_value", line: 4, column: 1 }],
  },
  {
    says: "forgets the space after description:",
    files: described("description:Reads"),
    finds: [{ code: "not_key_value", line: 3, fixed: "description: Reads" }],
    mends: true,
  },
  {
    says: "indents a field under another",
    files: "---\nname: pdf\n  description: Reads\n---\n",
    finds: [{ code: "bad_indent", line: 3, column: 3, fixed: "description: Reads" }],
    mends: true,
  },
  {
    says: "indents a field by a tab under another",
    files: "---\nname: pdf\n\tdescription: Reads\n---\n",
    finds: [{ code: "tab_indent", line: 3, column: 1, fixed: "description: Reads" }],
    mends: true,
  },
  {
    says: "continues a value after a tab",
    files: described("description: Reads", "\tPDF files."),
    finds: [{ code: "tab_indent", line: 4, column: 1, fixed: "  PDF files." }],
    mends: true,
  },
  {
    says: "forgets the space after a colon",
    files: md("license:MIT"),
    finds: [{ code: "not_key_value", line: 4, fixed: "license: MIT" }],
    mends: true,
  },
  { says: "writes a list at the top", files: md("- item"), finds: [{ code: "not_key_value", line: 4 }] },
  {
    says: "uses a number as key",
    files: md("metadata:", "  1: a", "  b: 2"),
    finds: [
      { code: "bad_key", line: 5, column: 3 },
      { code: "metadata_value_not_string", line: 6 },
    ],
  },
  {
    says: "uses __proto__ as key",
    files: md("metadata:", "  __proto__: a"),
    finds: [{ code: "proto_key", line: 5, column: 3 }],
  },
  {
    says: "repeats a key",
    files: md("license: MIT", "license: ISC"),
    finds: [{ code: "duplicate_key", line: 5, column: 1 }],
  },
  {
    says: "repeats a key in braces",
    files: md("metadata: {a: b, a: c}"),
    finds: [{ code: "duplicate_key", line: 4, column: 18 }],
  },
  {
    says: "indents with tabs",
    files: md("metadata:", "\ta: b", "\tc: d"),
    finds: [
      { code: "tab_indent", line: 5, column: 1, fixed: "  a: b" },
      { code: "tab_indent", line: 6, fixed: "  c: d" },
    ],
    mends: true,
  },
  {
    says: "indents a block with a tab",
    files: described("description: >", "\tReads."),
    finds: [{ code: "tab_indent", line: 4, column: 1, fixed: "  Reads." }],
    mends: true,
  },
  {
    says: "indents unevenly",
    files: md("metadata:", "    a: b", "  c: d"),
    finds: [{ code: "bad_indent", line: 6, column: 3 }],
  },
  {
    says: "nests 40 lists",
    files: md(`x: ${"[".repeat(40)}${"]".repeat(40)}`),
    finds: [{ code: "unknown_key" }, { code: "too_deep", line: 4 }],
  },
  {
    says: "has a byte order mark after ---",
    files: md().replace("---\n", "---\n\uFEFF"),
    finds: [
      { code: "bom_in_frontmatter", line: 2, column: 1 },
      { code: "invisible_character", line: 2, column: 1, fixed: "name: pdf" },
    ],
    mends: true,
  },
];

const asFields: Row[] = [
  {
    says: "gives no name",
    files: "---\ndescription: d\n---\n",
    finds: [{ code: "name_missing", line: 1, fixed: "---\nname: pdf" }],
    mends: true,
  },
  {
    says: "leaves the name empty",
    files: named("name:"),
    finds: [{ code: "name_missing", line: 2, fixed: "name: pdf" }],
    mends: true,
  },
  {
    says: "takes a number for a name",
    files: named("name: 2024"),
    path: "2024",
    finds: [{ code: "name_not_string", line: 2, column: 7, fixed: 'name: "2024"' }],
    mends: true,
  },
  {
    says: "takes a list for a name",
    files: named("name: [pdf]"),
    finds: [{ code: "name_not_string", line: 2, column: 7 }],
  },
  {
    says: "puts spaces and upper case into the name",
    files: named("name: PDF Tools"),
    path: "pdf-tools",
    finds: [{ code: "name_invalid", line: 2, column: 7, fixed: "name: pdf-tools" }],
    mends: true,
  },
  {
    says: "puts accents and underscores into the name",
    files: named("name: Café_Été"),
    path: "cafe-ete",
    folder: "cafe-ete",
    finds: [{ code: "name_invalid", fixed: "name: cafe-ete" }],
    mends: true,
  },
  {
    says: "has a name that looks like a number too large for JSON",
    files: named('name: "1E999"'),
    path: "1e999",
    finds: [{ code: "name_invalid", line: 2, column: 7, fixed: 'name: "1e999"' }],
    mends: true,
  },
  {
    says: "has a CJK name",
    files: named("name: 文書"),
    finds: [{ code: "name_invalid", fixed: "name: pdf" }],
    mends: true,
  },
  {
    says: "has a name of 65 characters",
    files: named(`name: ${long(65)}`),
    path: long(64),
    finds: [{ code: "name_invalid", fixed: `name: ${long(64)}` }],
    mends: true,
  },
  {
    says: "has a name that is invalid and another's",
    files: named("name: My Skill"),
    finds: [
      { code: "name_invalid", fixed: "name: my-skill" },
      { code: "name_mismatch", line: 2 },
    ],
  },
  {
    says: "names it otherwise than its path",
    files: named("name: docs"),
    path: "tools/pdf",
    finds: [{ code: "name_mismatch", line: 2, column: 7, fixed: "name: pdf", severity: "error" }],
    mends: true,
  },
  {
    says: "uploads a folder of another name",
    files: md(),
    folder: "PDF-main",
    finds: [{ code: "folder_mismatch", line: 2, severity: "warning" }],
  },
  { says: "gives no description", files: "---\nname: pdf\n---\n", finds: [{ code: "description_missing", line: 1 }] },
  {
    says: "leaves the description empty",
    files: described("description:"),
    finds: [{ code: "description_missing", line: 3 }],
  },
  {
    says: "has an empty string for a description",
    files: described('description: ""'),
    finds: [{ code: "description_missing", line: 3, column: 14 }],
  },
  {
    says: "has a number for a description",
    files: described("description: 42"),
    finds: [{ code: "description_not_string", line: 3, column: 14, fixed: 'description: "42"' }],
    mends: true,
  },
  {
    says: "has a blank description",
    files: described('description: "  "'),
    finds: [{ code: "description_blank", line: 3, severity: "error" }],
  },
  {
    says: "has a description of 1025 characters",
    files: described(`description: ${long(1025)}`),
    finds: [{ code: "description_too_long", line: 3, column: 14, message: expect.stringContaining("1025") }],
  },
  {
    says: "has a tag in the description",
    files: described("description: >-", "  Reads", "  the <Document> tag."),
    finds: [{ code: "angle_brackets", line: 5, column: 7, severity: "warning" }],
  },
  {
    says: "cuts the description by a comment",
    files: described("description: Fixes issue #12 in PDF"),
    finds: [
      {
        code: "value_cut_by_comment",
        line: 3,
        column: 26,
        fixed: 'description: "Fixes issue #12 in PDF"',
        severity: "warning",
      },
    ],
    mends: true,
  },
  {
    says: "has compatibility of 501 characters",
    files: md(`compatibility: ${long(501)}`),
    finds: [{ code: "compatibility_invalid", line: 4, severity: "error" }],
  },
  { says: "has empty compatibility", files: md("compatibility:"), finds: [{ code: "compatibility_invalid", line: 4 }] },
  {
    says: "has a number for compatibility",
    files: md("compatibility: 3.1"),
    finds: [{ code: "compatibility_invalid", line: 4, column: 16, fixed: 'compatibility: "3.1"' }],
    mends: true,
  },
  {
    says: "has text for metadata",
    files: md("metadata: none"),
    finds: [{ code: "metadata_not_mapping", line: 4, column: 11 }],
  },
  { says: "has empty metadata", files: md("metadata:"), finds: [{ code: "metadata_not_mapping", line: 4 }] },
  {
    says: "has numbers, booleans and nothing in metadata",
    files: md("metadata:", "  version: 1.0 # one", "  draft: true", "  author:"),
    finds: [
      { code: "metadata_value_not_string", line: 5, column: 12, fixed: '  version: "1.0" # one', severity: "error" },
      { code: "metadata_value_not_string", line: 6, column: 10, fixed: '  draft: "true"' },
      { code: "metadata_value_not_string", line: 7, column: 3, fixed: '  author: ""' },
    ],
    mends: true,
  },
  {
    says: "has half a character in an escape",
    files: md('license: "\\ud800x"'),
    finds: [{ code: "half_character", line: 4, column: 10, severity: "error" }],
  },
  {
    says: "hides an invisible character in an escape",
    files: md('license: "a \\u202e b"'),
    finds: [{ code: "invisible_character", line: 4, column: 10, severity: "warning" }],
  },
  {
    says: "has a version in metadata that is no semantic version",
    files: md("metadata:", "  version: latest"),
    finds: [{ code: "version_ignored", line: 5, column: 3, severity: "warning" }],
  },
  {
    says: "has a number in metadata in braces",
    files: md("metadata: {version: 1.0}"),
    finds: [{ code: "metadata_value_not_string", line: 4, column: 21, fixed: 'metadata: {version: "1.0"}' }],
    mends: true,
  },
  {
    says: "has a list in metadata",
    files: md("metadata:", "  tags: [a, 2]"),
    finds: [{ code: "metadata_value_nested", line: 5, column: 3, fixed: '  tags: "a, 2"', severity: "error" }],
    mends: true,
  },
  {
    says: "has a list of lines in metadata",
    files: md("metadata:", "  tags:", "    - a", "    - b", '  x: "y"'),
    finds: [{ code: "metadata_value_nested", line: 5, fixed: '  tags: "a, b"' }],
    mends: true,
  },
  {
    says: "nests metadata",
    files: md("metadata:", "  author:", "    name: Ann", "    since: 2020", '  x: "y"'),
    finds: [{ code: "metadata_value_nested", line: 5, fixed: '  author-name: "Ann"\n  author-since: "2020"' }],
    mends: true,
  },
  {
    says: "nests metadata deeply",
    files: md("metadata:", "  a:", "    b:", "      c: d"),
    finds: [{ code: "metadata_value_nested", line: 5 }],
  },
  {
    says: "has no text for a license",
    files: md("license: 2"),
    finds: [{ code: "license_not_string", line: 4, column: 10, fixed: 'license: "2"', severity: "warning" }],
    mends: true,
  },
  {
    says: "separates tools by commas",
    files: md("allowed-tools: Read, Bash(git add:*, git commit:*), Grep"),
    finds: [
      {
        code: "allowed_tools_commas",
        line: 4,
        column: 16,
        fixed: "allowed-tools: Read Bash(git add:*, git commit:*) Grep",
        severity: "warning",
      },
    ],
    mends: true,
  },
  {
    says: "separates quoted tools by commas",
    files: md('allowed-tools: "Read,Grep"'),
    finds: [{ code: "allowed_tools_commas", fixed: 'allowed-tools: "Read Grep"' }],
    mends: true,
  },
  {
    says: "lists tools in brackets",
    files: md("allowed-tools: [Read, Bash(git:*)]"),
    finds: [
      {
        code: "allowed_tools_not_string",
        line: 4,
        column: 16,
        fixed: "allowed-tools: Read Bash(git:*)",
        severity: "warning",
      },
    ],
    mends: true,
  },
  {
    says: "lists tools on lines",
    files: md("allowed-tools:", "- Read", "- Grep", "license: MIT"),
    finds: [{ code: "allowed_tools_not_string", line: 4, fixed: "allowed-tools: Read Grep" }],
    mends: true,
  },
  {
    says: "invents a key",
    files: md("version: 1.0"),
    finds: [{ code: "unknown_key", line: 4, column: 1, severity: "warning" }],
  },
  {
    says: "misspells a key",
    files: md("Allowed_Tools: Read"),
    finds: [{ code: "unknown_key", line: 4, fixed: "allowed-tools: Read" }],
    mends: true,
  },
  {
    says: "writes a date",
    files: md("metadata:", "  released: 2024-01-31"),
    finds: [{ code: "yaml_ambiguous", line: 5, column: 13, fixed: '  released: "2024-01-31"', severity: "warning" }],
    mends: true,
  },
  ...["yes", "No", "on", "OFF", "1_000", "12:30", "0b11", "2024-01-31 10:00:00"].map((value): Row => ({
    says: `writes ${value}`,
    files: md(`license: ${value}`),
    finds: [{ code: "yaml_ambiguous", line: 4, column: 10, fixed: `license: "${value}"` }],
    mends: true,
  })),
  ...["017", "089", "1e3", "0o17"].map((value): Row => ({
    says: `writes ${value}`,
    files: md(`x: ${value}`),
    finds: [{ code: "unknown_key" }, { code: "yaml_ambiguous", line: 4, column: 4, fixed: `x: "${value}"` }],
    mends: true,
  })),
  {
    says: "writes a key that is a boolean elsewhere",
    files: md("metadata:", "  on: push"),
    finds: [{ code: "yaml_ambiguous", line: 5, column: 3, fixed: '  "on": push' }],
    mends: true,
  },
  {
    says: "names the skill like a boolean",
    files: named("name: yes"),
    path: "yes",
    finds: [{ code: "yaml_ambiguous", line: 2, fixed: 'name: "yes"' }],
    mends: true,
  },
];

const key = "-----BEGIN RSA PRIVATE KEY-----\n";
const secret = (path: string, content: string, at: Partial<Finding> = {}): Row => ({
  says: `uploads ${path}`,
  files: { "SKILL.md": md(), [path]: content },
  finds: [{ code: "secret_file", file: path, severity: "error", ...at }],
});

const asFiles: Row[] = [
  secret(".env", "A=1"),
  secret("config/.env.local", "A=1"),
  secret("id_rsa", "x"),
  secret("keys/server.pem", `cert\n${key}`, { line: 2, column: 16 }),
  secret("a.p12", "x"),
  secret(".npmrc", "x\n//registry.npmjs.org/:_authToken=abc", { line: 2, column: 23 }),
  secret(".netrc", "machine x password y"),
  secret("service.json", '{"private_key": "-----BEGIN PRIVATE KEY-----"}'),
  { ...secret(".env", "A=1", { severity: "warning" }), says: "uploads .env on purpose", allowSecrets: true },
  {
    says: "uploads caches and packages",
    files: {
      "SKILL.md": md(),
      "scripts/__pycache__/a.pyc": "x",
      "node_modules/a/b.js": "x",
      "node_modules/a/node_modules/c.js": "x",
    },
    finds: [
      {
        code: "vendored_files",
        file: "node_modules",
        severity: "warning",
        message: expect.stringContaining("2 files"),
      },
      { code: "vendored_files", file: "scripts/__pycache__" },
    ],
  },
  {
    says: "nests a skill",
    files: { "SKILL.md": md(), "sub/SKILL.md": "x" },
    finds: [{ code: "nested_skill", file: "sub/SKILL.md", severity: "notice" }],
  },
  {
    says: "puts an archive inside",
    files: { "SKILL.md": md(), "assets/a.tar.gz": "x" },
    finds: [{ code: "archive_inside", file: "assets/a.tar.gz", severity: "notice" }],
  },
  {
    says: "uploads more than ChatGPT imports",
    files: {
      "SKILL.md": md(),
      ...Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}.md`, "x"])),
      "big.bin": new Uint8Array(chatGptBudget.maxSkillBytes),
    },
    finds: [
      {
        code: "budget_chatgpt",
        file: "",
        severity: "warning",
        message: expect.stringMatching(/ChatGPT.*102 files.*"big\.bin" of 5242880 bytes.*52\d+ bytes together/),
      },
    ],
  },
];

const tables = { fine, asFile, asYaml, asFields, asFiles };
const rows = Object.values(tables).flat();
/** Codes that come from the whole rather than from one oddity; each has a test of its own below. */
const testedBelow = ["more_findings"];

describe.each(Object.entries(tables))("the scanner, table %s", (_name, table) => {
  it.each(table)("$says", async (row) => {
    const found = await lint(row);
    expect(found.map(({ code }) => code)).toEqual(row.finds.map(({ code }) => code));
    expect(found).toMatchObject(row.finds);
    for (const { message, fix } of found) for (const text of [message, fix]) expect(text).toMatch(/^\S.*[.]$/su);
  });
});

describe("the verdict", () => {
  it.each(rows)("is the SDK's, though the scanner does not ask it: $says", async (row) => {
    const files = filesOf(row);
    const refusals = await verdict(files, row.path);
    const alone = lintRelease({ path: (row.path ?? "pdf") as SkillPath, files: toFiles(files), refusals: [] });
    const errors = alone.filter((finding) => finding.severity === "error" && kindOf(finding.code) === "sdk");
    // The size rule stops the scanner before the frontmatter; there the SDK's own sentence is needed.
    const isUnread = alone.some(({ code }) => code === "skill_md_too_large");
    if (!isUnread) expect(errors.length > 0).toBe(refusals.length > 0);
  });
});

describe("a fixed text", () => {
  it.each(rows.filter((row) => row.mends === true))("makes the SDK accept the skill: $says", async (row) => {
    const files = filesOf(row);
    const text = applyFixed(files["SKILL.md"] as string, await lint(row));
    expect(text).not.toBe(files["SKILL.md"]);
    expect(await verdict({ ...files, "SKILL.md": text }, row.path)).toEqual([]);
  });
});

describe("all findings together", () => {
  it("come at once and in the order of file, line and column", async () => {
    const skill = [
      "---",
      "name: My Skill",
      "description: a: b",
      "metadata:",
      "\tversion: 1.0",
      "---",
      "[x](gone.md)",
      "",
    ];
    const files = { "z/SKILL.md": "x", ".env": "A=1", "SKILL.md": skill.join("\n") };
    const found = await lint({ says: "", files, finds: [] });
    expect(found.map(({ file, line, code }) => `${file}:${line} ${code}`)).toEqual([
      ".env:null secret_file",
      "SKILL.md:2 name_invalid",
      "SKILL.md:2 name_mismatch",
      "SKILL.md:3 unquoted_colon",
      "SKILL.md:5 tab_indent",
      "SKILL.md:5 metadata_value_not_string",
      "SKILL.md:7 broken_link",
      "z/SKILL.md:null nested_skill",
    ]);
  });

  it("hold the SDK's own sentence and line where no rule explains its refusal", () => {
    const refusals = ["SKILL.md frontmatter: line 3: something that is new"];
    const found = lintRelease({ path: "pdf" as SkillPath, files: toFiles({ "SKILL.md": md(), ".env": "" }), refusals });
    expect(found).toMatchObject([
      { code: "secret_file" },
      {
        code: "frontmatter_refused",
        severity: "error",
        line: 3,
        message: expect.stringContaining("something that is new"),
      },
    ]);
  });

  it("are at most so many, and the last one counts the others", async () => {
    const links = Array.from({ length: maxFindings + 50 }, () => "[x](gone.md)");
    const found = await lint({ says: "", files: body(...links), finds: [] });
    expect(found).toHaveLength(maxFindings);
    expect(found.at(-1)).toMatchObject({ code: "more_findings", message: "51 more findings are not shown." });
    expect(await lint({ says: "", files: body(...links.slice(50)), finds: [] })).toHaveLength(maxFindings);
  });

  it("keep an error that stands below any number of warnings", async () => {
    const links = Array.from({ length: 3 * maxFindings }, () => "[x](gone.md)");
    const found = await lint({ says: "", files: { "SKILL.md": body(...links), "z/.env": "A=1" }, finds: [] });
    expect(found).toHaveLength(maxFindings);
    expect(found.some(({ code }) => code === "secret_file")).toBe(true);
  });

  it.each([
    ["faults on every line", "\u200B[x](g.md)\n".repeat(60_000)],
    ["open links", "](".repeat(400_000)],
    ["link definitions", "[x]: a.md\n".repeat(80_000)],
    ["backticks", "`".repeat(900_000)],
    [
      "backticks of every length",
      Array.from({ length: 1200 }, (_, length) => "`".repeat(length)).join(" ") + " [x](`".repeat(9000),
    ],
    ["invisible characters", "\u200B".repeat(300_000)],
    ["variation selectors", "\uFE0F".repeat(300_000)],
    ["fences", "```\n~~~\n".repeat(100_000)],
    ["lone carriage returns", "\r".repeat(900_000)],
  ])("stay small and quick in a megabyte of %s", (_name, text) => {
    const start = Date.now();
    const files = toFiles({ "SKILL.md": body(text), "a.md": "x" });
    const found = lintRelease({ path: "pdf" as SkillPath, files, refusals: [] });
    expect(Date.now() - start).toBeLessThan(3000);
    expect(found.length).toBeLessThanOrEqual(maxFindings);
    expect(JSON.stringify(found).length).toBeLessThan(200_000);
  });
});

describe("the table of findings", () => {
  it("has a test for every code, and a row for every code that the tests meet", async () => {
    const told = new Set<string>(testedBelow);
    for (const row of rows) for (const { code } of await lint(row)) told.add(code);
    expect([...told].sort()).toEqual(Object.keys(findingTable).sort());
  });

  it("says the severity that is told, but for the two that depend on the request or on another file", async () => {
    for (const row of rows) {
      for (const { code, severity } of await lint(row)) {
        const isLowered = ["secret_file", "skill_md_case"].includes(code) && severity === "warning";
        if (!isLowered) expect(`${code} ${severity}`).toBe(`${code} ${severityOf(code)}`);
      }
    }
  });

  it("uses stable snake_case codes with a meaning of one line", () => {
    for (const [code, { meaning }] of Object.entries(findingTable)) {
      expect(code).toMatch(/^[a-z0-9]+(?:_[a-z0-9]+)*$/);
      expect(meaning).toMatch(/^[^\n]{10,100}$/);
    }
  });
});

function kindOf(code: string): string {
  return (findingTable as Record<string, { by: string }>)[code]!.by;
}

function severityOf(code: string): string {
  return (findingTable as Record<string, { severity: string }>)[code]!.severity;
}
