/** The pool with the lowest expected cost among those that may be used. */

import { type Assessed, isOpen, isSpot } from './assess.ts';
import { outsideLossCooldown } from './met.ts';
import { isOutOfSpotAttempts, secondsUntilUnsafe, whyNotAllowed } from './rules.ts';
import type { Situation } from './situation.ts';

export function cheapestPool(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  const allowed = assessed.filter((each) => whyNotAllowed(each, situation) === undefined);
  const [onDemand = [], spot = []] = [false, true].map((is) => allowed.filter((each) => isSpot(each) === is));
  const best = [...outsideLossCooldown(spot), ...onDemand].toSorted(byCostThenTime)[0];
  return best ?? fastestOnDemand(assessed);
}

/**
 * The Spot pool that a run would move to now: it may be used, is not cooling down, and has the lowest expected cost.
 */
export function spotToAsk(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  const best = cheapestPool(
    assessed.filter((each) => isSpot(each) && each.coolsSeconds <= 0),
    situation,
  );
  return best !== undefined && isSpot(best) ? best : undefined;
}

/** Where no pool surely ends in time: the one that is probably least late. */
export const fastestOnDemand = (assessed: readonly Assessed[]): Assessed | undefined =>
  assessed
    .filter((each) => isOpen(each) && !isSpot(each))
    .toSorted((a, b) => a.safeWorkSeconds - b.safeWorkSeconds || byCostThenTime(a, b))[0];

/**
 * On-Demand is needed, but all of its pools are cooling down for longer than a start takes. Waiting would gain
 * nothing, while a Spot pool without capacity errors may make progress.
 */
export function interimPool(
  usable: readonly Assessed[],
  assessed: readonly Assessed[],
  situation: Situation,
): Assessed | undefined {
  if (situation.input.compute.purchaseOption !== 'spot-then-on-demand') return undefined;
  const onDemand = assessed.filter((each) => isOpen(each) && !isSpot(each));
  // Attempts are scarce and time is not: the run waits for capacity, but not for a quota of the account.
  const mayWait = secondsUntilUnsafe(situation) >= 0 && !onDemand.every(({ isLimited }) => isLimited);
  if (isOutOfSpotAttempts(situation) && mayWait) return undefined;
  const soonest = Math.min(...onDemand.map(({ coolsSeconds }) => coolsSeconds));
  if (soonest <= situation.work.restartSeconds) return undefined;
  const spot = usable.filter((each) => isOpen(each) && isSpot(each));
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
  `${pool.instanceType} ${pool.region ?? ''} ${pool.zoneId ?? ''} ${pool.purchaseOption} ${topology.nodes}`;
