import { maxDrainedBytes } from "../domain/limits.ts";

/**
 * A request's body, at most `limit` bytes of it, whatever length it declares. What comes past the limit is taken and
 * thrown away for a while: a connection whose body nobody reads can serve no further request.
 * @throws what `overLimit` makes
 */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  overLimit: () => Error,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  const reader = body.getReader();
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length <= limit) chunks.push(value);
    else if (length > limit + maxDrainedBytes) {
      await reader.cancel();
      break;
    }
  }
  if (length > limit) throw overLimit();
  return chunks.length === 1 ? chunks[0]! : join(chunks, length);
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
