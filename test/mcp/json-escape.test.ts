import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { jsonEscaper } from "../../src/mcp/json-escape.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const longest = 4_096;

function escapeInPieces(bytes: Uint8Array, piece: number): string {
  const escape = jsonEscaper(longest);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += piece) pieces.push(escape(bytes.subarray(at, at + piece)).slice());
  const all = new Uint8Array(pieces.reduce((sum, part) => sum + part.length, 0));
  pieces.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return `"${decoder.decode(all)}"`;
}

describe("text as the inside of a JSON string", () => {
  it("is what JSON.stringify writes, for each single character below U+0800 and around every border of UTF-8", () => {
    const points = [
      ...Array.from({ length: 0x800 }, (_, index) => index),
      0x2028,
      0x2029,
      0xd7ff,
      0xe000,
      0xfeff,
      0xffff,
    ];
    for (const point of [...points, 0x10000, 0x1f389, 0x10ffff]) {
      const text = String.fromCodePoint(point);
      expect(escapeInPieces(encoder.encode(text), longest)).toBe(JSON.stringify(text));
    }
  });

  it("wherever it is cut, whatever it holds", () => {
    const char = fc.oneof(
      fc.constantFrom(
        '"',
        "\\",
        "\n",
        "\0",
        "\u001f",
        " ",
        "!",
        "#",
        "[",
        "]",
        "\u007f",
        "\u0080",
        "é",
        "你",
        "🎉",
        "﻿",
      ),
      fc.string({ unit: "binary", maxLength: 9 }),
    );
    const text = fc.array(char, { maxLength: 200 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 64 }), (given, piece) => {
        const bytes = encoder.encode(given);
        expect(escapeInPieces(bytes, piece)).toBe(JSON.stringify(decoder.decode(bytes)));
      }),
      { numRuns: 2_000 },
    );
  });

  it("has room for a piece of nothing but the longest escape", () => {
    const bytes = new Uint8Array(longest);
    expect(escapeInPieces(bytes, longest)).toBe(JSON.stringify(decoder.decode(bytes)));
  });
});
