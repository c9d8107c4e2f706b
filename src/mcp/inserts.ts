import { streamOf } from "./file-stream.ts";
import type { FilePart } from "./file-stream.ts";

/**
 * JSON that is finished already, in an answer that is still to be written. A handler puts a mark where it belongs;
 * once the answer is text, the mark gives way. Stored entries are thus never parsed and written again, and a large
 * file never passes through a string. Nobody can guess a mark, so nothing that a caller sends is taken for one.
 */
export class Inserts {
  readonly #mark = `${crypto.randomUUID()}:`;
  readonly #parts: (string | FilePart)[] = [];

  /** The mark for a JSON value, or for a file that becomes a JSON string. */
  add(part: string | FilePart): string {
    return this.#mark + String(this.#parts.push(part) - 1);
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** The answer with every mark replaced: a text, or a stream where a file is among it. */
  fill(json: string): string | ReadableStream<Uint8Array> {
    const [head, ...rest] = json.split(`"${this.#mark}`);
    const pieces: (string | FilePart)[] = [];
    let text = head!;
    for (const next of rest) {
      const end = next.indexOf('"');
      const part = this.#parts[Number(next.slice(0, end))]!;
      if (typeof part === "string") text += part + next.slice(end + 1);
      else {
        pieces.push(`${text}"`, part);
        text = next.slice(end);
      }
    }
    return pieces.length === 0 ? text : streamOf([...pieces, text]);
  }
}
