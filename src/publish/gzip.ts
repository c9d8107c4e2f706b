import { maxGzipMembers } from "../domain/limits.ts";
import { crc32 } from "./crc32.ts";
import { Inflater } from "./inflate.ts";
import { broken } from "./intake.ts";

/**
 * The content of a gzip file (RFC 1952), each member checked against the CRC and length at its end. Several members
 * in a row are one file: parallel compressors write them.
 * @throws Stop when it is no gzip, damaged, cut off or followed by something else
 */
export function* gunzip(archive: Uint8Array): Generator<Uint8Array> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  let at = 0;
  let members = 0;
  do {
    if (++members > maxGzipMembers) {
      throw broken(`The gzip file has more than ${maxGzipMembers} members (maxGzipMembers).`);
    }
    const inflater = new Inflater(archive, at + headerLength(archive, at));
    let crc = 0;
    let length = 0;
    for (const chunk of inflater) {
      crc = crc32(chunk, crc);
      length += chunk.length;
      yield chunk;
    }
    const end = inflater.at;
    if (end + 8 > archive.length) throw broken("The gzip file is cut off.");
    if (view.getUint32(end, true) !== crc || view.getUint32(end + 4, true) !== length % 2 ** 32) {
      throw broken("The gzip checksum does not match: the file is damaged.");
    }
    at = end + 8;
  } while (at < archive.length);
}

const [hasHeaderCrc, hasExtra, hasName, hasComment] = [2, 4, 8, 16];

function headerLength(archive: Uint8Array, start: number): number {
  const [magic1, magic2, method, flags = 0] = archive.subarray(start, start + 4);
  if (magic1 !== 0x1f || magic2 !== 0x8b || method !== 8) {
    throw broken(
      start === 0 ? "The body is not gzip." : "The gzip file has bytes after its end.",
      "Send a .tar.gz as application/gzip, a .tar as application/x-tar, a .zip as application/zip.",
    );
  }
  let at = start + 10;
  if (flags & hasExtra) at += 2 + (archive[at] ?? 0) + (archive[at + 1] ?? 0) * 256;
  for (const text of [hasName, hasComment]) if (flags & text) at = archive.indexOf(0, at) + 1 || archive.length;
  return (flags & hasHeaderCrc ? at + 2 : at) - start;
}
