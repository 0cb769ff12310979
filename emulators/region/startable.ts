/** Whether a region can start in a folder: no other region has it, and the ports of its state are free. */
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockedError, lockFolder } from '../shared/folder-lock.ts';
import { ensurePortsCanBeHad } from './ports.ts';

/** The emulator's own folder in the state. */
export const emulatorDirectory = ({ stateDirectory }: { readonly stateDirectory: string }): string =>
  join(stateDirectory, 'aws');

/** A start whose npm was killed does not know it at once. */
const NOTICE_SECONDS = 3;
/** Hosts save for 120 seconds at most, then the emulator for 20. */
const END_SECONDS = 180;
const LOOK_MILLISECONDS = 200;

/**
 * Waits for a region that is ending there.
 * @param onWait called once, with the process of that region
 * @throws Error that names who has the folder or the ports
 */
export async function ensureStartable(folder: string, onWait: (pid: number) => void): Promise<void> {
  const stateDirectory = resolve(folder);
  const unlock = await lockAfterPredecessor(stateDirectory, onWait);
  try {
    await ensurePortsCanBeHad({ stateDirectory, emulatorDirectory: emulatorDirectory({ stateDirectory }) });
  } finally {
    unlock();
  }
}

async function lockAfterPredecessor(
  stateDirectory: string,
  onWait: (pid: number) => void,
): Promise<() => void> {
  const began = performance.now();
  let isReported = false;
  for (;;) {
    try {
      return await lockFolder(stateDirectory, 'region');
    } catch (error: unknown) {
      const locked = error instanceof Error ? error.cause : undefined;
      if (!(locked instanceof LockedError)) throw error;
      const seconds = (performance.now() - began) / 1_000;
      if (seconds > (locked.isEnding ? END_SECONDS : NOTICE_SECONDS)) throw error;
      if (locked.isEnding && locked.pid !== undefined && !isReported) {
        isReported = true;
        onWait(locked.pid);
      }
      await sleep(LOOK_MILLISECONDS);
    }
  }
}
