/** A real Python program that sleeps on a virtual clock, as a training script of a campaign does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { type Sleepers, startSleepers } from '../../../clock/sleepers.ts';
import { VirtualClock } from '../../../clock/virtual-clock.ts';

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
let folder: string;
let clock: VirtualClock;
let sleepers: Sleepers;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = folderOfTest('sleepers');
  const file = join(folder, 'clock');
  clock = new VirtualClock({ file, startMs: START, log: () => undefined });
  sleepers = await startSleepers({ clock, file });
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await sleepers.close();
  await clock.close();
});

function program(script: string, onChange: (isAsleep: boolean) => void) {
  const sleeper = sleepers.join(onChange);
  const child = spawn(projectPython(), ['-c', script], {
    env: { PYTHONPATH: join(import.meta.dirname, '../../../clock/python'), ...sleeper.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<string>((resolve) => child.once('close', () => resolve(output)));
  return { child, ended };
}

it('a day of sleep passes at once in Python', async () => {
  const states: boolean[] = [];
  const { ended } = program(
    `import time, tidewheel_clock
print(time.time(), flush=True)
tidewheel_clock.sleep_until(time.time() + 86_400)
print(time.time())`,
    (isAsleep) => states.push(isAsleep),
  );
  await expect.poll(() => states, { timeout: 10_000 }).toEqual([true]);
  expect(clock.now()).toBe(START);
  clock.start();
  const [before, after] = (await ended).trim().split('\n').map(Number);
  expect([before, after]).toEqual([START / 1_000, (START + DAY_MS) / 1_000]);
  expect(states).toEqual([true, false]);
});

it('a signal or a kill ends a sleep', async () => {
  const states: boolean[] = [];
  const { child, ended } = program(
    `import signal, time, tidewheel_clock
def leave(number, frame): raise SystemExit
signal.signal(signal.SIGTERM, leave)
try: tidewheel_clock.sleep_until(time.time() + 86_400)
finally: print('saved', time.time())`,
    (isAsleep) => states.push(isAsleep),
  );
  await expect.poll(() => states, { timeout: 10_000 }).toEqual([true]);
  child.kill('SIGTERM');
  expect(await ended).toBe(`saved ${(START / 1_000).toFixed(1)}\n`);
  await expect.poll(() => states).toEqual([true, false]);
});

it('uninvited programs cannot sleep on it', async () => {
  const states: boolean[] = [];
  const { environment } = sleepers.join((isAsleep) => states.push(isAsleep));
  const stranger = { ...environment, TIDEWHEEL_CLOCK_MEMBER: 'unknown' };
  const { ended } = program(
    `import os, time
os.environ.update(${JSON.stringify(stranger)})
import importlib, tidewheel_clock
importlib.reload(tidewheel_clock)
try: tidewheel_clock.sleep_until(time.time() + 1)
except OSError: print('refused')`,
    (isAsleep) => states.push(isAsleep),
  );
  expect(await ended).toBe('refused\n');
  expect(states).toEqual([]);
});
