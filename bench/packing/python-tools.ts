/** The Python peers, installed once into a virtual environment of their own under .tidewheel/. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @returns the environment's folder */
export async function pythonTools(): Promise<string> {
  const requirements = path.join(import.meta.dirname, 'peers/requirements.txt');
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(import.meta.dirname, '../../.tidewheel/tools', `bench-${digest}`);
  if (existsSync(path.join(folder, 'complete'))) return folder;
  await run('python3', ['-m', 'venv', folder]);
  await run(path.join(folder, 'bin/pip'), ['install', '--quiet', '-r', requirements], { timeout: 600_000 });
  await writeFile(path.join(folder, 'complete'), '');
  return folder;
}
