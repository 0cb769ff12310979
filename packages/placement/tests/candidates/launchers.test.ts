/** `launcher: cheapest`: pools of SageMaker and of EC2 side by side, each at its own price, time and rules. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDecision } from '../../../../cli/show/decision-text.ts';
import { buildFleet } from '../../../../functions/launch/ec2/fleet.ts';
import { buildTrainingJob } from '../../../../functions/launch/sagemaker/training-job.ts';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { launch } from '../../../../test/support/builders/launch.ts';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  launched,
  market,
  poolOf,
  progress,
  question,
  vpc,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { declarationOf, runOf } from '../../../../test/support/builders/records.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { observationsOfOthers, poolOutcomeOf } from '../../belief/attempt-observations.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { type PlacementInput, storedPart } from '../../decision/situation.ts';
import { estimateWork, restartSecondsIn } from '../../decision/work.ts';
import { questionOf, sameChoice } from '../../explain/stored-decision.ts';
import { decideIf } from '../../explain/what-if.ts';
import type { Placement, Pool } from '../../records/placement-records.ts';

const EC2 = {
  image: 'ami-0123456789abcdef0',
  python: 'python3',
  rootDevice: '/dev/xvda',
  privateSubnets: false,
};
const cheapest = (
  compute: Partial<PlacementInput['compute']> = {},
  change: Partial<PlacementInput> = {},
): PlacementInput =>
  question({
    compute: { ...question().compute, launcher: 'cheapest', ec2: EC2, ...compute },
    ...change,
  });

const placed = (input: PlacementInput) => launched(choosePlacement(input));
const rowsOn = ({ considered }: Placement, launcher: Pool['launcher']) =>
  considered.filter(({ pool }) => pool.launcher === launcher);
const verdictsOn = (placement: Placement, launcher: Pool['launcher']): string =>
  rowsOn(placement, launcher)
    .map(({ verdict }) => verdict)
    .join('\n');

/** EC2's On-Demand price of both types, SageMaker's being a quarter more. */
const ec2At = (factor: number): PlacementInput['market'] => {
  const view = market();
  return {
    ...view,
    onDemandPrices: view.onDemandPrices.map((each) => ({
      ...each,
      ec2HourlyUsd: (each.ec2HourlyUsd ?? 0) * factor,
    })),
    spotPrices: view.spotPrices.map((each) => ({ ...each, hourlyUsd: each.hourlyUsd * factor })),
  };
};

describe('a gang of a type with several network cards', () => {
  const gang = (privateSubnets: boolean) => {
    const decision = choosePlacement(
      question({
        compute: {
          ...question().compute,
          launcher: 'ec2',
          ec2: { ...EC2, privateSubnets },
          instanceTypes: ['p4d.24xlarge'],
          nodes: 2,
        },
      }),
    );
    return decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  };

  it('is ruled out on EC2 without a private route', () => {
    const considered = gang(false);
    expect(considered.length).toBeGreaterThan(0);
    for (const { verdict } of considered) expect(verdict).toContain('compute.ec2.privateSubnets: true');
    for (const { verdict } of gang(true)) expect(verdict).not.toContain('privateSubnets');
  });
});

describe('the cheapest launcher', () => {
  it('is EC2 where its own prices are lower', () => {
    const placement = placed(cheapest());
    expect(placement.pool).toMatchObject({
      launcher: 'ec2',
      purchaseOption: 'spot',
      instanceType: 'g6.xlarge',
    });
    expect(placement.subnetId).toBeDefined();
    expect(rowsOn(placement, 'sagemaker')).toHaveLength(rowsOn(placement, 'ec2').length);
    expect(verdictsOn(placement, 'sagemaker')).toMatch(/expected to cost \$\d+\.\d+ more/);
    const [chosen] = placement.considered;
    expect(chosen?.hourlyUsd).toBe(0.36);
    expect(chosen?.verdict).toContain("EC2's own Spot price");
    expect(placement.onDemandHourlyUsd).toBeCloseTo(0.9);
  });

  it('is SageMaker where its price is lower', () => {
    const compute = { purchaseOption: 'on-demand' } as const;
    expect(placed(cheapest(compute, { market: ec2At(1.5) })).pool.launcher).toBe('sagemaker');
    expect(placed(cheapest(compute, { market: ec2At(1) })).pool.launcher).toBe('ec2');
  });

  it('is the declared one, whatever the other costs', () => {
    const named = (launcher: 'sagemaker' | 'ec2') => placed(cheapest({ launcher }));
    expect(new Set(named('ec2').considered.map(({ pool }) => pool.launcher))).toEqual(new Set(['ec2']));
    expect(new Set(named('sagemaker').considered.map(({ pool }) => pool.launcher))).toEqual(
      new Set(['sagemaker']),
    );
  });

  it("bills EC2's prices when the pipeline names EC2 alone", () => {
    const [ec2, sageMaker] = (['ec2', 'sagemaker'] as const).map((launcher) =>
      placed(cheapest({ launcher, purchaseOption: 'on-demand', instanceTypes: ['g5.xlarge'] })),
    );
    expect([ec2?.onDemandHourlyUsd, sageMaker?.onDemandHourlyUsd]).toEqual([1, 1.25]);
    expect(ec2?.considered[0]).toMatchObject({
      hourlyUsd: 1,
      verdict: expect.stringContaining('EC2 On-Demand'),
    });
  });

  it('never costs more than SageMaker alone', () => {
    const costOf = (placement: Placement): number => placement.considered[0]?.expectedCostUsd ?? Number.NaN;
    const factor = fc.double({ min: 0.3, max: 3, noNaN: true });
    fc.assert(
      fc.property(factor, factor, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((each) =>
          costOf(placed(cheapest({}, { market: ec2At(each) }))),
        );
        const alone = costOf(placed(cheapest({ launcher: 'sagemaker' }, { market: ec2At(b) })));
        // The plan's grid is not finer.
        expect(low).toBeLessThanOrEqual((high ?? 0) * 1.02);
        expect(Math.min(low ?? 0, high ?? 0)).toBeLessThanOrEqual(alone * 1.02);
      }),
      { numRuns: 12 },
    );
  }, 30_000);

  it('is named in the table and in the headline', () => {
    const shown = formatDecision(choosePlacement(cheapest()), hoursLater(1));
    expect(shown).toMatch(/2 x g6\.xlarge, spot, in use1-az\d, on EC2/);
    expect(shown).toMatch(/2 x g6\.xlarge use1-az1 spot EC2 /);
  });

  it('is the same when the stored decision is replayed', () => {
    const input = cheapest();
    const decision = { ...choosePlacement(input), question: storedPart(input) };
    const { compute, limits } = input;
    const declaration = { ...declarationOf('digits'), compute, limits };
    const run = runOf('digits', 1, { declaration, closedAt: CLOSED_AT });
    const again = questionOf({ run, attempts: [], attempt: 1, decision });
    expect(again && sameChoice(choosePlacement(again), decision)).toBe(true);
  });
});

