/** Which pools may be used, whatever they cost. The deadline is enforced here and nowhere else. */

import type { Candidate } from '../candidates/pools.ts';
import { hours } from '../model/amounts.ts';
import type { Assessed } from './assessment.ts';
import { restartOf } from './gang-cost.ts';
import type { Situation } from './situation.ts';
import { restartSecondsIn, type WorkEstimate } from './work.ts';

/** Whether anything can be launched there at all. */
export const isOpen = ({ candidate }: Assessed): boolean => candidate.closed === undefined;

/**
 * Seconds for which On-Demand can still be put off; below 0 it is needed now. A Spot attempt may make no progress and
 * cost a restart.
 * @param attempt where Spot would be tried; default: where a restart costs least
 */
export const secondsUntilUnsafe = (
  { slackSeconds, work, marginSeconds }: Situation,
  attempt?: Candidate,
): number => slackSeconds - lossSeconds(work, attempt) - marginSeconds;

const lossSeconds = (work: WorkEstimate, attempt: Candidate | undefined): number =>
  attempt === undefined
    ? work.restartSeconds
    : Math.max(work.restartSeconds, restartSecondsIn(attempt, work));

export const spotIsSafe = (situation: Situation): boolean => secondsUntilUnsafe(situation) >= 0;

/** ISO 8601. A job that waits does no work, so the moment at which waiting stops being safe is known in advance. */
export const spotUntil = (situation: Situation, attempt: Candidate): string =>
  new Date(situation.nowMilliseconds + secondsUntilUnsafe(situation, attempt) * 1_000).toISOString();

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
export function whyNotAllowed(each: Assessed, situation: Situation): string | undefined {
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
  if (secondsUntilUnsafe(situation, candidate) < 0)
    return `no slack is left for Spot: ${hours(slackSeconds)} until the latest safe start${startOf(candidate, work)}`;
  const atItsEnd = secondsLeft - safeWorkSeconds - restartOf(candidate, work);
  return atItsEnd >= work.restartSeconds + marginSeconds
    ? undefined
    : `too slow to leave time for On-Demand after a loss: it may take ${hours(safeWorkSeconds)}`;
}

/** Said where most of a start is the download. */
function startOf(candidate: Candidate, work: WorkEstimate): string {
  const { download } = candidate;
  const seconds = restartSecondsIn(candidate, work);
  return download === undefined || download.seconds < seconds / 2
    ? ''
    : `, and a start takes ${hours(seconds)} here, most of it to download shards`;
}
