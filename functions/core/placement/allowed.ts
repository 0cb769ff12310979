/** Which pools may be used at all, whatever they cost: the deadline is kept here, and nowhere else. */
import type { Assessed } from './assess.ts';
import { restartOf } from './gang-cost.ts';
import type { Situation } from './situation.ts';

/** Whether anything can be launched there at all. */
export const isOpen = ({ candidate }: Assessed): boolean => candidate.closed === undefined;

/** Whether putting off On-Demand once more is safe: a Spot attempt may bring nothing and cost a whole restart. */
export const spotIsSafe = (situation: Situation): boolean => untilUnsafe(situation) >= 0;

export const untilUnsafe = ({ slackSeconds, work, marginSeconds }: Situation): number =>
  slackSeconds - work.restartSeconds - marginSeconds;

/** While a job waits no work is done, so the moment at which Spot stops being safe is known now. */
export const spotUntil = (situation: Situation): string =>
  new Date(situation.nowMilliseconds + untilUnsafe(situation) * 1_000).toISOString();

/** Whether this pool's own work, as slow as it may turn out, ends while there is time. */
export const endsInTime = (each: Assessed, { secondsLeft, work }: Situation): boolean =>
  each.safeWorkSeconds + restartOf(each.candidate, work) <= secondsLeft;

/**
 * Why a pool may not be chosen, whatever it costs. While Spot runs at least as fast as the fallback, slack does not
 * shrink; a slower one must leave its restart and margin until its very end.
 */
export function whyNot(each: Assessed, situation: Situation): string | undefined {
  const { candidate, safeWorkSeconds } = each;
  const { closed, pool } = candidate;
  if (closed !== undefined) return closed;
  const { input, work, secondsLeft, marginSeconds, slackSeconds } = situation;
  if (pool.market === 'on-demand')
    return endsInTime(each, situation)
      ? undefined
      : `would probably be late: it may take ${hours(safeWorkSeconds)}, ${hours(secondsLeft)} are left`;
  if (input.compute.market !== 'spot-then-on-demand') return undefined;
  if (!spotIsSafe(situation))
    return `no slack is left for Spot: ${hours(slackSeconds)} until the latest safe start`;
  const atItsEnd = secondsLeft - safeWorkSeconds - restartOf(candidate, work);
  return atItsEnd >= work.restartSeconds + marginSeconds
    ? undefined
    : `too slow to leave time for On-Demand after a loss: it may take ${hours(safeWorkSeconds)}`;
}

const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;
