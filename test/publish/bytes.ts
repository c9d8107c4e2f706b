import { crc32 } from "../../src/publish/crc32.ts";

/** Hand-made zips, tars and forms: what no well-behaved tool writes. */
export const bytesOf = (text: string) => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

export function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes no compressor can shrink, the same in every run. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/** What an equality of test runners takes a minute for. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function little(...fields: [value: number, width: number][]): Uint8Array {
  return concat(
    ...fields.map(([value, width]) =>
      Uint8Array.from({ length: width }, (_, at) => Math.floor(value / 256 ** at) % 256),
    ),
  );
}

export interface RawEntry {
  name: string | Uint8Array;
  /** As it lies in the archive. */
  data?: Uint8Array;
  size?: number;
  compressedSize?: number;
  crc?: number;
  method?: number;
  flags?: number;
  /** 3 is Unix, 0 is DOS. */
  host?: number;
  mode?: number;
  extra?: Uint8Array;
  local?: { name?: string; crc?: number; size?: number; method?: number };
}

export interface RawEnd {
  count?: number;
  start?: number;
  comment?: Uint8Array;
  /** Adds a zip64 end record whose count is this. */
  count64?: number;
}

export function rawZip(entries: RawEntry[], end: RawEnd = {}): Uint8Array<ArrayBuffer> {
  const files: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { data = new Uint8Array(), flags = 0x0800, method = 0, host = 3, mode = 0o100644, local = {} } = entry;
    const { extra = new Uint8Array() } = entry;
    const name = typeof entry.name === "string" ? bytesOf(entry.name) : entry.name;
    const { crc = crc32(data), size = data.length, compressedSize = data.length } = entry;
    const localName = local.name === undefined ? name : bytesOf(local.name);
    const head = little(
      [0x04034b50, 4],
      [20, 2],
      [flags, 2],
      [local.method ?? method, 2],
      [0, 4],
      [local.crc ?? crc, 4],
      [compressedSize, 4],
      [local.size ?? size, 4],
      [localName.length, 2],
      [0, 2],
    );
    directory.push(
      little(
        [0x02014b50, 4],
        [host * 256 + 20, 2],
        [20, 2],
        [flags, 2],
        [method, 2],
        [0, 4],
        [crc, 4],
        [compressedSize, 4],
        [size, 4],
        [name.length, 2],
        [extra.length, 2],
        [0, 2],
        [0, 4],
        [mode * 65536, 4],
        [offset, 4],
      ),
      name,
      extra,
    );
    files.push(head, localName, data);
    offset += head.length + localName.length + data.length;
  }
  return concat(...files, ...directory, rawEnd(entries.length, concat(...directory).length, offset, end));
}

function rawEnd(entries: number, size: number, offset: number, end: RawEnd): Uint8Array {
  const { count = entries, start = offset, comment = new Uint8Array(), count64 } = end;
  const large =
    count64 === undefined
      ? []
      : [
          little([0x06064b50, 4], [44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [count64, 8], [count64, 8]),
          little([size, 8], [start, 8]),
          little([0x07064b50, 4], [0, 4], [offset + size, 8], [1, 4]),
        ];
  const last = little([0x06054b50, 4], [0, 4], [count, 2], [count, 2], [size, 4], [start, 4], [comment.length, 2]);
  return concat(...large, last, comment);
}

/** One header block of a tar, its checksum right. */
export function tarHeader(fields: { name: string; size?: number; type?: string; mode?: number; link?: string }) {
  const block = new Uint8Array(512);
  const put = (at: number, text: string | Uint8Array) => block.set(typeof text === "string" ? bytesOf(text) : text, at);
  const octal = (value: number, width: number) => value.toString(8).padStart(width, "0");
  put(0, bytesOf(fields.name).subarray(0, 100));
  put(100, octal(fields.mode ?? 0o644, 7));
  put(124, octal(fields.size ?? 0, 11));
  put(136, octal(0, 11));
  put(148, "        ");
  put(156, fields.type ?? "0");
  put(157, fields.link ?? "");
  put(257, "ustar\u000000");
  put(
    148,
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\u0000 `,
  );
  return block;
}

export function tarEntry(fields: Parameters<typeof tarHeader>[0], content: string | Uint8Array = "") {
  const bytes = typeof content === "string" ? bytesOf(content) : content;
  const padding = new Uint8Array((512 - (bytes.length % 512)) % 512);
  return concat(tarHeader({ size: bytes.length, ...fields }), bytes, padding);
}

export const tarEnd = new Uint8Array(1024);

/** One record of a PAX header, whose length counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = bytesOf(rest).length;
  const total = [1, 2, 3, 4, 5].map((digits) => length + digits).find((sum, at) => String(sum).length === at + 1);
  return `${total}${rest}`;
}
