/** Whether a region can start in a folder: no other region has it, and the ports of its state are free. */
import { join, resolve } from 'node:path';
import { lockFolder } from '../shared/folder-lock.ts';
import { ensurePortsCanBeHad } from './ports.ts';

/** The emulator's own folder in the state. */
export const emulatorDirectory = ({ stateDirectory }: { readonly stateDirectory: string }): string =>
  join(stateDirectory, 'aws');

/** @throws Error that names who has the folder or the ports */
export async function ensureStartable(folder: string): Promise<void> {
  const stateDirectory = resolve(folder);
  const unlock = await lockFolder(stateDirectory, 'region');
  try {
    await ensurePortsCanBeHad({ stateDirectory, emulatorDirectory: emulatorDirectory({ stateDirectory }) });
  } finally {
    unlock();
  }
}
