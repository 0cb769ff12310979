/**
 * The rules that keep a pool from being chosen, whatever it costs, in the order in which they apply, each with the reason
 * that people read, and the cheapest pool that none of them forbids. The deadline is enforced here and nowhere else.
 */

import type { Candidate } from '../candidates/pools.ts';
import { hours, NEXT_LOOK_SECONDS } from '../model/assumed.ts';
import { type Assessed, isOnDemand, isOpen, isSpot } from './assess.ts';
import { outsideLossCooldown } from './met.ts';
import { idleSpan, paidRest, secondsUntilGone, secondsUntilRoom } from './reserved.ts';
import type { Situation } from './situation.ts';
import { restartOf, restartSecondsIn, type WorkEstimate } from './work.ts';

/** Why a pool may not be chosen: the first reason there is. Spot alone has no On-Demand to wait for. */
export function whyNotAllowed(each: Assessed, situation: Situation): string | undefined {
  const { candidate } = each;
  if (candidate.closed !== undefined) return candidate.closed;
  switch (candidate.pool.purchaseOption) {
    case 'reserved':
      return whyNotReserved(candidate, situation);
    case 'on-demand':
      return endsInTime(each, situation)
        ? undefined
        : `would probably be late: it may take ${hours(each.safeWorkSeconds)}, ${hours(situation.secondsLeft)} are left`;
    case 'spot':
      return situation.input.compute.purchaseOption === 'spot-then-on-demand'
        ? whyNotSpot(each, situation)
        : undefined;
  }
}

/** The last attempts are On-Demand's; a start that brings nothing must leave time for it, and so must a loss at the end. */
function whyNotSpot(each: Assessed, situation: Situation): string | undefined {
  const { candidate, safeWorkSeconds } = each;
  const { secondsLeft, work, marginSeconds, slackSeconds } = situation;
  if (isOutOfSpotAttempts(situation)) return 'the attempts that are left are kept for On-Demand';
  if (secondsUntilUnsafe(situation, candidate) < 0)
    return `no slack is left for Spot: ${hours(slackSeconds)} until the latest safe start${startOf(candidate, work)}`;
  // Slack does not shrink while Spot runs at least as fast as the fallback.
  const leftSeconds = secondsLeft - reckonedSeconds(each, work) - restartOf(candidate, work);
  return leftSeconds < work.restartSeconds + marginSeconds
    ? `too slow to leave time for On-Demand after a loss: it may take ${hours(safeWorkSeconds)}`
    : undefined;
}

function whyNotReserved(candidate: Candidate, situation: Situation): string | undefined {
  const { reservation, topology } = candidate;
  const untilRoom = secondsUntilRoom(candidate, situation);
  if (reservation !== undefined && untilRoom > 0)
    return reservation.availableInstances < topology.nodes && untilRoom <= NEXT_LOOK_SECONDS
      ? `in use: ${reservation.availableInstances} of its ${reservation.instances} instances are free`
      : `begins in ${hours(untilRoom)}`;
  const untilGone = secondsUntilGone(candidate, situation);
  const left = Number.isFinite(untilGone) ? `: ${hours(untilGone)} are left` : '';
  const span = idleSpan(candidate, situation);
  if (span === undefined)
    return situation.met(candidate).coolsSeconds > 0
      ? undefined
      : `too little of it is left for a start${left}`;
  return paidRest(situation, [span]).used.length > 0
    ? undefined
    : `too slow to leave time for the rest on demand${left}`;
}

/**
 * Seconds for which On-Demand can still be put off; below 0 it is needed now. A Spot attempt may make no progress and
 * cost a restart.
 * @param attempt where Spot would be tried; default: where a restart costs least
 */
export const secondsUntilUnsafe = (
  { slackSeconds, work, marginSeconds }: Situation,
  attempt?: Candidate,
): number => {
  const lossSeconds = attempt === undefined ? 0 : restartSecondsIn(attempt, work);
  return slackSeconds - Math.max(work.restartSeconds, lossSeconds) - marginSeconds;
};

/** On-Demand may need two attempts: the first may meet a capacity error. */
const ATTEMPTS_FOR_ON_DEMAND = 2;

