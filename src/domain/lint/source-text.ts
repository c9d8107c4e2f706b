import { decodeLossless } from "../media-type.ts";
import type { Remarks } from "./remark.ts";

/** Bytes → text with LF line ends, for reading only: what is published are the bytes as they came. */

/** The text of SKILL.md. Where the bytes are not UTF-8 it is read as well as it goes, for the sake of other rules. */
export function decodeSkillMd(bytes: Uint8Array, remarks: Remarks): string {
  const text = decodeLossless(bytes);
  if (text !== undefined) return text;
  const wide = [0xff_fe, 0xfe_ff].indexOf(((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0));
  if (wide !== -1) {
    remarks.add({
      code: "skill_md_not_utf8",
      line: null,
      column: null,
      message: "SKILL.md is UTF-16 text.",
      fix: "Save the file as UTF-8 without a byte order mark.",
    });
    return new TextDecoder(wide === 0 ? "utf-16le" : "utf-16be").decode(bytes);
  }
  const lossy = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  const before = textBeforeFault(bytes, lossy);
  remarks.add({
    code: "skill_md_not_utf8",
    line: before.split("\n").length,
    column: before.length - before.lastIndexOf("\n"),
    message: "SKILL.md is not valid UTF-8 from here on.",
    fix: "Save the file as UTF-8.",
  });
  return lossy;
}

/** Decoding puts U+FFFD in place of a bad byte, so that the bytes of `lossy` first differ where the fault is. */
function textBeforeFault(bytes: Uint8Array, lossy: string): string {
  const again = new TextEncoder().encode(lossy);
  let at = 0;
  while (at < bytes.length && bytes[at] === again[at]) at++;
  const before = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes.subarray(0, at));
  return before.endsWith("\uFFFD") ? before.slice(0, -1) : before;
}

/** Makes every line end LF, and remarks on the others. */
export function normaliseLineEnds(text: string, remarks: Remarks): string {
  const unix = text.replaceAll("\r\n", "\n");
  if (unix.length !== text.length) remarks.add(crlf);
  const at = unix.indexOf("\r");
  if (at === -1) return unix;
  if (/^---[\t ]*\r/.test(unix) || !unix.includes("\n")) {
    remarks.add(crOnly);
    return unix.replaceAll("\r", "\n");
  }
  const before = unix.slice(0, at);
  remarks.add({
    code: "stray_cr",
    line: before.split("\n").length,
    column: at - before.lastIndexOf("\n"),
    message: "A lone carriage return stands here; some readers take it for the end of the line, others do not.",
    fix: "Replace it by a line feed, or remove it.",
  });
  return unix;
}

const crlf = {
  code: "crlf",
  line: null,
  column: null,
  message: "SKILL.md has CRLF line ends; they are kept, since we publish bytes as they come.",
  fix: "Nothing needs to be done; LF is what most hosts write.",
} as const;

const crOnly = {
  code: "cr_newlines",
  line: 1,
  column: null,
  message: "The lines of SKILL.md end with a lone carriage return, which YAML readers do not agree on.",
  fix: "Save the file with LF line ends.",
} as const;

export const byteOrderMark = {
  code: "bom",
  line: 1,
  column: 1,
  message: "SKILL.md starts with a byte order mark; it is kept, but some hosts do not see the skill because of it.",
  fix: "Save the file as UTF-8 without a byte order mark.",
} as const;
