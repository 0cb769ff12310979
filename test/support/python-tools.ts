/** Python tools that only tests and benchmarks need, in a virtual environment of their own under .tidewheel/tools. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../..');
const INSTALL_MILLISECONDS = 600_000;

export interface Requirements {
  /** Begins the name of the folder; a digest of the files ends it. */
  readonly name: string;
  readonly file: string;
  /** Installed without what these packages depend on. */
  readonly bareFile?: string;
  /** The Python of an environment whose packages are found after these. */
  readonly below?: string;
}

/** @returns the environment's folder, which is made on the first call and again if the requirements change */
export async function pythonTools({ name, file, bareFile, below }: Requirements): Promise<string> {
  const files = [file, ...(bareFile === undefined ? [] : [bareFile])];
  const hash = createHash('sha256');
  for (const each of files) hash.update(await readFile(each));
  const digest = hash.digest('hex').slice(0, 12);
  const folder = path.join(ROOT, '.tidewheel', 'tools', `${name}-${digest}`);
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.dirname(folder), { recursive: true });
  await run(below ?? 'python3', ['-m', 'venv', '--without-pip', folder]);
  const install = installer(folder);
  await install(['-r', file]);
  if (bareFile !== undefined) await install(['--no-deps', '-r', bareFile]);
  if (below !== undefined) await findBelow(folder, below);
  await writeFile(complete, '');
  return folder;
}

async function findBelow(folder: string, below: string): Promise<void> {
  const sites = async (python: string): Promise<string> =>
    (await run(python, ['-c', 'import site; print(site.getsitepackages()[0])'])).stdout;
  const own = await sites(path.join(folder, 'bin/python'));
  await writeFile(path.join(own.trim(), 'below.pth'), await sites(below));
}

/** By the uv that the set-up has brought into the project's environment: pip takes ten times its CPU time. */
function installer(folder: string): (words: readonly string[]) => Promise<void> {
  const uv = path.join(ROOT, '.venv', 'bin', 'uv');
  const program = existsSync(uv) ? uv : 'uv';
  const start = ['pip', 'install', '--quiet', '--python', path.join(folder, 'bin', 'python')];
  return async (words) => {
    await run(program, [...start, ...words], { timeout: INSTALL_MILLISECONDS });
  };
}
