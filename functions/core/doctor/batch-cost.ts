/** What a batch costs its worker, and how its absence shows. */
import type { HostMeasures } from './measures.ts';

/** What one batch costs a worker. */
export interface BatchCost {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly bytes: number;
  /** Seconds of a step that no loader shortens. */
  readonly rest: number;
}

/** One core stays with the training process. */
export const coresForWorkers = (cores: number): number => Math.max(1, cores - 1);

export function costOf(pace: HostMeasures): BatchCost {
  const inMain = pace.workers === 0;
  return {
    wallSeconds: inMain ? pace.wait : pace.workers * pace.workerBusy * pace.stepSeconds,
    cpuSeconds: inMain ? pace.wait : pace.workerCores * pace.stepSeconds,
    bytes: pace.receivedBytesPerSecond * pace.stepSeconds,
    rest: pace.stepSeconds - pace.wait,
  };
}

export const waitFacts = (pace: HostMeasures) => ({
  waitShare: pace.wait / pace.stepSeconds,
  workers: pace.workers,
  workerBusy: pace.workerBusy,
  cores: pace.cores,
  coresUsed: pace.allCores,
  ...(pace.gpuBusy === undefined ? {} : { gpuBusy: pace.gpuBusy }),
  ...gapFacts(pace),
});

/** Workers that run in step deliver together: the step after the last of them waits for all. */
function gapFacts({
  workers,
  wait,
  medianSeconds,
  p95Seconds,
}: HostMeasures): Readonly<Record<string, number>> {
  const gap = p95Seconds - medianSeconds;
  const expected = workers * wait;
  const everyNth = workers > 1 && workers < 20 && Math.abs(gap - expected) < 0.3 * expected;
  return everyNth ? { gapEverySteps: workers, gapSeconds: gap } : {};
}
