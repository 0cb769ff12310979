/**
 * A job in the simulated market: what runs is billed by whole ticks, a start owes time before it brings progress, and an
 * interruption costs nothing but a new start. Times in seconds, money in USD for the gang.
 */

export interface Setting {
  readonly tickSeconds: number;
  readonly workSeconds: number;
  readonly deadlineSeconds: number;
  readonly restartSeconds: number;
  /** Per hour, by zone. */
  readonly spotUsd: readonly number[];
  readonly onDemandUsd: number;
}

/** What a job has come to. */
export interface Job {
  workDone: number;
  /** Seconds of start-up that what runs still owes. */
  debt: number;
  costUsd: number;
  starts: number;
  /** Infinity until all work is done. */
  finishSeconds: number;
}

const WORK_TOLERANCE = 1e-8;
const DEBT_TOLERANCE = 1e-3;

export const newJob = (): Job => ({
  workDone: 0,
  debt: 0,
  costUsd: 0,
  starts: 0,
  finishSeconds: Number.POSITIVE_INFINITY,
});

export const isDone = (job: Job, { workSeconds }: Setting): boolean =>
  workSeconds - job.workDone <= WORK_TOLERANCE;

export function start(job: Job, { restartSeconds }: Setting): void {
  job.debt = restartSeconds;
  job.starts += 1;
}

/** Runs for the tick that begins now. @param spotZone undefined: On-Demand */
export function runTick(
  job: Job,
  setting: Setting,
  { nowSeconds, spotZone }: { readonly nowSeconds: number; readonly spotZone: number | undefined },
): void {
  const { tickSeconds, onDemandUsd, spotUsd } = setting;
  const workLeft = setting.workSeconds - job.workDone;
  const gain = Math.max(tickSeconds - job.debt, 0);
  if (job.finishSeconds === Number.POSITIVE_INFINITY && gain >= workLeft - WORK_TOLERANCE)
    job.finishSeconds = nowSeconds + (tickSeconds - gain) + workLeft;
  job.debt -= tickSeconds - gain;
  if (job.debt < DEBT_TOLERANCE) job.debt = 0;
  job.workDone += Math.min(gain, workLeft);
  const hourlyUsd = spotZone === undefined ? onDemandUsd : (spotUsd[spotZone] ?? onDemandUsd);
  job.costUsd += (hourlyUsd * tickSeconds) / 3_600;
}
