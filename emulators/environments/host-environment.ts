/** A Python environment for one host over that of the region, which no host can change. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAKER = fileURLToPath(new URL('layer.py', import.meta.url));
const run = promisify(execFile);

/**
 * Makes the environment in a folder that is missing or empty.
 *
 * @param environmentsDirectory keeps what jobs require, for later attempts and other jobs
 * @returns its interpreter
 * @throws Error when the disk or the interpreter below refuses
 */
export async function layEnvironment(
  pythonPath: string,
  folder: string,
  environmentsDirectory: string,
): Promise<string> {
  await run(pythonPath, ['-I', '-B', MAKER, folder, environmentsDirectory], { env: {} });
  return join(folder, 'bin', 'python');
}
