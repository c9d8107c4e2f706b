import { readChunkBytes } from "../domain/limits.ts";
import { logFailure } from "../log.ts";
import { jsonEscaper } from "./json-escape.ts";

/**
 * A file as the inside of a JSON string, piece by piece: exactly what JSON.stringify makes of its text or its base64,
 * while only `readChunkBytes` of it are in memory, and at the pace of whoever reads the answer.
 */
export interface FilePart {
  isText: boolean;
  open(): Promise<ReadableStream>;
}

const encoder = new TextEncoder();

/** Texts and files, one after the other. */
export function streamOf(parts: readonly (string | FilePart)[]): ReadableStream<Uint8Array> {
  // A write to this kind of stream ends once all of it has been taken, so that one buffer serves a whole file: buffers
  // thrown away pile up until the next garbage collection, sixteen readers at once by more than 100 MiB.
  const { readable, writable } = new IdentityTransformStream();
  const writer: WritableStreamDefaultWriter<Uint8Array> = writable.getWriter();
  // Either side may end early: the reader leaves, or the storage fails and the answer with it.
  writeAll(parts, writer).catch((error: unknown) => writer.abort(error).catch(() => undefined));
  return readable;
}

async function writeAll(
  parts: readonly (string | FilePart)[],
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  for (const part of parts) {
    if (typeof part === "string") await writer.write(encoder.encode(part));
    else await writeFile(part, writer);
  }
  await writer.close();
}

async function writeFile(file: FilePart, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  const encode = file.isText ? jsonEscaper(readChunkBytes) : base64Encoder(readChunkBytes);
  const reader = (await file.open()).getReader({ mode: "byob" });
  try {
    let buffer = new ArrayBuffer(readChunkBytes);
    for (let isLast = false; !isLast;) {
      // Full chunks up to the last one, so that base64 is padded at the end of the file only.
      const { value, done } = await reader.readAtLeast(readChunkBytes, new Uint8Array(buffer)).catch(logged);
      isLast = done || value.byteLength < readChunkBytes;
      if (value === undefined || value.byteLength === 0) continue;
      await writer.write(encode(value));
      buffer = value.buffer as ArrayBuffer;
    }
  } finally {
    await reader.cancel();
  }
}

/** An answer that has begun can only break off, so this is the one place that knows why. */
function logged(error: unknown): never {
  logFailure("mcp", error);
  throw error;
}

function base64Encoder(maxBytes: number): (bytes: Uint8Array) => Uint8Array {
  const out = new Uint8Array(Math.ceil(maxBytes / 3) * 4);
  return (bytes) => out.subarray(0, encoder.encodeInto(toBase64(bytes), out).written);
}

/** Whether the bytes are lossless UTF-8: for rows that do not know it, at the price of reading the file twice. */
export async function isTextStream(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const accepts = (bytes?: Uint8Array) => {
    try {
      decoder.decode(bytes, { stream: bytes !== undefined });
      return true;
    } catch {
      return false;
    }
  };
  for await (const chunk of body) if (!accepts(chunk)) return false;
  return accepts();
}

/** Native, and five times as fast as building a binary string; the type library does not know it yet. */
export function toBase64(bytes: Uint8Array): string {
  return (bytes as Uint8Array & { toBase64(): string }).toBase64();
}
