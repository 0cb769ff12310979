/**
 * What a run was promised and what then happened, and what its pipeline's next intervals learn from it: their widths are
 * corrected so that nine in ten of its own last promises would have held.
 */

import { time } from '@tidewheel/kit/fields.ts';
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
