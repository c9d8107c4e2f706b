import { quote } from "../domain/file-path.ts";
import { broken, decodeName, Stop } from "./intake.ts";
import type { Intake, Member } from "./intake.ts";

/**
 * The files of a multipart/form-data body (RFC 7578): parts named `files`, each with its relative path as filename.
 * Not by `formData()`: workerd drops backslashes from names and decodes `%22`, `%0A`, `%0D` in them. Clients differ
 * about how they write a quote (curl before 7.81 `\"`, curl since, undici and browsers `%22`, which is also how a
 * name that holds `%22` itself looks), so such names are refused: what they were cannot be known.
 */
const field = "files";
const utf8 = new TextEncoder();
const lineEnd = utf8.encode("\r\n");
const blankLine = utf8.encode("\r\n\r\n");
const closing = utf8.encode("--");

/** @throws Stop when the body is no such form, or is cut off */
export function readForm(body: Uint8Array, boundary: string, intake: Intake): void {
  const delimiter = utf8.encode(`\r\n--${boundary}`);
  const opening = delimiter.subarray(lineEnd.length);
  const fields = new Set<string>();
  let at = startsAt(body, opening, 0) ? opening.length : body.length;
  for (let part = 1; !startsAt(body, closing, at); part++) {
    const headEnd = indexOf(body, blankLine, at);
    const end = headEnd === -1 ? -1 : indexOf(body, delimiter, headEnd + blankLine.length);
    if (!startsAt(body, lineEnd, at) || end === -1) throw cut();
    const head = parseHead(decodeName(body.subarray(at + lineEnd.length, headEnd)));
    if (head.name === field) readFile(intake, part, head, body.subarray(headEnd + blankLine.length, end));
    else fields.add(head.name);
    at = end + delimiter.length;
  }
  const rest = body.subarray(at + closing.length);
  if (rest.length > 0 && !(rest.length === lineEnd.length && startsAt(rest, lineEnd, 0))) throw cut();
  remarkFields(fields, intake);
}

function readFile(intake: Intake, part: number, head: Head, bytes: Uint8Array): void {
  const member = admit(intake, head, part);
  if (member === undefined || !intake.weigh(member, bytes.length) || head.encoding !== undefined) return;
  // A copy, so that the upload can be let go.
  member.bytes = bytes.slice();
}

function cut(): Stop {
  return broken(
    "The form is cut off, or its parts are not separated by the boundary of its content type.",
    "Let the client set the Content-Type header itself, and send the body whole.",
  );
}

function remarkFields(fields: ReadonlySet<string>, intake: Intake): void {
  if (fields.size === 0) return;
  const shown = [...fields].slice(0, 5).map(quote).join(", ");
  intake.remark({
    code: "form_field",
    message: `The form has ${fields.size === 1 ? "a field" : `${fields.size} fields`} other than ${quote(field)}: ${shown}.`,
    fix: `Send every file in a field ${quote(field)}, and everything else as query parameters.`,
  });
}

interface Head {
  name: string;
  filename: string | undefined;
  /** What keeps the name from being read, as a sentence. */
  doubt: string | undefined;
  /** A Content-Transfer-Encoding that would change the bytes. */
  encoding: string | undefined;
}

function admit(intake: Intake, { filename, doubt, encoding }: Head, part: number): Member | undefined {
  const member = intake.admit(filename === undefined || filename === "" ? `(part ${part})` : filename);
  if (member !== undefined && doubt !== undefined) {
    member.isUnnamed = true;
    member.remarks.push({
      code: "multipart_name",
      message: doubt,
      fix: "Send the files as a .tar.gz or .zip, which carry any name.",
    });
  }
  if (member !== undefined && encoding !== undefined) {
    member.remarks.push({
      code: "multipart_encoding",
      message: `The part is encoded as ${quote(encoding)}; only raw bytes are read.`,
      fix: "Send the file's bytes as they are, without Content-Transfer-Encoding.",
    });
  }
  return member;
}

const headerLine = /^([!#$%&'*+.^_`|~0-9a-z-]+):[ \t]*(.*)$/isu;
const identity = new Set(["binary", "8bit", "7bit"]);

function parseHead(text: string): Head {
  const headers = new Map<string, string>();
  for (const line of text === "" ? [] : text.split("\r\n")) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined || headers.has(name.toLowerCase())) throw cut();
    headers.set(name.toLowerCase(), value.trim());
  }
  const encoding = headers.get("content-transfer-encoding");
  const isRaw = encoding === undefined || identity.has(encoding.toLowerCase());
  return { ...parseDisposition(headers.get("content-disposition") ?? ""), encoding: isRaw ? undefined : encoding };
}

const parameter = /;[ \t]*([^\s=;"]+)=(?:"([^"]*)"|([^\s;"]*))[ \t]*/y;

/** A name with a raw or escaped quote ends early, so what follows it cannot be read. */
function parseDisposition(text: string): Omit<Head, "encoding"> {
  const start = text.indexOf(";");
  if (text.slice(0, start).trim().toLowerCase() !== "form-data") throw cut();
  const found = new Map<string, string>();
  let isWhole = true;
  for (let at = start; at < text.length; at = parameter.lastIndex) {
    parameter.lastIndex = at;
    const [, name, quoted, plain] = parameter.exec(text) ?? [];
    if (name === undefined || found.has(name.toLowerCase())) {
      isWhole = false;
      break;
    }
    found.set(name.toLowerCase(), quoted ?? plain ?? "");
  }
  const filename = found.get("filename");
  return { name: found.get("name") ?? "", filename, doubt: doubtOf(filename, isWhole, found.has("filename*")) };
}

function doubtOf(filename: string | undefined, isWhole: boolean, isExtended: boolean): string | undefined {
  if (isExtended) return "The part names its file by `filename*`, which RFC 7578 forbids in forms.";
  if (!isWhole) return "The part's Content-Disposition cannot be read; a quote in the file's name does that.";
  if (filename === undefined || filename === "")
    return "The part has no filename, which has to be the file's relative path.";
  if (filename.includes("\\")) return 'The filename has a "\\": clients escape with it, and servers drop it.';
  const ambiguous = /%(?:22|0a|0d)/iu.exec(filename)?.[0];
  if (ambiguous === undefined) return undefined;
  return `The filename has ${quote(ambiguous)}, which clients write for a quote or line break as well as for itself.`;
}

function indexOf(bytes: Uint8Array, needle: Uint8Array, from: number): number {
  for (let at = from; at + needle.length <= bytes.length; at++) if (startsAt(bytes, needle, at)) return at;
  return -1;
}

function startsAt(bytes: Uint8Array, needle: Uint8Array, at: number): boolean {
  for (let index = 0; index < needle.length; index++) if (bytes[at + index] !== needle[index]) return false;
  return true;
}
