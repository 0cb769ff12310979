/**
 * What SageMaker and EC2 refuse, through place, launch and judge with the real adapters: the answers are the SDKs' own.
 * A limit of the account holds in every zone, a zone without capacity only there; a run goes where it can.
 */

import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DescribeInstancesCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import {
  CreateTrainingJobCommand,
  type CreateTrainingJobRequest,
  DescribeTrainingJobCommand,
  ResourceLimitExceeded,
  SageMakerClient,
} from '@aws-sdk/client-sagemaker';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import { judgeRun } from '../../../functions/core/attempts/judge-run.ts';
import { launchAttempt } from '../../../functions/core/attempts/launch-attempt.ts';
import { place } from '../../../functions/core/placement/decision/place.ts';
import type { MarketView } from '../../../functions/core/placement/model/market-source.ts';
import type { Pool } from '../../../functions/core/runs/placement-records.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { launchersOver } from '../../support/builders/launchers.ts';
import { market, ZONES } from '../../support/builders/placement.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { marketSource } from '../../support/market/source.ts';
import { ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const HOSTS = { ec2: { image: 'ami-0123456789abcdef0' } };
const sageMaker = mockClient(SageMakerClient);
const ec2 = mockClient(EC2Client);

const subnetOf = (zoneId: string): string => `subnet-${zoneId.replaceAll('-', '')}`;
const network = {
  securityGroupIds: ['sg-01234567'],
  subnets: ZONES.map((zoneId) => ({ id: subnetOf(zoneId), zoneId })),
};

/** EC2 costs a fifth more than SageMaker here, so that placement tries SageMaker first. */
const dearEc2 = (): MarketView => {
  const view = market();
  return {
    ...view,
    onDemandPrices: view.onDemandPrices.map((each) => ({ ...each, ec2HourlyUsd: each.hourlyUsd * 1.2 })),
    spotPrices: view.spotPrices.map((each) => ({ ...each, hourlyUsd: each.hourlyUsd * 1.5 })),
  };
};

interface Refusals {
  /** Of SageMaker: the account's limit is in the way of such a job. */
  readonly quota: (request: CreateTrainingJobRequest) => boolean;
  /** Zones in which EC2 has nothing. */
  readonly dry?: readonly string[];
}

beforeEach(() => {
  sageMaker.reset();
  ec2.reset();
});

function answer({ quota, dry = [] }: Refusals): void {
  const $metadata = {};
  sageMaker.on(CreateTrainingJobCommand).callsFake((request: CreateTrainingJobRequest) => {
    if (!quota(request)) return { TrainingJobArn: 'arn:aws:sagemaker:us-east-1:123456789012:training-job/x' };
    const message = `The account-level service limit for training job usage is 0 Instances, with current utilization of 0`;
    throw new ResourceLimitExceeded({ message, $metadata });
  });
  const absent = Object.assign(new Error('Requested resource not found.'), { name: 'ValidationException' });
  sageMaker.on(DescribeTrainingJobCommand).rejects(absent);
  ec2.onAnyCommand().resolves({});
  ec2.on(DescribeInstancesCommand).resolves({ Reservations: [] });
  let subnet: string | undefined;
  ec2.on(CreateLaunchTemplateCommand).callsFake((template: CreateLaunchTemplateCommand['input']) => {
    subnet = template.LaunchTemplateData?.NetworkInterfaces?.[0]?.SubnetId;
    return {};
  });
  ec2.on(CreateFleetCommand).callsFake(() =>
    dry.some((zoneId) => subnetOf(zoneId) === subnet)
      ? {
          FleetId: 'fleet-1',
          Errors: [{ ErrorCode: 'InsufficientInstanceCapacity', ErrorMessage: 'There is no Spot capacity' }],
          Instances: [],
        }
      : { FleetId: 'fleet-2', Instances: [{ InstanceIds: ['i-1', 'i-2'] }] },
  );
}

interface Setting extends Refusals {
  readonly compute?: Readonly<Record<string, unknown>>;
  readonly view?: MarketView;
}

async function setUp({ compute = {}, view = dearEc2(), ...refusals }: Setting) {
  answer(refusals);
  const at = ground();
  const fleets = makeFleetService({ ec2: new EC2Client({}), store: at.store, clock: at.clock });
  const deps = {
    ...at,
    market: marketSource(() => view),
    ...launchersOver({ training: makeTrainingService(new SageMakerClient({})), fleets }),
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/0a1b/'),
  };
  const now = at.clock.now().toISOString();
  const declaration = declarationOf('digits', {
    compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc: network, ...compute },
  });
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1, { createdAt: now, updatedAt: now }));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration });
  await sealGeneration(at.store, RUN);
  at.store.put(`${bucketKeys.source('digits')}train.py`, 'pass');
  return deps;
}

const nameOf = ({ launcher, instanceType, zoneId, purchaseOption: kind }: Pool): string =>
  `${launcher} ${instanceType} ${zoneId ?? ''} ${kind}`;

