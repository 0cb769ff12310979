/** A host that EC2 reclaims before it has said a word: what EC2 says of it is all that the service has. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { reportRun } from '../../../functions/run/attempts/report-run.ts';
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

/** Too short for the warning to reach a process. */
const GRACE_SECONDS = 0.05;
const BOOT_SECONDS = 60;

let emulator: TestEmulator;
let folder: string;
let machines: Machines;
let ground: Ground;

beforeAll(async () => {
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-')),
  ]);
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    bootSeconds: () => BOOT_SECONDS,
  });
  ground = await makeGround(emulator.url, {
    bucket: 'tw-reclaims',
    strategy: 'single',
    nodes: 1,
    script: 'raise SystemExit("is not reached")',
  });
});

afterAll(async () => {
  await machines?.close();
  ground?.close();
  await emulator?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('is an interruption, and no fault', async () => {
  const jobName = await launch(ground, 1);
  const [instanceId = ''] = await instancesOf(ground, jobName);
  await until('it has capacity', () => machines.market.leasesHeld === 1);
  machines.market.reclaim(GRACE_SECONDS);
  // EC2's event of the end reaches the deployed function.
  await until('the end', async () => (await look(ground, 1)).kind === 'ended');
  expect(await look(ground, 1)).toMatchObject({
    attempt: {
      status: 'interrupted',
      outcome: { kind: 'interrupted', message: `CapacityError: EC2 reclaimed ${instanceId}` },
    },
  });
  expect(await ground.waiting.outputOf('launch-x1')).toEqual({ attempt: 1, outcome: 'interrupted' });
  expect(await judgeRun(ground.deps, { runId: RUN })).toMatchObject({ kind: 'place' });
  const report = await reportRun(ground.deps, RUN, { kind: 'failed', reason: 'the test ends here' });
  expect(report).toMatchObject({ interruptions: 1 });
});
