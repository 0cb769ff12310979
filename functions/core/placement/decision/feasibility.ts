/** Which pools may be used, whatever they cost. The deadline is enforced here and nowhere else. */
import { hours } from '../model/amounts.ts';
import type { Assessed } from './assessment.ts';
import { restartOf } from './gang-cost.ts';
import type { Situation } from './situation.ts';

/** Whether anything can be launched there at all. */
export const isOpen = ({ candidate }: Assessed): boolean => candidate.closed === undefined;

/**
 * Seconds for which On-Demand can still be put off; below 0 it is needed now. A Spot attempt may make no progress and
 * cost a restart.
 */
export const secondsUntilUnsafe = ({ slackSeconds, work, marginSeconds }: Situation): number =>
  slackSeconds - work.restartSeconds - marginSeconds;

export const spotIsSafe = (situation: Situation): boolean => secondsUntilUnsafe(situation) >= 0;

/** ISO 8601. A job that waits does no work, so the moment at which waiting stops being safe is known in advance. */
export const spotUntil = (situation: Situation): string =>
  new Date(situation.nowMilliseconds + secondsUntilUnsafe(situation) * 1_000).toISOString();

/** On-Demand may need two attempts: the first may meet a capacity error. */
const ATTEMPTS_FOR_ON_DEMAND = 2;

/** Whether all attempts that are left are reserved for On-Demand, so that a run does not end for lack of one. */
export function isOutOfSpotAttempts({ input: { attempts, limits }, candidates }: Situation): boolean {
  const kept = Math.min(ATTEMPTS_FOR_ON_DEMAND, Math.floor(limits.attempts / 2));
  return (
    limits.attempts - attempts.length <= kept &&
    candidates.some(({ pool, closed }) => pool.purchaseOption === 'on-demand' && closed === undefined)
  );
}

/** Whether the work ends in time in this pool, even at the slow end of its estimate. */
export const endsInTime = (each: Assessed, { secondsLeft, work }: Situation): boolean =>
  each.safeWorkSeconds + restartOf(each.candidate, work) <= secondsLeft;

/**
 * Why a pool may not be chosen, whatever it costs. Slack does not shrink while Spot runs at least as fast as the
 * fallback. A slower pool must leave time for its restart and margin until its end.
 */
export function whyNot(each: Assessed, situation: Situation): string | undefined {
  const { candidate, safeWorkSeconds } = each;
  const { closed, pool } = candidate;
  if (closed !== undefined) return closed;
  const { input, work, secondsLeft, marginSeconds, slackSeconds } = situation;
  if (pool.purchaseOption === 'on-demand')
    return endsInTime(each, situation)
      ? undefined
      : `would probably be late: it may take ${hours(safeWorkSeconds)}, ${hours(secondsLeft)} are left`;
  if (input.compute.purchaseOption !== 'spot-then-on-demand') return undefined;
  if (isOutOfSpotAttempts(situation)) return 'the attempts that are left are kept for On-Demand';
  if (!spotIsSafe(situation))
    return `no slack is left for Spot: ${hours(slackSeconds)} until the latest safe start`;
  const atItsEnd = secondsLeft - safeWorkSeconds - restartOf(candidate, work);
  return atItsEnd >= work.restartSeconds + marginSeconds
    ? undefined
    : `too slow to leave time for On-Demand after a loss: it may take ${hours(safeWorkSeconds)}`;
}
