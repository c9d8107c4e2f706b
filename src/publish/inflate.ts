import { broken } from "./intake.ts";
import type { Stop } from "./intake.ts";

/**
 * DEFLATE (RFC 1951), pulled: nothing is inflated before the reader asks for more, so a bomb costs what its reader is
 * willing to take. The two at hand cannot do that. The platform's DecompressionStream has no backpressure: it inflates
 * whatever is written to it into memory of its own, up to 1032 times as much, before the first read. fflate builds
 * tables of 32,768 entries for every block, and blocks can be as short as 12 bytes: 20 MiB of them take it two minutes.
 */
const windowBytes = 32_768;
/** How much is inflated in one step. */
const stepBytes = 32_768;
const longestMatch = 258;
const longestCode = 15;
const fastBits = 9;

/** A Huffman code: short codes by table, longer ones bit by bit. */
interface Code {
  /** By the next `fastBits` bits: symbol × 16 + length; 0 for longer codes. */
  fast: Uint16Array;
  /** How many codes there are of each length. */
  counts: Uint16Array;
  /** Symbols in the order of their codes. */
  symbols: Uint16Array;
}

const newCode = (): Code => ({
  fast: new Uint16Array(1 << fastBits),
  counts: new Uint16Array(longestCode + 1),
  symbols: new Uint16Array(288),
});

// Reused, since a hostile stream defines codes every few bytes; each call starts them afresh.
const index = new Uint16Array(longestCode + 2);
const next = new Uint16Array(longestCode + 2);

/** @throws Stop for code lengths that are no code */
function defineCode(code: Code, lengths: Uint8Array, mayBeIncomplete: boolean): Code {
  const { counts, symbols, fast } = code;
  counts.fill(0);
  for (let symbol = 0; symbol < lengths.length; symbol++) counts[lengths[symbol]!]!++;
  counts[0] = index[1] = next[1] = 0;
  let left = 1;
  for (let length = 1; length <= longestCode; length++) {
    left = left * 2 - counts[length]!;
    if (left < 0) throw damaged();
    index[length + 1] = index[length]! + counts[length]!;
    next[length + 1] = (next[length]! + counts[length]!) << 1;
  }
  // One lone code of one bit, or none at all, is how encoders say that there are no or only equal distances.
  if (left > 0 && !(mayBeIncomplete && index[longestCode + 1] === counts[1])) throw damaged();
  fast.fill(0);
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol]!;
    if (length === 0) continue;
    symbols[index[length]!++] = symbol;
    const bits = reverse(next[length]!++, length);
    if (length > fastBits) continue;
    for (let at = bits; at < fast.length; at += 1 << length) fast[at] = symbol * 16 + length;
  }
  return code;
}

function reverse(bits: number, length: number): number {
  let reversed = 0;
  for (let at = 0; at < length; at++) reversed |= ((bits >> at) & 1) << (length - 1 - at);
  return reversed;
}

function damaged(): Stop {
  return broken("The compressed data is damaged.");
}

const lengthBase = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const lengthExtra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const distanceBase = Array.from({ length: 30 }, (_, at) => (at < 4 ? at + 1 : ((2 + (at & 1)) << ((at >> 1) - 1)) + 1));
const distanceExtra = distanceBase.map((_, at) => (at < 4 ? 0 : (at >> 1) - 1));
const lengthsOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const endOfBlock = 256;

const fixedLengths = new Uint8Array(288).fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280).fill(8, 280);
const fixedLiterals = defineCode(newCode(), fixedLengths, false);
const fixedDistances = defineCode(newCode(), new Uint8Array(32).fill(5), false);

/** The inflated bytes in chunks. `at` is where the data ended, once all are read. */
export class Inflater implements Iterable<Uint8Array> {
  readonly #input: Uint8Array;
  #at: number;
  #hold = 0;
  #bits = 0;
  /** What went before, as far back as a match can reach, then what is new. */
  readonly #out = new Uint8Array(windowBytes + stepBytes + longestMatch);
  #end = 0;
  #block: "none" | "stored" | "codes" = "none";
  #isLast = false;
  #storedLeft = 0;
  readonly #ownLiterals = newCode();
  readonly #ownDistances = newCode();
  readonly #lengths = new Uint8Array(286 + 30);
  #literals = fixedLiterals;
  #distances = fixedDistances;

  constructor(input: Uint8Array, at = 0) {
    this.#input = input;
    this.#at = at;
  }

  get at(): number {
    return this.#at - (this.#bits >> 3);
  }

