import { Inflate } from "fflate";

import { broken } from "./intake.ts";

/**
 * DEFLATE and gzip, pulled: nothing is inflated before the reader asks for more, so a bomb costs what its reader is
 * willing to take. The platform's DecompressionStream cannot do that: it has no backpressure, and inflates whatever
 * is written to it into memory of its own, at a ratio of up to 1032, before the first read.
 */

/** The most that one step may inflate to is this times 1032, about 4 MiB. */
const stepBytes = 4096;

/** @throws Stop when the data is damaged. Bytes after the end of the data are ignored: callers check a CRC. */
export function* inflate(compressed: Uint8Array): Generator<Uint8Array> {
  const ready: Uint8Array[] = [];
  const inflater = new Inflate((chunk) => {
    if (chunk.length > 0) ready.push(chunk);
  });
  for (let at = 0; at < compressed.length; at += stepBytes) {
    try {
      inflater.push(compressed.subarray(at, at + stepBytes), at + stepBytes >= compressed.length);
    } catch {
      throw broken("The compressed data is damaged.");
    }
    yield* ready.splice(0);
  }
}

/**
 * The content of a gzip file of one member (RFC 1952), checked against the length and CRC at its end.
 * @throws Stop when it is no gzip, damaged or cut
 */
export function* gunzip(archive: Uint8Array): Generator<Uint8Array> {
  const start = gzipHeaderLength(archive);
  const end = archive.length - 8;
  if (end < start) throw broken("The gzip file is cut off.");
  let crc = 0;
  let length = 0;
  for (const chunk of inflate(archive.subarray(start, end))) {
    crc = crc32(chunk, crc);
    length += chunk.length;
    yield chunk;
  }
  const view = new DataView(archive.buffer, archive.byteOffset + end, 8);
  if (view.getUint32(0, true) !== crc || view.getUint32(4, true) !== length % 2 ** 32) {
    throw broken("The gzip checksum does not match: the file is damaged, cut off, or several gzip files in one.");
  }
}

function gzipHeaderLength(archive: Uint8Array): number {
  const [magic1, magic2, method, flags = 0] = archive;
  if (magic1 !== 0x1f || magic2 !== 0x8b || method !== 8) {
    throw broken(
      "The body is not gzip.",
      "Send a .tar.gz as application/gzip, a .tar as application/x-tar, a .zip as application/zip.",
    );
  }
  let at = 10;
  if (flags & 4) at += 2 + archive[at]! + archive[at + 1]! * 256;
  for (const text of [8, 16]) if (flags & text) at = archive.indexOf(0, at) + 1 || archive.length;
  return flags & 2 ? at + 2 : at;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 as zip and gzip use it; `previous` is the CRC of the bytes before. fflate checks none. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  let crc = ~previous;
  for (let at = 0; at < bytes.length; at++) crc = crcTable[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
