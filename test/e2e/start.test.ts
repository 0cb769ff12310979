/** `npm start`'s program as a person runs it: killed in the middle, started again, ended by Ctrl-C; nothing is left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { listenersOf, treeOf } from '../support/listening.ts';
import { PROJECT_FOLDER } from '../support/region.ts';
import { volley } from '../support/volley.ts';
import { readOnThePage } from './page-of-region.ts';

/** A second or two on a free machine. */
const SOON_MILLISECONDS = 15_000;

let state: string;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'tidewheel-start-'));
});

afterAll(async () => {
  await rm(state, { recursive: true, force: true });
});

/** For a test that fails in the middle: what it started ends with it. */
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
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
  started.push(child);
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

const portsFile = (): string => join(state, 'ports.json');
const portsSchema = z.object({ aws: z.number(), sageMaker: z.number(), ec2: z.number() });
const ports = async () => portsSchema.parse(JSON.parse(await readFile(portsFile(), 'utf8')));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Every socket of the region, its functions and its hosts. */
async function expectLoopbackOnly({ child }: Started): Promise<void> {
  const listeners = await listenersOf(await treeOf(child.pid ?? 0));
  expect(listeners.filter(({ isLoopback }) => !isLoopback)).toEqual([]);
  // The emulator, SageMaker, EC2 and the control server.
  expect(listeners.length).toBeGreaterThanOrEqual(4);
}

async function killEmulatorOf({ child }: Started): Promise<void> {
  for (const pid of await treeOf(child.pid ?? 0)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('emulator.py')) process.kill(pid, 'SIGKILL');
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
  const hasEnded = () => first.child.exitCode !== null;
  await until(() => hasEnded() || /training .*█/.test(first.output()), `training\n${first.output()}`, 300);
  expect({ hasEnded: hasEnded(), output: first.output() }).toMatchObject({ hasEnded: false });
  await expectLoopbackOnly(first);
  first.child.kill('SIGKILL');
  await first.ended;
  await until(async () => (await leftBehind()).length === 0, 'all processes gone after a kill -9', 60);

  // drop-to-model.test.ts has the market's interruption.
  const second = start('--once', '--market', 'calm');
  expect({ code: await second.ended, output: second.output() }).toMatchObject({ code: 0 });
  expect(second.output()).toMatch(/digits-000001 was not finished when the last start ended \(training\)/);
  expect(second.output()).toMatch(/Report of digits-000001: succeeded/);
  expect(await leftBehind()).toEqual([]);
}, 580_000);

it('takes drops made meanwhile, and ends cleanly', async () => {
  const label = join(state, 'drop/digits/7');
  await mkdir(label, { recursive: true });
  await writeFile(join(label, 'meanwhile.png'), 'no image, which is for the run to say');
  await writeFile(join(state, 'drop/stray.txt'), 'of no pipeline');
  // As an earlier release left it.
  await chmod(state, 0o755);
  const third = start('--no-demo');
  await until(() => third.output().includes('ready for a drop'), `ready\n${third.output()}`, 60);
  expect((await stat(state)).mode & 0o077).toBe(0);
  expect(third.output()).toMatch(/pipeline digits: last run digits-000001 succeeded/);
  const dropped = 'dropped digits/incoming/7/meanwhile.png';
  await until(() => third.output().includes(dropped), `${dropped}\n${third.output()}`, 30);
  await until(() => third.output().includes('drop/stray.txt is ignored'), `stray\n${third.output()}`, 30);
  const followed = 'digits-000002 started: data arrived';
  await until(() => third.output().includes(followed), `${followed}\n${third.output()}`, 60);
  const met = await volley(third.child.pid ?? 0, { count: 1_000, seed: 1 });
  expect(met).toMatchObject({ wrong: [], silent: [] });
  // The emulator, SageMaker, EC2, the control server and the page.
  expect(met.ports).toBeGreaterThanOrEqual(5);
  expect(met.grownMegabytes).toBeLessThan(300);
  await readOnThePage(third.output(), 'digits-000001');
  third.child.kill('SIGINT');
  expect({ code: await third.ended, output: third.output() }).toMatchObject({ code: 0 });
  expect(await leftBehind()).toEqual([]);
}, 150_000);

const sentence = ({ output }: Started): string => output().trim();

it('refuses a second start in the same folder', async () => {
  const running = start('--no-demo');
  await until(() => running.output().includes('ready for a drop'), 'ready', 60);
  const requested = performance.now();
  const second = start('--no-demo');
  expect(await second.ended).toBe(1);
  expect(performance.now() - requested).toBeLessThan(SOON_MILLISECONDS);
  expect(sentence(second)).toBe(
    `✗ ${state} is in use by another region (process ${running.child.pid}): stop that one, or name another folder`,
  );
  running.child.kill('SIGINT');
  expect(await running.ended).toBe(0);
}, 120_000);

it('refuses ports that another process has taken', async () => {
  const server = createServer().listen((await ports()).aws, '127.0.0.1');
  await once(server, 'listening');
  const refused = start('--no-demo');
  expect(await refused.ended).toBe(1);
  server.close();
  expect(sentence(refused)).toContain(`port ${(await ports()).aws}, which process ${process.pid} (`);
  expect(sentence(refused)).toMatch(/has taken: stop what holds it, or start with another --state folder$/);
  expect(sentence(refused)).not.toContain('\n');
}, 60_000);

it('refuses a state that was deployed at another port', async () => {
  const deployed = await ports();
  await writeFile(portsFile(), JSON.stringify({ ...deployed, aws: await freePort() }));
  const refused = start('--no-demo');
  expect(await refused.ended).toBe(1);
  expect(refused.output()).toContain(
    `✗ this state was deployed with port ${deployed.aws}, but ports.json names`,
  );
  expect(refused.output()).not.toContain('ready for a drop');
  await writeFile(portsFile(), JSON.stringify(deployed));
}, 120_000);

it('starts again after kill -9; names a lost emulator', async () => {
  const apiOf = ({ output }: Started) => /API +(http\S+)/.exec(output())?.[1];
  const killed = start('--no-demo');
  await until(() => killed.output().includes('ready for a drop'), 'ready', 60);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const next = start('--no-demo');
  await until(() => next.output().includes('ready for a drop'), 'ready again', 60);
  expect(apiOf(next)).toBe(apiOf(killed));
  expect(new URL(apiOf(next) ?? '').port).toBe(String((await ports()).aws));
  await killEmulatorOf(next);
  expect(await next.ended).toBe(1);
  expect(next.output()).toContain('✗ the emulator has ended by itself');
  // A forked child may still write a snapshot.
  await until(async () => (await leftBehind()).length === 0, 'all processes gone after a kill -9', 10);
}, 180_000);

it('ends soon when Ctrl-C comes before it is up', async () => {
  const fresh = start('--no-demo', '--state', join(state, 'fresh'));
  await until(() => fresh.output().includes('starting stack'), `deploying\n${fresh.output()}`, 60);
  fresh.child.kill('SIGINT');
  const requested = performance.now();
  expect({ code: await fresh.ended, output: fresh.output() }).toMatchObject({ code: 1 });
  expect(performance.now() - requested).toBeLessThan(SOON_MILLISECONDS);
  expect(fresh.output().trim().split('\n').at(-1)).toBe(
    '  stopped before the region was up: the next start goes on from here',
  );
  expect(fresh.output()).not.toMatch(/✗|ready for a drop/);
  expect(await leftBehind()).toEqual([]);
}, 120_000);
