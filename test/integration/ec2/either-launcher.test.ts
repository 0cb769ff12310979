/**
 * One run on both launchers: its first attempt on the local SageMaker, which takes its capacity away, its second on the
 * emulator's EC2, going on from what the first has saved. Placement chooses both times: by price, then by what was lost.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { agentPublisher } from '../../../functions/aws/lambda/agent.ts';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import { readProgress } from '../../../functions/records/progress.ts';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../functions/run/attempts/observe-attempt.ts';
import { place } from '../../../functions/run/attempts/place.ts';
import { reportRun } from '../../../functions/run/attempts/report-run.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { memoryExecutions } from '../../support/fakes/executions.ts';
import { memoryNotifier } from '../../support/fakes/notifier.ts';
import { memoryStores } from '../../support/fakes/stores.ts';
import { type Ground, layGround } from '../../support/local-sagemaker.ts';
import { marketSource, viewOf } from '../../support/market/source.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';
import { type Machines, startMachines } from './ground.ts';

const RUN = 'digits-000001';
const SUBNET = 'subnet-01234561';
/** A life that begins with nothing stays at half way, however slow the machine. */
const SCRIPT = `
import json, os, pathlib, time, tidewheel
folder = pathlib.Path(tidewheel.checkpoint_dir())
saved = [int(path.parent.name[5:]) for path in folder.glob('step-*/COMPLETE.json')]
step = first = max(saved, default=0)
print(f'resumed at {step}', flush=True)
while step < 12 and not tidewheel.stop_soon():
    time.sleep(0.05)
    if first == 0 and step == 6:
        continue
    step += 1
    place = folder / f'step-{step}'
    place.mkdir(parents=True, exist_ok=True)
    (place / 'state.json').write_text(str(step))
    marker = {'totalSteps': 12, 'files': {'state.json': {'bytes': len(str(step))}}}
    (place / 'COMPLETE.json').write_text(json.dumps(marker))
    tidewheel.progress(step, 12)
if step < 12:
    raise SystemExit(143)
pathlib.Path(os.environ['SM_MODEL_DIR'], 'steps').write_text(str(step))
`;

import { launchersOver, noFiles } from '../../support/builders/launchers.ts';

const emulator = emulatorOfSuite();
let sageMaker: Ground;
let folder: string;
let machines: Machines;

beforeAll(async () => {
  sageMaker = await layGround(emulator.url, { spotDiscount: () => 0.4 });
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-either-'));
  machines = await startMachines(emulator.url, folder);
});

afterAll(async () => {
  await machines?.close();
  await sageMaker?.close();
  await rm(folder, { recursive: true, force: true });
});

/** EC2 asks a quarter more than SageMaker for both markets. */
const market = marketSource(() =>
  viewOf('c5.xlarge', [{ zoneId: 'use1-az1', spotUsd: 0.1, score: 9 }], { onDemandUsd: 0.2, ec2Usd: 0.25 }),
);

async function makeDeps() {
  const clock = { now: () => new Date() };
  const ec2 = new EC2Client(clientConfiguration(emulator.url));
  const store = objectStoreOf(sageMaker.s3, sageMaker.bucket);
  const stores = memoryStores();
  const deps = {
    store,
    blobs: noFiles,
    ...stores,
    clock,
    market,
    executions: memoryExecutions(),
    notifier: memoryNotifier(),
    ...launchersOver({
      training: makeTrainingService(sageMaker.sageMaker),
      fleets: makeFleetService({ ec2, store, clock }),
    }),
    region: 'us-east-1',
    publishAgent: agentPublisher(store, path.join(import.meta.dirname, '../../..')),
  };
  const declaration = declarationOf('digits', {
    training: { strategy: 'single' },
    compute: {
      instanceTypes: ['c5.xlarge'],
      launcher: 'cheapest',
      purchaseOption: 'spot',
      ec2: { image: 'ami-0123456789abcdef0' },
      vpc: { securityGroupIds: ['sg-01234567'], subnets: [{ id: SUBNET, zoneId: 'use1-az1' }] },
    },
  });
  const at = clock.now().toISOString();
  await stores.pipelines.ensure('digits', { firstBatch: 1, at });
  await stores.runs.create(runOf('digits', 1, { createdAt: at, updatedAt: at }));
  await stores.runs.closeBatch(runOf('digits', 1), { at, declaration });
  await store.writeText(`${bucketKeys.shards('digits', RUN)}0.tar`, 'a shard');
  await store.writeText(`${bucketKeys.source('digits')}train.py`, SCRIPT);
  await sealGeneration(store, RUN, { shards: [{ name: '0.tar', bytes: 7 }] });
  return { ...deps, ec2 };
}
type Deps = Awaited<ReturnType<typeof makeDeps>>;

async function start(deps: Deps, attempt: number) {
  expect(await place(deps, { runId: RUN })).toMatchObject({ kind: 'launch', attempt });
  const { jobName } = await launchAttempt(deps, { runId: RUN, attempt, taskToken: `token-${attempt}` });
  const { Reservations = [] } = await deps.ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [jobName] }] }),
  );
  const ids = Reservations.flatMap(({ Instances = [] }) =>
    Instances.flatMap(({ InstanceId }) => InstanceId ?? []),
  );
  return { jobName, ids };
}

async function look(deps: Deps, attempt: number) {
  const found = await deps.attempts.get(RUN, attempt);
  if (found === undefined) throw new Error(`attempt ${attempt} is not on record`);
  return observeAttempt(deps, found);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(200)) if (await holds()) return;
  throw new Error(`not within a minute: ${what}; ${sageMaker.lines.slice(-20).join('\n')}`);
}

it('a run lost on SageMaker resumes on EC2', async () => {
  const deps = await makeDeps();
  const stepOf = async () => (await readProgress(deps.store, 'digits', RUN))?.step ?? 0;

  const first = await start(deps, 1);
  expect(first.ids).toEqual([]);
  expect(await deps.attempts.get(RUN, 1)).toMatchObject({ launcher: 'sagemaker' });
  await until('half of the steps', async () => (await stepOf()) === 6);
  sageMaker.market.isOpen = false;
  sageMaker.market.reclaim(2);
  await until('its end', async () => (await look(deps, 1)).kind === 'ended');
  expect(await deps.attempts.get(RUN, 1)).toMatchObject({ outcome: { kind: 'interrupted' } });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });

  const second = await start(deps, 2);
  expect(await deps.attempts.get(RUN, 2)).toMatchObject({
    launcher: 'ec2',
    placement: { pool: { launcher: 'ec2', purchaseOption: 'spot' }, onDemandHourlyUsd: 0.25 },
  });
  const [secondId = ''] = second.ids;
  const { exitCode } = await (await machines.hostOf(secondId)).exited;
  expect({ exitCode, log: await machines.printedBy(secondId) }).toEqual({
    exitCode: 0,
    log: expect.stringContaining('resumed at 6'),
  });
  expect(await look(deps, 2)).toMatchObject({ attempt: { outcome: { kind: 'completed' } } });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'done' });

  const report = await reportRun(deps, RUN, { kind: 'done', reason: 'training completed' });
  expect(report.attempts.map(({ pool, fromStep, toStep }) => [pool.launcher, fromStep, toStep])).toEqual([
    ['sagemaker', 0, 6],
    ['ec2', 6, 12],
  ]);
  const timeline = await deps.timeline.list(RUN);
  const started = timeline.filter(({ kind }) => kind === 'AttemptStarted').map(({ text }) => text);
  expect(started).toEqual([expect.stringContaining('on SageMaker'), expect.stringContaining('on EC2')]);
}, 120_000);
