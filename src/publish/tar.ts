import { quote } from "../domain/file-path.ts";
import { maxSkillBytes } from "../domain/limits.ts";
import { ByteSource } from "./byte-source.ts";
import { broken, decodeName } from "./intake.ts";
import type { Intake, Remark } from "./intake.ts";

/**
 * The files of a tar: ustar with PAX records (POSIX.1-2024 pax) and GNU long names, in one pass over bytes that come
 * as they are inflated. Our own reader, since modern-tar takes every unknown type for a file (a GNU sparse file would
 * be published with its holes cut out), skips PAX records that it cannot parse, and reads names that are no UTF-8.
 */
const blockBytes = 512;
const types = {
  file: new Set(["0", "\0", "7"]),
  folder: "5",
  link: new Set(["1", "2"]),
  device: new Set(["3", "4", "6"]),
  pax: "x",
  paxGlobal: "g",
  gnuName: "L",
  gnuLink: "K",
};

/** The extended records that decide what an entry is; the rest are times and owners. An empty value undoes one. */
interface Extended {
  path?: string;
  linkpath?: string;
  size?: string;
  isSparse?: boolean;
}

/** @throws Stop when it is no tar, damaged, cut off, or unpacks to too much */
export function readTar(chunks: Iterable<Uint8Array>, intake: Intake): void {
  const source = new ByteSource(chunks);
  const global: Extended = {};
  let local: Extended = {};
  for (let header = readHeader(source); header !== undefined; header = readHeader(source)) {
    switch (header.type) {
      case types.pax:
        Object.assign(local, parsePax(readMeta(source, header)));
        break;
      case types.paxGlobal:
        Object.assign(global, parsePax(readMeta(source, header)));
        break;
      case types.gnuName:
        local.path = text(readMeta(source, header));
        break;
      case types.gnuLink:
        local.linkpath = text(readMeta(source, header));
        break;
      default:
        readEntry({ source, header, extended: { ...global, ...local } }, intake);
        local = {};
    }
  }
  source.endWithZeros();
}

interface Header {
  name: string;
  linkname: string;
  type: string;
  size: number;
  mode: number;
}

/** Undefined at the block of zeros that ends the archive. */
function readHeader(source: ByteSource): Header | undefined {
  const block = source.take(blockBytes);
  if (block.every((byte) => byte === 0)) return undefined;
  let sum = 0;
  for (let at = 0; at < blockBytes; at++) sum += at >= 148 && at < 156 ? 32 : block[at]!;
  if (sum !== parseNumber(block.subarray(148, 156))) {
    throw broken("The tar has a header with a wrong checksum: it is damaged, or the body is no tar.");
  }
  const name = text(block.subarray(0, 100));
  // GNU's own format has no prefix there but times; its magic ends in spaces.
  const isUstar = text(block.subarray(257, 263)) === "ustar";
  const prefix = isUstar ? text(block.subarray(345, 500)) : "";
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    linkname: text(block.subarray(157, 257)),
    type: String.fromCharCode(block[156]!),
    size: parseNumber(block.subarray(124, 136)),
    mode: parseNumber(block.subarray(100, 108)),
  };
}

interface Entry {
  source: ByteSource;
  header: Header;
  extended: Extended;
}

function readEntry({ source, header, extended }: Entry, intake: Intake): void {
  const { type, mode } = header;
  const name = extended.path || header.name;
  // Before there was a type for folders, a slash at the end of a file's name made it one.
  if (type === types.folder || (types.file.has(type) && name.endsWith("/"))) return;
  const hasBody = !types.link.has(type) && !types.device.has(type);
  const size = hasBody ? (parseSize(extended.size) ?? header.size) : 0;
  const member = intake.admit(name);
  if (member === undefined) return source.skip(padded(size));
  const special = specialType(type, extended, extended.linkpath || header.linkname);
  if (special !== undefined) member.remarks.push(special);
  if (special !== undefined || !intake.weigh(member, size)) return source.skip(padded(size));
  member.executable = (mode & 0o111) !== 0;
  member.bytes = source.take(size);
  source.skip(padded(size) - size);
}

function specialType(type: string, extended: Extended, target: string): Remark | undefined {
  if (types.link.has(type)) {
    const kind = type === "1" ? "a hard link" : "a symbolic link";
    const fix = "Replace the link by a copy of the file (tar --dereference --hard-dereference).";
    return { code: "link_refused", message: `The entry is ${kind} to ${quote(target)}.`, fix };
  }
  if (types.device.has(type)) {
    return { code: "link_refused", message: "The entry is a device or pipe.", fix: "Leave it out." };
  }
  if (types.file.has(type) && extended.isSparse !== true) return undefined;
  const kind = extended.isSparse === true ? "a sparse file" : `of the tar type ${quote(type)}`;
  return {
    code: "type_refused",
    message: `The entry is ${kind}; only regular files and folders can be read.`,
    fix: "Make the archive with plain `tar -cz`, without --sparse, --label or --listed-incremental.",
  };
}

/** The content of a header that extends the next one. A long one is an attack: the path limit is 255 bytes. */
function readMeta(source: ByteSource, { size }: Header): Uint8Array {
  if (size > maxSkillBytes) throw broken(`The tar has an extended header of ${size} bytes.`);
  const bytes = source.take(size);
  source.skip(padded(size) - size);
  return bytes;
}

const [space, equals, newline] = [0x20, 0x3d, 0x0a];

/** Records are `length key=value\n`, where the length counts itself. */
function parsePax(bytes: Uint8Array): Extended {
  const extended: Extended = {};
  for (let at = 0; at < bytes.length;) {
    const valueAt = bytes.indexOf(equals, at) + 1;
    const keyAt = bytes.indexOf(space, at) + 1;
    const length = keyAt === 0 ? "" : text(bytes.subarray(at, Math.min(keyAt - 1, at + 10)));
    const end = at + Number(length);
    if (!/^[1-9]\d*$/u.test(length) || keyAt >= valueAt || valueAt >= end || bytes[end - 1] !== newline) {
      throw broken("The tar has an extended header that cannot be read.");
    }
    // A long value is never a key, and only short keys are of interest.
    const key = text(bytes.subarray(keyAt, Math.min(valueAt - 1, keyAt + 100)));
    if (key === "path" || key === "linkpath" || key === "size") {
      extended[key] = decodeName(bytes.subarray(valueAt, end - 1));
    } else if (key.startsWith("GNU.sparse.")) {
      extended.isSparse = true;
    }
    at = end;
  }
  return extended;
}

function parseSize(size: string | undefined): number | undefined {
  if (size === undefined || size === "") return undefined;
  if (!/^\d{1,15}$/u.test(size)) throw broken(`The tar has an entry of the size ${quote(size)}.`);
  return Number(size);
}

/** Octal digits between spaces and NULs; a number too large for them is binary, marked by the first bit (GNU). */
function parseNumber(field: Uint8Array): number {
  if (field[0]! & 0x80) return field.subarray(1).reduce((value, byte) => value * 256 + byte, field[0]! & 0x7f);
  const digits = text(field).trim();
  if (!/^[0-7]*$/u.test(digits)) throw broken("The tar has a header with a number that cannot be read.");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

/** The text of a field, which ends at the first NUL. */
function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  return decodeName(end === -1 ? field : field.subarray(0, end));
}

function padded(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes;
}
