import { crc32 } from "./crc32.ts";
import { broken } from "./intake.ts";

/**
 * The central directory of a zip (APPNOTE.TXT 4.3.12 to 4.3.16), read strictly: it has to lie where the end record
 * says, hold as many entries as that says, and end where the end record begins. A zip that several tools could read
 * in several ways is broken.
 */
export interface ZipEntry {
  /** As stored: the local header repeats it. */
  name: Uint8Array;
  /** The same in UTF-8, where the archive says so apart (Info-ZIP's Unicode path field). */
  unicodeName: Uint8Array;
  flags: number;
  method: number;
  crc: number;
  compressedSize: number;
  size: number;
  /** Where the local header starts. */
  offset: number;
  /** Where the files end and the directory begins. */
  end: number;
  /** The Unix mode; undefined when the archive was not made on Unix or macOS, or says nothing. */
  mode: number | undefined;
}

const endSignature = 0x06054b50;
const endLength = 22;
const maxCommentLength = 0xffff;
const locatorSignature = 0x07064b50;
const locatorLength = 20;
const end64Signature = 0x06064b50;
const entrySignature = 0x02014b50;
const entryLength = 46;
/** What a 16-bit or 32-bit field holds when its value is in a zip64 field. */
const [in64Short, in64] = [0xffff, 0xffffffff];
const unix = new Set([3, 19]);

interface Directory {
  count: number;
  start: number;
  end: number;
}

/** @throws Stop when the directory is no directory, or lies */
export function* listZip(archive: Uint8Array): Generator<ZipEntry> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const directory = findDirectory(view);
  let at = directory.start;
  for (let index = 0; index < directory.count; index++) {
    if (at + entryLength > directory.end || view.getUint32(at, true) !== entrySignature) throw lies();
    const nameStart = at + entryLength;
    const extraStart = nameStart + view.getUint16(at + 28, true);
    const extraEnd = extraStart + view.getUint16(at + 30, true);
    const next = extraEnd + view.getUint16(at + 32, true);
    if (next > directory.end) throw lies();
    const extra = readExtra(archive.subarray(extraStart, extraEnd));
    yield readEntry(view, { at, name: archive.subarray(nameStart, extraStart), extra, end: directory.start });
    at = next;
  }
  if (at !== directory.end) throw lies();
}

function lies(): Error {
  return broken("The zip's central directory does not match its end record.");
}

function findDirectory(view: DataView): Directory {
  const end = findEnd(view);
  const directory = {
    count: view.getUint16(end + 10, true),
    size: view.getUint32(end + 12, true),
    start: view.getUint32(end + 16, true),
    end,
  };
  const isSplit = view.getUint16(end + 4, true) !== 0 || view.getUint16(end + 8, true) !== directory.count;
  const locator = end - locatorLength;
  if (locator >= 0 && view.getUint32(locator, true) === locatorSignature) {
    const record = read64(view, locator + 8);
    if (record + 56 > locator || view.getUint32(record, true) !== end64Signature) throw lies();
    const large = {
      count: read64(view, record + 32),
      size: read64(view, record + 40),
      start: read64(view, record + 48),
    };
    if (!agrees(directory.count, large.count, in64Short)) throw lies();
    if (!agrees(directory.size, large.size, in64) || !agrees(directory.start, large.start, in64)) throw lies();
    Object.assign(directory, large, { end: record });
  }
  if (isSplit || directory.start + directory.size !== directory.end) throw lies();
  return directory;
}

function agrees(small: number, large: number, placeholder: number): boolean {
  return small === large || small === placeholder;
}

/** The end record is the last thing in the file, so its comment has to reach exactly to the end. */
function findEnd(view: DataView): number {
  const last = view.byteLength - endLength;
  for (let at = last; at >= 0 && at >= last - maxCommentLength; at--) {
    if (view.getUint32(at, true) === endSignature && at + view.getUint16(at + 20, true) === last) return at;
  }
  throw broken(
    "The body is not a zip, or is cut off: it has no end record.",
    "Send the whole file; a .tar.gz goes as application/gzip, a .tar as application/x-tar.",
  );
}

/** Numbers past 2^53 exist only in lies: no upload is that long. */
function read64(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw lies();
  return Number(value);
}

const utf8Flag = 0x0800;
const extra64 = 0x0001;
const extraUnicodePath = 0x7075;

/** The extra fields by id. Some writers leave a stump at the end; it names nothing. */
function readExtra(bytes: Uint8Array): Map<number, DataView> {
  const fields = new Map<number, DataView>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = view.getUint16(at + 2, true);
    if (at + 4 + length > bytes.length) break;
    fields.set(view.getUint16(at, true), new DataView(bytes.buffer, bytes.byteOffset + at + 4, length));
    at += 4 + length;
  }
  return fields;
}

interface Raw {
  at: number;
  name: Uint8Array;
  extra: Map<number, DataView>;
  end: number;
}

function readEntry(view: DataView, { at, name, extra, end }: Raw): ZipEntry {
  const flags = view.getUint16(at + 8, true);
  const isUtf8 = (flags & utf8Flag) !== 0;
  const host = view.getUint16(at + 4, true) >>> 8;
  const mode = view.getUint32(at + 38, true) >>> 16;
  const large = extra.get(extra64);
  let used = 0;
  // A zip64 field holds, in this order, just those values whose own field holds the placeholder.
  const sizeAt = (offset: number): number => {
    const small = view.getUint32(at + offset, true);
    if (small !== in64) return small;
    if (large === undefined || used + 8 > large.byteLength) throw lies();
    used += 8;
    return read64(large, used - 8);
  };
  const size = sizeAt(24);
  const compressedSize = sizeAt(20);
  const offset = sizeAt(42);
  return {
    name,
    unicodeName: isUtf8 ? name : (findUnicodeName(extra, name) ?? name),
    flags,
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
    compressedSize,
    size,
    offset,
    end,
    mode: unix.has(host) && mode !== 0 ? mode : undefined,
  };
}

/** APPNOTE.TXT 4.6.9: it holds for the name whose CRC it carries, so that it lapses when a tool renames the entry. */
function findUnicodeName(extra: Map<number, DataView>, name: Uint8Array): Uint8Array | undefined {
  const field = extra.get(extraUnicodePath);
  if (field === undefined || field.byteLength < 5 || field.getUint8(0) !== 1) return undefined;
  if (field.getUint32(1, true) !== crc32(name)) return undefined;
  return new Uint8Array(field.buffer, field.byteOffset + 5, field.byteLength - 5);
}
