import fc from "fast-check";
import { deflateSync, gzipSync } from "fflate";

import type { SkillFile } from "../../src/domain/entry.ts";
import { crc32 } from "../../src/publish/crc32.ts";
import { packTarGz, packZip } from "../../src/publish/pack.ts";
import { bytesOf, concat, paxRecord, rawZip, tarEnd, tarEntry } from "../publish/bytes.ts";
import type { RawEntry, RawEnd } from "../publish/bytes.ts";

/** The three intakes: files as the body of a request, sound or damaged. */
export interface Body {
  contentType: string;
  bytes: Uint8Array;
}

export const intakes = ["zip", "tar.gz", "form"] as const;
export type Intake = (typeof intakes)[number];

export async function packAs(intake: Intake, files: readonly SkillFile[]): Promise<Body> {
  if (intake === "zip") return { contentType: "application/zip", bytes: packZip(files) };
  if (intake === "form") return formOf(files.map(({ path, bytes }) => [dispositionOf(path), bytes]));
  // Our own packer cannot hold what no release may hold, such as an empty name.
  const bytes = files.every(({ path }) => /[^/]$/.test(path)) ? await packTarGz(files) : handMadeTarGz(files);
  return { contentType: "application/gzip", bytes };
}

function handMadeTarGz(files: readonly SkillFile[]): Uint8Array {
  return gzipSync(concat(...files.map(({ path, bytes }) => tarEntry({ name: path }, bytes)), tarEnd));
}

const boundary = "campaign-boundary";
export const formType = `multipart/form-data; boundary=${boundary}`;

const dispositionOf = (path: string) => `Content-Disposition: form-data; name="files"; filename="${path}"`;

/** A form out of raw part heads and bodies. */
export function formOf(parts: readonly (readonly [head: string, bytes: Uint8Array])[]): Body {
  const wire = parts.flatMap(([head, bytes]) => [bytesOf(`--${boundary}\r\n${head}\r\n\r\n`), bytes, bytesOf("\r\n")]);
  return { contentType: formType, bytes: concat(...wire, bytesOf(`--${boundary}--\r\n`)) };
}

// ---------------------------------------------------------------------------------------------------------------
// Damage: what happens to bytes on the way, and what is done to them on purpose.

/** One change of a body, at a place given as a share of its length so that it fits a body of any length. */
export const damages = fc.array(
  fc.record({
    kind: fc.constantFrom("flip", "set", "cut", "drop", "double", "insert", "number"),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    length: fc.nat(64),
    value: fc.oneof(fc.nat(255), fc.constantFrom(0, 0xff, 0x0d, 0x0a, 0x22, 0x2d, 0x50)),
  }),
  { maxLength: 4 },
);
/** A body, and what is done to it before it is sent. */
export interface BodySample {
  body: Body;
  changes: Damage[];
}

export type Damage = ReturnType<typeof damages.generate>["value"][number];

export function damage(bytes: Uint8Array, changes: readonly Damage[]): Uint8Array {
  return changes.reduce((body, change) => applyDamage(body, change), bytes);
}

function applyDamage(bytes: Uint8Array, { kind, at, length, value }: Damage): Uint8Array {
  const place = Math.floor(at * bytes.length);
  const copy = bytes.slice();
  switch (kind) {
    case "flip":
      if (copy.length > 0) copy[place]! ^= 1 << (value & 7);
      return copy;
    case "set":
      return copy.fill(value, place, place + 1);
    case "number":
      // Sizes, counts and offsets are numbers of two or four bytes.
      return copy.fill(value, place, place + 4);
    case "cut":
      return copy.subarray(0, place);
    case "drop":
      return concat(bytes.subarray(0, place), bytes.subarray(place + length));
    case "double":
      return concat(bytes.subarray(0, place + length), bytes.subarray(place));
    default:
      return concat(bytes.subarray(0, place), new Uint8Array(length).fill(value), bytes.subarray(place));
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Archives that no tool would write: every number in them is a claim, and may be a lie.

const lie = <T>(truth: fc.Arbitrary<T>, ...lies: T[]) =>
  fc.oneof({ weight: 20, arbitrary: truth }, ...(lies.length === 0 ? [] : [fc.constantFrom(...lies)]));
const memberNames = fc.constantFrom(
  "SKILL.md",
  "SKILL.md",
  "a.txt",
  "a.txt",
  "A.txt",
  "a/",
  "a/b",
  "../x",
  "/etc/passwd",
  "x\\y",
  "s/".repeat(20),
  "",
  "日本",
  "%2e%2e/x",
  "__proto__",
  "n".repeat(70_000),
  "\0",
  ".git/config",
  "./x",
  "././/x",
  "C:x",
);
const memberBytes = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 80 }) },
  { weight: 4, arbitrary: fc.constant(bytesOf("---\nname: pdf\ndescription: d\n---\n")) },
  { weight: 1, arbitrary: fc.constantFrom(100_000, 2_000_000).map((length) => new Uint8Array(length)) },
);
const hugeNumbers = [0, 1, 0xffff, 0x7fffffff, 0xfffffffe, 0xffffffff, 17 * 1024 * 1024];