/** As the state machine does it, until a job was taken or `most` were refused. */
async function campaign(deps: Awaited<ReturnType<typeof setUp>>, most = 20) {
  const start = deps.clock.now().getTime();
  const requested: Pool[] = [];
  while (requested.length < most) {
    expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });
    const placed = await place(deps, { runId: RUN });
    if (placed.kind === 'giveUp') throw new Error(placed.reason);
    if (placed.kind === 'wait') {
      deps.clock.advance(placed.seconds);
      continue;
    }
    const { attempt } = placed;
    await launchAttempt(deps, { runId: RUN, attempt, taskToken: `token-${attempt}` });
    const record = await deps.attempts.get(RUN, attempt);
    if (record === undefined) throw new Error('the attempt is on record');
    requested.push(record.placement.pool);
    deps.clock.advance(10);
    if (record.outcome === undefined) break;
    expect(record.outcome).toMatchObject({ kind: 'capacity', billableSeconds: 0 });
  }
  const seconds = (deps.clock.now().getTime() - start) / 1_000;
  return { requested, taken: requested.at(-1), refused: requested.slice(0, -1), seconds };
}

describe('a run whose account may not train on SageMaker', () => {
  it('tries each limited type once, then other EC2 zones', async () => {
    const deps = await setUp({
      quota: () => true,
      dry: ['use1-az1'],
      compute: { ...HOSTS, launcher: 'cheapest' },
    });
    const { refused, taken, seconds } = await campaign(deps);
    const limits = refused.filter(({ launcher }) => launcher === 'sagemaker');
    const kinds = limits.map(({ instanceType, purchaseOption: kind }) => `${instanceType} ${kind}`);
    expect(kinds.length).toBeGreaterThan(0);
    expect(new Set(kinds).size).toBe(kinds.length);
    expect(refused.filter(({ launcher }) => launcher === 'ec2').map(({ zoneId }) => zoneId)).toContain(
      'use1-az1',
    );
    expect(taken).toMatchObject({ launcher: 'ec2' });
    expect(taken?.zoneId).not.toBe('use1-az1');
    expect(seconds).toBeLessThan(300);
  });

  it('leaves what every run of the account will know', async () => {
    const deps = await setUp({ quota: () => true, compute: { ...HOSTS, launcher: 'cheapest' } });
    await campaign(deps);
    const met = await deps.poolOutcomes.list('g6', '2026-01-01');
    expect(
      met.filter(({ quota }) => quota === true).map(({ end, launcher }) => [end, launcher]),
    ).toContainEqual(['capacityError', 'sagemaker']);
  });
});

describe('a SageMaker run without a Spot quota', () => {
  it('takes On-Demand at once instead of waiting', async () => {
    const deps = await setUp({
      quota: ({ EnableManagedSpotTraining: spot }) => spot === true,
      view: market(),
    });
    const { requested, taken, seconds } = await campaign(deps);
    expect(requested.map(nameOf)).toEqual([
      expect.stringMatching(/^sagemaker g6\.xlarge use1-az\d spot$/),
      expect.stringMatching(/^sagemaker g5\.xlarge use1-az\d spot$/),
      expect.stringMatching(/^sagemaker g6\.xlarge use1-az\d on-demand$/),
    ]);
    expect(taken?.purchaseOption).toBe('on-demand');
    expect(seconds).toBeLessThan(60);
  });

  it('of one type only takes the other on Spot', async () => {
    const deps = await setUp({
      quota: ({ ResourceConfig }) => ResourceConfig?.InstanceType === 'ml.g6.xlarge',
      view: market(),
    });
    const { requested, taken } = await campaign(deps);
    expect(taken).toMatchObject({ instanceType: 'g5.xlarge', purchaseOption: 'spot' });
    expect(requested).toHaveLength(2);
  });
});

describe('a run on EC2 that finds zones without capacity', () => {
  it('tries every other pool before it repeats one', async () => {
    const deps = await setUp({
      quota: () => true,
      dry: ['use1-az1', 'use1-az2'],
      compute: { ...HOSTS, launcher: 'ec2' },
      view: market(),
    });
    const { requested, taken } = await campaign(deps);
    expect(taken).toMatchObject({ launcher: 'ec2', zoneId: 'use1-az4' });
    expect(new Set(requested.map(nameOf)).size).toBe(requested.length);
    const decision = (await deps.placements.list(RUN)).at(-1)?.decision;
    if (decision?.kind !== 'launch') throw new Error('the last decision was to launch');
    const left = decision.placement.considered.filter(({ pool }) => pool.zoneId !== 'use1-az4');
    expect(
      left.some(({ verdict }) => /had a capacity error lately|believed to be without capacity/.test(verdict)),
    ).toBe(true);
  });

  it('waits when no pool is left, then launches', async () => {
    const deps = await setUp({
      quota: () => true,
      dry: [...ZONES],
      compute: { ...HOSTS, launcher: 'ec2', purchaseOption: 'on-demand' },
      view: market(),
    });
    const { requested } = await campaign(deps, 8);
    expect(new Set(requested.map(nameOf)).size).toBe(6);
    answer({ quota: () => true });
    expect((await campaign(deps)).taken).toMatchObject({ launcher: 'ec2', purchaseOption: 'on-demand' });
  });
});
