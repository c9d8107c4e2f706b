import { toHex } from "../domain/digest.ts";

/** MACs under SIGNING_KEY: what we wrote is recognised without a question to any store. */
const keys = new Map<string, Promise<CryptoKey>>();

/** A key of its own for each use, so that a MAC made for one is never taken for another. */
export async function macOf(
  use: "credentials" | "sessions" | "creators" | "users" | "registrations",
  text: string,
  signingKey: string,
): Promise<string> {
  const secret = `${use}\n${signingKey}`;
  const key = keys.get(secret) ?? importKey(secret);
  keys.set(secret, key);
  return toHex(new Uint8Array(await crypto.subtle.sign("HMAC", await key, new TextEncoder().encode(text))));
}

/** In a time that does not tell where two texts of the same length differ. */
export function isEqual(left: string, right: string): boolean {
  const encoder = new TextEncoder();
  return crypto.subtle.timingSafeEqual(encoder.encode(left), encoder.encode(right));
}

export function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}

async function importKey(secret: string): Promise<CryptoKey> {
  const raw = new TextEncoder().encode(secret);
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
