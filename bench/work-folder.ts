/** A folder for what a bench starts on this machine: removed at its end, which Ctrl-C brings about too. */
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** @param work gets the folder, and a signal that is aborted when a person ends the bench */
export async function inWorkFolder<Result>(
  name: string,
  work: (folder: string, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      stopping.abort(new Error(`ended by ${signal}`));
      // Whatever the error makes of it, a shell hears of the signal.
      process.once('exit', () => {
        process.exitCode = 128 + constants.signals[signal];
      });
    });
  const folder = await mkdtemp(join(tmpdir(), `tidewheel-${name}-`));
  try {
    return await work(folder, stopping.signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Rejects with the signal's reason; without a signal never. */
export const endOf = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => {
      reject(signal?.reason instanceof Error ? signal.reason : new Error('the bench was ended'));
    };
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
