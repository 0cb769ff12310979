/**
 * How often to save: often enough to lose little, seldom enough to spend little on saving. Young's first-order optimum,
 * the square root of twice the time of a save times the mean time between interruptions.
 * J. W. Young, CACM 17(9), 1974; J. T. Daly, FGCS 22(3), 2006: https://doi.org/10.1016/j.future.2004.11.016
 */
import { type AttemptRecord, type Placement, samePool } from '../../runs/run-records.ts';

export interface IntervalQuestion {
  /** How long training stands still for a save; undefined when nobody measured it. */
  readonly saveSeconds?: number | undefined;
  /** Mean time until an interruption of the whole gang; undefined when none is expected. */
  readonly meanSecondsBetweenInterruptions?: number | undefined;
}

const LEAST_SECONDS = 30;
const MOST_SECONDS = 3_600;
/** A few gigabytes to a local disk. */
const PRIOR_SAVE_SECONDS = 10;
/** What a Spot pool is taken for that says nothing of itself. */
const PRIOR_SPOT_SECONDS = 4 * 3_600;

export function checkpointInterval(question: IntervalQuestion): number {
  const { saveSeconds = PRIOR_SAVE_SECONDS, meanSecondsBetweenInterruptions: mean } = question;
  if (mean === undefined || !Number.isFinite(mean)) return MOST_SECONDS;
  const interval = Math.sqrt(2 * Math.max(0, saveSeconds) * Math.max(0, mean));
  // NaN, from a figure that is none, compares with nothing: it becomes the least.
  return interval >= LEAST_SECONDS ? Math.min(MOST_SECONDS, Math.round(interval)) : LEAST_SECONDS;
}

/** What the job of an attempt is told: by what its saves were measured to take, and by how long its pool lasts. */
export const intervalOf = (attempt: AttemptRecord, earlier: readonly AttemptRecord[]): number =>
  checkpointInterval({
    saveSeconds: attempt.progressBefore?.saveSeconds,
    meanSecondsBetweenInterruptions: meanSecondsBetweenInterruptions(attempt.placement, earlier),
  });

/**
 * The pool's expectation at placement counts as one interruption seen; what happened to the run so far counts as it did.
 * @param earlier the attempts before the one that is launched
 */
export function meanSecondsBetweenInterruptions(
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
