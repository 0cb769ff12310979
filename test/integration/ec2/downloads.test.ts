/** A host that is lost while it downloads its shards at the rate of its network: no script is blamed. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { judgeRun } from '../../../functions/core/attempts/judge-run.ts';
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

const BYTES_PER_SECOND = 500_000;
const DOWNLOAD_SECONDS = 4;
const GRACE_SECONDS = 0.5;

const SCRIPT = 'import os, pathlib; pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("trained")';

let emulator: TestEmulator;
let folder: string;
let machines: Machines;
let ground: Ground | undefined;

beforeEach(async () => {
  ground = undefined;
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-')),
  ]);
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    downloadBytesPerSecond: () => BYTES_PER_SECOND,
  });
});

afterEach(async () => {
  await machines.close();
  ground?.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

const statusOf = async (made: Ground, attempt: number) => {
  const seen = await look(made, attempt);
  return seen.kind === 'running' ? seen.job.SecondaryStatus : seen.kind;
};

it('loses a host in the middle of its download', async () => {
  const shard = 'x'.repeat(BYTES_PER_SECOND * DOWNLOAD_SECONDS);
  const made = await makeGround(emulator.url, {
    bucket: 'tw-downloads',
    strategy: 'single',
    nodes: 1,
    script: SCRIPT,
    shard,
  });
  ground = made;
  const [instanceId = ''] = await instancesOf(made, await launch(made, 1));
  const host = await machines.hostOf(instanceId);
  const printed = () => machines.printedBy(instanceId);
  await until('a download', async () => (await statusOf(made, 1)) === 'Downloading', printed);
  const seen = await look(made, 1);
  const transitions = seen.kind === 'running' ? seen.job.SecondaryStatusTransitions : [];
  expect(transitions.at(-1)).toMatchObject({ Status: 'Downloading' });
  machines.market.reclaim(GRACE_SECONDS);
  await host.exited;
  await until('the end', async () => (await statusOf(made, 1)) === 'ended', printed);
  const ended = await look(made, 1);
  expect(ended).toMatchObject({ kind: 'ended', attempt: { outcome: { kind: 'interrupted' } } });
  expect(ended.kind === 'ended' && ended.attempt.outcome?.trainingSeconds).toBeGreaterThan(0);
  expect(await judgeRun(made.deps, { runId: RUN })).toMatchObject({ kind: 'place' });

  const [secondId = ''] = await instancesOf(made, await launch(made, 2));
  const second = await machines.hostOf(secondId);
  const { exitCode } = await second.exited;
  expect({ exitCode, log: await machines.printedBy(secondId) }).toEqual({
    exitCode: 0,
    log: expect.any(String),
  });
  const completed = await look(made, 2);
  expect(completed).toMatchObject({ attempt: { outcome: { kind: 'completed' } } });
  // The download is on the bill.
  const billedSeconds = completed.kind === 'ended' ? (completed.attempt.outcome?.trainingSeconds ?? 0) : 0;
  expect(billedSeconds).toBeGreaterThanOrEqual(DOWNLOAD_SECONDS);
}, 120_000);
