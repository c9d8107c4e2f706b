import { quote } from "../domain/file-path.ts";
import { crc32 } from "./crc32.ts";
import { Inflater } from "./inflate.ts";
import { broken, decodeName, Stop } from "./intake.ts";
import type { Intake, Member, Remark } from "./intake.ts";
import { listZip } from "./zip-directory.ts";
import type { ZipEntry } from "./zip-directory.ts";

/**
 * The files of a zip. The sizes in it are a claim: added up they are held against the limits before anything is
 * inflated, each then bounds the inflating of its file, and has to come true to the byte, as has its CRC.
 */
export function readZip(archive: Uint8Array, intake: Intake): void {
  const kept: { entry: ZipEntry; member: Member }[] = [];
  for (const entry of listZip(archive)) {
    const name = decodeName(entry.unicodeName);
    if (isFolder(entry, name)) continue;
    const member = intake.admit(name);
    if (member === undefined) continue;
    refuseUnreadable(entry, name);
    const special = specialType(entry);
    if (special !== undefined) member.remarks.push(special);
    else if (intake.weigh(member, entry.size)) kept.push({ entry, member });
  }
  for (const { entry, member } of kept) {
    const unpacked = unpack(entry, compressedBytes(archive, entry));
    if (unpacked instanceof Uint8Array) member.bytes = unpacked;
    else member.remarks.push(unpacked);
    const { mode } = entry;
    if (mode !== undefined) member.executable = (mode & 0o111) !== 0;
  }
}

const typeMask = 0o170000;
const regular = 0o100000;
const folder = 0o040000;
const link = 0o120000;

function isFolder({ size, mode = 0 }: ZipEntry, name: string): boolean {
  return size === 0 && (name.endsWith("/") || (mode & typeMask) === folder);
}

/** Links could lead out of the folder, and would not survive every way that a skill is read. */
function specialType({ mode = 0 }: ZipEntry): Remark | undefined {
  const type = mode & typeMask;
  if (type === 0 || type === regular) return undefined;
  if (type === link) {
    return {
      code: "link_refused",
      message: "The entry is a symbolic link.",
      fix: "Replace the link by a copy of the file.",
    };
  }
  return { code: "link_refused", message: "The entry is a device, pipe or socket.", fix: "Leave it out." };
}

const encryptedFlags = 0x2041;
const stored = 0;
const deflated = 8;

function refuseUnreadable({ flags, method }: ZipEntry, name: string): void {
  if (flags & encryptedFlags) {
    throw new Stop({
      code: "archive_encrypted",
      message: `The zip is encrypted (${quote(name)}).`,
      fix: "Make the archive without a password.",
    });
  }
  if (method === stored || method === deflated) return;
  throw new Stop({
    code: "archive_method",
    message: `${quote(name)} is compressed by method ${method}; only stored (0) and deflated (8) can be read.`,
    fix: 'Make the zip with the method "deflate", or send a .tar.gz.',
  });
}

const localSignature = 0x04034b50;
const localLength = 30;
const hasDescriptor = 0x0008;
const in64 = 0xffffffff;

/** The local header has to agree with the directory: tools that trust the one or the other would see other files. */
function compressedBytes(archive: Uint8Array, entry: ZipEntry): Uint8Array {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const { offset, name, end } = entry;
  const lies = () => broken(`The zip has no matching local header for ${quote(decodeName(name))}.`);
  if (offset + localLength > end || view.getUint32(offset, true) !== localSignature) throw lies();
  const nameStart = offset + localLength;
  const nameEnd = nameStart + view.getUint16(offset + 26, true);
  const start = nameEnd + view.getUint16(offset + 28, true);
  if (start + entry.compressedSize > end) throw lies();
  const localName = archive.subarray(nameStart, nameEnd);
  if (localName.length !== name.length || localName.some((byte, at) => byte !== name[at])) throw lies();
  if (view.getUint16(offset + 8, true) !== entry.method) throw lies();
  if (!(entry.flags & hasDescriptor)) {
    const claims = [entry.crc, entry.compressedSize, entry.size];
    for (const [index, claim] of claims.entries()) {
      const local = view.getUint32(offset + 14 + 4 * index, true);
      if (local !== claim && local !== in64) throw lies();
    }
  }
  return archive.subarray(start, start + entry.compressedSize);
}

function unpack({ method, size, crc }: ZipEntry, compressed: Uint8Array): Uint8Array | Remark {
  const bytes = method === stored ? compressed.slice() : inflate(compressed, size);
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (bytes.length !== size) return damaged(`The file unpacks to ${bytes.length} bytes; the zip declares ${size}.`);
  return crc32(bytes) === crc ? bytes : damaged("The file's CRC-32 does not match: its bytes are damaged.");
}

function inflate(compressed: Uint8Array, size: number): Uint8Array | Remark {
  const bytes = new Uint8Array(size);
  const inflater = new Inflater(compressed);
  let length = 0;
  try {
    for (const chunk of inflater) {
      if (length + chunk.length > size)
        return damaged(`The file unpacks to more than the ${size} bytes that the zip declares.`);
      bytes.set(chunk, length);
      length += chunk.length;
    }
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    return damaged(error.message);
  }
  if (inflater.at !== compressed.length) return damaged("The file's compressed data ends before its entry does.");
  return bytes.subarray(0, length);
}

function damaged(message: string): Remark {
  return { code: "file_damaged", message, fix: "Make the archive again and send it whole." };
}
