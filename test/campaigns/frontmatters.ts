import fc from "fast-check";

/**
 * SKILL.md as authors, editors and attackers write it: every style that YAML has for a value, the fields of the
 * format and others, and what goes wrong on the way to a file (line ends, marks, encodings, a lost character).
 * About half is meant to be accepted, so that the other half is told from it.
 */
const utf8 = new TextEncoder();

/** Weighted by repetition: plain words first, so that a counterexample shrinks to them. */
const phrases = [
  "Extract text and tables from PDF files",
  "Use when the user asks for release notes.",
  "Reviews pull requests, one file at a time",
  "数据分析 and 日本語の説明",
  "Don't use it for images",
  "naïve café résumé",
];
const oddities = [
  ": ",
  ":",
  " #",
  "#",
  "- ",
  "-",
  "'",
  '"',
  "\\",
  "\\n",
  "<b>",
  "</system>",
  "\u00e9",
  "e\u0301",
  "🎉",
  "👩‍💻",
  "\u200b",
  "\u202e",
  "\u2028",
  "\u2029",
  "\u0085",
  "\0",
  "\u0007",
  "\t",
  "\ufeff",
  "\u{e0041}",
  "{{x}}",
  "[a](b.md)",
  "%",
  "@",
  "`code`",
  "&a",
  "*a",
  "!t",
  "|",
  ">",
  "?",
  "...",
  "---",
  "__proto__",
  "$1",
  "${x}",
  "2024-01-02",
  "null",
  "~",
  "[",
  "]",
  "{",
  "}",
  ",",
  "''",
  '""',
  "\ufffd",
  "\u00a0",
  "\u3000",
] as const;

const words = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...phrases) },
      { weight: 2, arbitrary: fc.constantFrom(...oddities) },
      { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => parts.join(" "));

/** At and beyond the 1,024 characters of a description, in one and in two code units each; and far beyond. */
const longTexts = fc.constantFrom(
  ...["a", "😀", "é"].flatMap((char) => [500, 501, 1023, 1024, 1025].map((length) => char.repeat(length))),
  "word ".repeat(300),
  "x".repeat(300_000),
);
const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...phrases) },
  { weight: 12, arbitrary: words },
  { weight: 1, arbitrary: longTexts },
);

type Style = (text: string) => string;
const lines = (content: string, indent: string) => content.replaceAll(/^/gm, indent);

