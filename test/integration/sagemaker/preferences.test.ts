/** An On-Demand request of several types on the local SageMaker: what it selects, what its run records and pays. */
import path from 'node:path';
import { AGENT_FILES, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { agentPublisher } from '../../../functions/aws/lambda/agent.ts';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../functions/run/attempts/observe-attempt.ts';
import { launchersOver } from '../../support/builders/launchers.ts';
import { declarationOf, launchOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { type Ground, layGround } from '../../support/local-sagemaker.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';
import { ground as memoryGround } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const [FIRST, SECOND, THIRD] = ['c5.xlarge', 'm5.xlarge', 'c5.2xlarge'] as const;
const SECOND_USD = 7_200;

const emulator = emulatorOfSuite();
/** Quotas of instances, by EC2's name. */
const quotas = new Map<string, number>();
let ground: Ground;
let attempts = 0;

beforeAll(async () => {
  ground = await layGround(emulator.url, { instanceQuota: (type) => quotas.get(type) ?? 10 });
  await ground.put(`${bucketKeys.source('digits')}train.py`, 'print("trains")');
  await ground.put(`${bucketKeys.shards('digits', RUN)}0.tar`, 'a shard');
}, 60_000);

beforeEach(() => {
  quotas.clear();
  ground.market.without.clear();
});

afterAll(() => ground?.close(), 60_000);

/** Launches the next attempt, as a placement near the latest safe moment has it. */
async function launched() {
  attempts += 1;
  const attempt = attempts;
  const world = memoryGround();
  const training = makeTrainingService(ground.sageMaker);
  const store = objectStoreOf(ground.s3, ground.bucket);
  const repository = path.join(import.meta.dirname, '../../..');
  const declaration = declarationOf('digits', {
    training: { strategy: 'single', model: 'none' },
    compute: { instanceTypes: [FIRST, SECOND, THIRD], nodes: 1 },
  });
  const deps = {
    ...world,
    store,
    clock: { now: () => new Date() },
    ...launchersOver({ training, fleets: world.fleets }),
    region: 'us-east-1',
    publishAgent: agentPublisher(store, repository),
  };
  await deps.publishAgent(AGENT_FILES);
  const now = deps.clock.now().toISOString();
  await deps.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await deps.runs.create(runOf('digits', 1));
  await deps.runs.closeBatch(runOf('digits', 1), { at: now, declaration });
  const placement = launchOf({
    pool: { instanceType: FIRST, launcher: 'sagemaker', purchaseOption: 'on-demand' },
    topology: { nodes: 1, acceleratorsPerNode: 0 },
    alternatives: [
      { instanceType: SECOND, onDemandHourlyUsd: SECOND_USD },
      { instanceType: THIRD, onDemandHourlyUsd: 1 },
    ],
    maximumWaitSeconds: undefined,
  });
  await deps.placements.put(RUN, attempt, placement);
  await sealGeneration(store, RUN);
  const { jobName } = await launchAttempt(deps, { runId: RUN, attempt, taskToken: 'token' });
  return {
    jobName,
    ended: async () => {
      const job = await ground.ended(jobName);
      const known = await deps.attempts.get(RUN, attempt);
      if (known !== undefined) await observeAttempt(deps, known);
      return { job, record: await deps.attempts.get(RUN, attempt), timeline: await deps.timeline.list(RUN) };
    },
  };
}

test('the second type is selected and billed', async () => {
  ground.market.without.add(FIRST);
  const { job, record, timeline } = await (await launched()).ended();
  expect(job).toMatchObject({
    TrainingJobStatus: 'Completed',
    ResourceConfig: {
      InstancePreferences: [FIRST, SECOND, THIRD].map((type) => ({ InstanceType: `ml.${type}` })),
      InstanceCount: 1,
      SelectedInstanceType: `ml.${SECOND}`,
      SelectedInstanceCount: 1,
    },
  });
  expect(record).toMatchObject({
    status: 'done',
    placement: { pool: { instanceType: SECOND }, onDemandHourlyUsd: SECOND_USD },
  });
  expect(record && attemptCost(record)).toBe(2 * (job.BillableTimeInSeconds ?? Number.NaN));
  expect(timeline.map(({ text }) => text)).toEqual(
    expect.arrayContaining([
      expect.stringContaining('1 x c5.xlarge or m5.xlarge or c5.2xlarge on-demand'),
      `attempt 1 takes ${SECOND}: ${FIRST} had no capacity`,
    ]),
  );
}, 60_000);

test('the first starts alone if another has no quota', async () => {
  quotas.set(THIRD, 0);
  const { job, record, timeline } = await (await launched()).ended();
  expect(job.ResourceConfig).toMatchObject({ InstanceType: `ml.${FIRST}`, InstanceCount: 1 });
  expect(job.ResourceConfig).not.toHaveProperty('InstancePreferences');
  expect(record).toMatchObject({ status: 'done', placement: { pool: { instanceType: FIRST } } });
  // The next capacity error cools no type that was not requested.
  expect(record?.placement.alternatives).toBeUndefined();
  expect(timeline.find(({ kind }) => kind === 'AttemptStarted')?.text).toMatch(
    /c5\.xlarge alone \(.*ml\.c5\.2xlarge for training job usage/,
  );
}, 60_000);
