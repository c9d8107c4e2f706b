import { digestOfText } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import { isEqual, macOf, randomHex } from "./mac.ts";

/**
 * The registry's own secrets, `<kind>_<id>_<secret>_<check>`: bearer tokens (`skr`), read links (`skl`) and invitations
 * (`ski`). The kind lets secret scanners recognise a leak, the id finds the row, and of the secret (32 random bytes, so
 * a slow hash would add nothing) only the SHA-256 is kept. The check is a MAC of the rest under SIGNING_KEY: what we
 * did not write is refused without a question to the database, and the id of what we did write can be trusted.
 */
export type SecretKind = "skr" | "skl" | "ski";

export interface Minted {
  id: string;
  /** The whole text; shown once, never stored. */
  text: string;
  secretHash: Digest;
}

const idBytes = 8;
const secretBytes = 32;
const checkHexDigits = 16;
const pattern = new RegExp(
  `^(sk[rli])_([0-9a-f]{${idBytes * 2}})_([0-9a-f]{${secretBytes * 2}})_([0-9a-f]{${checkHexDigits}})$`,
);

const oldToken = new RegExp(`^skr_[0-9a-f]{${idBytes * 2}}_[0-9a-f]{${secretBytes * 2}}$`);

/** What secret scanners may look for; also in README.md. */
export const scannerPattern = String.raw`\bsk[rli]_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{16}\b`;

export async function mintSecret(kind: SecretKind, signingKey: string): Promise<Minted> {
  const id = randomHex(idBytes);
  const secret = randomHex(secretBytes);
  const text = `${kind}_${id}_${secret}`;
  return { id, text: `${text}_${await checkOf(text, signingKey)}`, secretHash: await digestOfText(secret) };
}

/** The id and hash by which the database finds it; undefined when this registry did not write the text. */
export async function parseSecret(
  kind: SecretKind,
  text: string,
  signingKey: string,
): Promise<{ id: string; secretHash: Digest } | undefined> {
  const match = pattern.exec(text);
  if (match === null || match[1] !== kind) return undefined;
  const [, , id, secret, check] = match;
  const expected = await checkOf(text.slice(0, text.lastIndexOf("_")), signingKey);
  if (!isEqual(check!, expected)) return undefined;
  return { id: id!, secretHash: await digestOfText(secret!) };
}

/** Whether the text looks like a token of the first version, which had no check. */
export function isOldToken(text: string): boolean {
  return oldToken.test(text);
}

/** A random name for a row that has no secret. */
export function mintId(): string {
  return randomHex(idBytes);
}

async function checkOf(text: string, signingKey: string): Promise<string> {
  return (await macOf("credentials", text, signingKey)).slice(0, checkHexDigits);
}
