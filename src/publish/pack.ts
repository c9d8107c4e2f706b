import { deflateSync, gzipSync } from "fflate";
import { packTar } from "modern-tar";

import type { SkillFile } from "../domain/entry.ts";
import { skillMd } from "../domain/uri.ts";
import { crc32 } from "./crc32.ts";

/**
 * The way out as archives. The same files give the same bytes on every machine and at every time: SKILL.md first and
 * the rest by path, the earliest time that the format knows, no owner, one of two modes, and no folder around it.
 * Compressed by fflate and not by the platform, whose zlib changes with the runtime.
 */
const [fileMode, programMode] = [0o644, 0o755];
const utf8 = new TextEncoder();

export async function packTarGz(files: readonly SkillFile[]): Promise<Uint8Array> {
  const entries = inOrder(files).map(({ path, bytes, executable }) => ({
    header: {
      name: path,
      size: bytes.length,
      mode: executable === true ? programMode : fileMode,
      mtime: new Date(0),
      type: "file" as const,
      uid: 0,
      gid: 0,
      // The name field of ustar is bytes of no said encoding; that of a PAX record is UTF-8.
      ...(/^[ -~]*$/u.test(path) ? {} : { pax: { path } }),
    },
    body: bytes,
  }));
  return gzipSync(await packTar(entries), { mtime: 0 });
}

const localSignature = 0x04034b50;
const entrySignature = 0x02014b50;
const endSignature = 0x06054b50;
/** Deflate and folders, as of PKZIP 2.0; the high byte says that the modes are those of Unix. */
const versionNeeded = 20;
const versionMadeBy = 0x0300 | versionNeeded;
const utf8Flag = 0x0800;
const [stored, deflated] = [0, 8];
/** 1980-01-01 00:00:00, the first moment of a zip. */
const [time, date] = [0, 0x0021];
const regularFile = 0o100000;

/** Written here because fflate sorts names that look like numbers to the front. */
export function packZip(files: readonly SkillFile[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { path, bytes, executable } of inOrder(files)) {
    const name = utf8.encode(path);
    const squeezed = deflateSync(bytes);
    const [method, data] = squeezed.length < bytes.length ? [deflated, squeezed] : [stored, bytes];
    const common = [
      [versionNeeded, 2],
      [utf8Flag, 2],
      [method, 2],
      [time, 2],
      [date, 2],
      [crc32(bytes), 4],
      [data.length, 4],
      [bytes.length, 4],
      [name.length, 2],
      [0, 2],
    ] as const;
    const attributes = ((regularFile | (executable === true ? programMode : fileMode)) << 16) >>> 0;
    const local = record([[localSignature, 4], ...common]);
    const none = [0, 2] as const;
    directory.push(
      record([[entrySignature, 4], [versionMadeBy, 2], ...common, none, none, none, [attributes, 4], [offset, 4]]),
      name,
    );
    parts.push(local, name, data);
    offset += local.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  return join([...parts, ...directory, endRecord(files.length, size, offset)]);
}

function endRecord(count: number, size: number, offset: number): Uint8Array {
  return record([
    [endSignature, 4],
    [0, 2],
    [0, 2],
    [count, 2],
    [count, 2],
    [size, 4],
    [offset, 4],
    [0, 2],
  ]);
}

/** Little-endian numbers, each with its width in bytes. */
function record(fields: readonly (readonly [value: number, width: 2 | 4])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, width]) => sum + width, 0)));
  let at = 0;
  for (const [value, width] of fields) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  return new Uint8Array(view.buffer);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** By code units, as the manifest is: a collation would change with the machine. */
function inOrder(files: readonly SkillFile[]): SkillFile[] {
  return files.toSorted((a, b) => Number(b.path === skillMd) - Number(a.path === skillMd) || compare(a.path, b.path));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
