import { digestOfText, toHex } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";

/**
 * The registry's own bearer tokens: `skr_<id>_<secret>`. The prefix lets secret scanners recognise a leak, the id
 * finds the row, and of the secret (32 random bytes, so a slow hash would add nothing) only the SHA-256 is kept.
 */
export interface MintedToken {
  id: string;
  /** Shown once, never stored. */
  token: string;
  secretHash: Digest;
}

const idBytes = 8;
const secretBytes = 32;
const pattern = new RegExp(`^skr_([0-9a-f]{${idBytes * 2}})_([0-9a-f]{${secretBytes * 2}})$`);

export async function mintToken(): Promise<MintedToken> {
  const id = randomHex(idBytes);
  const secret = randomHex(secretBytes);
  return { id, token: `skr_${id}_${secret}`, secretHash: await digestOfText(secret) };
}

/** The id and hash by which the database finds the token; undefined when the text is no token of ours. */
export async function parseToken(text: string): Promise<{ id: string; secretHash: Digest } | undefined> {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  return { id: match[1]!, secretHash: await digestOfText(match[2]!) };
}

function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
