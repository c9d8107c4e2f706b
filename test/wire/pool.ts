/** Does all of it, at most `width` at a time: a local server answers no faster for more. */
export async function inPool<Item>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
