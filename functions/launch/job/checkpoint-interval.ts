/**
 * The interval between checkpoints balances lost work against the time of saving. Young's first-order optimum is the
 * square root of twice the time of a save times the mean time between interruptions.
 * J. W. Young, CACM 17(9), 1974; J. T. Daly, FGCS 22(3), 2006: https://doi.org/10.1016/j.future.2004.11.016
 */

import { type Placement, samePool } from '@tidewheel/placement/records.ts';
import { type AttemptRecord } from '../../records/run-records.ts';

interface IntervalQuestion {
  /** How long a save interrupts training; undefined before the first measurement. */
  readonly saveSeconds?: number | undefined;
  /** Mean time until an interruption of the whole gang; undefined when none is expected. */
  readonly meanSecondsBetweenInterruptions?: number | undefined;
}

const LEAST_SECONDS = 30;
const MOST_SECONDS = 3_600;
/** Time to write a few gigabytes to a local disk. */
const PRIOR_SAVE_SECONDS = 10;
/** The mean time between interruptions of a Spot pool without an estimate. */
const PRIOR_SPOT_SECONDS = 4 * 3_600;

function checkpointInterval(question: IntervalQuestion): number {
  const { saveSeconds = PRIOR_SAVE_SECONDS, meanSecondsBetweenInterruptions: mean } = question;
  if (mean === undefined || !Number.isFinite(mean)) return MOST_SECONDS;
  const interval = Math.sqrt(2 * Math.max(0, saveSeconds) * Math.max(0, mean));
  // Every comparison with NaN is false, so NaN gives the shortest interval.
  return interval >= LEAST_SECONDS ? Math.min(MOST_SECONDS, Math.round(interval)) : LEAST_SECONDS;
}

/** The interval for an attempt's job, from the measured time of its saves and the expectation of its pool. */
export const intervalOf = (attempt: AttemptRecord, earlier: readonly AttemptRecord[]): number =>
  checkpointInterval({
    saveSeconds: attempt.progressBefore?.saveSeconds,
    meanSecondsBetweenInterruptions: meanSecondsBetweenInterruptions(attempt.placement, earlier),
  });

/**
 * The pool's expectation at placement counts as one interruption. The run's own interruptions count as they happened.
 * @param earlier attempts of the run before this one
 */
function meanSecondsBetweenInterruptions(
  placement: Placement,
  earlier: readonly AttemptRecord[],
): number | undefined {
  const { pool, considered } = placement;
  if (pool.purchaseOption === 'on-demand') return undefined;
  const spot = earlier.filter((attempt) => attempt.placement.pool.purchaseOption === 'spot');
  const seconds = spot.reduce((sum, { outcome }) => sum + (outcome?.trainingSeconds ?? 0), 0);
  const interruptions = spot.reduce(
    (sum, { outcome }) =>
      sum + Math.max(outcome?.interruptions ?? 0, outcome?.kind === 'interrupted' ? 1 : 0),
    0,
  );
  const expected = considered.find(({ pool: each }) => samePool(each, pool))?.expectedUpSeconds;
  return ((expected ?? PRIOR_SPOT_SECONDS) + seconds) / (1 + interruptions);
}
