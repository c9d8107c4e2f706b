import { maxIssuerLength, maxSubjectLength } from "./limits.ts";

/** What a person is called: an OpenID issuer, and the subject that it knows them by. Compared to the letter. */
const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

export const issuerRule =
  `must be an https URL without query, in its shortest spelling and of at most ${maxIssuerLength} characters, ` +
  `e.g. "https://accounts.example.com"; http only for loopback`;

/** One spelling for each issuer, or one person could be two members. */
export function isIssuer(text: string): boolean {
  if (text.length > maxIssuerLength || !URL.canParse(text)) return false;
  const url = new URL(text);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && loopback.has(url.hostname));
  const isPlain = url.username === "" && url.password === "" && !/[?#]/.test(text);
  return isSafe && isPlain && (text === url.href || `${text}/` === url.href);
}

export const subjectRule = `must be 1 to ${maxSubjectLength} printable ASCII characters`;

export function isSubject(text: string): boolean {
  return text.length <= maxSubjectLength && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
}
