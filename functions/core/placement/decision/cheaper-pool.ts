/**
 * Whether a cheaper Spot pool is worth waiting for or moving to: the simulator's own choice of a zone, put with what is
 * believed of pools where the simulator sees zones. Waited for are only pools whose score will tell that they are back;
 * the others may be asked for, in vain or not, once they are more likely there than gone.
 */

import { trustOf } from '../belief/beliefs.ts';
import { observe } from '../belief/regimes.ts';
import { reliabilityOf } from '../belief/score-trust.ts';
import { unitUsd } from '../candidates/pools.ts';
import { PATIENCE_SECONDS } from '../model/timings.ts';
import { SPOT } from '../policy/actions.ts';
import { market, marketBeliefOf } from '../policy/belief-observation.ts';
import { zoneChoice } from '../policy/zone-choice.ts';
import type { Assessed } from './assessment.ts';
import { cooldownSeconds, isLimited } from './capacity-errors.ts';
import { costUsd } from './gang-cost.ts';
import { isInLossCooldown, wasLostWithin } from './loss-cooldown.ts';
import type { Situation } from './situation.ts';
import type { WorkEstimate } from './work.ts';

/** For Spot that is more likely gone than there nothing is given up. */
export const LEAST_CHANCE = 0.5;

/** Every time that a cheaper pool is asked costs an attempt: so large a share of them is kept for losses. */
const ATTEMPTS_KEPT = 0.5;

/** A score does not tell of a loss sooner than this. A stated prior: AWS says nothing of it. */
const SCORE_LAG_SECONDS = 600;

/** What is waited for is looked at as often as the policy plans its ticks. */
export const LOOK_SECONDS = market.tickSeconds;
/**
 * What standing still is worth beside a pool that is there, as a share of its price: stated, not fitted. At 0 campaigns cost
 * half a percent less and runs stand still for a cent; at 0.3 they cost a percent more (docs/log.md).
 */
const STANDING_STILL = 0.15;
/**
 * Of less work than an hour its ticks tell too little: with three a better score made the choice dearer once in a thousand
 * times. And nobody stands still for a length that was made up.
 */
const LEAST_WORK_SECONDS = 6 * market.tickSeconds;
const isWorthPlanning = ({ basis, workSeconds }: WorkEstimate): boolean =>
  basis !== 'assumed' && workSeconds >= LEAST_WORK_SECONDS;

/** Each costs a table of milliseconds: those that promise most are compared. */
const MOST_COMPARED = 2;
/** Restarts are rounded up to this, so that few tables serve many decisions. */
const RESTART_STEP_SECONDS = 60;

/** Coarser and shorter than the simulator's: a table of that one takes four milliseconds, and of this one two. */
const choose = zoneChoice(market, {
  aheadSeconds: 8 * 3_600,
  mostSlackSeconds: 4 * 3_600,
  ratioSteps: 32,
});

export interface CheaperPool {
  readonly kind: 'ask' | 'wait';
  readonly pool: Assessed;
  /** Beside going on in the pool at hand, in the hours that are looked ahead. */
  readonly savedUsd: number;
}

/**
 * @param atHand a Spot pool that has capacity, or probably has
 * @param pools Spot pools that may be used; those that rest or were just lost are not asked now, but may be waited for
 * @param inUse whether the run trains in the pool at hand
 */
