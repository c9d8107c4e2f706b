import fc from "fast-check";

import { formatCursor, parseCursor } from "../../src/domain/cursor.ts";
import type { Position } from "../../src/domain/cursor.ts";
import { pathFindings } from "../../src/domain/file-path.ts";
import { isNamespace, isSkillPath } from "../../src/domain/names.ts";
import type { SkillPath } from "../../src/domain/names.ts";
import { Problem } from "../../src/domain/problem.ts";
import { candidates, encodeSegment, movingUri, parseSkillUri, pinnedUri, skillScheme } from "../../src/domain/uri.ts";
import { compareVersions, isPrerelease, isVersion, nextPatch, splitVersion } from "../../src/domain/version.ts";
import type { Version } from "../../src/domain/version.ts";
import type { Campaign } from "./campaign.ts";
import { must } from "./checks.ts";
import { versions } from "./folders.ts";

// ---------------------------------------------------------------------------------------------------------------
// Cursors: a cursor is what was written for this list, or it is refused.

interface CursorSample {
  list: string;
  position: Position;
  changes: { at: number; text: string }[];
}

const lists = fc.constantFrom(
  "skills /mcp/acme",
  "skills /mcp",
  "api-skills:acme",
  "directory skill://acme/日本/%F0",
  "",
);

export const cursorSamples: fc.Arbitrary<CursorSample> = fc.record({
  list: lists,
  position: fc.record({
    page: fc.integer({ min: 1, max: 10_000 }),
    key: fc.oneof(fc.constantFrom("a", "billing/refunds", "", "😀"), fc.string({ unit: "grapheme", maxLength: 255 })),
  }),
  changes: fc.array(
    fc.record({
      at: fc.nat(400),
      text: fc.constantFrom("", "A", "_", "-", "+", "/", "=", " ", "\n", "é", "WzEs", "x".repeat(2000)),
    }),
    { maxLength: 3 },
  ),
});

export function mutateCursor({ list, position, changes }: CursorSample): string {
  const change = (text: string, { at, text: piece }: { at: number; text: string }) => {
    const place = text.length === 0 ? 0 : at % text.length;
    return text.slice(0, place) + piece + text.slice(piece === "" ? place + 1 : place);
  };
  return changes.reduce(change, formatCursor(list, position));
}

export const cursorsCampaign: Campaign<CursorSample> = {
  name: "cursors",
  samples: cursorSamples,
  open: async () => (sample) => {
    const { list, position } = sample;
    const sound = formatCursor(list, position);
    if (sound.length <= 1024) {
      const again = parseCursor(list, sound);
      must(again.page === position.page && again.key === position.key, () => "a cursor does not lead back");
    }
    must(readCursor(`${list}x`, sound) === undefined, () => "a cursor of another list is taken");
    const mutated = mutateCursor(sample);
    const read = readCursor(list, mutated);
    must(read === undefined || formatCursor(list, read) === mutated, () => `two spellings of a cursor: ${mutated}`);
    return read === undefined ? "refused" : "read";
  },
};

function readCursor(list: string, cursor: string): Position | undefined {
  return orNone(() => parseCursor(list, cursor));
}

// ---------------------------------------------------------------------------------------------------------------
// Addresses: one spelling for each thing, which is the canonical one, and each leads back to what it was made of.

const uriSegments = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "acme",
      "pdf",
      "billing",
      "refunds",
      "SKILL.md",
      "a b",
      "100%",
      "日本",
      "@1.0.0",
      "@2.0.0-rc.1",
      "@x",
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 10 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "..",
      ".",
      "",
      "%2e",
      "%2F",
      "%00",
      "a%20b",
      "A%c3%a9",
      "x?y",
      "x#y",
      "x\\y",
      "^",
      "'",
      "|",
    ),
  },
);

export interface UriSample {
  segments: string[];
  isEncoded: boolean;
  scheme: string;
  end: string;
  version: Version;
}

/** As an address begins: a namespace, perhaps folders and a version, and a name. */
const uriStarts = fc.constantFrom(
  ["acme", "pdf"],
  ["acme", "billing", "refunds"],
  ["acme", "@1.0.0", "pdf"],
  ["acme", "billing", "@2.0.0-rc.1", "refunds"],
  ["acme", "@1.0.0"],
  ["ACME", "pdf"],
  ["api", "pdf"],
  [],
);

export const uriSamples: fc.Arbitrary<UriSample> = fc.record({
  segments: fc.tuple(uriStarts, fc.array(uriSegments, { maxLength: 5 })).map((parts) => parts.flat()),
  isEncoded: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.boolean()),
  scheme: fc.oneof(
    { weight: 12, arbitrary: fc.constant("skill://") },
    fc.constantFrom("SKILL://", "skill:/", "skill:", "", "http://", "skill:///"),
  ),
  end: fc.oneof({ weight: 12, arbitrary: fc.constant("") }, fc.constantFrom("/", "?", "#", "?a=b", "#x", "//", " ")),
  version: versions,
});

