import { describe, expect, it } from "vitest";

import { maxClientTextLength, maxPickWordLength, maxPickWords } from "../../src/domain/limits.ts";
import {
  cleanClient,
  clientOfUserAgent,
  dayOf,
  formatDay,
  formatWords,
  withoutTraces,
} from "../../src/domain/tally.ts";

/** What is kept of a search and of a client: enough to see what lacks, and nobody in it. */
describe("the words of a search", () => {
  it("are its stems in alphabetical order, each once, as many as the limit says", () => {
    expect(formatWords(["refund", "customer", "refund", "Über"])).toBe("customer refund über");
    const many = Array.from({ length: 30 }, (_, index) => `w${String.fromCharCode(97 + index)}x`);
    expect(formatWords(many).split(" ").length).toBe(maxPickWords);
    expect(formatWords(["x".repeat(maxPickWordLength), "y".repeat(maxPickWordLength + 1)])).toBe(
      "x".repeat(maxPickWordLength),
    );
    expect(formatWords([])).toBe("");
  });

  it("hold nothing that leads to a person or opens something", () => {
    const telling = [
      "ann@example.com",
      "https://intranet/x",
      "skr_0123456789abcdef",
      "0123456789abcdef",
      "deadbeef1234",
      "abcdefabcdefabcd",
      "5551234567",
      "00493012345",
      "12345",
      "ghp1a2b3c4d5e6f",
      "two words",
    ];
    expect(telling.map((word) => formatWords([word]))).toEqual(telling.map(() => ""));
    const common = ["2026", "mp3", "s3", "ski", "facade", "decade", "base64", "utf8", "請求書", "naïve", "q3"];
    expect(common.map((word) => formatWords([word]))).toEqual(common);
  });

  it("can be taken from a query without its addresses, links, numbers and secrets", () => {
    const query =
      "refund ann.lee@example.com or +49 (30) 1234-567, see https://x.example/a?b=c, token skr_0011223344556677_ab from 2026";
    expect(withoutTraces(query).split(/\s+/)).toEqual(["refund", "or", ",", "see", "token", "from", "2026"]);
  });
});

describe("a client", () => {
  it("is named as it names itself, in printable ASCII, cut", () => {
    expect(cleanClient("claude-code", "2.1.0")).toEqual({ name: "claude-code", version: "2.1.0" });
    expect(cleanClient("a\u0000b\u202Ec é", 7)).toEqual({ name: "abc", version: "" });
    expect(cleanClient("x".repeat(500), "y".repeat(500))).toEqual({
      name: "x".repeat(maxClientTextLength),
      version: "y".repeat(maxClientTextLength),
    });
    for (const name of [undefined, null, 7, {}, "", "  ", "日本"]) expect(cleanClient(name, "1")).toBeUndefined();
  });

  it("is not named by a person's address or a secret", () => {
    const secret = `skr_${"0".repeat(16)}_${"1".repeat(64)}_${"2".repeat(16)}`;
    for (const name of ["ann@example.com", `agent ${secret}`, "http://10.0.0.1/", "f".repeat(32), "call 0301234567"]) {
      expect([name, cleanClient(name, "1")]).toEqual([name, undefined]);
    }
    expect(cleanClient("@acme/agent", "ann@example.com")).toEqual({ name: "@acme/agent", version: "" });
  });

  it("is else the first product of its User-Agent", () => {
    expect(clientOfUserAgent("fast-agent/0.3.1 (linux; x64) node/24")).toEqual({
      name: "fast-agent",
      version: "0.3.1",
    });
    expect(clientOfUserAgent("curl")).toEqual({ name: "curl", version: "" });
    for (const text of [null, "", "(only a comment)"]) expect(clientOfUserAgent(text)).toBeUndefined();
  });
});

it("days are those of UTC", () => {
  const late = Date.parse("2026-08-15T23:59:59.999Z");
  expect([formatDay(dayOf(late)), formatDay(dayOf(late + 1))]).toEqual(["2026-08-15", "2026-08-16"]);
});
