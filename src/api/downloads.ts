import { hexOf } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import type { Blobs } from "../storage/blobs.ts";
import type { FileRow, ReleaseRow } from "../storage/catalog.ts";

/** Published bytes over plain HTTP, exactly as they came, streamed from R2. */
export async function answerFile(row: FileRow, blobs: Blobs): Promise<Response> {
  const name = row.file.slice(row.file.lastIndexOf("/") + 1);
  return download(row.digest, blobs, { mediaType: row.media_type, name });
}

export async function answerArchive(
  release: ReleaseRow,
  kind: "archive.zip" | "archive.tar.gz",
  blobs: Blobs,
): Promise<Response> {
  const name = `${release.name}-${release.version}.${kind.slice("archive.".length)}`;
  return kind === "archive.zip"
    ? download(release.zip_digest, blobs, { mediaType: "application/zip", name })
    : download(release.tar_digest, blobs, { mediaType: "application/gzip", name });
}

/** Strangers' bytes on our origin: never sniffed, never run, always saved under their name. */
export async function download(
  digest: Digest,
  blobs: Blobs,
  file: { mediaType: string; name: string },
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { body, size } = await blobs.open(digest);
  const raw = Uint8Array.from(hexOf(digest).match(/../g)!, (pair) => Number.parseInt(pair, 16));
  return new Response(body, {
    headers: {
      ...headers,
      "content-type": file.mediaType,
      "content-length": String(size),
      "content-disposition": `attachment; filename*=UTF-8''${encodeRfc5987(file.name)}`,
      "content-security-policy": "sandbox; default-src 'none'",
      etag: `"${digest}"`,
      "repr-digest": `sha-256=:${btoa(String.fromCharCode(...raw))}:`,
    },
  });
}

function encodeRfc5987(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (char) => `%${char.codePointAt(0)!.toString(16).toUpperCase()}`,
  );
}
