/** Reports a full disk once, and once more when there is room again. */
import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Screen } from './screen.ts';

/** Uploads are refused below 8 MB (emulators/aws/full_disk.py); the line comes early enough to do something. */
const NEARLY_FULL_BYTES = 64e6;
const LOOK_EVERY_MS = 5_000;

/** One look: says what has changed since the last one. @returns whether the disk is nearly full */
export function tellSpace(
  screen: Pick<Screen, 'problem' | 'done'>,
  {
    folder,
    freeBytes,
    wasFull,
  }: { readonly folder: string; readonly freeBytes: number; readonly wasFull: boolean },
): boolean {
  const isFull = freeBytes < NEARLY_FULL_BYTES;
  const megabytes = Math.floor(freeBytes / 1e6);
  if (isFull && !wasFull)
    screen.problem(
      `the disk of ${folder} is nearly full (${megabytes} MB left): uploads are refused and runs try again until there is room`,
    );
  if (!isFull && wasFull) screen.done(`the disk of ${folder} has room again (${megabytes} MB)`);
  return isFull;
}

export async function watchDisk(
  screen: Pick<Screen, 'problem' | 'done'>,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  let wasFull = false;
  while (!signal.aborted) {
    const { bavail, bsize } = await statfs(folder).catch(() => ({
      bavail: Number.POSITIVE_INFINITY,
      bsize: 1,
    }));
    wasFull = tellSpace(screen, { folder, freeBytes: bavail * bsize, wasFull });
    await sleep(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => {});
  }
}
