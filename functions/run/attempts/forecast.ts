/**
 * When an unfinished run will end, and what it will have cost by then, as 90 % intervals. What is uncertain: the pace of
 * the script, and how often Spot capacity is lost. Interruptions are taken as Poisson, the pace as lognormal. Pure.
 */

import { time } from '@tidewheel/kit/fields.ts';
import { estimateWork, measuredThroughputs } from '@tidewheel/placement/estimate.ts';
import { furthestProgress, type Progress, samePool } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import type { AttemptRecord } from '../../records/run-records.ts';
import { isUp, secondsSinceSave } from './unsaved.ts';

export const intervalSchema = z.object({ low: z.number(), expected: z.number(), high: z.number() });
export type ForecastInterval = Readonly<z.output<typeof intervalSchema>>;

export const timesSchema = z.object({ low: time, expected: time, high: time }).describe('90 % interval.');

export interface Forecast {
  /** Seconds until the end, with restarts. */
  readonly seconds: ForecastInterval;
  /** Of these, what is paid for. */
  readonly billedSeconds: ForecastInterval;
  /** Training left on the present topology. */
  readonly workSeconds: number;
  /** measured: from checkpoints of this run; declared: from former runs. */
  readonly basis: 'measured' | 'declared';
}

export interface ForecastQuestion {
  /** Oldest first, at least one. */
  readonly attempts: readonly AttemptRecord[];
  readonly progress?: Progress | undefined;
  readonly now: Date;
  readonly maximumRunSeconds: number;
}

/** 5 % of a normal distribution lie above. */
export const Z = 1.645;
/** Stated priors: the spread of the pace before two attempts have shown it, and hours between interruptions. */
export const PACE_SPREAD = { measured: 0.1, declared: 0.3 } as const;
const LEAST_SPREAD = 0.05;
export const PRIOR_UP_SECONDS = 8 * 3_600;
const WAIT_SECONDS = 300;

/** @returns undefined where nothing says how much is left */
export function forecast(question: ForecastQuestion): Forecast | undefined {
  const { attempts, now } = question;
  const last = attempts.at(-1);
  const left = last && workLeft(question, last);
  if (last === undefined || left === undefined) return undefined;
  const { workSeconds, basis, restartSeconds } = left;
  const mayWait = !isUp(last) && now.getTime() >= Date.parse(last.createdAt);
  const wait = waitSecondsOf(last);
  return {
    workSeconds,
    basis,
    ...workIntervals({
      workSeconds,
      spread: paceSpread(attempts, basis),
      startSeconds: isUp(last) ? 0 : restartSeconds,
      firstWaitSeconds: { low: 0, expected: mayWait ? wait : 0, high: mayWait ? wait : 0 },
      restartSeconds,
      waitSeconds: wait,
      lossesPerSecond: lossRate(attempts, last, now),
    }),
  };
}

export interface ExpectedWork {
  /** On the topology at hand, without starts and waits. */
  readonly workSeconds: number;
  /** Standard deviation of the logarithm of the work's duration. */
  readonly spread: number;
  /** From the first host to the first step; 0 while the hosts are up. */
  readonly startSeconds: number;
  /** Before the first host. */
  readonly firstWaitSeconds: ForecastInterval;
  /** After each interruption: from the new host to the first new step, and before that host. */
  readonly restartSeconds: number;
  readonly waitSeconds: number;
  /** 0 on demand. */
  readonly lossesPerSecond: number;
}

export function workIntervals({
  workSeconds,
  spread,
  startSeconds,
  firstWaitSeconds,
  restartSeconds,
  waitSeconds,
  lossesPerSecond: rate,
}: ExpectedWork): Pick<Forecast, 'seconds' | 'billedSeconds'> {
  const [quick, slow] = [workSeconds * Math.exp(-Z * spread), workSeconds * Math.exp(Z * spread)];
  const each = restartSeconds + waitSeconds;
  const most = poissonHigh(rate * slow);
  return {
    seconds: interval(
      quick + startSeconds + firstWaitSeconds.low,
      workSeconds + startSeconds + firstWaitSeconds.expected + rate * workSeconds * each,
      slow + startSeconds + firstWaitSeconds.high + most * each,
    ),
    billedSeconds: interval(
      quick + startSeconds,
      workSeconds + startSeconds + rate * workSeconds * restartSeconds,
      slow + startSeconds + most * restartSeconds,
    ),
  };
}

