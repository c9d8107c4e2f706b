/** Checks a received file against its line in the manifest, over the bytes as they were before they became JSON. */
export interface ManifestLine {
  uri: string;
  size: number;
  digest: string;
}

export type Contents = { uri: string; text: string } | { uri: string; blob: string };

export interface Verdict {
  uri: string;
  size: number;
  digest: string;
  isAsListed: boolean;
}

export async function verify(listed: ManifestLine, contents: readonly Contents[]): Promise<Verdict> {
  const [file, ...others] = contents;
  if (file === undefined || others.length > 0) throw new Error(`${listed.uri} answers ${contents.length} contents`);
  const bytes = "text" in file ? new TextEncoder().encode(file.text) : fromBase64(file.blob);
  const [uri, size, digest] = [file.uri, bytes.byteLength, await sha256(bytes)];
  return { uri, size, digest, isAsListed: uri === listed.uri && size === listed.size && digest === listed.digest };
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${[...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