  /** @throws Stop when the data is damaged or cut off */
  *[Symbol.iterator](): Generator<Uint8Array> {
    while (this.#block !== "none" || !this.#isLast) {
      const start = this.#end;
      while (this.#end < start + stepBytes && (this.#block !== "none" || !this.#isLast)) this.#step(start + stepBytes);
      if (this.at > this.#input.length) throw damaged();
      if (this.#end > start) yield this.#out.slice(start, this.#end);
      if (this.#end > windowBytes) {
        this.#out.copyWithin(0, this.#end - windowBytes, this.#end);
        this.#end = windowBytes;
      }
    }
  }

  #step(limit: number): void {
    if (this.#block === "stored") this.#copyStored(limit);
    else if (this.#block === "codes") this.#copyCodes(limit);
    else this.#startBlock();
  }

  #startBlock(): void {
    this.#isLast = this.#take(1) === 1;
    const type = this.#take(2);
    if (type === 3) throw damaged();
    this.#block = type === 0 ? "stored" : "codes";
    if (type === 0) this.#startStored();
    else if (type === 2) this.#readCodes();
    else [this.#literals, this.#distances] = [fixedLiterals, fixedDistances];
  }

  #startStored(): void {
    this.#take(this.#bits & 7);
    const length = this.#take(16);
    if ((length ^ this.#take(16)) !== 0xffff) throw damaged();
    this.#at = this.at;
    this.#hold = this.#bits = 0;
    this.#storedLeft = length;
  }

  #copyStored(limit: number): void {
    const count = Math.min(this.#storedLeft, limit - this.#end);
    if (this.#at + count > this.#input.length) throw damaged();
    this.#out.set(this.#input.subarray(this.#at, this.#at + count), this.#end);
    this.#at += count;
    this.#end += count;
    this.#storedLeft -= count;
    if (this.#storedLeft === 0) this.#block = "none";
  }

  #copyCodes(limit: number): void {
    const out = this.#out;
    while (this.#end < limit) {
      const symbol = this.#decode(this.#literals);
      if (symbol < endOfBlock) out[this.#end++] = symbol;
      else if (symbol === endOfBlock) {
        this.#block = "none";
        return;
      } else this.#copyMatch(symbol - endOfBlock - 1);
    }
  }

  #copyMatch(symbol: number): void {
    if (symbol >= lengthBase.length) throw damaged();
    const length = lengthBase[symbol]! + this.#take(lengthExtra[symbol]!);
    const far = this.#decode(this.#distances);
    if (far >= distanceBase.length) throw damaged();
    const distance = distanceBase[far]! + this.#take(distanceExtra[far]!);
    if (distance > this.#end) throw damaged();
    const out = this.#out;
    const end = this.#end + length;
    for (let at = this.#end; at < end; at++) out[at] = out[at - distance]!;
    this.#end = end;
  }

  #readCodes(): void {
    const literals = this.#take(5) + 257;
    const distances = this.#take(5) + 1;
    const count = this.#take(4) + 4;
    if (literals > 286 || distances > 30) throw damaged();
    const lengths = this.#lengths.subarray(0, literals + distances).fill(0);
    for (let at = 0; at < count; at++) lengths[lengthsOrder[at]!] = this.#take(3);
    const code = defineCode(this.#ownDistances, lengths.subarray(0, 19), false);
    lengths.fill(0);
    for (let at = 0; at < lengths.length;) {
      const symbol = this.#decode(code);
      if (symbol === 16 && at === 0) throw damaged();
      const value = symbol < 16 ? symbol : symbol === 16 ? lengths[at - 1]! : 0;
      const end = at + this.#takeRepeats(symbol);
      if (end > lengths.length) throw damaged();
      while (at < end) lengths[at++] = value;
    }
    if (lengths[endOfBlock] === 0) throw damaged();
    this.#literals = defineCode(this.#ownLiterals, lengths.subarray(0, literals), true);
    this.#distances = defineCode(this.#ownDistances, lengths.subarray(literals), true);
  }

  #takeRepeats(symbol: number): number {
    if (symbol < 16) return 1;
    if (symbol === 16) return 3 + this.#take(2);
    return symbol === 17 ? 3 + this.#take(3) : 11 + this.#take(7);
  }

  #decode({ fast, counts, symbols }: Code): number {
    this.#refill();
    const hit = fast[this.#hold & ((1 << fastBits) - 1)]!;
    if (hit !== 0) {
      this.#drop(hit & 15);
      return hit >> 4;
    }
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= longestCode; length++) {
      code |= (this.#hold >> (length - 1)) & 1;
      const count = counts[length]!;
      if (code - first < count) {
        this.#drop(length);
        return symbols[index + code - first]!;
      }
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw damaged();
  }

  /** At most 16 bits. */
  #take(count: number): number {
    this.#refill();
    const value = this.#hold & ((1 << count) - 1);
    this.#drop(count);
    return value;
  }

  #drop(count: number): void {
    this.#hold >>>= count;
    this.#bits -= count;
  }

  /** At least 16 bits; zeros past the end, where a few may be looked at but none is data. */
  #refill(): void {
    while (this.#bits < 16) {
      if (this.#at > this.#input.length + 4) throw damaged();
      this.#hold |= (this.#input[this.#at++] ?? 0) << this.#bits;
      this.#bits += 8;
    }
  }
}
