/** Installs the Python tools that only these tests need, once, into their own virtual environment. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../../..');

/** @returns the environment's folder, which is created on the first call and again if the requirements change */
export async function pythonTools(): Promise<string> {
  const file = path.join(import.meta.dirname, 'requirements.txt');
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(ROOT, '.tidewheel', 'tools', `requirements-${digest}`);
  const done = path.join(folder, 'complete');
  if (existsSync(done)) return folder;
  await mkdir(path.dirname(folder), { recursive: true });
  await run('python3', ['-m', 'venv', folder]);
  const pip = path.join(folder, 'bin/pip');
  const install = ['install', '--quiet', '--disable-pip-version-check'];
  await run(pip, [...install, '-r', file], { timeout: 600_000 });
  const bare = file.replace('.txt', '-bare.txt');
  if (existsSync(bare)) await run(pip, [...install, '--no-deps', '-r', bare], { timeout: 600_000 });
  await writeFile(done, '');
  return folder;
}

export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts moto's S3 on a free port. */
export async function startMoto(): Promise<RunningServer> {
  const folder = await pythonTools();
  const child = spawn(path.join(folder, 'bin/moto_server'), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = await announcedUrl(child);
  return {
    url,
    stop: async () => {
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

async function announcedUrl(child: ChildProcess): Promise<string> {
  let said = '';
  const collect = (chunk: Buffer) => (said += chunk.toString());
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  for (let tries = 0; tries < 600; tries += 1) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    if (url !== undefined && !url.endsWith(':0')) return url;
    if (child.exitCode !== null) throw new Error(`the server ended at once: ${said}`);
    await sleep(50);
  }
  throw new Error(`the server did not say where it listens: ${said}`);
}
