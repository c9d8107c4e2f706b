/**
 * What one isolate remembers, bounded in bytes; the least recently used goes first. Only for what its key names for
 * ever: bytes by digest, pages by revision. Rows, entries and rights are asked for on every request.
 */
export class Memo<Value> {
  readonly #maxBytes: number;
  readonly #items = new Map<string, { value: Value; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): Value | undefined {
    const item = this.#items.get(key);
    if (item === undefined) return undefined;
    // A map keeps the order of insertion, so that its first key is always the one used longest ago.
    this.#items.delete(key);
    this.#items.set(key, item);
    return item.value;
  }

  set(key: string, value: Value, bytes: number): void {
    this.forget(key);
    if (bytes > this.#maxBytes) return;
    this.#items.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#items.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.forget(oldest);
    }
  }

  forget(key: string): void {
    this.#bytes -= this.#items.get(key)?.bytes ?? 0;
    this.#items.delete(key);
  }

  forgetAll(prefix: string): void {
    for (const key of this.#items.keys()) if (key.startsWith(prefix)) this.forget(key);
  }
}

/** One memo for each binding, so that nothing of one database or bucket is ever taken for another's. */
export function memoPerBinding<Binding extends object, Value>(maxBytes: number): (binding: Binding) => Memo<Value> {
  const memos = new WeakMap<Binding, Memo<Value>>();
  return (binding) => {
    const known = memos.get(binding) ?? new Memo<Value>(maxBytes);
    memos.set(binding, known);
    return known;
  };
}
