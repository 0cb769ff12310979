/** Signs of life from work that takes long. */

const PROGRESS_MILLISECONDS = 5_000;

export async function withProgress(
  work: Promise<void>,
  progress: () => Promise<string>,
  onStep: ((text: string) => void) | undefined,
): Promise<void> {
  const began = performance.now();
  const tell = async () => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    onStep?.(`${await progress()} after ${seconds} s`);
  };
  // A progress that cannot be read has no line.
  const timer = setInterval(() => void tell().catch(() => undefined), PROGRESS_MILLISECONDS);
  await work.finally(() => clearInterval(timer));
}

/** The highest count so far: what is counted may be removed when it is no longer needed. */
export function highest(count: () => Promise<number>): () => Promise<number> {
  let most = 0;
  return async () => {
    most = Math.max(most, await count());
    return most;
  };
}
