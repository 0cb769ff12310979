/** The expected cost and end of the work in each pool, including the change to On-Demand at the end. */

import { type Outlook, outlookOf, trustOf } from '../belief/beliefs.ts';
import type { ScoreTrust } from '../belief/score-trust.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { assessSpot, billedSeconds, type Fallback, fallbackOf } from './assess-spot.ts';
import type { Assessed, AssessInput } from './assessment.ts';
import { type CapacityErrors, capacityErrorsIn, cooldownSeconds, isLimited } from './capacity-errors.ts';
import { costUsd, gangUsd, safeWorkOf, workOf } from './gang-cost.ts';
import { outsideLossCooldown } from './loss-cooldown.ts';
import { premiums, type SpotPool } from './premium.ts';
import { restartSecondsIn } from './work.ts';

export function assess(candidates: readonly Candidate[], input: AssessInput): readonly Assessed[] {
  const capacityErrorsOf = capacityErrorsIn(input.observations);
  const trust = trustOf(input.observations);
  const spot: readonly SpotPool[] = candidates
    .filter(({ pool }) => pool.purchaseOption === 'spot')
    .map((candidate) => ({ candidate, outlook: outlookIn(candidate, trust, input) }));
  // A plan cannot return to a pool in which nothing can be launched, or that a limit of the account forbids.
  const usable = spot.filter(
    ({ candidate }) => candidate.closed === undefined && !isLimited(capacityErrorsOf(candidate), input),
  );
  const open = new Set(usable.map(({ candidate }) => candidate));
  const cheapest = Math.min(...usable.map(({ candidate }) => unitUsd(candidate, candidate.hourlyUsd)));
  const fallbacks = Number.isFinite(cheapest)
    ? input.fallbacks.map((each) => fallbackOf(each, cheapest, input))
    : [];
  const billed = ({ candidate, outlook }: SpotPool): number => billedSeconds(candidate, outlook, input.work);
  const more = premiums(usable, { work: input.work, billedSeconds: billed });
  const onSpot = new Map(
    spot.map((pool) => [
      pool.candidate,
      assessSpot(pool.candidate, input, {
        outlook: pool.outlook,
        premiumUsd: more.get(pool.candidate) ?? premiumToTheEnd(pool, cheapest, billed(pool)),
        fallbacks,
        capacityErrors: capacityErrorsOf(pool.candidate),
      }),
    ]),
  );
  const back = wayBack(outsideLossCooldown([...onSpot.values()], input.nowMilliseconds), fallbacks);
  const together = new Map(
    besideEachOther([...onSpot.values()], ({ candidate }) => open.has(candidate)).map((each) => [
      each.candidate,
      each,
    ]),
  );
  return candidates.map(
    (each) =>
      together.get(each) ?? assessOnDemand(each, input, { back, capacityErrors: capacityErrorsOf(each) }),
  );
}

/** For a pool that may not be used: no run moves on from it, so its price counts for everything billed. */
const premiumToTheEnd = ({ candidate }: SpotPool, cheapestUnitUsd: number, billed: number): number => {
  const moreAnHour =
    (unitUsd(candidate, candidate.hourlyUsd) - cheapestUnitUsd) / candidate.throughput.factor;
  return moreAnHour > 0 ? costUsd(moreAnHour, billed) : 0;
};

/** A run waits for a pool below this chance of capacity, and does not try it while others are allowed. */
const LEAST_CHANCE_REQUESTED = 0.25;

/**
 * A run that meets one capacity error has lost a few minutes and can still ask the other pools. Assessed alone, the
 * error would look as if all pools were down. This holds only where scores tell the pools apart: without scores the
 * run would have to ask them one after the other.
 */
