/** Maps in order, a few at a time. The first failure stops what has not begun. */
export async function mapPooled<In, Out>(
  items: readonly In[],
  width: number,
  map: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results = Array.from<Out>({ length: items.length });
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await map(items[index]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, work));
  return results;
}