/** Styles that hold any text, or nearly any. */
const safeStyles: readonly Style[] = [
  (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
  (text) => `'${text.replaceAll("'", "''")}'`,
  (text) => JSON.stringify(text),
  (text) => `"${escapeAll(text)}"`,
  (text) => `|\n${lines(text, "  ")}`,
  (text) => `|-\n${lines(text.replaceAll(" ", "\n"), "    ")}`,
  (text) => `>-\n${lines(text.replaceAll(". ", ".\n\n"), "  ")}\n`,
  (text) => `>\n${lines(text, " ")}\n   more indented\n\n and back`,
  (text) => `>+\n${lines(text, "  ")}\n\n`,
  (text) => `|+ # kept\n${lines(text, "  ")}\n\n\n`,
];
/** Styles in which a text may mean something else, or nothing. */
const wildStyles: readonly Style[] = [
  (text) => text,
  (text) => `  ${text}   `,
  (text) => `\t${text}`,
  (text) => `${text} # a comment`,
  (text) => `\n  ${text.replaceAll(" ", "\n  ")}`,
  (text) => text.replaceAll(" ", "\n   "),
  (text) => `"${text}"`,
  (text) => `'${text}'`,
  (text) => `"${text}`,
  (text) => `"${text}\n  continued"`,
  (text) => `|2\n${lines(text, "  ")}`,
  (text) => `>-2\n${lines(text, "  ")}`,
  (text) => `|\n\n    \n${lines(text, "  ")}`,
  (text) => `|\n${lines(text, "\t")}`,
  (text) => `> ${text}`,
  (text) => `[${text}]`,
  (text) => `[ "${text}", b, ]`,
  (text) => `{ a: ${text} }`,
  (text) => `{ "a": "${text}", a: b }`,
  (text) => `\n  - ${text}\n  - b`,
  (text) => `\n- ${text}`,
  (text) => `\n  a:\n    b: ${text}`,
  (text) => `&a ${text}`,
  () => "*a",
  (text) => `!!str ${text}`,
  (text) => `? ${text}`,
];
const plainValues = [
  "",
  "~",
  "null",
  "true",
  "False",
  "yes",
  "off",
  "0",
  "-0",
  "007",
  "1.0",
  "1e3",
  "1e999",
  "-.inf",
  ".nan",
  "0x1F",
  "0o17",
  "1_000",
  "12345678901234567890",
  "2026-01-02",
  "2026-01-02T03:04:05Z",
  "12:30:45",
  "<<",
  "=",
  "[]",
  "{}",
  "[a, [b, {c: d}]]",
  "{a: 1, b: null}",
  '""',
  "''",
  '"\\ud83d"',
  '"\\ud800x"',
  '"\\u0000"',
  '"\\x41\\U0001F389\\_\\N"',
  "--- ",
  "# only a comment",
] as const;

const styleOf = (isWild: boolean) =>
  isWild ? fc.constantFrom(...safeStyles, ...wildStyles) : fc.constantFrom(...safeStyles);

function value(isWild: boolean): fc.Arbitrary<string> {
  const styled = fc.tuple(styleOf(isWild), text).map(([style, content]) => style(content));
  return isWild ? fc.oneof({ weight: 3, arbitrary: styled }, fc.constantFrom(...plainValues)) : styled;
}

function escapeAll(text: string): string {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");
}

const keys = [
  "license",
  "compatibility",
  "allowed-tools",
  "version",
  "author",
  "tags",
  "x-team",
  "Name",
  "allowed_tools",
  "mcp servers",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "__proto__",
  "prototype",
  '"quoted key"',
  "'k'",
  "日本",
  "1",
  "true",
  "<<",
  "a:b",
  "-x",
  "?x",
  "- y",
  "",
  "key #1",
  "description",
  "name",
  '"__proto__"',
  "then",
  "toJSON",
  "length",
] as const;
const safeKeys = [
  "license",
  "author",
  "tags",
  "x-team",
  "constructor",
  "toString",
  "日本",
  '"quoted key"',
  "toJSON",
  "then",
];

function field(isWild: boolean): fc.Arbitrary<string> {
  const key = isWild ? fc.constantFrom(...keys) : fc.constantFrom(...safeKeys);
  const anything = isWild ? value(true) : fc.oneof(value(false), fc.constantFrom(...plainValues.filter(isReadable)));
  return fc.tuple(key, anything).map(([key, value]) => `${key}: ${value}`);
}

const isReadable = (value: string) => !/inf|nan|999|^---/.test(value);

/** A map from text to text, as it ought to be or nearly. */
function metadata(isWild: boolean): fc.Arbitrary<string> {
  const key = isWild ? fc.constantFrom(...keys) : fc.constantFrom("author", "version", "team", '"a b"', "constructor");
  const item = isWild ? value(true) : fc.constantFrom('"1.4.0"', "'2'", "some words", '"x: y"', "|-\n      block");
  const pairs = fc.uniqueArray(fc.tuple(key, item), { selector: ([key]) => key, maxLength: 4 });
  return fc.tuple(pairs, fc.boolean()).map(([pairs, isFlow]) => {
    if (isFlow) return `metadata: {${pairs.map(([key]) => `${key}: "x"`).join(", ")}}`;
    return `metadata:${pairs.length === 0 ? " {}" : ""}${pairs.map(([key, item]) => `\n  ${key}: ${item}`).join("")}`;
  });
}

const fillers = ["", "# a comment", "   ", "  # indented comment"] as const;
const junkLines = [
  "stray words",
  "\tkey: value",
  "  indented: more",
  "- item",
  "...",
  "---",
  "key",
  ": x",
  "<!-- c -->",
] as const;

interface Shape {
  start: string;
  open: string;
  close: string;
  lineEnd: string;
  body: string;
}

const bodies = fc
  .array(
    fc.constantFrom(
      "# Title",
      "",
      "Read [the guide](references/guide.md).",
      "[broken](no/such file.md)",
      "```sh",
      "```",
      "---",
      "$ rm -rf /",
      "\u202etxt",
      "日本語",
      "~~~",
      "[x]: y.md",
      "`a](b`",
      "\0",
      "e\u0301",
      "[up](../../x.md) [self](SKILL.md#a)",
    ),
    { maxLength: 6 },
  )
  .map((all) => all.join("\n"));

/** Where the file as a whole is odd. The first of each list is the ordinary one, and by far the likeliest. */
function shape(isWild: boolean): fc.Arbitrary<Shape> {
  const rarely = (ordinary: string, ...odd: string[]) =>
    fc.oneof({ weight: isWild ? 12 : 40, arbitrary: fc.constant(ordinary) }, fc.constantFrom(...odd));
  return fc.record({
    start: isWild
      ? rarely("", "\ufeff", "\n", " ", "<!-- hi -->\n", "# Title\n", "```yaml\n", "\ufeff\ufeff")
      : rarely("", "\ufeff"),
    open: isWild ? rarely("---", "--- ", "----", "+++", "---\ufeff", "") : fc.constant("---"),
    close: isWild ? rarely("---", "---\t ", "...", "----", "", " ---") : rarely("---", "---  "),
    lineEnd: isWild ? rarely("\n", "\r\n", "\r", "\n\r", "\u2028", "\n\n") : rarely("\n", "\r\n"),
    body: bodies,
  });
}

function nameLine(name: string, isWild: boolean): fc.Arbitrary<string> {
  const isPlain = /^[a-z]/.test(name) && !/^(?:true|false|null)$/.test(name);
  const quoted = [`name: "${name}"`, `name: '${name}'`, `name:   "${name}" # the name`, `"name": "${name}"`];
  const tidy = isPlain ? [`name: ${name}`, `name: ${name}   `, ...quoted] : quoted;
  if (!isWild) return fc.constantFrom(...tidy);
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...tidy) },
    fc.constantFrom(
      `name: ${name}`,
      `name: |\n  ${name}`,
      `name: >-\n  ${name}`,
      `name:\n  ${name}`,
      "name:",
      `Name: ${name}`,
      "",
    ),
  );
}

