/** What the API says of placements: where an attempt runs, and why. */
import * as z from 'zod';
import { LAUNCHERS } from '../../pipeline/launchers.ts';
import { list, seconds, time, usd } from './operation.ts';

export const launcher = z.enum(LAUNCHERS);

export const pool = z.object({
  instanceType: z.string().describe('Name on EC2, without ml.'),
  zoneId: z.string().optional().describe('Such as use1-az4; absent where SageMaker chooses.'),
  purchaseOption: z.enum(['spot', 'on-demand']),
  region: z.string().optional().describe("Absent in the data bucket's own region."),
  launcher,
});

export const topology = z.object({
  nodes: z.number().int(),
  acceleratorsPerNode: z.number().int(),
  helpers: list(z.object({ name: z.string(), instanceType: z.string(), nodes: z.number().int() })).optional(),
});

const transfer = z
  .object({ gigabytes: z.number(), usd, seconds, priceNote: z.string() })
  .describe('Copies of shards and checkpoints to another region.');

export const poolAssessment = z.object({
  pool,
  topology,
  score: z.number().optional().describe('Spot placement score, 1 to 10, for the whole gang.'),
  hourlyUsd: usd.describe('Price of one node in an hour.'),
  expectedCostUsd: usd,
  expectedSeconds: seconds,
  expectedSecondsBetween: z
    .tuple([z.number(), z.number()])
    .readonly()
    .optional()
    .describe('90 % interval of the duration of the work.'),
  chanceNow: z.number().optional().describe('Chance that the pool has capacity at this moment.'),
  expectedWaitSeconds: seconds.optional(),
  expectedUpSeconds: seconds.optional(),
  transfer: transfer.optional(),
  verdict: z.string().describe('Why the pool was or was not chosen.'),
});

export const placement = z.object({
  pool,
  topology,
  subnetId: z.string().optional(),
  onDemandHourlyUsd: usd.describe('On-Demand price of one node in an hour.'),
  helpersHourlyUsd: usd.optional().describe('On-Demand price of all helper nodes together.'),
  fileSystemsHourlyUsd: usd.optional().describe('Of the file systems that channels read, if known.'),
  transfer: transfer.optional(),
  expectedSeconds: seconds.optional().describe('Of training, of the whole run.'),
  maximumRunSeconds: seconds,
  maximumWaitSeconds: seconds.optional(),
  spotUntil: time.optional().describe('The last time for On-Demand to meet the deadline.'),
  reason: z.string(),
  decidedAt: time,
});

const considered = list(poolAssessment);

export const placementDecision = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('launch'), placement: placement.extend({ considered }) }),
  z.object({ kind: z.literal('wait'), seconds, reason: z.string(), considered }),
  z.object({ kind: z.literal('giveUp'), reason: z.string(), considered }),
]);

export const storedPlacement = z.object({
  attempt: z.number().int(),
  decision: placementDecision,
});
