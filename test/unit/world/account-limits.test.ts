/** Runs against the limits of an account, from the declaration to the report. Time is virtual, nothing fails by chance. */
import { describe, expect, it } from 'vitest';
import type { FleetPlan } from '../../../functions/launch/ec2/fleet.ts';
import { createFleetResult } from '../../../functions/launch/ec2/fleet-result.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import type { FleetScript, ScriptedFleet } from '../../support/fakes/fleets.ts';
import type { JobScript, ScriptedStatus } from '../../support/fakes/training.ts';
import type { Conditions } from '../../support/world/account.ts';
import { type Drop, trainDrops } from '../../support/world/drops.ts';
import { seededChoices } from '../../support/world/random.ts';

const callSeconds = () => 0.02;
const ON_DEMAND = '{ instanceTypes: [g5.xlarge], nodes: 2, purchaseOption: on-demand }';
const ON_SPOT = '{ instanceTypes: [g5.xlarge], nodes: 2, purchaseOption: spot }';
const onEc2 = (purchaseOption: string) => `{ instanceTypes: [g5.xlarge], nodes: 2,
  purchaseOption: ${purchaseOption}, launcher: ec2, ec2: { image: ami-0123456789abcdef0 },
  vpc: { securityGroupIds: [sg-01234567], subnets: [{ id: subnet-01234567, zoneId: use1-az1 }] } }`;
const ON_EC2 = onEc2('on-demand');

const drop = (compute?: string): Drop => ({
  pipeline: 'tide',
  items: 3,
  itemSeconds: 20,
  ...(compute !== undefined && { compute }),
});

async function runOf(conditions: Conditions, compute?: string) {
  const { runs } = await trainDrops({ callSeconds, ...conditions }, [drop(compute)]);
  const [run] = runs;
  if (run === undefined) throw new Error('there is no run');
  return { ...run, ends: run.attempts.map(({ outcome }) => outcome?.kind) };
}

const MINUTE = 60;
const HOUR = 3_600;

const status = (at: number, secondary: string, message?: string): ScriptedStatus => ({
  at,
  status: 'InProgress',
  secondary,
  message,
});

/** @param waits before the job has its data */
const trainsAfter = (waits: JobScript, seconds: number): JobScript => [
  ...waits,
  status(seconds, 'Downloading'),
  status(seconds + 300, 'Training'),
  { at: seconds + 1_800, status: 'Completed', secondary: 'Completed' },
];

const trains =
  (bootSeconds: number, downloadSeconds: number) =>
  (begun: { readonly now: () => string }): FleetScript => {
    const all = (fleet: ScriptedFleet, said: Parameters<ScriptedFleet['say']>[1]) => {
      for (const id of fleet.instanceIds) fleet.say(id, said);
    };
    const looks = Array.from({ length: Math.ceil(downloadSeconds / 60) }, (_, minute) => ({
      at: bootSeconds + minute * 60,
      act: (fleet: ScriptedFleet) => all(fleet, { phase: 'downloading', seenAt: begun.now() }),
    }));
    return [
      ...looks,
      {
        at: bootSeconds + downloadSeconds,
        act: (fleet) => all(fleet, { phase: 'script', scriptStartedAt: begun.now(), seenAt: begun.now() }),
      },
      {
        at: bootSeconds + downloadSeconds + 1_800,
        act: (fleet) => {
          all(fleet, { endedAt: begun.now(), exitCode: 0, modelUri: 's3://memory-bucket/model.tar.gz' });
          for (const id of fleet.instanceIds) fleet.terminate(id);
        },
        event: 'state',
      },
    ];
  };

describe('throttling', () => {
  it.each([0.1, 0.25])('never ends a run: %d of all calls', async (share) => {
    const random = seededChoices(7);
    const isThrottled = () => random.chance(share);
    expect(await runOf({ isThrottled })).toMatchObject({ status: 'succeeded', ends: ['completed'] });
  });

  it('of every Describe for an hour ends no attempt', async () => {
    let calls = 0;
    // A look every five minutes, each with its retries.
    const isThrottled = (call: string) => call === 'training.describe' && (calls += 1) < 100;
    expect(await runOf({ isThrottled })).toMatchObject({ status: 'succeeded', ends: ['completed'] });
    expect(calls).toBeGreaterThanOrEqual(100);
  });

  it('of CreateTrainingJob is tried again, with one job', async () => {
    let calls = 0;
    const refusal = () => {
      calls += 1;
      return calls <= 20 ? ({ kind: 'throttled', message: 'Rate exceeded' } as const) : undefined;
    };
    expect(await runOf({ refusal })).toMatchObject({ status: 'succeeded', ends: ['completed'] });
  });
});

describe('a job on SageMaker', () => {
  it('keeps its place in an On-Demand queue for hours', async () => {
    const jobScript = () => trainsAfter([status(0, 'Starting'), status(30, 'Pending')], 6 * HOUR);
    expect(await runOf({ jobScript }, ON_DEMAND)).toMatchObject({ status: 'succeeded', ends: ['completed'] });
  });

  it('is left alone while its instances are prepared', async () => {
    const prepares = [
      status(0, 'Starting', 'Starting the training job'),
      status(60, 'Starting', 'Preparing the instances for training'),
    ];
    const jobScript = () => trainsAfter(prepares, 25 * MINUTE);
    expect(await runOf({ jobScript }, ON_SPOT)).toMatchObject({ status: 'succeeded', ends: ['completed'] });
  });

  it('is recalled where Spot has no capacity', async () => {
    let jobs = 0;
    const jobScript = () => {
      jobs += 1;
      return jobs === 1 ? [status(0, 'Starting')] : trainsAfter([status(0, 'Starting')], 180);
    };
    const { ends } = await runOf({ jobScript }, ON_SPOT);
    expect(ends).toEqual(['capacity', 'completed']);
  });
});