it('a what-if compares launchers for any pipeline', () => {
  const placement = launched(decideIf(question(), { launcher: 'cheapest' }, 'seed'));
  expect(placement.pool.launcher).toBe('ec2');
  expect(rowsOn(placement, 'sagemaker').length).toBeGreaterThan(0);
});

describe('what EC2 cannot do', () => {
  const training = (over: object) => declarationOf('p', { training: { strategy: 'ddp', ...over } }).training;
  const helpers = [{ name: 'prepare', instanceType: 'c5.xlarge', nodes: 1 }];
  const priced = market();
  const withoutPrice = {
    ...priced,
    onDemandPrices: priced.onDemandPrices.map((each) => ({ ...each, ec2HourlyUsd: undefined })),
  };
  const c5 = { instanceType: 'c5.xlarge', hourlyUsd: 0.2, basis: 'listed' as const, note: '' };
  const withHelpers = { ...priced, onDemandPrices: [...priced.onDemandPrices, c5] };

  it.each<[string, PlacementInput, RegExp]>([
    [
      'helper groups',
      cheapest({ helpers, spotWithHelpers: true }, { market: withHelpers }),
      /one fleet of EC2 has one instance type/,
    ],
    [
      'file systems',
      cheapest(
        {},
        { training: training({ channels: { fast: { efs: 'fs-01234567', directory: '/data' } } }) },
      ),
      /mount no file systems, and training.channels.fast/,
    ],
    ['pipes', cheapest({}, { training: training({ inputMode: 'Pipe' }) }), /inputMode Pipe/],
    ['containers', cheapest({}, { training: training({ image: 'mine:1' }) }), /not the container/],
    ['an unknown price', cheapest({}, { market: withoutPrice }), /no EC2 price of g[56].xlarge/],
  ])('%s keeps its reason, and SageMaker is taken', (_what, input, reason) => {
    const placement = placed(input);
    expect(placement.pool.launcher).toBe('sagemaker');
    expect(rowsOn(placement, 'ec2').length).toBeGreaterThan(0);
    for (const { verdict } of rowsOn(placement, 'ec2')) expect(verdict).toMatch(reason);
  });

  it('other regions keeps its reason', () => {
    const view = { ...market(), region: 'us-west-2' };
    const transfer = { gigabytes: 0, usd: 0, seconds: 0, priceNote: 'test price' };
    const input = cheapest({}, { elsewhere: [{ market: view, transfer, vpc }] });
    const away = placed(input).considered.filter(
      ({ pool }) => pool.region === 'us-west-2' && pool.launcher === 'ec2',
    );
    expect(away.length).toBeGreaterThan(0);
    for (const { verdict } of away) expect(verdict).toContain('in the region of the data bucket only');
  });

  it('a type that SageMaker lacks is EC2’s alone', () => {
    const type = { instanceType: 'g5g.xlarge', hourlyUsd: 0.6, basis: 'estimated' as const, note: '' };
    const view = { ...market(), onDemandPrices: [{ ...type, ec2HourlyUsd: 0.42 }] };
    const placement = placed(cheapest({ instanceTypes: ['g5g.xlarge'] }, { market: view }));
    expect(placement.pool.launcher).toBe('ec2');
    expect(verdictsOn(placement, 'sagemaker')).toBe('left out: SageMaker does not train on g5g.xlarge');
  });
});

