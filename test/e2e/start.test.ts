/** `npm start`'s program as a person runs it: killed in the middle, started again, ended by Ctrl-C; nothing is left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROJECT_FOLDER } from '../support/region.ts';

let state: string;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'tidewheel-start-'));
});

afterAll(async () => {
  await rm(state, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [join(PROJECT_FOLDER, 'cli/start.ts'), '--state', state, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => chunks.join(''), ended };
}

async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  seconds: number,
): Promise<void> {
  const limit = Date.now() + seconds * 1_000;
  while (!(await condition())) {
    if (Date.now() > limit) throw new Error(`not within ${seconds} s: ${what}`);
    await sleep(200);
  }
}

/** Processes whose command line or folder names our state. */
async function leftBehind(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(state)) found.push(command.replaceAll('\0', ' '));
  }
  return found;
}

it('resumes the run after kill -9', async () => {
  const first = start('--once');
  await until(() => /training .*█/.test(first.output()), `training\n${first.output()}`, 300);
  first.child.kill('SIGKILL');
  await first.ended;
  await until(async () => (await leftBehind()).length === 0, 'all processes gone after a kill -9', 60);

  const second = start('--once');
  expect({ code: await second.ended, output: second.output() }).toMatchObject({ code: 0 });
  expect(second.output()).toMatch(/digits-000001 was not finished/);
  expect(second.output()).toMatch(/Report of digits-000001: succeeded/);
  expect(await leftBehind()).toEqual([]);
}, 580_000);

it('takes drops made meanwhile, and ends cleanly', async () => {
  const label = join(state, 'drop/digits/7');
  await mkdir(label, { recursive: true });
  await writeFile(join(label, 'meanwhile.png'), 'no image, which is for the run to say');
  const third = start('--no-demo');
  await until(() => third.output().includes('ready for a drop'), `ready\n${third.output()}`, 60);
  const dropped = 'dropped digits/incoming/7/meanwhile.png';
  await until(() => third.output().includes(dropped), `${dropped}\n${third.output()}`, 30);
  third.child.kill('SIGINT');
  expect({ code: await third.ended, output: third.output() }).toMatchObject({ code: 0 });
  expect(await leftBehind()).toEqual([]);
}, 120_000);
