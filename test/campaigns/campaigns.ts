import fc from "fast-check";

import { formatCursor, parseCursor } from "../../src/domain/cursor.ts";
import type { Position } from "../../src/domain/cursor.ts";
import { hasErrors } from "../../src/domain/finding.ts";
import { pathFindings } from "../../src/domain/file-path.ts";
import { isNamespace, isSkillPath } from "../../src/domain/names.ts";
import type { Namespace, SkillPath } from "../../src/domain/names.ts";
import { Problem } from "../../src/domain/problem.ts";
import { candidates, encodeSegment, movingUri, parseSkillUri, pinnedUri, skillScheme } from "../../src/domain/uri.ts";
import { compareVersions, isPrerelease, isVersion, nextPatch, splitVersion } from "../../src/domain/version.ts";
import type { Version } from "../../src/domain/version.ts";
import { readUpload } from "../../src/publish/archive.ts";
import { findJunkKind } from "../../src/publish/junk.ts";
import { prepare } from "../../src/publish/prepare.ts";
import type { Prepared } from "../../src/publish/prepare.ts";
import { entryTexts } from "../../src/publish/release.ts";
import { isSame } from "../publish/bytes.ts";
import { checkFindings, checkRefusal, checkUpload, must, orProblem } from "./checks.ts";
import { archives, damage, forms, intakes, packAs } from "./containers.ts";
import type { Body, Damage, Intake } from "./containers.ts";
import { OfficialClient } from "./official-client.ts";
import { folders } from "./trees.ts";
import type { Folder } from "./trees.ts";

/**
 * Campaigns: a property each, over samples without end. They need nothing but the language and the Web's own
 * interfaces, so that the same run inside workerd as tests and in Node for hours.
 */
export interface Campaign<Sample> {
  name: string;
  samples: fc.Arbitrary<Sample>;
  /** Made once a run; throws at a counterexample, else says in a word how the sample fared. */
  open: () => Promise<(sample: Sample) => Promise<string> | string>;
}

const namespace = "acme" as Namespace;

export function readBody({ contentType, bytes }: Body) {
  const stream = new Response(bytes as Uint8Array<ArrayBuffer>).body;
  return readUpload({ contentType, body: stream, headers: new Headers() });
}

// ---------------------------------------------------------------------------------------------------------------
// Folders: whatever is accepted, the official client accepts, moving and pinned, and verifies to the last byte.

export interface FolderSample {
  folder: Folder;
  intake: Intake;
  version: Version;
}

const versions = fc
  .constantFrom("1.0.0", "0.0.1", "10.20.30", "2.0.0-rc.1", "1.0.0--", "1.0.0-0a.x-y.7")
  .map((text) => text as Version);

export const folderSamples: fc.Arbitrary<FolderSample> = fc.record({
  folder: folders,
  intake: fc.constantFrom(...intakes),
  version: versions,
});

export function packFolder({ folder, intake }: FolderSample): Promise<Body> {
  const prefix = folder.wrapper === undefined ? "" : `${folder.wrapper}/`;
  return packAs(
    intake,
    folder.files.map((file) => ({ ...file, path: prefix + file.path })),
  );
}

/** From the body of a request to drafts, as the door does it; a Problem where it is refused. */
export async function prepareFolder(sample: FolderSample): Promise<Prepared | Problem> {
  const { folder } = sample;
  const upload = await readBody(await packFolder(sample));
  checkUpload(upload);
  if (!hasErrors(upload.findings)) checkNothingLost(sample, upload.files);
  if (folder.path !== undefined && !isSkillPath(folder.path)) return new Problem("invalid_path");
  return orProblem(prepare(upload, { namespace, path: folder.path, allowSecrets: folder.allowSecrets }));
}

function checkNothingLost({ folder }: FolderSample, files: readonly { path: string; bytes: Uint8Array }[]): void {
  const prefix = folder.wrapper === undefined ? "" : `${folder.wrapper}/`;
  const sent = folder.files
    .map(({ path, bytes }) => ({ path: (prefix + path).replace(/^(?:\.\/+)+/, ""), bytes }))
    .filter(({ path }) => findJunkKind(path) === undefined);
  must(files.length === sent.length, () => `${files.length} of ${sent.length} files came out`);
  const found = new Map(files.map(({ path, bytes }) => [path, bytes]));
  for (const { path, bytes } of sent) {
    const [, inside] = path.split(/\/(.*)/s);
    const came = found.get(path) ?? found.get(inside ?? "");
    must(came !== undefined && isSame(came, bytes), () => `${JSON.stringify(path)} came out otherwise than it went in`);
  }
}

