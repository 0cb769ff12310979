/** What holds for every choice among topologies and regions, whatever the market, the work and the pace that was measured. */
import { instanceFacts, zonesOfRegion } from '@tidewheel/catalog/catalog.ts';
import { computeSchema } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { evenly } from '../../../../test/support/builders/evenly.ts';
import {
  attempt,
  hoursLater,
  market,
  onDemand,
  progress,
  question,
  spot,
} from '../../../../test/support/builders/placement.ts';
import type { RegionView } from '../../candidates/pools.ts';
import { typesOf } from '../../candidates/topologies.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Placement, PlacementDecision } from '../../records/placement-records.ts';

const REGIONS = ['us-east-1', 'us-west-2'] as const;
const RESTART_SECONDS = 300;
const TIMEOUT = 600_000;

interface Draw {
  readonly accelerators: 1 | 4 | 8;
  readonly prices: readonly number[];
  readonly share: number;
  readonly score: number;
  readonly workHours: number;
  readonly nowHours: number;
  /** Seconds a step on a g5.12xlarge, where one was tried. */
  readonly stepSeconds: number | undefined;
  readonly resume: boolean;
  readonly transferUsd: number;
  readonly closed: boolean;
}

const draws: fc.Arbitrary<Draw> = fc.record({
  accelerators: fc.constantFrom(1, 4, 8),
  prices: fc.array(evenly(0.5, 2), { minLength: 4, maxLength: 4 }),
  share: evenly(0.15, 1),
  score: fc.integer({ min: 1, max: 10 }),
  workHours: evenly(0.2, 18),
  nowHours: evenly(0.1, 23),
  stepSeconds: fc.option(evenly(1, 40), { nil: undefined }),
  resume: fc.boolean(),
  transferUsd: evenly(0, 20),
  closed: fc.boolean(),
});

const vpcOf = (region: string) => ({
  securityGroupIds: ['sg-1'],
  subnets: zonesOfRegion(region)
    .slice(0, 2)
    .map((zoneId) => ({ id: `subnet-${zoneId.replaceAll('-', '')}`, zoneId })),
});

function inputOf(draw: Draw): PlacementInput {
  const compute = computeSchema.parse({
    needs: {
      accelerators: draw.accelerators,
      kinds: ['A10G', 'L4'],
      acceleratorMemoryGigabytes: 20,
      maximumNodes: 4,
      resumeOnOtherTopology: draw.resume,
    },
    vpc: vpcOf(REGIONS[0]),
    regions: REGIONS.map((name) => ({ name, vpc: vpcOf(name) })),
  });
  const viewOf = (region: string) =>
    market({
      region,
      scores: zonesOfRegion(region).map((zoneId) => ({ zoneId, score: draw.score })),
      onDemandPrices: typesOf(compute).map((type, k) =>
        onDemand(type, (draw.prices[k % 4] ?? 1) * (instanceFacts(type)?.acceleratorCount ?? 1)),
      ),
      spotPrices: typesOf(compute).flatMap((type, k) =>
        zonesOfRegion(region).map((zoneId) =>
          spot(
            type,
            zoneId,
            ((draw.prices[k % 4] ?? 1) / 1.25) * draw.share * (instanceFacts(type)?.acceleratorCount ?? 1),
          ),
        ),
      ),
    });
  const elsewhere: RegionView = {
    market: viewOf(REGIONS[1]),
    vpc: vpcOf(REGIONS[1]),
    transfer: { gigabytes: 1, usd: draw.transferUsd, seconds: 100, priceNote: 'test price' },
    ...(draw.closed ? { closed: 'no bucket' } : {}),
  };
  const nodes = draw.accelerators === 8 ? 2 : 1;
  const type = draw.accelerators === 1 ? 'g5.xlarge' : 'g5.12xlarge';
  const tried = attempt(
    1,
    { instanceType: type, launcher: 'sagemaker', purchaseOption: 'spot' },
    { kind: 'interrupted', endedAt: hoursLater(0.05) },
  );
  const before =
    draw.stepSeconds === undefined
      ? []
      : [
          {
            ...tried,
            placement: {
              ...tried.placement,
              topology: { nodes, acceleratorsPerNode: draw.accelerators / nodes },
            },
            progressAfter: progress(20, 20 * draw.stepSeconds),
          },
        ];
  return question({
    compute,
    market: viewOf(REGIONS[0]),
    elsewhere: [elsewhere],
    now: hoursLater(draw.nowHours),
    expectedSeconds: draw.workHours * 3_600,
    attempts: before,
    progress: before[0]?.progressAfter,
  });
}

const launched = (decision: PlacementDecision): Placement | undefined =>
  decision.kind === 'launch' ? decision.placement : undefined;
const expectedUsd = (decision: PlacementDecision): number | undefined =>
  launched(decision)?.considered[0]?.expectedCostUsd;
