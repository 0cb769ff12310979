/** A run on a Capacity Block that ends under it, and on Spot when the block is full or over. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { LocalClock } from '@tidewheel/emulators/clock/clock.ts';
import { type LocalMarket, startLocalMarket } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { startTestEmulator, TEST_KEY, type TestEmulator } from '../../support/emulator.ts';
import {
  type Ground,
  instancesOf,
  launch,
  look,
  type Machines,
  makeGround,
  RUN,
  startMachines,
  stepOf,
  trainingScript,
  until,
} from './ground.ts';

const BLOCK = 'cr-0123456789abcdef0';
const MINUTE = 60_000;

/** The clock on the wall, which a test moves on. */
function movedClock() {
  let ahead = 0;
  const due: { readonly at: number; readonly action: () => void }[] = [];
  const clock: LocalClock = {
    now: () => Date.now() + ahead,
    at: (at, action) => {
      due.push({ at, action });
      return () =>
        void due.splice(
          due.findIndex((each) => each.action === action),
          1,
        );
    },
    hold: () => () => undefined,
  };
  const pass = (minutes: number): void => {
    ahead += minutes * MINUTE;
    for (const each of due.filter(({ at }) => at <= clock.now())) each.action();
  };
  return { clock, pass, service: { now: () => new Date(clock.now()) } };
}

let time: ReturnType<typeof movedClock>;
let emulator: TestEmulator;
let folder: string;
let market: LocalMarket;
let machines: Machines;
let ground: Ground;

beforeEach(async () => {
  time = movedClock();
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(path.join(os.tmpdir(), 'tidewheel-reserved-')),
  ]);
  const now = time.clock.now();
  market = await startLocalMarket({
    credentials: TEST_KEY,
    awsEndpointUrl: emulator.url,
    clock: time.clock,
    reservations: [
      {
        id: BLOCK,
        kind: 'capacity-block',
        instanceType: 'c5.xlarge',
        zoneId: 'use1-az1',
        instances: 1,
        startsAt: new Date(now - 60 * MINUTE),
        endsAt: new Date(now + 100 * MINUTE),
      },
    ],
  });
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), { market: market.market });
  ground = await makeGround(emulator.url, {
    bucket: 'tw-reserved',
    strategy: 'single',
    nodes: 1,
    script: await trainingScript(),
    clock: time.service,
    ec2Url: market.url,
    reserved: [BLOCK],
  });
});

afterEach(async () => {
  await machines.close();
  await market.close();
  ground.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

const poolOf = async (attempt: number) => (await ground.deps.attempts.get(RUN, attempt))?.placement.pool;

/** An attempt in the block that has saved. */
async function trainInBlock(): Promise<string> {
  const jobName = await launch(ground, 1);
  expect(await poolOf(1)).toMatchObject({ purchaseOption: 'reserved', reservation: BLOCK });
  const [instanceId = ''] = await instancesOf(ground, jobName);
  await until(
    'a proven step',
    async () => (await stepOf(ground)) >= 5,
    () => machines.printedBy(instanceId),
  );
  expect(market.reservations.all.map((each) => market.reservations.free(each))).toEqual([0]);
  return jobName;
}

it('leaves the block before its end, for Spot', async () => {
  await trainInBlock();
  expect(await look(ground, 1)).toMatchObject({ kind: 'running' });
  // AWS takes the hosts half an hour before the end; the look after this one would come too late.
  time.pass(64);
  expect(await look(ground, 1)).toMatchObject({ kind: 'recalled' });
  await until('the end of the attempt', async () => (await look(ground, 1)).kind === 'ended');
  const ended = await ground.deps.attempts.get(RUN, 1);
  expect(ended?.outcome).toMatchObject({ kind: 'recalled', message: expect.stringContaining(BLOCK) });
  expect(await judgeRun(ground.deps, { runId: RUN })).toMatchObject({ kind: 'place' });
  await launch(ground, 2);
  expect(await poolOf(2)).toMatchObject({ purchaseOption: 'spot' });
}, 300_000);

it('resumes elsewhere when AWS takes its hosts', async () => {
  const jobName = await trainInBlock();
  time.pass(71);
  await until('the end of the host', async () => (await instancesOf(ground, jobName)).length === 0);
  await until('the end of the attempt', async () => (await look(ground, 1)).kind === 'ended');
  const ended = await ground.deps.attempts.get(RUN, 1);
  expect(ended?.outcome).toMatchObject({ kind: 'interrupted' });
  await launch(ground, 2);
  expect(await poolOf(2)).toMatchObject({ purchaseOption: 'spot' });
}, 300_000);

it('takes Spot where another has filled the block', async () => {
  const { deps } = ground;
  const { reservations } = deps;
  // Described as idle, and full a moment later.
  const stale = async () => {
    const answer = await reservations([BLOCK]);
    market.market.acquire({
      owner: 'another',
      groups: [{ instanceType: 'c5.xlarge', count: 1 }],
      purchaseOption: 'on-demand',
      reservation: BLOCK,
    });
    return answer;
  };
  Object.assign(deps, { reservations: stale });
  await launch(ground, 1).catch(() => undefined);
  const refused = await deps.attempts.get(RUN, 1);
  expect(refused?.outcome).toMatchObject({
    kind: 'capacity',
    message: expect.stringContaining('ReservationCapacityExceeded'),
  });
  await launch(ground, 2);
  expect(await poolOf(2)).toMatchObject({ purchaseOption: 'spot' });
}, 300_000);
