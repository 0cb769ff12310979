/** A run in a region with an account's limits and delays: the service as it is deployed, on a virtual clock. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeRegionsCommand, EC2Client, GetSpotPlacementScoresCommand } from '@aws-sdk/client-ec2';
import { SageMakerClient, StopTrainingJobCommand } from '@aws-sdk/client-sagemaker';
import { ec2OnDemandUsd, ec2SpotUsd, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Played, playCampaigns } from '../../../bench/campaign/campaign.ts';
import type { Campaign } from '../../../bench/campaign/campaign-case.ts';
import { PYTHON } from '../../support/region.ts';

const HOUR = 3_600;
/** Eight accelerators, which are prepared for longer than the ten minutes for which a run waits for Spot. */
const INSTANCE_TYPE = 'p3.16xlarge';
const ZONE_ID = 'use1-az6';
const campaign: Campaign = {
  name: 'prepared',
  instanceType: INSTANCE_TYPE,
  zones: [{ zoneId: ZONE_ID, available: Array.from({ length: 48 }, () => true) }],
  tickSeconds: 600,
  workSeconds: HOUR / 2,
  deadlineHours: 8,
  startSeconds: 60,
};
const { preparationSeconds, imageSeconds, operations } = limitsOf('default').sageMaker;
const { actions, scoreConfigurations } = limitsOf('default').ec2;

/** From the download of the image to the end of the program. */
const onInstancesSeconds = imageSeconds.eight + campaign.startSeconds + campaign.workSeconds;

/** Names of the errors that came after the limits, in the order of {@link useUpLimits}. */
let refusals: readonly string[] = [];

/** While the clock stands no token comes back. */
async function useUpLimits({ endpoints, credentials }: Region): Promise<void> {
  const common = { region: 'us-east-1', credentials, maxAttempts: 1 };
  const ec2 = new EC2Client({ ...common, endpoint: endpoints.ec2 });
  const sageMaker = new SageMakerClient({ ...common, endpoint: endpoints.sageMaker });
  const question = { InstanceTypes: ['c5.xlarge', 'm5.xlarge', 'r5.xlarge'], RegionNames: ['us-east-1'] };
  refusals = [
    await refusalAfter(scoreConfigurations, (time) =>
      ec2.send(new GetSpotPlacementScoresCommand({ ...question, TargetCapacity: 1_000 + time })),
    ),
    await refusalAfter(actions.burst, () => ec2.send(new DescribeRegionsCommand({}))),
    await refusalAfter(operations.burst, () =>
      sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: 'none' })),
    ),
  ];
  ec2.destroy();
  sageMaker.destroy();
}

async function refusalAfter(times: number, ask: (time: number) => Promise<unknown>): Promise<string> {
  for (let time = 0; time < times; time += 1) await ask(time).catch(() => undefined);
  return ask(times).then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? error.name : String(error)),
  );
}

let stateDirectory: string;
let played: Played | undefined;

beforeAll(async () => {
  stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-limited-'));
  [played] = await playCampaigns([campaign], {
    stateDirectory,
    pythonPath: PYTHON,
    limits: 'default',
    onReady: useUpLimits,
    log: () => undefined,
  });
}, 600_000);

afterAll(async () => {
  await rm(stateDirectory, { recursive: true, force: true });
});

it('refuses what is beyond the rates and configurations', () => {
  expect(refusals).toEqual(['MaxConfigLimitExceeded', 'RequestLimitExceeded', 'ThrottlingException']);
});

it('places without scores, and says so', () => {
  expect(played?.reasons).toEqual([expect.stringContaining('configurationLimit')]);
});

it('outlives a preparation longer than ten minutes', () => {
  expect(preparationSeconds.eight).toBeGreaterThan(600);
  expect(played?.report).toMatchObject({ status: 'succeeded', interruptions: 0 });
  expect(played?.report.attempts.map(({ pool, outcome }) => [pool.purchaseOption, outcome])).toEqual([
    ['spot', 'completed'],
  ]);
  expect(played?.campaignSeconds).toBeGreaterThanOrEqual(preparationSeconds.eight + onInstancesSeconds);
});

it('pays for BillableTimeInSeconds alone', () => {
  const [attempt] = played?.report.attempts ?? [];
  const { trainingSeconds = 0, billableSeconds = 0, costUsd } = attempt ?? {};
  // The download and the program's own time, not the preparation. SageMaker bills a second that has begun.
  expect(Math.abs(trainingSeconds - onInstancesSeconds)).toBeLessThanOrEqual(2);
  const share =
    (ec2SpotUsd(INSTANCE_TYPE, 'us-east-1', ZONE_ID) ?? 0) /
    (ec2OnDemandUsd(INSTANCE_TYPE, 'us-east-1') ?? 0);
  expect(Math.abs(billableSeconds - onInstancesSeconds * share)).toBeLessThanOrEqual(2);
  const hourlyUsd = trainingPrice(INSTANCE_TYPE, 'us-east-1')?.hourlyUsd ?? 0;
  expect(costUsd).toBeCloseTo((billableSeconds / HOUR) * hourlyUsd, 6);
});