describe('a quota of 0', () => {
  const message = (market: string) =>
    `The account-level service limit 'ml.g5.xlarge for ${market}training job usage' is 0 Instances, with current ` +
    'utilization of 0 Instances and a request delta of 2 Instances. Please use AWS Service Quotas to request an ' +
    'increase for this quota.';

  it('for Spot leaves On-Demand', async () => {
    const {
      status: end,
      attempts,
      ends,
    } = await runOf({
      refusal: ({ EnableManagedSpotTraining }) =>
        EnableManagedSpotTraining === true ? { kind: 'quota', message: message('spot ') } : undefined,
    });
    expect(end).toBe('succeeded');
    expect(ends.at(-1)).toBe('completed');
    expect(attempts.at(-1)?.placement.pool.purchaseOption).toBe('on-demand');
    // A quota does not change within minutes.
    expect(ends.filter((kind) => kind === 'capacity')).toHaveLength(1);
  });

  it('for all pools fails with the quota by name', async () => {
    const {
      status: end,
      failure,
      attempts,
    } = await runOf({
      refusal: ({ EnableManagedSpotTraining }) => ({
        kind: 'quota',
        message: message(EnableManagedSpotTraining === true ? 'spot ' : ''),
      }),
    });
    expect(end).toBe('failed');
    expect(attempts).toHaveLength(2);
    expect(failure).toContain('ml.g5.xlarge for spot training job usage');
    expect(failure).toContain('ml.g5.xlarge for training job usage');
    expect(failure).toContain('Service Quotas');
  });
});

describe('a quota of 0 vCPUs on EC2', () => {
  /** What CreateFleet answers, in EC2's own words. */
  const fleetRefusal =
    (markets: readonly string[]) =>
    ({ fleet }: FleetPlan): CreateOutcome | undefined => {
      const { DefaultTargetCapacityType, TotalTargetCapacity: hosts } = fleet.TargetCapacitySpecification;
      const purchaseOption = DefaultTargetCapacityType === 'spot' ? 'spot' : 'on-demand';
      if (!markets.includes(purchaseOption)) return undefined;
      const [ErrorCode, ErrorMessage] =
        purchaseOption === 'spot'
          ? ['MaxSpotInstanceCountExceeded', 'Max spot instance count exceeded']
          : ['VcpuLimitExceeded', 'You have requested more vCPU capacity than your current vCPU limit of 0'];
      const gang = { instanceType: 'g5.xlarge', purchaseOption, hosts } as const;
      return createFleetResult({ FleetId: 'fleet-1', Errors: [{ ErrorCode, ErrorMessage }] }, gang).outcome;
    };

  it('for Spot leaves On-Demand', async () => {
    const fleetScript: Conditions['fleetScript'] = (_, now) => trains(60, 60)({ now });
    const conditions = { fleetRefusal: fleetRefusal(['spot']), fleetScript };
    const { status: end, attempts, ends } = await runOf(conditions, onEc2('spot-then-on-demand'));
    expect(end).toBe('succeeded');
    expect(attempts.at(-1)?.placement.pool.purchaseOption).toBe('on-demand');
    expect(ends).toEqual(['capacity', 'completed']);
  });

  it('for On-Demand fails at once, naming the quota', async () => {
    const refused = { fleetRefusal: fleetRefusal(['on-demand']) };
    const { status: end, failure, attempts } = await runOf(refused, ON_EC2);
    expect(end).toBe('failed');
    expect(attempts).toHaveLength(1);
    expect(failure).toContain('"Running On-Demand G and VT instances"');
  });

  it('for Spot alone is waited for, then named', async () => {
    const refused = { fleetRefusal: fleetRefusal(['spot']) };
    const { status: end, failure, attempts } = await runOf(refused, onEc2('spot'));
    expect(end).toBe('failed');
    expect(attempts.length).toBeGreaterThan(2);
    // At once, on the timeline of the first attempt.
    expect(attempts[0]?.outcome?.message).toContain('aws service-quotas request-service-quota-increase');
    expect(failure).toContain('"All G and VT Spot Instance Requests"');
  });
});

describe('a quota below what the gang needs', () => {
  it('fails the run at once', async () => {
    const message = "The account-level service limit 'ml.g5.xlarge for training job usage' is 1 Instances";
    const refusal = () => ({ kind: 'quota', message }) as const;
    const { status: end, failure, attempts } = await runOf({ refusal }, ON_DEMAND);
    expect(end).toBe('failed');
    expect(attempts).toHaveLength(1);
    expect(failure).toContain('too small');
  });
});

describe('a quota that other jobs use up', () => {
  it('is waited for', async () => {
    let calls = 0;
    const refusal = () => {
      calls += 1;
      const message = "The account-level service limit 'ml.g5.xlarge for training job usage' is 2 Instances";
      return calls <= 5 ? ({ kind: 'quota', message } as const) : undefined;
    };
    expect(await runOf({ refusal })).toMatchObject({ status: 'succeeded' });
    expect(calls).toBe(6);
  });
});

describe('a fleet on EC2', () => {
  it('may boot eight minutes and download for forty', async () => {
    const fleetScript: Conditions['fleetScript'] = (_, now) => trains(8 * MINUTE, 40 * MINUTE)({ now });
    expect(await runOf({ fleetScript }, ON_EC2)).toMatchObject({ status: 'succeeded', ends: ['completed'] });
  });
});
