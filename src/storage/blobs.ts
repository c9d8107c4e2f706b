import { hexOf } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import { maxRememberedBlobBytes, rememberedBlobsBytes } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { memoPerBinding } from "./memo.ts";

/**
 * Bytes by digest, in R2. Stored once for all tenants, and therefore never handed out by digest alone: every read
 * comes from a row of a release that the caller may read. The only place that knows an R2 key.
 */
const remembered = memoPerBinding<R2Bucket, Uint8Array>(rememberedBlobsBytes);

export class Blobs {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  /** R2 checks the bytes against the digest while it writes. Bytes already there are left as they are. */
  async put(digest: Digest, bytes: Uint8Array): Promise<void> {
    await this.#bucket.put(keyOf(digest), bytes, {
      sha256: hexOf(digest),
      onlyIf: { etagDoesNotMatch: "*" },
      httpMetadata: { contentType: "application/octet-stream" },
    });
  }

  /**
   * All bytes at once; small ones are remembered, because a digest never means other bytes. Not to be changed. Each
   * namespace has its own memory of them: how fast bytes come tells nobody whether another has read the same.
   * @throws when a listed blob is missing: that is a broken promise of ours, not a caller's mistake.
   */
  async read(digest: Digest, namespace: Namespace | "" = ""): Promise<Uint8Array> {
    const memo = remembered(this.#bucket);
    const key = `${digest} ${namespace}`;
    const known = memo.get(key);
    if (known !== undefined) return known;
    const bytes = new Uint8Array(await (await this.#find(digest)).arrayBuffer());
    if (bytes.byteLength <= maxRememberedBlobBytes) memo.set(key, bytes, bytes.byteLength);
    return bytes;
  }

  /** The bytes as they arrive, with their length; for what is large, which never needs to be in memory at once. */
  async open(digest: Digest): Promise<{ body: ReadableStream; size: number }> {
    const object = await this.#find(digest);
    return { body: object.body, size: object.size };
  }

  /** Only a sweep calls this, and only for blobs that it has claimed. Absent bytes are no error: crashes repeat it. */
  async delete(digests: readonly Digest[]): Promise<void> {
    for (const digest of digests) remembered(this.#bucket).forgetAll(`${digest} `);
    if (digests.length > 0) await this.#bucket.delete(digests.map(keyOf));
  }

  async #find(digest: Digest): Promise<R2ObjectBody> {
    const object = await this.#bucket.get(keyOf(digest));
    if (object === null) throw new Error(`blob ${digest} is listed but not stored`);
    return object;
  }
}

function keyOf(digest: Digest): string {
  return `blobs/sha256/${hexOf(digest)}`;
}
