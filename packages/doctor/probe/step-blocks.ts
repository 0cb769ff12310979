/** How long the steps of a job took that was limited to a number of them, from what its hosts measured. */
import type { StepBlocks } from '@tidewheel/contract/evidence.ts';

/** A mean with its 95 % interval. */
export interface MeasuredMean {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface StepSpeed {
  readonly basis: StepBlocks['basis'];
  readonly clock: StepBlocks['clock'];
  readonly hosts: number;
  /** Of the slowest host, warm-up included. */
  readonly steps: number;
  /** Of the slowest host. */
  readonly stepSeconds: MeasuredMean;
  /** Of all hosts together; absent where one of them tells no samples. */
  readonly samplesPerSecond?: MeasuredMean | undefined;
}

/** Fewer blocks have no spread that means something. */
const LEAST_BLOCKS = 3;

/** @returns undefined where no host measured enough steps */
export function stepSpeedOf(hosts: readonly StepBlocks[]): StepSpeed | undefined {
  const measured = hosts.flatMap((host) => {
    const stepSeconds = intervalOf(host);
    return stepSeconds === undefined ? [] : [{ host, stepSeconds }];
  });
  const [slowest] = measured.toSorted((a, b) => b.stepSeconds.mean - a.stepSeconds.mean);
  if (slowest === undefined || measured.length < hosts.length) return undefined;
  const rates = measured.map(({ host, stepSeconds }) => rateOf(host.samplesPerStep, stepSeconds));
  const known = rates.filter((rate) => rate !== undefined);
  return {
    basis: slowest.host.basis,
    clock: slowest.host.clock,
    hosts: hosts.length,
    steps: Math.min(...hosts.map(({ steps }) => steps)),
    stepSeconds: slowest.stepSeconds,
    ...(known.length === rates.length && { samplesPerSecond: sumOf(known) }),
  };
}

/**
 * Student's interval of the mean over blocks: a block holds whatever repeats every few steps, so blocks depend less on each
 * other than steps do.
 */
function intervalOf({ blockSeconds, blockSteps }: StepBlocks): MeasuredMean | undefined {
  if (blockSeconds.length < LEAST_BLOCKS) return undefined;
  const steps = blockSteps.reduce((sum, each) => sum + each, 0);
  const mean =
    blockSeconds.reduce((sum, seconds, index) => sum + seconds * (blockSteps[index] ?? 0), 0) / steps;
  const freedom = blockSeconds.length - 1;
  const variance = blockSeconds.reduce((sum, seconds) => sum + (seconds - mean) ** 2, 0) / freedom;
  const half = studentFactor(freedom) * Math.sqrt(variance / blockSeconds.length);
  return { mean, low: Math.max(0, mean - half), high: mean + half };
}

/** 97.5 % quantiles by degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.2). */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228] as const;
const studentFactor = (freedom: number): number => STUDENT[freedom - 1] ?? (freedom <= 30 ? 2.2 : 2.05);

const rateOf = (samples: number | null, seconds: MeasuredMean): MeasuredMean | undefined =>
  samples === null || samples === 0 || seconds.low <= 0
    ? undefined
    : { mean: samples / seconds.mean, low: samples / seconds.high, high: samples / seconds.low };

const sumOf = (rates: readonly MeasuredMean[]): MeasuredMean => ({
  mean: rates.reduce((sum, { mean }) => sum + mean, 0),
  low: rates.reduce((sum, { low }) => sum + low, 0),
  high: rates.reduce((sum, { high }) => sum + high, 0),
});
