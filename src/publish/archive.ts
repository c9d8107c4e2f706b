import type { SkillFile } from "../domain/entry.ts";
import { clip, pathFindings, pathSetFindings } from "../domain/file-path.ts";
import { fileFinding, hasErrors } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { maxUploadBytes } from "../domain/limits.ts";
import { problem } from "../domain/problem.ts";
import { skillMd } from "../domain/uri.ts";
import { readBounded } from "./bounded-body.ts";
import { readForm } from "./form.ts";
import { gunzip } from "./gzip.ts";
import { Intake, Stop } from "./intake.ts";
import type { Member } from "./intake.ts";
import { readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

/**
 * The one way in for bytes: a zip, a tar, a tar.gz or a form becomes files. Nothing is trusted (names, sizes, types,
 * checksums), nothing is repaired, and whatever can be told about a bad upload is told at once. At most the upload
 * and its unpacked files are held, since each is cut at its limit while it comes.
 */
export interface UploadRequest {
  contentType: string | null;
  body: ReadableStream<Uint8Array> | null;
  headers: Headers;
}

export interface Upload {
  /** Those that nothing is wrong with, in the order of the upload. */
  files: SkillFile[];
  /** The name of the one folder that wrapped everything, which was stripped. */
  folder?: string;
  findings: Finding[];
  /** False when `files` lacks some of the upload, so that a missing file says nothing. There is an error then. */
  isComplete: boolean;
}

type Reader = (body: Uint8Array, intake: Intake) => void;

const readTarGz: Reader = (body, intake) => readTar(gunzip(body), intake);
const readers: Readonly<Record<string, Reader>> = {
  "application/zip": readZip,
  "application/x-zip": readZip,
  "application/x-zip-compressed": readZip,
  "application/gzip": readTarGz,
  "application/x-gzip": readTarGz,
  "application/tar+gzip": readTarGz,
  "application/x-tar+gzip": readTarGz,
  "application/x-tgz": readTarGz,
  "application/x-compressed-tar": readTarGz,
  "application/x-gtar-compressed": readTarGz,
  "application/x-tar": (body, intake) => readTar([body], intake),
  "application/x-gtar": (body, intake) => readTar([body], intake),
};
const formType = "multipart/form-data";

/**
 * @throws Problem `unsupported_media_type`; `too_large` past maxUploadBytes. Everything else is a finding.
 */
export async function readUpload({ contentType, body, headers }: UploadRequest): Promise<Upload> {
  const read = chooseReader(contentType ?? "", headers.get("content-encoding"));
  if (Number(headers.get("content-length")) > maxUploadBytes) throw overLimit();
  const bytes = await readBounded(body, maxUploadBytes, overLimit);
  const intake = new Intake();
  try {
    read(bytes, intake);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    intake.remark(error.remark);
  }
  return judge(intake);
}

function chooseReader(contentType: string, contentEncoding: string | null): Reader {
  if (contentEncoding !== null && contentEncoding.toLowerCase() !== "identity") {
    throw problem(
      "unsupported_media_type",
      `Send the body without Content-Encoding, not as "${clip(contentEncoding)}".`,
    );
  }
  const type = contentType.split(";", 1)[0]!.trim().toLowerCase();
  if (Object.hasOwn(readers, type)) return readers[type]!;
  if (type === formType) {
    const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/iu.exec(contentType);
    const text = boundary?.[1] ?? boundary?.[2];
    if (text !== undefined) return (body, intake) => readForm(body, text, intake);
    throw problem("unsupported_media_type", `${formType} needs its boundary; let the client set the header itself.`);
  }
  throw problem(
    "unsupported_media_type",
    `Send application/zip, application/gzip (a .tar.gz), application/x-tar or ${formType}, not "${clip(contentType)}".`,
  );
}

function overLimit() {
  return problem("too_large", `The body has more than ${maxUploadBytes} bytes (maxUploadBytes).`);
}

function judge(intake: Intake): Upload {
  const { members } = intake;
  const folder = stripFolder(members);
  const findings = [
    ...intake.findings(),
    ...members.flatMap(memberFindings),
    ...pathSetFindings(members.filter(({ isUnnamed }) => isUnnamed !== true).map(({ path }) => path)),
  ];
  const seen = new Set<string>();
  const files: SkillFile[] = [];
  for (const { path, bytes, executable, isUnnamed } of members) {
    if (bytes === undefined || isUnnamed === true || seen.has(path) || pathFindings(path).length > 0) continue;
    seen.add(path);
    files.push(executable === undefined ? { path, bytes } : { path, bytes, executable });
  }
  const isComplete = files.length === members.length && !hasErrors(intake.findings());
  return { files, ...(folder === undefined ? {} : { folder }), findings, isComplete };
}

function memberFindings({ path, isUnnamed, remarks }: Member): Finding[] {
  return [
    ...remarks.map(({ code, message, fix }) => fileFinding("error", code, clip(path), { message, fix })),
    ...(isUnnamed === true ? [] : pathFindings(path)),
  ];
}

/**
 * Archives are made of a folder as often as of what is in it. One wrapping folder is stripped, unless SKILL.md already
 * lies at the root. The folder's own name has to be a plain one: stripping ".." would hide an escape.
 */
function stripFolder(members: readonly Member[]): string | undefined {
  if (members.some(({ path }) => path.toLowerCase() === skillMd.toLowerCase())) return undefined;
  const slash = members[0]?.path.indexOf("/") ?? -1;
  if (slash === -1) return undefined;
  const prefix = members[0]!.path.slice(0, slash + 1);
  const folder = prefix.slice(0, -1).normalize("NFC");
  if (pathFindings(folder).length > 0 || !members.every(({ path }) => path.startsWith(prefix))) return undefined;
  for (const member of members) member.path = member.path.slice(prefix.length);
  return folder;
}
