/** Records of where an attempt was placed, and why. Times are ISO 8601 in UTC, durations are seconds, and money is USD. */

import { RESERVATION_KINDS } from '@tidewheel/catalog/launchers.ts';
import { LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';

export const intervalSchema = z.object({
  low: z.number(),
  expected: z.number().describe('The median.'),
  high: z.number(),
});
export type Interval = Readonly<z.output<typeof intervalSchema>>;

export const timesSchema = z
  .object({ low: time, expected: time.describe('The median.'), high: time })
  .describe('90 % interval.');

/** pool = instance type x availability zone x purchase option x launcher */
export const poolSchema = z.object({
  instanceType: z.string().describe('Name on EC2, without ml.'),
  zoneId: z.string().optional().describe('Such as use1-az4; absent where SageMaker chooses.'),
  purchaseOption: z.enum(['spot', 'on-demand', 'reserved']),
  reservation: z.string().optional().describe('Id of the Capacity Reservation, or ARN of the training plan.'),
  region: z.string().optional().describe("Absent in the data bucket's own region."),
  launcher: z.enum(LAUNCHERS),
});
export type Pool = Readonly<z.output<typeof poolSchema>>;

export const samePool = (a: Pool, b: Pool): boolean =>
  a.instanceType === b.instanceType &&
  a.zoneId === b.zoneId &&
  a.purchaseOption === b.purchaseOption &&
  a.reservation === b.reservation &&
  a.region === b.region &&
  a.launcher === b.launcher;

/** As a launcher requests it: what is reserved is On-Demand capacity that has been paid for. */
export const requestedAs = ({ purchaseOption }: Pick<Pool, 'purchaseOption'>): 'spot' | 'on-demand' =>
  purchaseOption === 'spot' ? 'spot' : 'on-demand';

/** The pool's name in sentences. */
export const nameOfPool = ({ instanceType, zoneId }: Pool): string =>
  zoneId === undefined ? instanceType : `${instanceType} in ${zoneId}`;

/** A reservation as sentences name it: a plan's ARN without its account. */
export const nameOfReservation = (id = ''): string => id.replace(/^arn:.*:training-plan\//, 'training plan ');

const helperNodes = z.object({ name: z.string(), instanceType: z.string(), nodes: z.number().int() });
export type HelperNodes = Readonly<z.output<typeof helperNodes>>;

export const topologySchema = z.object({
  nodes: z.number().int(),
  acceleratorsPerNode: z.number().int(),
  /** CPU nodes that placement added; absent if the pipeline names its groups or has none. */
  helpers: list(helperNodes).optional(),
});
export type Topology = Readonly<z.output<typeof topologySchema>>;

/** `priceNote` names the source of the price of a gigabyte. */
const transferSchema = z
  .object({ gigabytes: z.number(), usd, seconds, priceNote: z.string() })
  .describe('Copies of shards and checkpoints to another region.');
export type Transfer = Readonly<z.output<typeof transferSchema>>;

/**
 * One row of the table that explains a placement. Costs and times include the transfer; both are absent while nothing is
 * known of the pace, and for a pool that was left out.
 */
export const poolAssessmentSchema = z.object({
  pool: poolSchema,
  /** Of the gang. */
  topology: topologySchema,
  score: z.number().optional().describe('Spot placement score, 1 to 10, for the whole gang.'),
  hourlyUsd: usd.describe('Price of one node in an hour.'),
  expectedCostUsd: usd.optional().describe('Of the rest of the run, if it asks for this pool now.'),
  expectedSeconds: seconds.optional().describe('Of the work in this pool, with one start and no loss.'),
  /** Absent without an extrapolation. */
  expectedSecondsBetween: z
    .tuple([z.number(), z.number()])
    .readonly()
    .optional()
    .describe('90 % interval of the duration of the work.'),
  chanceNow: z.number().optional().describe('Chance that the pool has capacity at this moment.'),
  /**
   * Mean time until capacity comes where there is none now, and from then until an interruption; undefined if not
   * expected.
   */
  expectedWaitSeconds: seconds.optional(),
  expectedUpSeconds: seconds.optional(),
  transfer: transferSchema.optional(),
  verdict: z.string().describe('Why the pool was or was not chosen.'),
});
export type PoolAssessment = Readonly<z.output<typeof poolAssessmentSchema>>;

const considered = list(poolAssessmentSchema);

/** Another type of the same topology and place, On-Demand. */
const alternativeSchema = z.object({
  instanceType: z.string(),
  onDemandHourlyUsd: usd.describe('On-Demand price of one node in an hour.'),
});

/** The choice of topology and pool for the next attempt, with the reasons. */
export const placementSchema = z.object({
  pool: poolSchema,
  topology: topologySchema,
  subnetId: z.string().optional(),
  /** For the counterfactual. */
  onDemandHourlyUsd: usd.describe('On-Demand price of one node in an hour.'),
  alternatives: list(alternativeSchema)
    .optional()
    .describe('Types that the same request names, in this order, for when those before have no capacity.'),
  helpersHourlyUsd: usd.optional().describe('On-Demand price of all helper nodes together.'),
  fileSystemsHourlyUsd: usd.optional().describe('Of the file systems that channels read, if known.'),
  /** And back; included in the attempt's cost. */
  transfer: transferSchema.optional(),
  /** From earlier runs if there are any. */
  expectedSeconds: seconds.optional().describe('Of training, of the whole run.'),
  maximumRunSeconds: seconds,
  /** Spot only: the limit of wait and run together. */
  maximumWaitSeconds: seconds.optional(),
  /** Spot only: end of the wait for capacity. */
  spotUntil: time.optional().describe('The last time for On-Demand to meet the deadline.'),
  /** Reserved only: what the launch names beside its id. */
  reserved: z
    .object({
      kind: z.enum(RESERVATION_KINDS),
      until: time.optional().describe('When its hosts must be free; absent: it does not end.'),
      placementGroup: z.string().optional().describe('The group that it was made inside.'),
    })
    .optional(),
  reason: z.string(),
  decidedAt: time,
  /** The record of an attempt keeps the rows of the types that it names. */
  considered,
});
export type Placement = Readonly<z.output<typeof placementSchema>>;

/** Every pool that the request names. */
export const namedPools = ({ pool, alternatives = [] }: Placement): readonly Pool[] => [
  pool,
  ...alternatives.map(({ instanceType }) => ({ ...pool, instanceType })),
];

/** The placement in the type that AWS selected; as it is where that is no alternative. */
export function asSelected(placement: Placement, instanceType: string | undefined): Placement {
  const { alternatives = [], ...first } = placement;
  const selected = alternatives.find((each) => each.instanceType === instanceType);
  return selected === undefined
    ? placement
    : {
        ...first,
        pool: { ...first.pool, instanceType: selected.instanceType },
        onDemandHourlyUsd: selected.onDemandHourlyUsd,
      };
}

/** As the forecast saw it when it was decided; absent while nothing is known of the pace. */
const expected = z
  .object({ seconds: intervalSchema, usd: intervalSchema, lateChance: z.number().optional() })
  .optional()
  .describe('From the decision to the end of the run: median, and 90 % interval.');

const offers = list(z.string())
  .optional()
  .describe(
    'What AWS offered for less than the run was expected to cost, and how it is bought; or why it did not answer.',
  );

export const placementDecisionSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('launch'), placement: placementSchema, expected, offers }),
  z.object({ kind: z.literal('wait'), seconds, reason: z.string(), considered, expected, offers }),
  z.object({ kind: z.literal('giveUp'), reason: z.string(), considered }),
]);
export type PlacementDecision = z.output<typeof placementDecisionSchema>;

