/** Boots and downloads of minutes, on a virtual clock: the service sees their reports, bills them, and survives their loss. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Sleepers, startSleepers } from '@tidewheel/emulators/clock/sleepers.ts';
import { emulatorFollower, VirtualClock } from '@tidewheel/emulators/clock/virtual-clock.ts';
import type { AttemptOutcome } from '@tidewheel/placement/records.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import {
  type Ground,
  instancesOf,
  launch,
  look,
  type Machines,
  makeGround,
  RUN,
  startMachines,
  until,
} from './ground.ts';

const MINUTE = 60;
const BOOT_SECONDS = 2 * MINUTE;
/** Longer than a host may be silent. */
const DOWNLOAD_SECONDS = 16.5 * MINUTE;
const SHARD_BYTES = 800_000;
/** Real time: what a host does after EC2's notice takes it. */
const GRACE_SECONDS = 1;

const SCRIPT = 'import os, pathlib; pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("trained")';

let emulator: TestEmulator;
let folder: string;
let clock: VirtualClock;
let sleepers: Sleepers;
let machines: Machines;
let made: Ground;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-'));
  const file = path.join(folder, 'clock');
  clock = new VirtualClock({
    file,
    startMs: Math.floor(Date.now() / 1_000) * 1_000,
    log: () => undefined,
  });
  emulator = await startTestEmulator({ clockFile: file });
  clock.follow(emulatorFollower(emulator.url, () => undefined));
  sleepers = await startSleepers({ clock, file });
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    bootSeconds: () => BOOT_SECONDS,
    downloadBytesPerSecond: () => SHARD_BYTES / DOWNLOAD_SECONDS,
    graceSeconds: GRACE_SECONDS,
    clock,
    sleepers,
    hostEnvironment: { PYTHONPATH: path.join(import.meta.dirname, '../../../emulators/clock/python') },
  });
  clock.follow({ name: 'EC2', settle: () => machines.ec2.look().then(() => undefined) });
  made = await makeGround(emulator.url, {
    bucket: 'tw-downloads',
    strategy: 'single',
    nodes: 1,
    script: SCRIPT,
    shard: 'x'.repeat(SHARD_BYTES),
    clock: { now: () => new Date(clock.now()) },
  });
});

afterEach(async () => {
  await clock.stop();
  await machines?.close();
  made?.close();
  await sleepers.close();
  await emulator?.stop();
  await clock.close();
  await rm(folder, { recursive: true, force: true });
});

/** As the service tells it of an attempt that downloads. */
async function downloadOf(attempt: number): Promise<string | undefined> {
  const seen = await look(made, attempt);
  const last = seen.kind === 'running' ? seen.job.SecondaryStatusTransitions.at(-1) : undefined;
  return last?.Status === 'Downloading' ? last.StatusMessage : undefined;
}

async function outcomeOf(attempt: number): Promise<AttemptOutcome | undefined> {
  const seen = await look(made, attempt);
  return seen.kind === 'ended' ? seen.attempt.outcome : undefined;
}

const secondsLater = (seconds: number, action: () => void): void => {
  clock.at(clock.now() + seconds * 1_000, action);
};

it('is billed, seen and lost by the minute', async () => {
  const [lostId = ''] = await instancesOf(made, await launch(made, 1));
  let letTimePass = (): void => undefined;
  secondsLater(BOOT_SECONDS + DOWNLOAD_SECONDS / 2, () => {
    machines.market.reclaim(GRACE_SECONDS);
    // With nothing at work the clock would leap past the hour for which EC2 remembers an ended instance.
    letTimePass = clock.hold('the service has yet to see the end');
  });
  clock.start();
  await until(
    'the first end',
    async () => (await outcomeOf(1)) !== undefined,
    () => machines.printedBy(lostId),
  );
  const lost = await outcomeOf(1);
  expect(lost).toMatchObject({ kind: 'interrupted', message: `CapacityError: EC2 reclaimed ${lostId}` });
  expect(lost?.trainingSeconds).toBeCloseTo(BOOT_SECONDS + DOWNLOAD_SECONDS / 2, -1);
  expect(await judgeRun(made.deps, { runId: RUN })).toMatchObject({ kind: 'place' });
  letTimePass();

  const [instanceId = ''] = await instancesOf(made, await launch(made, 2));
  const seen: string[] = [];
  await until(
    'the second end',
    async () => {
      const message = await downloadOf(2);
      if (message !== undefined && seen.at(-1) !== message) seen.push(message);
      return (await outcomeOf(2)) !== undefined;
    },
    () => machines.printedBy(instanceId),
  );
  const outcome = await outcomeOf(2);
  expect(outcome).toMatchObject({ kind: 'completed' });
  // A second for the small objects around the shards.
  expect(outcome?.trainingSeconds).toBeGreaterThanOrEqual(BOOT_SECONDS + DOWNLOAD_SECONDS);
  expect(outcome?.trainingSeconds).toBeLessThan(BOOT_SECONDS + DOWNLOAD_SECONDS + 1);
  // One report a minute: the service hears of it for longer than the 15 minutes of silence.
  const lines = (await machines.printedBy(instanceId)).match(/[\d.]+(?= of 0.8 MB are downloaded)/g) ?? [];
  expect(lines.map(Number)).toHaveLength(Math.floor(DOWNLOAD_SECONDS / MINUTE));
  expect(seen.length).toBeGreaterThan(2);
}, 300_000);