export function cheaperPool(
  atHand: Assessed,
  pools: readonly Assessed[],
  { situation, inUse }: { readonly situation: Situation; readonly inUse: boolean },
): CheaperPool | undefined {
  const { timeUsd, work, slackSeconds, marginSeconds } = situation;
  const usdOf = ({ candidate }: Assessed): number => unitUsd(candidate, candidate.hourlyUsd) + timeUsd;
  const mayAsk = (each: Assessed): boolean => hasAttemptsToSpare(situation) && isWorthAsking(each, situation);
  const cheaper = pools.filter(
    (each) =>
      isComparable(each, atHand) &&
      usdOf(each) < usdOf(atHand) &&
      // Nobody knows when a limit of the account is lifted.
      !isLimited(each, situation) &&
      (isScored(each) || mayAsk(each)),
  );
  if (cheaper.length === 0 || !isWorthPlanning(work)) return undefined;
  const compared = [atHand, ...mostPromising(cheaper, { usdOf, mayAsk, atHandUsd: usdOf(atHand) })];
  const reliability = reliabilityOf(trustOf(situation.observations));
  const found = choose({
    restartSeconds: Math.ceil(work.restartSeconds / RESTART_STEP_SECONDS) * RESTART_STEP_SECONDS,
    spotUsd: compared.map(usdOf),
    waitingUsd: timeUsd,
    marketBeliefOf(zone) {
      const each = compared[zone] ?? atHand;
      const sight = marketBeliefOf(each.outlook.belief);
      return mayAsk(each) ? sight : { ...sight, chance: 0 };
    },
    workLeft: work.workSeconds,
    // As the plan counts it: an On-Demand start is still to be paid out of it.
    slack: slackSeconds + work.restartSeconds - marginSeconds,
    atHand: 0,
    inUse,
    inVainSeconds: PATIENCE_SECONDS,
    seesBack: (zone) => (isScored(compared[zone] ?? atHand) ? reliability : 0),
    lasting: lastingShare(pools),
  });
  const pool = found && compared[found.zone];
  if (found === undefined || pool === undefined) return undefined;
  const stillUsd = costUsd(usdOf(atHand), LOOK_SECONDS) * STANDING_STILL;
  const vainUsd = pool.askCostUsd ?? 0;
  const savedUsd = found.savedUsd - vainUsd - (found.action === SPOT ? 0 : stillUsd);
  return savedUsd > 0 ? { kind: found.action === SPOT ? 'ask' : 'wait', pool, savedUsd } : undefined;
}

const hasAttemptsToSpare = ({ input: { attempts, limits } }: Situation): boolean =>
  attempts.length + 1 <= limits.attempts * (1 - ATTEMPTS_KEPT);

const isScored = ({ candidate }: Assessed): boolean => candidate.score !== undefined;

/** More likely there than not, and not just lost. Where no score tells of a flicker, that takes as long as attempts are spread for. */
const isWorthAsking = (each: Assessed, situation: Situation): boolean =>
  each.outlook.chanceUp >= LEAST_CHANCE &&
  cooldownSeconds(each, situation) <= 0 &&
  !(isScored(each)
    ? wasLostWithin(each, SCORE_LAG_SECONDS, situation.nowMilliseconds)
    : isInLossCooldown(each, situation.nowMilliseconds));

/** Those that no other beats in price and chance at once, by what they could save. */
function mostPromising(
  cheaper: readonly Assessed[],
  {
    usdOf,
    mayAsk,
    atHandUsd,
  }: {
    readonly usdOf: (pool: Assessed) => number;
    readonly mayAsk: (pool: Assessed) => boolean;
    readonly atHandUsd: number;
  },
): readonly Assessed[] {
  const promise = (each: Assessed): number => (atHandUsd - usdOf(each)) * each.outlook.chanceUp;
  const best: Assessed[] = [];
  for (const each of cheaper.toSorted((a, b) => promise(b) - promise(a))) {
    const isBeaten = best.some(
      (other) =>
        usdOf(other) <= usdOf(each) &&
        other.outlook.chanceUp >= each.outlook.chanceUp &&
        (mayAsk(other) || !mayAsk(each)),
    );
    if (!isBeaten) best.push(each);
    if (best.length === MOST_COMPARED) break;
  }
  return best;
}

/** What lies elsewhere would have to be brought: no price by the hour says what that costs. */
const isComparable = ({ candidate }: Assessed, { candidate: atHand }: Assessed): boolean =>
  candidate !== atHand && candidate.pool.region === atHand.pool.region && candidate.transfer === undefined;

/**
 * Of the next half day, how much some zone is expected to have capacity in, were zones to lose it each for itself. They do
 * not quite, but in replays of measured traces that costs nothing (docs/log.md).
 */
function lastingShare(pools: readonly Assessed[]): number {
  const byZone = Map.groupBy(pools, ({ candidate }) => candidate.pool.zoneId);
  return 1 - [...byZone.values()].reduce((gone, inZone) => gone * (1 - longest(inZone)), 1);
}

/** How much it lasts once it is had. */
const longest = (pools: readonly Assessed[]): number =>
  Math.max(...pools.map(({ outlook }) => market.lastingTicks(observe(outlook.belief, 1, 0)))) /
  market.longestTicks;
