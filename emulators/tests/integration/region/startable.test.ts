/** A start right after the end, or the kill, of the start before it: that one may still have the folder, for seconds. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { ensureStartable } from '../../../region/startable.ts';

const LOCKS = path.resolve(import.meta.dirname, '../../../shared/folder-lock.ts');

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = folderOfTest('startable');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that has the folder; it knows after so many seconds that it is to end. */
async function holder({ knows = Infinity, ends = 60 }): Promise<number> {
  const script = `
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1_000;
    const { lockFolder } = await import(${JSON.stringify(LOCKS)});
    await lockFolder(${JSON.stringify(folder)}, 'region', { isEnding: () => seconds() >= ${knows} });
    console.log('locked');
    setTimeout(() => {}, ${ends} * 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

it.each([
  { knows: 0, ends: 4 },
  // Its npm was killed a moment ago.
  { knows: 1, ends: 2 },
])('a start waits once for one ending: %j', async (predecessor) => {
  const pid = await holder(predecessor);
  const onWait = vi.fn<(pid: number) => void>();
  await ensureStartable(folder, onWait);
  expect(onWait.mock.calls).toEqual([[pid]]);
});

it('a start is refused by one that goes on', async () => {
  const pid = await holder({});
  const onWait = vi.fn<(pid: number) => void>();
  await expect(ensureStartable(folder, onWait)).rejects.toThrow(
    `${folder} is in use by another region (process ${pid}): stop that one, or name another folder`,
  );
  expect(onWait).not.toHaveBeenCalled();
});
