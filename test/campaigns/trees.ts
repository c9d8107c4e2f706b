import fc from "fast-check";

import type { SkillFile } from "../../src/domain/entry.ts";
import { noise } from "../publish/bytes.ts";
import { names, skillMdOf } from "./frontmatters.ts";

/** A whole upload before it is packed: a folder of files, as it lies on somebody's disk. */
export interface Folder {
  /** The folder's own name, where the archive is made of the folder and not of what is in it. */
  wrapper: string | undefined;
  files: SkillFile[];
  /** The `?path=` of the request. */
  path: string | undefined;
  allowSecrets: boolean;
}

const utf8 = new TextEncoder();

/** Names that every disk holds, and that an address has to spell with care. */
const lawful = [
  "guide.md",
  "references",
  "scripts",
  "a b",
  "100%",
  "%20",
  "%2F",
  "%",
  "h#",
  "q?",
  "a&b",
  "@home",
  "@1.0",
  "(x)",
  "日本語",
  "caf\u00e9",
  "🎉",
  "👩‍💻",
  "semi;colon=1",
  "it's",
  "[x]{y}",
  "caret^`",
  "~",
  "$x",
  "+",
  "!",
  "*",
  "|",
  "<b>",
  ":",
  "..three",
  ".hidden",
  "1",
  "10",
  "__proto__",
  "constructor",
  "toString",
  "SKILL.md",
  "skill.md",
  "LICENSE",
  "x.zip",
  "node_modules",
  "__pycache__",
  "\u00a0",
  "ﬁ",
  "%E9",
  "%c3%a9",
  "a%2fb",
  "%00",
  "a\u200db",
  "\ud55c\uae00",
  "x".repeat(200),
] as const;
/** Names that some disk, tool or reader takes for another one. */
const unlawful = [
  "..",
  ".",
  "",
  "a\\b",
  'q"t',
  "nul",
  "CON.txt",
  "com1",
  "a.",
  "a ",
  "e\u0301",
  "\u1112\u1161\u11ab",
  "\ufffd",
  "\n",
  "\0",
  "\u0085",
  "C:",
  "@1.0.0",
  "@2.0.0-rc.1",
  "y".repeat(256),
  ".git",
  ".DS_Store",
  "._x",
  "Thumbs.db",
  "__MACOSX",
  ".env",
  "id_rsa",
  "Icon\r",
  "GUIDE.md",
  "Skill.md",
  "\u212a",
  "K",
] as const;

const segment = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...lawful) },
  {
    weight: 3,
    arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map((text) => text.normalize("NFC")),
  },
  { weight: 1, arbitrary: fc.constantFrom(...unlawful) },
);
const filePath = fc
  .oneof(
    { weight: 40, arbitrary: fc.array(segment, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(segment, { minLength: 6, maxLength: 10 }) },
  )
  .map((segments) => segments.join("/"));

/** Bytes that a careless server would change on their way through text. */
const contents: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.constant(new Uint8Array()),
  fc.constantFrom(
    utf8.encode("# Plain\n"),
    utf8.encode("\ufeffmark\r\nCRLF\r\n"),
    utf8.encode("a\0b\u2028\ufffd"),
    utf8.encode("lone\rreturn"),
    Uint8Array.of(0xff, 0xfe, 0x61, 0),
    Uint8Array.of(0xc3, 0x28, 0xa0, 0xff),
    Uint8Array.of(0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80),
    Uint8Array.from({ length: 256 }, (_, byte) => byte),
    utf8.encode("-----BEGIN PRIVATE KEY-----\n"),
    utf8.encode("---\nname: nested\ndescription: A skill inside\n---\n"),
  ),
  fc.uint8Array({ maxLength: 60 }),
  fc.nat(3000).map((length) => noise(length, length)),
);

const executable = fc.constantFrom(undefined, false, true);

const otherFile: fc.Arbitrary<SkillFile> = fc
  .record({ path: filePath, bytes: contents, executable })
  .map(({ path, bytes, executable }) => (executable === undefined ? { path, bytes } : { path, bytes, executable }));

/** Mostly distinct, now and then the same path twice. */
const fewFiles = fc.oneof(
  { weight: 15, arbitrary: fc.uniqueArray(otherFile, { selector: ({ path }) => path, maxLength: 6 }) },
  { weight: 1, arbitrary: fc.array(otherFile, { maxLength: 8 }) },
);
/** As many as somebody's limit. The client looks through the whole manifest for each file, so these are rare. */
const manyFiles = fc
  .constantFrom(99, 100, 101, 120, 511, 512)
  .map((count) => Array.from({ length: count }, (_, at) => ({ path: `many/${at}.txt`, bytes: utf8.encode(`${at}`) })));

const mainPaths = fc.oneof(
  { weight: 40, arbitrary: fc.constant("SKILL.md") },
  fc.constantFrom("skill.md", "Skill.md", "sub/SKILL.md", "README.md"),
);

function oneSkill(name: string, others: fc.Arbitrary<SkillFile[]>): fc.Arbitrary<Folder> {
  const path = fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(name, `team/${name}`, `a/b/c/${name}`) },
    { weight: 1, arbitrary: fc.constantFrom("other", "team", `${name}/x`) },
  );
  const wrapper = fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constant(name) },
    { weight: 1, arbitrary: segment },
  );
  return fc
    .record({ main: fc.tuple(mainPaths, skillMdOf(name)), others, path, wrapper, allowSecrets: fc.boolean() })
    .map(({ main: [mainPath, bytes], others, ...rest }) => {
      const main: SkillFile = { path: mainPath, bytes };
      return { ...rest, files: [main, ...others.filter((file) => file.path !== mainPath)] };
    });
}

/** A folder of several skills, each in a folder of its own, perhaps with something beside them. */
const severalSkills: fc.Arbitrary<Folder> = fc
  .record({
    parts: fc.uniqueArray(
      names.chain((name) => fc.tuple(fc.constantFrom(name, `group/${name}`, `${name} copy`), oneSkill(name, fewFiles))),
      { selector: ([root]) => root, minLength: 1, maxLength: 4 },
    ),
    beside: fc.array(otherFile, { maxLength: 2 }),
    path: fc.constantFrom(undefined, undefined, "team"),
  })
  .map(({ parts, beside, path }) => ({
    wrapper: undefined,
    path,
    allowSecrets: true,
    files: [
      ...parts.flatMap(([root, { files }]) => files.map((file) => ({ ...file, path: `${root}/${file.path}` }))),
      ...beside,
    ],
  }));

export const folders: fc.Arbitrary<Folder> = fc.oneof(
  { weight: 300, arbitrary: names.chain((name) => oneSkill(name, fewFiles)) },
  { weight: 1, arbitrary: names.chain((name) => oneSkill(name, manyFiles)) },
  { weight: 25, arbitrary: severalSkills },
);
