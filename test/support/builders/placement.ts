/** Pieces of a placement question that tests vary. */

import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import type { PlacementInput } from '@tidewheel/placement/choose.ts';
import type { MarketView, OnDemandPrice, SpotPrice } from '@tidewheel/placement/market.ts';
import type {
  AttemptOutcome,
  Placement,
  PlacementDecision,
  Pool,
  Progress,
} from '@tidewheel/placement/records.ts';
import type { AttemptRecord } from '../../../functions/records/run-records.ts';

export const CLOSED_AT = '2026-11-20T00:00:00.000Z';

export const hoursLater = (hours: number): string =>
  new Date(Date.parse(CLOSED_AT) + hours * 3_600_000).toISOString();

export const onDemand = (instanceType: string, hourlyUsd: number): OnDemandPrice => ({
  instanceType,
  hourlyUsd,
  basis: 'listed',
  note: 'test price',
  ec2HourlyUsd: hourlyUsd / 1.25,
});

export const spot = (instanceType: string, zoneId: string, hourlyUsd: number): SpotPrice => ({
  instanceType,
  zoneId,
  hourlyUsd,
  basis: 'quoted',
});

export const ZONES = ['use1-az1', 'use1-az2', 'use1-az4'] as const;

/** Two types in three zones; Spot at 40 % of On-Demand, all zones alike. */
export const market = (change: Partial<MarketView> = {}): MarketView => ({
  region: 'us-east-1',
  scores: ZONES.map((zoneId) => ({ zoneId, score: 6 })),
  spotPrices: ZONES.flatMap((zoneId) => [spot('g5.xlarge', zoneId, 0.4), spot('g6.xlarge', zoneId, 0.36)]),
  onDemandPrices: [onDemand('g5.xlarge', 1.25), onDemand('g6.xlarge', 1.125)],
  zones: ZONES.map((zoneId) => ({ zoneId, zoneName: `us-east-1${zoneId.at(-1)}` })),
  notes: [],
  ...change,
});

export const vpc = {
  securityGroupIds: ['sg-1'],
  subnets: ZONES.map((zoneId) => ({ id: `subnet-${zoneId.replaceAll('-', '')}`, zoneId })),
};

export const question = (change: Partial<PlacementInput> = {}): PlacementInput => ({
  compute: {
    instanceTypes: ['g5.xlarge', 'g6.xlarge'],
    nodes: 2,
    purchaseOption: 'spot-then-on-demand',
    volumeGigabytes: 30,
    vpc,
  },
  limits: { deadlineHours: 24, maximumRunSeconds: 86_400, attempts: 50 },
  training: trainingSchema.parse({ strategy: 'ddp' }),
  market: market(),
  closedAt: CLOSED_AT,
  now: hoursLater(1),
  attempts: [],
  expectedSeconds: 6 * 3_600,
  ...change,
});

export const poolOf = (
  instanceType: string,
  zoneId: string,
  purchaseOption: Pool['purchaseOption'] = 'spot',
): Pool => ({ instanceType, zoneId, launcher: 'sagemaker', purchaseOption });

export function launched(decision: PlacementDecision): Placement {
  if (decision.kind !== 'launch') throw new Error(`${decision.kind}: ${decision.reason}`);
  return decision.placement;
}

export const progress = (step: number, trainingSeconds: number): Progress => ({
  step,
  totalSteps: 100,
  trainingSeconds,
  checkpoint: `step-${step}`,
  updatedAt: CLOSED_AT,
});

export function attempt(
  number: number,
  pool: Pool,
  outcome: Partial<AttemptOutcome> & Pick<AttemptOutcome, 'kind'>,
  change: Partial<AttemptRecord> = {},
): AttemptRecord {
  const topology = { nodes: 2, acceleratorsPerNode: 1 };
  const placement: Placement = {
    pool,
    topology,
    onDemandHourlyUsd: 1.25,
    maximumRunSeconds: 86_400,
    reason: 'test',
    considered: [
      { pool, topology, hourlyUsd: 0.5, expectedCostUsd: 1, expectedSeconds: 1, verdict: 'chosen' },
    ],
    decidedAt: CLOSED_AT,
  };
  return {
    runId: 'digits-000001',
    pipeline: 'digits',
    attempt: number,
    jobName: `digits-000001-${number}`,
    placement,
    launcher: pool.launcher,
    status: 'interrupted',
    createdAt: CLOSED_AT,
    updatedAt: CLOSED_AT,
    outcome: { message: '', trainingSeconds: 0, billableSeconds: 0, interruptions: 0, ...outcome },
    ...change,
  };
}
