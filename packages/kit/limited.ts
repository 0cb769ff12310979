/** Runs the work for each item, no more than `limit` at once; the first failure ends it. */
export async function eachLimited<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (let next = waiting.next(); !hasFailed && next.done !== true; next = waiting.next())
      await work(next.value).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/** The same with results, in the order of the items. */
export async function mapLimited<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await eachLimited([...items].entries(), limit, async ([index, item]) => {
    results[index] = await work(item);
  });
  return results;
}
