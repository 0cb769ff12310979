/**
 * What SageMaker and EC2 refuse, through place, launch and judge with the real adapters: the answers are the SDKs' own.
 * A limit of the account holds in every zone, a zone without capacity only there; a run goes where it can.
 */

import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeInstancesCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import {
  CreateTrainingJobCommand,
  type CreateTrainingJobRequest,
  DescribeTrainingJobCommand,
  ResourceLimitExceeded,
  SageMakerClient,
  SageMakerServiceException,
} from '@aws-sdk/client-sagemaker';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { MarketView } from '@tidewheel/placement/market.ts';
import type { Pool } from '@tidewheel/placement/records.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../../functions/aws/ec2/ec2-fleet-service.ts';
import { makeTrainingService } from '../../../../functions/aws/sagemaker/training-service.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { place } from '../../../../functions/run/attempts/place.ts';
import { launchersOver } from '../../../support/builders/launchers.ts';
import { market, ZONES } from '../../../support/builders/placement.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { marketSource } from '../../../support/market/source.ts';
import { ground } from '../../../support/world/ground.ts';

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

describe('a run that AWS refuses', () => {
  const NEW = 'CarrierUnavailable';
  const refuseFleets = (ErrorCode: string) =>
    ec2
      .on(CreateFleetCommand)
      .resolves({ FleetId: 'f', Instances: [], Errors: [{ ErrorCode, ErrorMessage: 'its words' }] });
  const refuseJobs = (name: string) =>
    sageMaker
      .on(CreateTrainingJobCommand)
      .rejects(
        new SageMakerServiceException({ name, message: 'its words', $fault: 'client', $metadata: {} }),
      );
  const launchNext = async (deps: Awaited<ReturnType<typeof setUp>>) => {
    for (;;) {
      const judged = await judgeRun(deps, { runId: RUN });
      if (judged.kind === 'failed') return judged.reason;
      if (judged.kind === 'place') {
        const placed = await place(deps, { runId: RUN });
        if (placed.kind === 'giveUp') return placed.reason;
        if (placed.kind === 'wait') {
          deps.clock.advance(placed.seconds);
          continue;
        }
      }
      const attempt = (await deps.placements.list(RUN)).length;
      await launchAttempt(deps, { runId: RUN, attempt, taskToken: `token-${attempt}` });
      return undefined;
    }
  };

  it.each([
    ['ec2', refuseFleets],
    ['sagemaker', refuseJobs],
  ] as const)('without a known reason goes elsewhere once: %s', async (launcher, refuse) => {
    const deps = await setUp({ quota: () => false, compute: { ...HOSTS, launcher } });
    refuse(NEW);
    expect(await launchNext(deps)).toBeUndefined();
    expect(await launchNext(deps)).toBeUndefined();
    expect(await launchNext(deps)).toMatch(/2 attempts in a row .* says: CarrierUnavailable: its words/);
    const attempts = await deps.attempts.list(RUN);
    expect(attempts.map(({ status, outcome }) => [status, outcome?.fault])).toEqual([
      ['failed', 'refused'],
      ['failed', 'refused'],
    ]);
    expect(new Set(attempts.map(({ placement }) => nameOf(placement.pool))).size).toBe(2);
    const texts = (await deps.timeline.list(RUN)).map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringContaining(`${NEW}: its words`));
  });

  it('once without a known reason goes on elsewhere', async () => {
    const deps = await setUp({ quota: () => false, compute: { ...HOSTS, launcher: 'ec2' } });
    refuseFleets(NEW);
    await launchNext(deps);
    answer({ quota: () => false });
    await launchNext(deps);
    expect((await deps.attempts.list(RUN)).map(({ outcome }) => outcome?.fault)).toEqual([
      'refused',
      undefined,
    ]);
  });

  it('for a template not seen yet keeps it', async () => {
    const deps = await setUp({ quota: () => false, compute: { ...HOSTS, launcher: 'ec2' } });
    const delayed = async () =>
      (await deps.timeline.list(RUN)).filter(({ kind }) => kind === 'LaunchDelayed');
    refuseFleets('InvalidLaunchTemplateName.NotFoundException');
    await expect(launchNext(deps)).rejects.toBeInstanceOf(TransientError);
    expect(await delayed()).toEqual([]);
    deps.clock.advance(120);
    await expect(launchNext(deps)).rejects.toBeInstanceOf(TransientError);
    expect((await delayed())[0]?.text).toMatch(
      /attempt 1: EC2 cannot start .* now: InvalidLaunchTemplateName.NotFoundException: its words/,
    );
    expect(ec2.commandCalls(DeleteLaunchTemplateCommand)).toEqual([]);
  });

  it('for good leaves no template behind', async () => {
    const deps = await setUp({ quota: () => false, compute: { ...HOSTS, launcher: 'ec2' } });
    refuseFleets('UnfulfillableCapacity');
    await launchNext(deps);
    expect(ec2.commandCalls(DeleteLaunchTemplateCommand)).toHaveLength(1);
  });

  it('while it verifies the account says so, and waits', async () => {
    const deps = await setUp({ quota: () => false, compute: { ...HOSTS, launcher: 'ec2' } });
    refuseFleets('PendingVerification');
    for (let hours = 0; hours < 4; hours += 1) {
      await expect(launchNext(deps)).rejects.toBeInstanceOf(TransientError);
      deps.clock.advance(3_600);
    }
    expect((await deps.timeline.list(RUN)).filter(({ kind }) => kind === 'LaunchDelayed')).toHaveLength(1);
    answer({ quota: () => false });
    await launchNext(deps);
    expect(await deps.attempts.list(RUN)).toMatchObject([{ attempt: 1, input: { mode: 'File' } }]);
  });
});
