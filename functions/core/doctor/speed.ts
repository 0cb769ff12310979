/** How fast an attempt trained, and what that cost. */
import type { Evidence, Point } from './evidence.ts';
import { median } from './measures.ts';

export interface Speed {
  /** Of all hosts together; absent where the loader tells no batch size. */
  readonly samplesPerSecond?: number | undefined;
  readonly samplesPerDollar?: number | undefined;
  /** Of the middle point, on the slowest host. */
  readonly stepSeconds: { readonly median: number; readonly p95: number };
  /** Shares of 1, means over the hosts. */
  readonly cpuBusy: number;
  readonly gpuBusy?: number | undefined;
  /** What the figures stand on. */
  readonly seconds: number;
  readonly steps: number;
}

const POINT_SECONDS = 10;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);
const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

const samplesOf = ({ samples, steps, loader }: Point): number | undefined =>
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
  const counted = points.map(samplesOf).filter((each) => each !== undefined);
  const rate = counted.length === points.length ? sum(counted) / seconds : undefined;
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