function besideEachOther(
  pools: readonly Assessed[],
  isOpen: (pool: Assessed) => boolean,
): readonly Assessed[] {
  const [best, second] = pools.filter(isOpen).toSorted((a, b) => a.expectedCostUsd - b.expectedCostUsd);
  const costOf = (each: Assessed): number => {
    const { candidate, outlook, costOnceUpUsd, askCostUsd = 0, expectedCostUsd } = each;
    const other = each === best ? second : best;
    const isAlone = costOnceUpUsd === undefined || other === undefined || candidate.score === undefined;
    if (isAlone || outlook.chanceUp < LEAST_CHANCE_REQUESTED) return expectedCostUsd;
    // A capacity error never counts less than getting the capacity; otherwise a better score would raise the
    // cost.
    const refusedUsd = Math.max(costOnceUpUsd, other.expectedCostUsd);
    const costIfRequestedUsd =
      outlook.chanceUp * costOnceUpUsd + (1 - outlook.chanceUp) * refusedUsd + askCostUsd;
    return Math.min(expectedCostUsd, costIfRequestedUsd);
  };
  return pools.map((each) => ({ ...each, expectedCostUsd: costOf(each) }));
}

export function outlookIn(
  { pool, score, scoreAgeSeconds }: Candidate,
  trust: ScoreTrust,
  input: Omit<AssessInput, 'work' | 'fallbacks' | 'secondsLeft' | 'spotSeconds'>,
): Outlook {
  const { model, observations, records, nowMilliseconds } = input;
  return outlookOf(model, pool, { observations, score, scoreAgeSeconds, trust, records, nowMilliseconds });
}

/** The return to Spot of a job that runs on demand. */
interface WayBack {
  /** Share of the remaining work that Spot probably does in the end. */
  readonly share: number;
  /** The cost of all of it on Spot without a loss. */
  readonly spotUsd: number;
}

/**
 * The return to the Spot pool where it is expected to cost least. It is planned for each fallback, and the fallback
 * that can wait longest for Spot counts. Another On-Demand pool returns with the same share of the work and saves the
 * difference between its own price and Spot's.
 */
function wayBack(onSpot: readonly Assessed[], fallbacks: readonly Fallback[]): WayBack {
  const ways = fallbacks.map(({ plan }, k): WayBack => {
    const { surelyUsd = 0, leastUsd: spotUsd = 0 } = plan ?? {};
    const afterUsd = Math.min(
      ...onSpot.map(({ afterOnDemandUsd: after }) => after?.[k] ?? Number.POSITIVE_INFINITY),
    );
    const share = surelyUsd > spotUsd ? (surelyUsd - afterUsd) / (surelyUsd - spotUsd) : 0;
    return { share: Math.min(1, Math.max(0, share)), spotUsd };
  });
  return ways.toSorted((a, b) => b.share - a.share)[0] ?? { share: 0, spotUsd: 0 };
}

/** On-Demand is assumed to have capacity as soon as its cool-down ends. */
function assessOnDemand(
  candidate: Candidate,
  input: AssessInput,
  { back, capacityErrors }: { readonly back: WayBack; readonly capacityErrors: CapacityErrors },
): Assessed {
  const workSeconds = workOf(candidate, input.work);
  const billed = workSeconds + restartSecondsIn(candidate, input.work);
  const waitSeconds = Math.max(0, cooldownSeconds(capacityErrors, input));
  const expectedSeconds = waitSeconds + billed + (candidate.transfer?.seconds ?? 0);
  const aloneUsd =
    costUsd(gangUsd(candidate, candidate.hourlyUsd), billed) +
    (candidate.transfer?.usd ?? 0) +
    costUsd(input.timeUsd ?? 0, expectedSeconds);
  // Of unknown length, the work may have ended before the job returns, and no job does so before a checkpoint (revise.ts).
  const share = input.work.basis === 'assumed' ? 0 : back.share;
  const returnUsd = share * Math.max(0, aloneUsd - back.spotUsd);
  return {
    candidate,
    outlook: {
      belief: [],
      chanceUp: waitSeconds === 0 ? 1 : 0.5,
      waitSeconds,
      upSeconds: Number.POSITIVE_INFINITY,
    },
    expectedCostUsd: aloneUsd - returnUsd,
    returnUsd,
    expectedSeconds,
    workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, input.work),
    ...capacityErrors,
  };
}
