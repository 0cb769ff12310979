/** How fast an attempt trained, and what that cost. */
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import { seconds } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { Evidence } from './evidence.ts';
import { mean, median, POINT_SECONDS } from './measures.ts';

/** Means over the hosts. A rate is absent if the loader does not report a batch size. */
export const speedSchema = z.object({
  samplesPerSecond: z.number().optional().describe('Of all hosts together.'),
  samplesPerDollar: z.number().optional(),
  /** Of the middle point, on the slowest host. */
  stepSeconds: z.object({ median: seconds, p95: seconds }),
  cpuBusy: z.number().describe('Share of 1.'),
  gpuBusy: z.number().optional().describe('Share of 1.'),
  seconds: seconds.describe('Measured time.'),
  steps: z.number(),
});
export type Speed = z.output<typeof speedSchema>;

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

const samplesOf = ({ samples, steps, loader }: EvidencePoint): number | undefined =>
  samples ?? (loader.batchSize === null ? undefined : steps * loader.batchSize);

/** @returns undefined where no step was measured */
export function speedOf({ points, instance }: Pick<Evidence, 'points' | 'instance'>): Speed | undefined {
  const numbers = [...new Set(points.map(({ host }) => host))];
  const hosts = numbers.map((host) => points.filter((each) => each.host === host));
  const seconds = Math.max(0, ...hosts.map((each) => each.length * POINT_SECONDS));
  const stepsOf = hosts.map((each) => sum(each.map(({ steps }) => steps)));
  const [slowest] = hosts
    .map((each) => ({
      median: median(each.map(({ stepSeconds }) => stepSeconds.median)),
      p95: median(each.map(({ stepSeconds }) => stepSeconds.p95)),
    }))
    .toSorted((a, b) => b.median - a.median);
  if (slowest === undefined || Math.max(...stepsOf) === 0) return undefined;
  const rates = hosts.map(rateOf).filter((each) => each !== undefined);
  const rate = rates.length === hosts.length ? sum(rates) : undefined;
  const gpus = points.flatMap(({ gpu }) => (gpu === null ? [] : [gpu.busy]));
  return {
    samplesPerSecond: rate,
    samplesPerDollar: rate === undefined ? undefined : rate / (instance.usdPerSecond * hosts.length),
    stepSeconds: slowest,
    cpuBusy: mean(points.map(({ cpu }) => Math.min(1, cpu.all / cpu.cores))),
    gpuBusy: gpus.length === 0 ? undefined : mean(gpus),
    seconds,
    steps: Math.max(...stepsOf),
  };
}

/** With fewer, the first and the last point count too. */
const ENOUGH_POINTS = 5;

/**
 * Samples a second of one host. The steps begin somewhere in its first point and end somewhere in its last, and a point
 * takes a little longer than it should: in a run of minutes, each of these is more than what a remedy may lose.
 */
function rateOf(points: readonly EvidencePoint[]): number | undefined {
  const ordered = points.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const first = ordered.findIndex(({ steps }) => steps > 0);
  const stepping = ordered.slice(first, ordered.findLastIndex(({ steps }) => steps > 0) + 1);
  const whole = stepping.length < ENOUGH_POINTS ? stepping : stepping.slice(1, -1);
  const counted = whole.map(samplesOf);
  if (first < 0 || counted.includes(undefined)) return undefined;
  const apart = ordered
    .slice(1)
    .map(({ at }, place) => Date.parse(at) - Date.parse(ordered[place]?.at ?? at));
  const pointSeconds = apart.length === 0 ? POINT_SECONDS : median(apart) / 1_000;
  const seconds = whole.length * Math.max(1, pointSeconds);
  return sum(counted.filter((each) => each !== undefined)) / seconds;
}