export const foldersCampaign: Campaign<FolderSample> = {
  name: "folders",
  samples: folderSamples,
  open: async () => {
    const clients = [await OfficialClient.connect("2026-07-28"), await OfficialClient.connect("2025-11-25")] as const;
    let turn = 0;
    return async (sample) => {
      const prepared = await prepareFolder(sample);
      if (prepared instanceof Problem) return refused(prepared);
      checkFindings(prepared.findings);
      must(!hasErrors(prepared.findings), () => "accepted with an error");
      const shelf = { entries: [] as string[], bytes: new Map<string, Uint8Array>() };
      for (const draft of prepared.drafts) {
        const texts = await orProblem(Promise.resolve().then(() => entryTexts(draft, sample.version)));
        if (texts instanceof Problem) return refused(texts);
        shelf.entries.push(texts.entry, texts.pinnedEntry);
        for (const { path, bytes } of draft.files) {
          shelf.bytes.set(movingUri(namespace, draft.path, path), bytes);
          shelf.bytes.set(pinnedUri(namespace, draft.path, sample.version, path), bytes);
        }
      }
      const count = await clients[turn++ % 2]!.verify(shelf);
      must(count === shelf.bytes.size, () => `${count} of ${shelf.bytes.size} files are in the entries`);
      return "accepted";
    };
  },
};

function refused(problem: Problem): string {
  if (problem.code !== "invalid_path") checkRefusal(problem);
  return "refused";
}

// ---------------------------------------------------------------------------------------------------------------
// Archives and forms: whatever comes, it is read or refused, and what is read is lawful and within the limits.

interface BodySample {
  body: Body;
  changes: Damage[];
}

async function checkBody({ body, changes }: BodySample): Promise<string> {
  const upload = await orProblem(readBody({ ...body, bytes: damage(body.bytes, changes) }));
  if (upload instanceof Problem) {
    must(upload.code === "unsupported_media_type", () => `refused as ${upload.code}`);
    return "not taken";
  }
  checkUpload(upload);
  const prepared = await orProblem(prepare(upload, { namespace, path: undefined, allowSecrets: false }));
  if (prepared instanceof Problem) checkRefusal(prepared);
  return hasErrors(upload.findings) ? "refused" : "read";
}

export const archivesCampaign: Campaign<BodySample> = {
  name: "archives",
  samples: archives,
  open: async () => checkBody,
};

export const formsCampaign: Campaign<BodySample> = { name: "forms", samples: forms, open: async () => checkBody };

/** A sound archive that was damaged on the way: a file that comes out without a finding has the bytes it had. */
export const damageCampaign: Campaign<{ sample: FolderSample; changes: Damage[] }> = {
  name: "damage",
  samples: fc.record({
    sample: fc.record({
      folder: folders,
      intake: fc.constantFrom("zip" as const, "tar.gz" as const),
      version: versions,
    }),
    changes: archives.map(({ changes }) => changes).filter((changes) => changes.length > 0),
  }),
  open: async () => checkDamaged,
};

async function checkDamaged({ sample, changes }: { sample: FolderSample; changes: Damage[] }): Promise<string> {
  const sound = await packFolder(sample);
  const original = new Map((await readBody(sound)).files.map(({ path, bytes }) => [path, bytes]));
  const upload = await readBody({ ...sound, bytes: damage(sound.bytes, changes) });
  checkUpload(upload);
  if (hasErrors(upload.findings)) return "refused";
  for (const { path, bytes } of upload.files) {
    const before = original.get(path);
    must(
      before === undefined || isSame(before, bytes),
      () => `${JSON.stringify(path)} was changed, and nothing says so`,
    );
  }
  return "read";
}

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
  try {
    return parseCursor(list, cursor);
  } catch (error) {
    if (error instanceof Problem && error.code === "invalid_cursor") return undefined;
    throw error;
  }
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

export const uriSamples: fc.Arbitrary<UriSample> = fc.record({
  segments: fc.array(uriSegments, { maxLength: 9 }),
  isEncoded: fc.boolean(),
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
  fc.nat(3).map(String),
  fc.constantFrom("9", "10", "999999999", "1000000000", "01", "00", "-1", ""),
);
const identifiers = fc.oneof(
  numbers,
  fc.constantFrom("rc", "RC", "alpha", "a-b", "-", "0a", "1-", "1e3", "é"),
  fc.stringMatching(/^[0-9a-z-]{0,4}$/),
);
const versionTexts = fc
  .tuple(
    fc.tuple(numbers, numbers, numbers),
    fc.array(identifiers, { maxLength: 3 }),
    fc.constantFrom("", "", "", "", "", "+build", "v", "\n", " "),
  )
  .map(
    ([core, pre, odd]) =>
      (odd === "v" ? "v" : "") +
      core.join(".") +
      (pre.length === 0 ? "" : `-${pre.join(".")}`) +
      (odd === "v" ? "" : odd),
  );

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
  const next = nextPatch(version);
  must(isVersion(next), () => `the version after ${version} is ${next}, which is none`);
  must(compareVersions(next, version) > 0, () => `the version after ${version} is ${next}, which comes before it`);
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

export const campaigns: readonly Campaign<never>[] = [
  foldersCampaign,
  archivesCampaign,
  formsCampaign,
  damageCampaign,
  cursorsCampaign,
  urisCampaign,
  versionsCampaign,
] as unknown as readonly Campaign<never>[];
