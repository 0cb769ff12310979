/**
 * Decides whether to wait for a cheaper Spot pool or to move to it: the difference of two courses of one campaign, in
 * which the cheaper pool comes and goes and the pool at hand takes On-Demand's part. A run waits only for a pool whose
 * score will show that it is up again. It asks any other pool once that pool is more likely up than down.
 */

import { reliabilityOf, trustOf } from '../belief/beliefs.ts';
import { observe } from '../belief/regimes.ts';
import type { Candidate } from '../candidates/pools.ts';
import { assumed } from '../model/assumed.ts';
import { market, TICK_SECONDS } from '../policy/market-model.ts';
import { IDLE, ON_DEMAND } from '../policy/plan-pass.ts';
import { comparedSpan, type SpanQuestion } from '../policy/value-function.ts';
import { type Assessed, unitOf } from './assess.ts';
import { wasLostWithin } from './met.ts';
import type { Situation } from './situation.ts';
import { spotValue } from './spot-value.ts';
import { costUsd, safeWorkOf, type WorkEstimate, workOf } from './work.ts';

/**
 * Less than an hour of work is too few ticks: with three, a better score made the choice more expensive once in a
 * thousand times. A run also never stands still for an assumed length of work.
 */
const LEAST_WORK_SECONDS = 6 * TICK_SECONDS;
const isWorthPlanning = ({ basis, workSeconds }: WorkEstimate): boolean =>
  basis !== 'assumed' && workSeconds >= LEAST_WORK_SECONDS;

/** Each comparison computes a table, which takes milliseconds; only the most promising pools are compared. */
const MOST_COMPARED = 2;

/**
 * With what it saves against going on in the pool at hand, over the hours looked ahead.
 * @param atHand the Spot pool in which the run trains, or which it would ask; it counts as there
 * @param pools Spot pools that may be used; the run does not try those that cool down or were just lost, but may wait for them
 * @param inUse whether the run trains in the pool at hand
 */
export function cheaperPool(
  atHand: Assessed,
  pools: readonly Assessed[],
  { situation, inUse }: { readonly situation: Situation; readonly inUse: boolean },
) {
  const { timeUsd, work, slackSeconds, marginSeconds } = situation;
  const usdOf = (each: Assessed): number => unitOf(each) + timeUsd;
  const mayAsk = (each: Assessed): boolean => hasAttemptsToSpare(situation) && isWorthAsking(each);
  const cheaper = pools.filter(
    (each) =>
      isComparable(each, atHand) &&
      usdOf(each) < usdOf(atHand) &&
      // It is unknown when a quota of the account will be raised.
      !each.isLimited &&
      (isScored(each) || mayAsk(each)),
  );
  if (cheaper.length === 0 || !isWorthPlanning(work)) return undefined;
  const ahead = campaignAhead(atHand.candidate, situation, {
    // As the plan counts slack: an On-Demand start still comes out of it.
    slack: slackSeconds + work.restartSeconds - marginSeconds,
    lasting: lastingShare(pools),
  });
  if (ahead === undefined) return undefined;
  const reliability = reliabilityOf(trustOf(situation.observations));
  const promise = (each: Assessed): number => (usdOf(atHand) - usdOf(each)) * each.outlook.chanceUp;
  const found = cheaper
    .toSorted((a, b) => promise(b) - promise(a))
    .slice(0, MOST_COMPARED)
    .map((pool) => {
      const value = spotValue(atHand.candidate, unitOf(pool), ahead);
      // A pool that the run may not try counts as down.
      const belief = mayAsk(pool) ? pool.outlook.belief : observe(pool.outlook.belief, 0, 1);
      const { ask, wait, onDemand } = value.expectedUsd(belief, inUse ? ON_DEMAND : IDLE);
      // A run that does not notice the return pays the price at hand for all the work.
      const seesBack = isScored(pool) ? reliability : 0;
      const unseenUsd =
        value.surelyUsd - (inUse ? costUsd(value.onDemandUsd + timeUsd, value.restartSeconds) : 0);
      const seen = (usd: number): number => seesBack * usd + (1 - seesBack) * Math.max(unseenUsd, usd);
      const askUsd = mayAsk(pool) ? ask : Number.POSITIVE_INFINITY;
      const waitUsd = ahead.mayWait && seesBack > 0 ? seen(wait) : Number.POSITIVE_INFINITY;
      const savedUsd = seen(onDemand) - Math.min(askUsd, waitUsd);
      return { kind: askUsd <= waitUsd ? ('ask' as const) : ('wait' as const), pool, savedUsd };
    })
    .toSorted((a, b) => b.savedUsd - a.savedUsd)[0];
  if (found === undefined) return undefined;
  // A wait that does not pay for the time that it stands still is no reason to ask instead.
  const stillUsd = found.kind === 'wait' ? costUsd(usdOf(atHand), TICK_SECONDS) * assumed.stillShare : 0;
  const savedUsd = found.savedUsd - (found.pool.askCostUsd ?? 0) - stillUsd;
  return savedUsd > 0 ? { ...found, savedUsd } : undefined;
}