const zipEntry: fc.Arbitrary<RawEntry> = fc
  .record({
    name: memberNames,
    content: memberBytes,
    isDeflated: fc.boolean(),
    flags: lie(fc.constant<number | undefined>(undefined), 0, 1, 8, 0x2041, 0x0808),
    method: lie(fc.constant<number | undefined>(undefined), 8, 9, 12, 14, 93, 99),
    mode: fc.constantFrom(0, 0o100644, 0o100755, 0o120777, 0o040755, 0o060000, 0o100000),
    host: fc.constantFrom(0, 3, 19),
    size: lie(fc.constant<number | undefined>(undefined), ...hugeNumbers),
    compressedSize: lie(fc.constant<number | undefined>(undefined), ...hugeNumbers),
    crc: lie(fc.constant<number | undefined>(undefined), 0, 0xffffffff),
    extra: lie(
      fc.constant(new Uint8Array()),
      Uint8Array.of(1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1),
      Uint8Array.of(0x75, 0x70, 3, 0, 1),
    ),
    local: lie(
      fc.constant<RawEntry["local"] | undefined>(undefined),
      { name: "other" },
      { size: 5 },
      { method: 8 },
      { crc: 1 },
    ),
  })
  .map(({ content, isDeflated, ...claims }) => {
    const data = isDeflated ? deflateSync(content) : content;
    const truth = { data, method: isDeflated ? 8 : 0, size: content.length, crc: crc32(content) };
    return { ...truth, ...withoutUndefined(claims) };
  });

const zipEnd: fc.Arbitrary<RawEnd> = fc
  .record({
    count: lie(fc.constant<number | undefined>(undefined), 0, 1, 513, 0xffff),
    start: lie(fc.constant<number | undefined>(undefined), 0, 5, 0xffffffff),
    comment: lie(fc.constant<Uint8Array | undefined>(undefined), bytesOf("PK\u0005\u0006"), new Uint8Array(70_000)),
    count64: lie(fc.constant<number | undefined>(undefined), 0, 1, 2 ** 31),
  })
  .map(withoutUndefined);

function withoutUndefined<T extends object>(fields: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };
}

const tarMember: fc.Arbitrary<Uint8Array> = fc
  .record({
    name: memberNames,
    content: memberBytes,
    type: fc.constantFrom("0", "0", "0", "0", "5", "1", "2", "3", "6", "7", "L", "K", "x", "g", "S", "\0", "Z"),
    size: lie(fc.constant<number | undefined>(undefined), 0, 511, 513, 0o77777777777),
    mode: fc.constantFrom(0, 0o644, 0o755, 0o7777),
    pax: lie(
      fc.constant(""),
      paxRecord("path", "renamed.md"),
      paxRecord("path", "../../x"),
      paxRecord("size", "99999999999999999999"),
      paxRecord("size", "-1"),
      paxRecord("linkpath", "x"),
      paxRecord("GNU.sparse.major", "1"),
      "99 path=x\n",
      "0 a=b\n",
      "7 path",
    ),
  })
  .map(({ content, pax, size, ...header }) => {
    const entry = tarEntry({ ...header, ...(size === undefined ? {} : { size }) }, content);
    return pax === "" ? entry : concat(tarEntry({ name: "pax", type: "x" }, pax), entry);
  });

const zips = fc.tuple(fc.array(zipEntry, { maxLength: 5 }), zipEnd).map(([entries, end]): Body => {
  // A name of a zip has a length of two bytes, and a longer one would be no lie but another archive.
  const named = entries.map((entry) => ({ ...entry, name: (entry.name as string).slice(0, 65_000) }));
  return { contentType: "application/zip", bytes: rawZip(named, end) };
});
const tarBytes = fc
  .tuple(
    fc.array(tarMember, { maxLength: 5 }),
    lie(fc.constant(tarEnd as Uint8Array), new Uint8Array(), new Uint8Array(512), bytesOf("x")),
  )
  .map(([members, end]) => concat(...members, end));
const tars = tarBytes.map((bytes): Body => ({ contentType: "application/x-tar", bytes }));
const tarGzs = tarBytes.map((bytes): Body => ({ contentType: "application/gzip", bytes: gzipSync(bytes) }));

const heads = fc.constantFrom(
  "",
  "PK\u0003\u0004",
  "PK\u0005\u0006",
  "\u001f\u008b\u0008\u0000",
  "\u001f\u008b\u0008\u001c",
  "ustar",
);
const garbage = fc
  .record({
    contentType: fc.constantFrom("application/zip", "application/gzip", "application/x-tar"),
    head: heads,
    tail: fc.uint8Array({ maxLength: 700 }),
  })
  .map(({ contentType, head, tail }): Body => {
    return {
      contentType,
      bytes: concat(
        Uint8Array.from(head, (char) => char.charCodeAt(0)),
        tail,
      ),
    };
  });