function source(name: string, isWild: boolean): fc.Arbitrary<string> {
  const maxFields = isWild ? 5 : 3;
  const more = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: field(isWild) },
      { weight: 2, arbitrary: metadata(isWild) },
      { weight: 1, arbitrary: fc.constantFrom(...fillers) },
      { weight: isWild ? 1 : 0, arbitrary: fc.constantFrom(...junkLines) },
    ),
    { maxLength: maxFields },
  );
  const description = value(isWild).map((content) => `description: ${content}`);
  return fc
    .record({ name: nameLine(name, isWild), description, more, isFirst: fc.boolean(), shape: shape(isWild) })
    .map(({ name, description, more, isFirst, shape }) => {
      const fields = isWild ? more : withoutRepeats(more);
      const own = [name, description];
      const all = isFirst ? [...own, ...fields] : [...fields, ...own];
      const whole = [shape.open, ...all, shape.close, shape.body].join("\n");
      return shape.start + whole.replaceAll("\n", shape.lineEnd);
    });
}

function withoutRepeats(fields: readonly string[]): string[] {
  const seen = new Set<string>();
  const keyOf = (field: string) => field.slice(0, field.indexOf(":"));
  return fields.filter((field) => !field.includes(":") || (!seen.has(keyOf(field)) && seen.add(keyOf(field))));
}

/** One slip of an editor: something lost, doubled or put in at some place of the text. */
const slip = fc.record({
  at: fc.nat(600),
  kind: fc.constantFrom("lose", "insert", "double", "cut"),
  piece: fc.constantFrom(...oddities, "\n", "\r", " ", "  ", "\n\t", "\n- "),
});

function applySlip(text: string, { at, kind, piece }: { at: number; kind: string; piece: string }): string {
  const place = text.length === 0 ? 0 : at % text.length;
  if (kind === "lose") return text.slice(0, place) + text.slice(place + 1);
  if (kind === "double") return text.slice(0, place + 1) + text.slice(place);
  if (kind === "cut") return text.slice(0, place);
  return text.slice(0, place) + piece + text.slice(place);
}

type Encoding = "utf-8" | "utf-16" | "latin-1" | "empty" | "large";
const encodings: readonly Encoding[] = ["utf-16", "latin-1", "empty", "large"];

function encode(text: string, encoding: Encoding): Uint8Array {
  if (encoding === "empty") return new Uint8Array();
  if (encoding === "utf-16") return Uint8Array.from([...`\ufeff${text}`], (char) => char.charCodeAt(0) & 0xff);
  if (encoding === "latin-1") return Uint8Array.from([...`${text}é`], (char) => Math.min(0xff, char.charCodeAt(0)));
  // Lone halves of characters become U+FFFD here, as they do in every editor.
  return utf8.encode(encoding === "large" ? `${text}\n${"long line of words ".repeat(60_000)}` : text);
}

/** The bytes of a SKILL.md for a skill that may be called `name`. */
export function skillMdOf(name: string): fc.Arbitrary<Uint8Array> {
  const tidy = source(name, false).map((text) => encode(text, "utf-8"));
  const wild = fc
    .tuple(
      source(name, true),
      fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(slip, { maxLength: 2 })),
      fc.oneof({ weight: 60, arbitrary: fc.constant<Encoding>("utf-8") }, fc.constantFrom(...encodings)),
    )
    .map(([text, slips, encoding]) => encode(slips.reduce(applySlip, text), encoding));
  return fc.oneof(tidy, wild);
}

/** Names as authors write them: most are names, some are nearly. */
export const names: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(
      "pdf",
      "release-notes",
      "a",
      "x1-y2-z3",
      "c",
      "k8s",
      "a".repeat(64),
      `${"ab-".repeat(21)}a`,
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.stringMatching(/^[a-z0-9]{1,12}$/), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join("-")),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "2024",
      "007",
      "true",
      "null",
      "yes",
      "1e9",
      "0x1f",
      "on",
      "a".repeat(65),
      "a--b",
      "-a",
      "a-",
      "PDF Forms",
      "Pdf",
      "pdf_forms",
      "pdf.forms",
      "pdf/forms",
      "постгрес",
      "ﬁle",
      "",
      " ",
      "..",
      "%70df",
      "@1.0.0",
      "con",
      "__proto__",
      "constructor",
      "skill",
    ),
  },
);