/** The hours looked ahead, in which the pool at hand counts as sure; undefined where no slack is left to compare with. */
export function campaignAhead(
  atHand: Candidate,
  { work, timeUsd }: Pick<Situation, 'work' | 'timeUsd'>,
  over: Pick<SpanQuestion, 'slack' | 'lasting'>,
) {
  const span = comparedSpan({
    ...over,
    mostWorkSeconds: assumed.comparedWorkSeconds,
    mostSlackSeconds: assumed.comparedSlackSeconds,
    tickSeconds: TICK_SECONDS,
    restartSeconds: work.restartSeconds,
    workLeft: workOf(atHand, work),
    secondsIfRefused: assumed.patienceSeconds,
  });
  if (span === undefined) return undefined;
  // Whole ticks of the pool at hand; work is counted at the pace that it was measured at.
  const shortly = { ...work, workSeconds: span.workSeconds / atHand.throughput.factor };
  const secondsLeft = safeWorkOf(atHand, shortly) + span.slackSeconds;
  return { mayWait: span.mayWait, work: shortly, secondsLeft, timeUsd, onDemandWaits: [] };
}

const hasAttemptsToSpare = ({ input: { attempts, limits } }: Situation): boolean =>
  attempts.length + 1 <= limits.attempts * (1 - assumed.attemptsKept);

const isScored = ({ candidate }: Assessed): boolean => candidate.score !== undefined;

/** More likely up than down, and not lost recently. Without a score the loss cool-down decides what is recent. */
const isWorthAsking = (each: Assessed): boolean =>
  each.outlook.chanceUp >= assumed.leastChance &&
  each.coolsSeconds <= 0 &&
  !wasLostWithin(each, isScored(each) ? assumed.scoreLagSeconds : undefined);

/** A pool in another region needs a transfer, which no hourly price includes. */
const isComparable = ({ candidate }: Assessed, { candidate: atHand }: Assessed): boolean =>
  candidate !== atHand && candidate.pool.region === atHand.pool.region && candidate.transfer === undefined;

/**
 * The share of the next half day in which some zone is expected to have capacity, if zones lose it independently. They
 * do not quite, but in replays of measured traces the assumption costs nothing (docs/research/log.md).
 */
function lastingShare(pools: readonly Assessed[]): number {
  const { lastingTicks, longestTicks } = market();
  const byZone = Map.groupBy(pools, ({ candidate }) => candidate.pool.zoneId);
  const gone = [...byZone.values()].reduce((chance, inZone) => {
    const longest = Math.max(...inZone.map(({ outlook }) => lastingTicks(observe(outlook.belief, 1, 0))));
    return chance * (1 - longest / longestTicks);
  }, 1);
  return 1 - gone;
}