/** Whether all attempts that are left are reserved for On-Demand, so that a run does not end for lack of one. */
function isOutOfSpotAttempts({ input: { attempts, limits }, candidates }: Situation): boolean {
  const kept = Math.min(ATTEMPTS_FOR_ON_DEMAND, Math.floor(limits.attempts / 2));
  return (
    limits.attempts - attempts.length <= kept &&
    candidates.some(({ pool, closed }) => pool.purchaseOption === 'on-demand' && closed === undefined)
  );
}

/** Whether the work ends in time in this pool, even at the slow end of its estimate. */
export const endsInTime = (each: Assessed, { secondsLeft, work }: Situation): boolean =>
  reckonedSeconds(each, work) + restartOf(each.candidate, work) <= secondsLeft;

/** A length that is assumed, and not known, forbids no pool for being slower than the one that it is stated for. */
const reckonedSeconds = ({ safeWorkSeconds }: Assessed, { basis, workSeconds }: WorkEstimate): number =>
  basis === 'assumed' ? Math.min(safeWorkSeconds, workSeconds) : safeWorkSeconds;

/** Names a start's length where most of it is the download. */
function startOf(candidate: Candidate, work: WorkEstimate): string {
  const seconds = restartSecondsIn(candidate, work);
  return candidate.download === undefined || candidate.download.seconds < seconds / 2
    ? ''
    : `, and a start takes ${hours(seconds)} here, most of it to download shards`;
}

/** The pool with the lowest expected cost among those that may be used. */
export function cheapestPool(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  const allowed = assessed.filter((each) => whyNotAllowed(each, situation) === undefined);
  const [sure = [], spot = []] = [false, true].map((is) => allowed.filter((each) => isSpot(each) === is));
  const best = [...outsideLossCooldown(spot), ...sure].toSorted(byCostThenTime)[0];
  return best ?? fastestOnDemand(assessed);
}

/** Where no pool surely ends in time: the one that is probably least late. */
export const fastestOnDemand = (assessed: readonly Assessed[]): Assessed | undefined =>
  assessed
    .filter((each) => isOpen(each) && isOnDemand(each))
    .toSorted((a, b) => a.safeWorkSeconds - b.safeWorkSeconds || byCostThenTime(a, b))[0];

/**
 * On-Demand is needed, but all of its pools are cooling down for longer than a start takes. Waiting would gain
 * nothing, while a Spot pool without capacity errors may make progress.
 */
export function interimPool(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  if (situation.input.compute.purchaseOption !== 'spot-then-on-demand') return undefined;
  const onDemand = assessed.filter((each) => isOpen(each) && isOnDemand(each));
  // Attempts are scarce and time is not: the run waits for capacity, but not for a quota of the account.
  const mayWait = secondsUntilUnsafe(situation) >= 0 && !onDemand.every(({ isLimited }) => isLimited);
  if (isOutOfSpotAttempts(situation) && mayWait) return undefined;
  const soonest = Math.min(...onDemand.map(({ coolsSeconds }) => coolsSeconds));
  if (soonest <= situation.work.restartSeconds) return undefined;
  const spot = assessed.filter((each) => isOpen(each) && isSpot(each) && each.coolsSeconds <= 0);
  const endsAfter = (each: Assessed): number => each.outlook.waitSeconds + each.expectedSeconds;
  return outsideLossCooldown(spot).toSorted((a, b) => endsAfter(a) - endsAfter(b) || byCostThenTime(a, b))[0];
}

const byCostThenTime = (a: Assessed, b: Assessed): number =>
  a.expectedCostUsd - b.expectedCostUsd ||
  a.expectedSeconds - b.expectedSeconds ||
  byText(poolName(a), poolName(b));

/** Sorts names of pools as `localeCompare` does, without its start-up of 10 ms. */
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const poolName = ({ candidate: { pool, topology } }: Assessed): string =>
  `${pool.instanceType} ${pool.region ?? ''} ${pool.zoneId ?? ''} ${pool.reservation ?? pool.purchaseOption} ${topology.nodes}`;