export function formatUri({ segments, isEncoded, scheme, end }: UriSample): string {
  const spelt = isEncoded ? segments.map((segment) => encodeSegment(segment.toWellFormed())) : segments;
  return scheme + spelt.join("/") + end;
}

export const urisCampaign: Campaign<UriSample> = {
  name: "uris",
  samples: uriSamples,
  open: async () => (sample) => {
    checkLeadsBack(sample);
    const uri = formatUri(sample);
    const parsed = parseSkillUri(uri);
    if (parsed === undefined) return "names nothing";
    const again =
      parsed.kind === "pinned"
        ? pinnedUri(parsed.namespace, parsed.path, parsed.version, parsed.file)
        : `${skillScheme}${parsed.namespace}/${parsed.segments.map(encodeSegment).join("/")}`;
    must(again === uri, () => `${uri} is read, but written as ${again}`);
    must(new URL(uri).href === uri, () => `${uri} is read, but is no canonical address`);
    return parsed.kind;
  },
};

/** Every file that a release may hold is found under both of its addresses. */
function checkLeadsBack({ segments, version }: UriSample): void {
  const [authority = "", ...rest] = segments;
  const path = rest.slice(0, 2).join("/");
  const file = rest.slice(2).join("/");
  if (!isNamespace(authority) || !isSkillPath(path) || file === "" || pathFindings(file).length > 0) return;
  const moving = parseSkillUri(movingUri(authority, path, file));
  const isFound =
    moving?.kind === "moving" && candidates(moving.segments).some((one) => one.path === path && one.file === file);
  must(isFound, () => `${movingUri(authority, path, file)} does not lead to its file`);
  const pinned = parseSkillUri(pinnedUri(authority, path, version, file));
  must(
    pinned?.kind === "pinned" && pinned.path === path && pinned.file === file && pinned.version === version,
    () => `${pinnedUri(authority, path as SkillPath, version, file)} does not lead to its file`,
  );
}

// ---------------------------------------------------------------------------------------------------------------
// Versions: a total order, in which the next patch comes after.

const numbers = fc.oneof(
  { weight: 12, arbitrary: fc.nat(3).map(String) },
  { weight: 3, arbitrary: fc.constantFrom("9", "10", "999999999") },
  { weight: 1, arbitrary: fc.constantFrom("1000000000", "01", "00", "-1", "") },
);
const identifiers = fc.oneof(
  { weight: 3, arbitrary: numbers },
  { weight: 3, arbitrary: fc.constantFrom("rc", "RC", "alpha", "a-b", "-", "0a", "1-", "1e3") },
  { weight: 3, arbitrary: fc.stringMatching(/^[0-9a-z-]{1,4}$/) },
  { weight: 1, arbitrary: fc.constantFrom("", "é", "0_1") },
);
const versionTexts = fc
  .record({
    core: fc.tuple(numbers, numbers, numbers),
    pre: fc.oneof(fc.constant<string[]>([]), fc.array(identifiers, { maxLength: 3 })),
    start: fc.oneof({ weight: 20, arbitrary: fc.constant("") }, fc.constantFrom("v", " ")),
    end: fc.oneof({ weight: 20, arbitrary: fc.constant("") }, fc.constantFrom("+build", "\n", " ")),
  })
  .map(({ core, pre, start, end }) => start + core.join(".") + (pre.length === 0 ? "" : `-${pre.join(".")}`) + end);

export const versionsCampaign: Campaign<string[]> = {
  name: "versions",
  samples: fc.array(versionTexts, { minLength: 3, maxLength: 5 }),
  open: async () => (texts) => {
    const valid = texts.filter(isVersion);
    for (const a of valid) checkOne(a);
    for (const a of valid) for (const b of valid) checkTwo(a, b);
    for (const a of valid) {
      for (const b of valid) for (const c of valid) checkThree(a, b, c);
    }
    return valid.length > 1 ? "compared" : "refused";
  },
};

function checkOne(version: Version): void {
  const { major, minor, patch, pre } = splitVersion(version);
  must(`${major}.${minor}.${patch}${pre === "" ? "" : `-${pre}`}` === version, () => `${version} is split into others`);
  must(isPrerelease(version) === (pre !== ""), () => `${version} is a pre-release and is none`);
  const next = orNone(() => nextPatch(version));
  if (next === undefined) return;
  must(isVersion(next), () => `the version after ${version} is ${next}, which is none`);
  must(compareVersions(next, version) > 0, () => `the version after ${version} is ${next}, which comes before it`);
}

/** What is refused is refused by a Problem; anything else that is thrown is a bug and goes on. */
function orNone<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function checkTwo(a: Version, b: Version): void {
  const order = Math.sign(compareVersions(a, b));
  must(order === 0 - Math.sign(compareVersions(b, a)), () => `${a} and ${b} have no order`);
  must((order === 0) === (a === b), () => `${a} and ${b} are one and two`);
}

function checkThree(a: Version, b: Version, c: Version): void {
  const isChain = compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0;
  must(!isChain || compareVersions(a, c) <= 0, () => `${a}, ${b}, ${c} go round in a circle`);
}
