/** `sha256:` and 64 lowercase hex digits over raw bytes; the name of a blob. */
export type Digest = string & { readonly digest: unique symbol };

/** The digest of raw bytes. Text is never hashed: a decoded string has lost its byte order mark. */
export async function digestOf(bytes: Uint8Array): Promise<Digest> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
  return `sha256:${toHex(hash)}` as Digest;
}

/** The digest of a text's UTF-8 form; for secrets and derived names, never for files. */
export async function digestOfText(text: string): Promise<Digest> {
  return digestOf(new TextEncoder().encode(text));
}

/** The 64 hex digits without their prefix. */
export function hexOf(digest: Digest): string {
  return digest.slice("sha256:".length);
}

/** Undefined for what is not 64 lowercase hex digits: a digest has one spelling. */
export function digestOfHex(hex: string): Digest | undefined {
  return /^[0-9a-f]{64}$/.test(hex) ? (`sha256:${hex}` as Digest) : undefined;
}

export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}
