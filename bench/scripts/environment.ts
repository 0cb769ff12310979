/** The Python packages of a script over the project's own, installed once, as an image would bring them. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { layEnvironment } from '@tidewheel/emulators/environments/host-environment.ts';
import * as z from 'zod';

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
  await pip(requirements.join(', '), python, ['install', '--quiet', ...requirements]);
  await writeFile(whole, '');
  return python;
}

/** What `execFile` throws where the program fails. */
const failedSchema = z.object({ stderr: z.string() });

/** @throws Error in one line: what is missing, and the last line of pip's errors */
export async function pip(what: string, pythonPath: string, words: readonly string[]): Promise<void> {
  try {
    const flags = ['--no-input', '--disable-pip-version-check'];
    await promisify(execFile)(pythonPath, ['-m', 'pip', ...words, ...flags]);
  } catch (error: unknown) {
    const failed = failedSchema.safeParse(error);
    const lines = failed.data?.stderr.trim().split('\n') ?? [];
    throw new Error(`cannot get ${what}: ${lines.at(-1) || String(error)}`, { cause: error });
  }
}
