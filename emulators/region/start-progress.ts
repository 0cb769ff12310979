/** Signs of life from work that takes long. */

const PROGRESS_MILLISECONDS = 5_000;

/** Packaging hangs if a file vanishes under the bundler. A loaded machine only makes it slow. */
const STILL_MILLISECONDS = 300_000;

/**
 * @param work gets what ends it when its progress has been the same for too long
 * @param onStep called every few seconds
 */
export async function withProgress(
  work: (stuck: AbortSignal) => Promise<void>,
  progress: () => Promise<string>,
  onStep: ((text: string) => void) | undefined,
): Promise<void> {
  const began = performance.now();
  const stuck = new AbortController();
  let last = { text: '', at: began };
  const tell = async () => {
    // First: what says how far it is may hang as well.
    if (performance.now() - last.at >= STILL_MILLISECONDS)
      stuck.abort(new Error(`it stood still for ${STILL_MILLISECONDS / 1_000} s: ${last.text}`));
    // A progress that cannot be read has no line.
    const text = await progress().catch(() => undefined);
    if (text === undefined) return;
    const now = performance.now();
    if (text !== last.text) last = { text, at: now };
    onStep?.(`${text} after ${Math.round((now - began) / 1_000)} s`);
  };
  const timer = setInterval(() => void tell(), PROGRESS_MILLISECONDS);
  await work(stuck.signal).finally(() => clearInterval(timer));
}

/** The highest count so far: what is counted may be removed when it is no longer needed. */
export function highest(count: () => Promise<number>): () => Promise<number> {
  let most = 0;
  return async () => {
    most = Math.max(most, await count());
    return most;
  };
}