/** Small in the request and up to 32 MiB when unpacked; rare, since each costs what it threatens. */
const bombs = fc
  .tuple(fc.constantFrom("zip", "gzip", "tar"), fc.constantFrom(8, 16, 17, 32))
  .map(([kind, mebibytes]): Body => bombOf(kind, mebibytes * 1024 * 1024));

const bombCache = new Map<string, Body>();

function bombOf(kind: string, length: number): Body {
  const key = `${kind} ${length}`;
  const made = bombCache.get(key) ?? makeBomb(kind, length);
  bombCache.set(key, made);
  return made;
}

function makeBomb(kind: string, length: number): Body {
  const zeros = new Uint8Array(length);
  if (kind === "zip") {
    const data = deflateSync(zeros);
    const entry = { name: "SKILL.md", data, method: 8, size: length, crc: crc32(zeros) };
    return { contentType: "application/zip", bytes: rawZip([entry, { ...entry, name: "b", size: 3 }]) };
  }
  const inner = kind === "tar" ? concat(tarEntry({ name: "SKILL.md" }, zeros), tarEnd) : zeros;
  return { contentType: "application/gzip", bytes: gzipSync(inner) };
}

const maybe = fc.oneof(fc.constant<Damage[]>([]), damages);

/** An archive, and what is done to it afterwards. */
export const archives: fc.Arbitrary<BodySample> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ body: zips, changes: maybe }) },
  { weight: 25, arbitrary: fc.record({ body: tars, changes: maybe }) },
  { weight: 25, arbitrary: fc.record({ body: tarGzs, changes: maybe }) },
  { weight: 15, arbitrary: fc.record({ body: garbage, changes: fc.constant<Damage[]>([]) }) },
  { weight: 1, arbitrary: fc.record({ body: bombs, changes: fc.constant<Damage[]>([]) }) },
);

// ---------------------------------------------------------------------------------------------------------------
// Forms.

const partHeads = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(
        "SKILL.md",
        "a/b.txt",
        "日本.md",
        "a b",
        "100%.md",
        "it's;x=1",
        "..",
        "a\\b",
        "%22",
        "%0a",
        "",
        'q"',
        "a\r\nX: y",
      )
      .map(dispositionOf),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          "Content-Disposition",
          "content-disposition",
          "CONTENT-DISPOSITION",
          "Content-Disposition ",
          "X-Other",
        ),
        fc.constantFrom("form-data", "FORM-DATA", "attachment", "", "form-data ;"),
        fc.array(
          fc.constantFrom(
            'name="files"',
            "name=files",
            'filename="x.md"',
            "filename=x",
            "filename*=UTF-8''x",
            'name="other"',
            "=",
            '"',
            "name",
          ),
          { maxLength: 4 },
        ),
      )
      .map(([header, type, parameters]) => `${header}: ${[type, ...parameters].join("; ")}`),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary-ascii", maxLength: 40 }) },
);
const moreHeaders = fc.constantFrom(
  "",
  "",
  "",
  "\r\nContent-Type: text/plain; charset=utf-16",
  "\r\nContent-Transfer-Encoding: base64",
  "\r\nContent-Transfer-Encoding: 8bit",
  "\r\nContent-Disposition: form-data",
  "\r\n folded",
  "\r\nno colon",
  "\r\n: x",
  "\r\nX-Long: " + "y".repeat(5000),
);
const partBytes = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc
    .constantFrom(
      `\r\n--${boundary}`,
      `\r\n--${boundary}--`,
      `--${boundary}`,
      "\r\n",
      "\r\n\r\n",
      `\r\n--${boundary.slice(1)}`,
    )
    .map(bytesOf),
);
const contentTypes = fc.constantFrom(
  `multipart/form-data; boundary="${boundary}"`,
  "multipart/form-data",
  "multipart/form-data; boundary=",
  'multipart/form-data; boundary="a',
  `multipart/form-data; charset=utf-8; BOUNDARY=${boundary}; x=y`,
  `multipart/mixed; boundary=${boundary}`,
  `multipart/form-data; boundary=${"b".repeat(71)}`,
  "multipart/form-data; boundary=other",
);

const soundParts = fc.uniqueArray(
  fc.tuple(
    fc.constantFrom("SKILL.md", "a/b.txt", "日本.md", "a b", "100%.md", "it's;x=1").map(dispositionOf),
    partBytes,
  ),
  { selector: ([head]) => head, maxLength: 4 },
);
const oddParts = fc.array(
  fc.tuple(
    fc.tuple(partHeads, moreHeaders).map((both) => both.join("")),
    partBytes,
  ),
  { maxLength: 3 },
);

/** A form, and what is done to it afterwards. */
export const forms: fc.Arbitrary<BodySample> = fc
  .record({
    parts: fc.oneof(
      soundParts,
      fc.tuple(soundParts, oddParts).map((both) => both.flat()),
    ),
    contentType: fc.oneof({ weight: 6, arbitrary: fc.constant(formType) }, contentTypes),
    changes: fc.oneof(fc.constant<Damage[]>([]), damages),
  })
  .map(({ parts, contentType, changes }) => ({ body: { ...formOf(parts), contentType }, changes }));
