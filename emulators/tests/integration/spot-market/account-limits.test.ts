/** EC2 with the limits of an account, in front of the emulator; and the service's own adapters, which must live with them. */

import {
  DescribeRegionsCommand,
  EC2Client,
  GetSpotPlacementScoresCommand,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../../functions/aws/ec2/ec2-fleet-service.ts';
import { ec2Market } from '../../../../functions/aws/market/ec2-market.ts';
import { retry } from '../../../../functions/aws/shared/clients.ts';
import { planOf } from '../../../../test/support/builders/fleet.ts';
import { clientConfiguration, TEST_KEY } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { objectStoreOf } from '../../../../test/support/test-bucket.ts';
import { limitsOf } from '../../../limits/profiles.ts';
import { marketLimits } from '../../../region/account-limits.ts';
import { type LocalMarket, startLocalMarket } from '../../../spot-market/spot-market.ts';

const LIMITS = limitsOf('new-account').ec2;
/** Of the plans that `planOf` makes. */
const BUCKET = 'tw-data';
const clock = { now: () => new Date() };
const emulator = emulatorOfSuite();
let store: ObjectStore;
let market: LocalMarket | undefined;
/** Of the market. */
let nowMs = 0;

beforeAll(async () => {
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  store = objectStoreOf(s3, BUCKET);
});

afterEach(async () => {
  await market?.close();
});

/** The market of a new account, whose clock stands: no token comes back. */
async function open(more: Partial<Parameters<typeof startLocalMarket>[0]> = {}) {
  nowMs = Date.now();
  market = await startLocalMarket({
    credentials: TEST_KEY,
    awsEndpointUrl: emulator.url,
    ...marketLimits('new-account'),
    clock: { now: () => nowMs, at: () => () => undefined, hold: () => () => undefined },
    ...more,
  });
  // As the functions have it.
  const ec2 = new EC2Client({ ...clientConfiguration(market.url), ...retry });
  return { ec2, fleets: makeFleetService({ ec2, store, clock }) };
}

let attempts = 0;
/** One host of four vCPUs; the Standard families have five. */
const plan = (purchaseOption: 'spot' | 'on-demand', instanceType = 'c5.xlarge', nodes = 1) =>
  planOf({ instanceType, nodes, purchaseOption, over: { attempt: ++attempts } });

describe('the quotas of vCPUs', () => {
  it('hold for what runs, Spot and On-Demand apart', async () => {
    const { fleets } = await open();
    const first = plan('spot');
    expect(await fleets.launch(first)).toMatchObject({ kind: 'created' });
    expect(await fleets.launch(plan('spot'))).toMatchObject({
      kind: 'quota',
      message: expect.stringMatching(
        /^MaxSpotInstanceCountExceeded: Max spot instance count exceeded \(.*"All Standard .* Spot Instance Requests".* --quota-code L-34B43A08 /,
      ) as string,
    });
    const onDemand = plan('on-demand');
    expect(await fleets.launch(onDemand)).toMatchObject({ kind: 'created' });
    await fleets.release(first.name);
    const next = plan('spot');
    expect(await fleets.launch(next)).toMatchObject({ kind: 'created' });
    for (const { name } of [onDemand, next]) await fleets.release(name);
  });

  it('of 0 refuse hosts with accelerators, leaving nothing', async () => {
    const { fleets } = await open();
    const refused = plan('on-demand', 'g5.xlarge', 2);
    expect(await fleets.launch(refused)).toMatchObject({
      kind: 'quota',
      message: expect.stringMatching(
        /^VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows .*"Running On-Demand G and VT instances"/,
      ) as string,
    });
    await fleets.release(refused.name);
    expect(await fleets.listLeftovers()).not.toContain(refused.name);
  });

  it('are not passed by two launches at once', async () => {
    const { fleets } = await open();
    const both = [plan('spot'), plan('spot')];
    const outcomes = await Promise.all(both.map((each) => fleets.launch(each)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['created', 'quota']);
    for (const { name } of both) await fleets.release(name);
  });

  it('hold for RunInstances', async () => {
    const { ec2 } = await open();
    const run = (InstanceMarketOptions?: { MarketType: 'spot' }) =>
      ec2.send(
        new RunInstancesCommand({
          ImageId: 'ami-0123456789abcdef0',
          InstanceType: 'c5.2xlarge',
          MinCount: 1,
          MaxCount: 1,
          InstanceMarketOptions,
        }),
      );
    const refused = { $metadata: { httpStatusCode: 400 } };
    await expect(run()).rejects.toMatchObject({ name: 'VcpuLimitExceeded', ...refused });
    await expect(run({ MarketType: 'spot' })).rejects.toMatchObject({
      name: 'MaxSpotInstanceCountExceeded',
      message: 'Max spot instance count exceeded',
      ...refused,
    });
  });
});

describe('the rate of an action', () => {
  it('is the burst, then RequestLimitExceeded', async () => {
    await open();
    const ec2 = new EC2Client({ ...clientConfiguration(market?.url ?? ''), maxAttempts: 1 });
    const ask = () => ec2.send(new DescribeRegionsCommand({}));
    for (let asked = 0; asked < LIMITS.actions.burst; asked += 1) await ask();
    await expect(ask()).rejects.toMatchObject({
      name: 'RequestLimitExceeded',
      $metadata: { httpStatusCode: 503 },
    });
    nowMs += 1_000;
    const again = Array.from({ length: LIMITS.actions.perSecond + 1 }, ask);
    const answers = await Promise.allSettled(again);
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  it('is outlived by the retries of the service', async () => {
    const { ec2, fleets } = await open({ actionRate: { burst: 1, perSecond: 1 } });
    let tries = 0;
    ec2.middlewareStack.add(
      (next) => async (args) => {
        tries += 1;
        // The token comes back before the first retry, and not before the refusal.
        if (tries === 3) nowMs += 1_000;
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
    await fleets.jobsOf(['i-0123456789abcdef0']);
    expect(await fleets.jobsOf(['i-0123456789abcdef0'])).toEqual(new Map());
    expect(tries).toBe(3);
  });

  it('without an end is a transient error', async () => {
    const { fleets } = await open({ actionRate: { burst: 1, perSecond: 1 } });
    await fleets.jobsOf(['i-0123456789abcdef0']);
    await expect(fleets.jobsOf(['i-0123456789abcdef0'])).rejects.toThrow(TransientError);
  });
});

it('leaves the service without scores beyond its configurations', async () => {
  const { ec2 } = await open();
  const used = { SingleAvailabilityZone: true, RegionNames: ['us-east-1'] };
  const InstanceTypes = ['c5.xlarge', 'c6i.xlarge', 'm5.xlarge'] as const;
  for (let TargetCapacity = 1_000; TargetCapacity < 1_000 + LIMITS.scoreConfigurations; TargetCapacity += 1)
    await ec2.send(
      new GetSpotPlacementScoresCommand({ ...used, InstanceTypes: [...InstanceTypes], TargetCapacity }),
    );
  const source = ec2Market({ ec2, region: 'us-east-1', clock });
  expect(await source.scores([...InstanceTypes], 2)).toMatchObject({
    kind: 'unknown',
    failure: 'configurationLimit',
    message: expect.stringContaining('MaxConfigLimitExceeded') as string,
  });
  // A day later it is a new question again.
  nowMs += 86_400_000;
  expect(await source.scores([...InstanceTypes], 2)).toMatchObject({ kind: 'known' });
});