/** A decision with the document of its question, which placement's `storedQuestion` reads. */
export type StoredDecision = PlacementDecision & { readonly question: unknown };

// What a run was promised and what then happened, and what its pipeline's next intervals learn from it: their widths are
// corrected so that nine in ten of its own last promises would have held.

const widthsSchema = z
  .object({ end: z.number(), cost: z.number() })
  .describe('Factors on both intervals, learnt from former runs.');
export type Widths = Readonly<z.output<typeof widthsSchema>>;

export const promiseSchema = z.object({
  share: z.number().describe('Of the work that was saved then, by quarters.'),
  finishAt: timesSchema,
  usd: intervalSchema.describe('Of the whole run.'),
  widths: widthsSchema,
});
export type RunPromise = Readonly<z.output<typeof promiseSchema>>;

/** Distances from the median in reaches of the interval without its correction: up to 1, that would have held. */
export const missSchema = z.object({ share: z.number(), end: z.number(), cost: z.number() });
export type Miss = Readonly<z.output<typeof missSchema>>;

const MOST = 10;

function reachesOff(happened: number, { low, expected, high }: Interval): number {
  const reach = happened < expected ? expected - low : high - expected;
  return Math.min(MOST, Math.abs(happened - expected) / Math.max(reach, 1e-9));
}

export function missOf(
  { share, finishAt, usd, widths }: RunPromise,
  { finishedAt, costUsd }: { readonly finishedAt: string; readonly costUsd: number },
): Miss {
  const { low, expected, high } = finishAt;
  const times = { low: Date.parse(low), expected: Date.parse(expected), high: Date.parse(high) };
  return {
    share,
    end: widths.end * reachesOff(Date.parse(finishedAt), times),
    cost: widths.cost * reachesOff(costUsd, usd),
  };
}

/** Fifths of what a forecast without fault would miss by; they count as five promises. */
const FAULTLESS = [0.08, 0.23, 0.41, 0.63, 1];
const HOLDS = 0.9;
const LEAST_WIDTH = 0.5;
const MOST_WIDTH = 4;

export function widthsOf(misses: readonly Miss[]): Widths {
  const widthOf = (of: (miss: Miss) => number): number => {
    const sorted = [...FAULTLESS, ...misses.map(of)].toSorted((a, b) => a - b);
    const place = HOLDS * (sorted.length + 1) - 1;
    const below = sorted[Math.floor(place)] ?? 1;
    const above = sorted[Math.ceil(place)] ?? below;
    const width = below + (above - below) * (place - Math.floor(place));
    return Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width));
  };
  return misses.length === 0
    ? { end: 1, cost: 1 }
    : { end: widthOf(({ end }) => end), cost: widthOf(({ cost }) => cost) };
}

/** The least stays above 0: a run never ends before now. */
export const widened = ({ low, expected, high }: Interval, width: number): Interval => ({
  low: Math.max(Math.min(low, expected / 20), expected - width * (expected - low)),
  expected,
  high: expected + width * (high - expected),
});
