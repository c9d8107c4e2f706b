import type { SkillFile } from "../entry.ts";
import type { Remark } from "./remark.ts";

/**
 * Files that should never be published: by their name alone where the name says it, else by name and content. It is
 * a seat belt for accidents, no scanner for keys in arbitrary text.
 */
const byName =
  /(?:^|\/)(?:\.env(?:\.[^/]*)?|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]*\.(?:p12|pfx|jks|keystore|kdbx)|\.git-credentials)$/i;
/** Templates that are meant to be shared. */
const template = /\.(?:example|examples|sample|template|tmpl|dist|defaults?|schema)$/i;

const byContent: readonly { name: RegExp; content: RegExp }[] = [
  { name: /(?:^|\/)[^/]*\.(?:pem|key|pk8|ppk|asc)$/i, content: /PRIVATE KEY(?: BLOCK)?-----|^PuTTY-User-Key-File/m },
  { name: /(?:^|\/)\.npmrc$/i, content: /_(?:authToken|auth|password)[\t ]*=/ },
  { name: /(?:^|\/)\.(?:yarnrc|yarnrc\.yml)$/i, content: /npmAuthToken|_authToken/ },
  { name: /(?:^|\/)\.pypirc$/i, content: /^[\t ]{0,8}password/m },
  { name: /(?:^|\/)[._]netrc$/i, content: /\bpassword\b/ },
  { name: /(?:^|\/)\.aws\/credentials$/i, content: /aws_secret_access_key/i },
  { name: /(?:^|\/)\.docker\/config\.json$/i, content: /"auth"/ },
  { name: /\.json$/i, content: /"private_key"[\t ]{0,8}:[\t ]{0,8}"-----BEGIN/ },
];
/** Keys stand at the start of such files; a bound keeps large JSON data cheap. */
const maxBytesSearched = 64 * 1024;

const fix = "Remove the file and replace the secret if it was real; allow secrets in the request if it is none.";

/** At most one remark a file. */
export function findSecret({ path, bytes }: SkillFile): Remark | undefined {
  if (byName.test(path) && !template.test(path)) {
    const message = "A file of this name usually holds secrets, and a release cannot be changed once it is published.";
    return { code: "secret_file", line: null, column: null, message, fix };
  }
  const rules = byContent.filter(({ name }) => name.test(path));
  if (rules.length === 0) return undefined;
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes.subarray(0, maxBytesSearched));
  for (const { content } of rules) {
    const match = content.exec(text);
    if (match === null) continue;
    const before = text.slice(0, match.index);
    const line = before.split("\n").length;
    const column = match.index - before.lastIndexOf("\n");
    return { code: "secret_file", line, column, message: "This file holds a key or a password.", fix };
  }
  return undefined;
}