/** `FUZZ_RUNS=400 npx vitest run --project unit packages/placement/tests/candidates/topology-properties.test.ts` looks longer. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 12);
/** Beside the draws: the fastest On-Demand pool is twice as dear as others, and Spot is no cheaper than those. */
const DEAR_AND_FAST: Draw = {
  accelerators: 1,
  prices: [0.98, 0.5, 0.5, 0.5],
  share: 0.744,
  score: 5,
  workHours: 0.2,
  nowHours: 22.863,
  stepSeconds: 26.854,
  resume: false,
  transferUsd: 0,
  closed: false,
};
/** Minutes of work, and a part of a tick beside whole ones until the deadline. */
const SHORT: Draw = {
  ...DEAR_AND_FAST,
  accelerators: 8,
  prices: [0.5, 0.5, 0.5, 0.5],
  share: 0.157,
  score: 6,
  nowHours: 8.83,
  stepSeconds: undefined,
};
function forAll(holds: (draw: Draw) => void): void {
  fc.assert(fc.property(draws, holds), { numRuns: RUNS, examples: [[DEAR_AND_FAST], [SHORT]] });
}

it('breaks no constraint of topology or region', { timeout: TIMEOUT }, () => {
  forAll((draw) => {
    const input = inputOf(draw);
    const placement = launched(choosePlacement(input));
    if (placement === undefined) return;
    const { pool, topology, subnetId } = placement;
    const facts = instanceFacts(pool.instanceType);
    expect(topology.nodes * topology.acceleratorsPerNode).toBe(draw.accelerators);
    expect(topology.nodes).toBeLessThanOrEqual(4);
    expect(['A10G', 'L4']).toContain(facts?.accelerator);
    expect(draw.closed && pool.region !== undefined).toBe(false);
    const vpc = pool.region === undefined ? input.compute.vpc : input.elsewhere?.[0]?.vpc;
    expect(vpc?.subnets.find(({ id }) => id === subnetId)?.zoneId).toBe(pool.zoneId);
    // As many hosts with as many processes resume a checkpoint, unless the pipeline allows others.
    const saved = input.attempts[0]?.placement.topology;
    expect(draw.resume || saved === undefined ? topology : saved).toEqual(topology);
  });
});

it('takes Spot only while On-Demand could still follow', {
  timeout: 60_000,
}, () => {
  forAll((draw) => {
    const input = inputOf(draw);
    const placement = launched(choosePlacement(input));
    if (placement?.pool.purchaseOption !== 'spot') return;
    const later = draw.nowHours + RESTART_SECONDS / 3_600;
    const compute = { ...input.compute, purchaseOption: 'on-demand' as const };
    const then = launched(choosePlacement({ ...input, compute, now: hoursLater(later) }));
    const row = then?.considered[0];
    expect(row?.expectedSeconds).toBeLessThanOrEqual((24 - later) * 3_600);
  });
});

it('takes an On-Demand pool that ends in time', { timeout: TIMEOUT }, () => {
  forAll((draw) => {
    const input = inputOf(draw);
    const placement = launched(
      choosePlacement({ ...input, compute: { ...input.compute, purchaseOption: 'on-demand' } }),
    );
    const left = (24 - draw.nowHours) * 3_600;
    const rows =
      placement?.considered.filter(
        ({ hourlyUsd, verdict }) => hourlyUsd > 0 && !verdict.startsWith('no bucket'),
      ) ?? [];
    const latest = (row: (typeof rows)[number]) =>
      row.expectedSecondsBetween?.[1] ?? row.expectedSeconds ?? 0;
    const chosen = rows[0];
    if (chosen === undefined || !rows.some((row) => latest(row) <= left)) return;
    expect(chosen.expectedSeconds).toBeLessThanOrEqual(left);
  });
});

/** Rounding of the plan's grid. */
const GRID = 1.02;
const better: readonly (readonly [string, (draw: Draw) => Partial<Draw>])[] = [
  ['with more slack', ({ nowHours }) => ({ nowHours: nowHours / 2 })],
  ['at lower Spot prices', ({ share }) => ({ share: share * 0.7 })],
  ['at a better score', ({ score }) => ({ score: Math.min(10, score + 3) })],
  ['where moving costs less', ({ transferUsd }) => ({ transferUsd: transferUsd / 2 })],
];

it.each(better)('expects no more to pay %s', { timeout: TIMEOUT }, (_, change) => {
  forAll((draw) => {
    const before = expectedUsd(choosePlacement(inputOf(draw)));
    const after = expectedUsd(choosePlacement(inputOf({ ...draw, ...change(draw) })));
    if (before === undefined || after === undefined) return;
    expect(after).toBeLessThanOrEqual(before * GRID + 0.01);
  });
});
