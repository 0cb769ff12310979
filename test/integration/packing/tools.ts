/** The Python tools of these tests: moto's S3, and readers that are not ours. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pythonTools } from '../../support/python-tools.ts';

/** @returns the folder of their environment */
export const packingTools = (): Promise<string> =>
  pythonTools({
    name: 'requirements',
    file: path.join(import.meta.dirname, 'requirements.txt'),
    bareFile: path.join(import.meta.dirname, 'requirements-bare.txt'),
  });

export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts moto's S3 on a free port. */
export async function startMoto(): Promise<RunningServer> {
  const folder = await packingTools();
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