/** A rare interruption of a short training lifts the mean above the 95th percentile, which then counts none. */
const interval = (low: number, expected: number, high: number): ForecastInterval => ({
  low,
  expected,
  high: Math.max(expected, high),
});

function workLeft(
  { attempts, progress = furthestProgress(attempts), now, maximumRunSeconds }: ForecastQuestion,
  last: AttemptRecord,
): { workSeconds: number; basis: Forecast['basis']; restartSeconds: number } | undefined {
  const { workSeconds, basis, restartSeconds } = estimateWork({
    attempts,
    progress,
    launchers: [last.launcher],
    throughputs: measuredThroughputs(attempts),
    expectedSeconds: last.placement.expectedSeconds,
    maximumRunSeconds,
    campaignSeconds: 0,
  });
  if (basis === 'assumed') return undefined;
  // Training since the newest checkpoint is done as well, as long as nothing takes it away.
  const unsaved = secondsSinceSave(last, progress, now);
  return { workSeconds: Math.max(0, workSeconds - unsaved), basis, restartSeconds };
}

/** Standard deviation of the logarithm of a step's duration, over attempts on the present types. */
function paceSpread(attempts: readonly AttemptRecord[], basis: Forecast['basis']): number {
  const type = attempts.at(-1)?.placement.pool.instanceType;
  const logs = measuredThroughputs(attempts)
    .filter(({ instanceType }) => instanceType === type)
    .map(({ stepSeconds }) => Math.log(stepSeconds));
  const prior = PACE_SPREAD[basis];
  const mean = logs.reduce((sum, each) => sum + each, 0) / Math.max(1, logs.length);
  const squares = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  // As if one more attempt had shown the prior.
  return Math.max(LEAST_SPREAD, Math.sqrt((squares + prior ** 2) / Math.max(1, logs.length)));
}

/** Interruptions a second of training, with one prior stretch; none on On-Demand. */
function lossRate(attempts: readonly AttemptRecord[], last: AttemptRecord, now: Date): number {
  if (last.placement.pool.purchaseOption === 'on-demand') return 0;
  const spot = attempts.filter(({ placement }) => placement.pool.purchaseOption === 'spot');
  const lost = spot.filter(({ outcome }) => outcome?.kind === 'interrupted').length;
  const up = spot.reduce((sum, attempt) => sum + upSeconds(attempt, now), 0);
  const expected = rowOf(last)?.expectedUpSeconds ?? PRIOR_UP_SECONDS;
  return (lost + 1) / (up + Math.max(60, expected));
}

function upSeconds(attempt: AttemptRecord, now: Date): number {
  if (attempt.outcome !== undefined) return attempt.outcome.trainingSeconds;
  return isUp(attempt)
    ? Math.max(0, now.getTime() - Date.parse(attempt.startedAt ?? attempt.createdAt)) / 1_000
    : 0;
}

const waitSecondsOf = (last: AttemptRecord): number => rowOf(last)?.expectedWaitSeconds ?? WAIT_SECONDS;

const rowOf = ({ placement }: AttemptRecord) =>
  placement.considered.find(({ pool }) => samePool(pool, placement.pool));

/** The least number that a Poisson variable exceeds with at most 5 %. */
function poissonHigh(mean: number): number {
  if (mean > 400) return mean + Z * Math.sqrt(mean);
  let chance = Math.exp(-mean);
  let sum = chance;
  let count = 0;
  while (sum < 0.95) {
    count += 1;
    chance *= mean / count;
    sum += chance;
  }
  return count;
}
