import { maxSkillBytes, maxUploadBytes } from "../domain/limits.ts";
import { broken, tooLarge } from "./intake.ts";

/** Junk and headers are unpacked as well as files, so the files' own limit does not bound them. */
const maxUnpackedBytes = maxSkillBytes + maxUploadBytes;

/** Bytes by the number asked for, out of chunks as they come. It never holds more than one chunk. */
export class ByteSource {
  readonly #chunks: Iterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();
  #total = 0;

  constructor(chunks: Iterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.iterator]();
  }

  /** @throws Stop when fewer are left */
  take(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    this.#consume(count, (part, at) => bytes.set(part, at));
    return bytes;
  }

  /** @throws Stop when fewer are left */
  skip(count: number): void {
    this.#consume(count, () => {});
  }

  /** @throws Stop when anything but zeros is left */
  endWithZeros(): void {
    do {
      if (this.#chunk.some((byte) => byte !== 0)) throw broken("The tar has bytes after its end.");
    } while (this.#next());
  }

  #consume(count: number, each: (part: Uint8Array, at: number) => void): void {
    for (let at = 0; at < count;) {
      if (this.#chunk.length === 0 && !this.#next()) throw broken("The tar is cut off, or the body is no tar.");
      const part = this.#chunk.subarray(0, count - at);
      each(part, at);
      at += part.length;
      this.#chunk = this.#chunk.subarray(part.length);
    }
  }

  #next(): boolean {
    const { done, value } = this.#chunks.next();
    if (done === true) return false;
    this.#chunk = value;
    this.#total += value.length;
    if (this.#total > maxUnpackedBytes) {
      throw tooLarge(`The archive unpacks to more than ${maxUnpackedBytes} bytes (maxSkillBytes + maxUploadBytes).`);
    }
    return true;
  }
}
