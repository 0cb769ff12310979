/** The Python packages of a script over the project's own, installed once, as an image would bring them. */
import { createHash } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layEnvironment } from '@tidewheel/emulators/environments/host-environment.ts';
import { bring } from './bring.ts';

/**
 * @param cache keeps the environments
 * @returns its interpreter
 * @throws Error with pip's words when a package cannot be installed
 */
export async function environmentOf(
  requirements: readonly string[],
  pythonPath: string,
  cache: string,
): Promise<string> {
  if (requirements.length === 0) return pythonPath;
  const hash = createHash('sha256').update(JSON.stringify(requirements)).digest('hex').slice(0, 12);
  const folder = join(cache, `environment-${hash}`);
  const python = join(folder, 'bin/python');
  const whole = join(folder, 'complete');
  const isWhole = await stat(whole).then(
    () => true,
    () => false,
  );
  if (isWhole) return python;
  await rm(folder, { recursive: true, force: true });
  await layEnvironment(pythonPath, folder, join(cache, 'kept'));
  const words = ['install', '--no-input', '--quiet', '--disable-pip-version-check', ...requirements];
  await bring(requirements.join(', '), python, ['-m', 'pip', ...words]);
  await writeFile(whole, '');
  return python;
}