describe('a launcher that was tried', () => {
  const on = (launcher: Pool['launcher'], zoneId: string, change: Partial<Pool> = {}): Pool => ({
    instanceType: 'g6.xlarge',
    zoneId,
    purchaseOption: 'spot',
    launcher,
    ...change,
  });

  it('with a quota error cools down in every zone', () => {
    const refused = attempt(1, on('ec2', 'use1-az1'), {
      kind: 'capacity',
      quota: true,
      endedAt: hoursLater(1),
    });
    const other = attempt(2, on('ec2', 'use1-az1', { instanceType: 'g5.xlarge' }), {
      kind: 'capacity',
      quota: true,
      endedAt: hoursLater(1),
    });
    const placement = placed(cheapest({}, { attempts: [refused, other], now: hoursLater(1.001) }));
    expect(placement.pool).toMatchObject({ purchaseOption: 'spot' });
    expect(placement.pool.launcher).toBe('sagemaker');
    expect(placement.considered.find(({ pool }) => pool.launcher === 'ec2')?.verdict).toMatch(
      /a quota of the account refused it lately, left alone/,
    );
  });

  it('is remembered by other runs, its limits as limits', async () => {
    const met = poolOutcomeOf(
      attempt(1, on('ec2', 'use1-az1'), { kind: 'capacity', quota: true, endedAt: hoursLater(1) }),
    );
    expect(met).toMatchObject({ launcher: 'ec2', quota: true, end: 'capacityError' });
    const { poolOutcomes } = memoryStores();
    if (met !== undefined) await poolOutcomes.put(met);
    const instanceTypes = met === undefined ? [] : [met.instanceType];
    const question = { runId: 'another-000001', instanceTypes, now: new Date(hoursLater(2)) };
    expect(await observationsOfOthers(poolOutcomes, question)).toMatchObject([
      { launcher: 'ec2', quota: true, seen: 'capacityError' },
    ]);
  });

  it('has a start of its own, prior then measured', () => {
    const both = {
      launchers: ['sagemaker', 'ec2'],
      maximumRunSeconds: 86_400,
      campaignSeconds: 86_400,
    } as const;
    const prior = estimateWork({ ...both, attempts: [] });
    expect([
      restartSecondsIn({ pool: { launcher: 'sagemaker' } }, prior),
      restartSecondsIn({ pool: { launcher: 'ec2' } }, prior),
    ]).toEqual([300, 180]);
    const ran: AttemptRecord = attempt(
      1,
      on('ec2', 'use1-az1'),
      { kind: 'interrupted', trainingSeconds: 1_100 },
      { launcher: 'ec2', progressAfter: progress(10, 1_000) },
    );
    const measured = estimateWork({ ...both, attempts: [ran] });
    expect([
      restartSecondsIn({ pool: { launcher: 'sagemaker' } }, measured),
      restartSecondsIn({ pool: { launcher: 'ec2' } }, measured),
    ]).toEqual([300, 100]);
    expect(measured.restartSeconds).toBe(300);
  });
});

it('no pool costs less than nothing', () => {
  const pool: Pool = poolOf('g6.xlarge', 'use1-az1');
  const saved = progress(100, 1_000);
  const ran = attempt(1, pool, { kind: 'interrupted', trainingSeconds: 1_000 }, { progressAfter: saved });
  const scored = market({ scores: ZONES.map((zoneId) => ({ zoneId, score: 10 })) });
  const { considered } = placed(cheapest({}, { attempts: [ran], progress: saved, market: scored }));
  for (const { expectedCostUsd } of considered) expect(expectedCostUsd).toBeGreaterThanOrEqual(0);
});

describe('the launch', () => {
  const declared = {
    launcher: 'cheapest',
    ec2: EC2,
    vpc: { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-1', zoneId: 'use1-az4' }] },
  } as const;
  const inputOf = (pool: Pool) => {
    const input = launch();
    const declaration = {
      ...input.declaration,
      compute: {
        ...input.declaration.compute,
        ...declared,
        vpc: { ...declared.vpc, subnets: [...declared.vpc.subnets], securityGroupIds: ['sg-1'] },
      },
    };
    const profile = 'arn:aws:iam::123456789012:instance-profile/hosts';
    const placement = { ...input.placement, pool, subnetId: 'subnet-1' };
    return { ...input, declaration, placement, hostProfileArn: profile };
  };
  const pool: Pool = poolOf('g5.xlarge', 'use1-az4');

  it('saves and reads in the same places on both', () => {
    const there = buildTrainingJob(inputOf(pool));
    const here = buildFleet(inputOf({ ...pool, launcher: 'ec2' }));
    if (there.kind !== 'request' || here.kind !== 'fleet') throw new Error(`${there.kind} and ${here.kind}`);
    const document = JSON.parse(here.objects.at(-1)?.text ?? '{}') as Record<string, unknown>;
    const { CheckpointConfig, OutputDataConfig, TrainingJobName } = there.request;
    expect(document).toMatchObject({ CheckpointConfig, OutputDataConfig, TrainingJobName });
  });
});
