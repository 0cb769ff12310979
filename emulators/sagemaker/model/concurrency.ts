/** Runs the work for each item, no more than `limit` at once; the first failure ends it. */
export async function eachLimited<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

/** setTimeout fires at once beyond this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Calls back after any number of milliseconds; returns what cancels it. */
export function after(milliseconds: number, callback: () => void): () => void {
  const end = performance.now() + milliseconds;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const left = end - performance.now();
    timer =
      left <= LONGEST_TIMER_MS ? setTimeout(callback, Math.max(0, left)) : setTimeout(arm, LONGEST_TIMER_MS);
  };
  arm();
  return () => clearTimeout(timer);
}
