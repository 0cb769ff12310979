/**
 * What each pool is expected to cost to the end, if the run asks for it now. The value of Spot beside On-Demand
 * (spot-value.ts) is that of the cheapest Spot pool; another one differs by its price until the cheapest is back, and by
 * its starts.
 */

import { once } from '@tidewheel/kit/once.ts';
import { beliefModel, type Outlook, outlookOf, type Seen, trustOf } from '../belief/beliefs.ts';
import { fittedRegimes } from '../belief/regimes.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { assumed } from '../model/assumed.ts';
import { market, TICK_SECONDS } from '../policy/market-model.ts';
import { outsideLossCooldown } from './met.ts';
import { idleSpan, isReserved, secondsUntilRoom } from './reserved.ts';
import type { Situation } from './situation.ts';
import { type SpotValue, spotValue } from './spot-value.ts';
import { costUsd, gangUsd, restartSecondsIn, safeWorkOf, workOf } from './work.ts';

type Known = ReturnType<typeof knownOf>;

export interface Assessed extends Known {
  readonly expectedCostUsd: number;
  /** For Spot, the part of the cost that is not billed: the value of the minutes spent asking without success. */
  readonly askCostUsd?: number;
  /** For an On-Demand pool: how much it costs less because the job can return to Spot. */
  readonly returnUsd?: number;
}

export const isSpot = ({ candidate }: Known): boolean => candidate.pool.purchaseOption === 'spot';
export const isOnDemand = ({ candidate }: Known): boolean => candidate.pool.purchaseOption === 'on-demand';
/** Whether anything can be launched there at all. */
export const isOpen = ({ candidate }: Known): boolean => candidate.closed === undefined;

export const unitOf = ({ candidate }: Known): number => unitUsd(candidate);

/** The fitted chain with its powers, made once. */
export const fitted = once(() => beliefModel(fittedRegimes));

/** What was seen that says something of a pool. */
export function seenIn(situation: Situation): (candidate: Candidate) => Seen {
  const { observations, records, nowMilliseconds } = situation;
  const trust = trustOf(observations);
  return ({ score, scoreAgeSeconds }) => ({
    observations,
    score,
    scoreAgeSeconds,
    trust,
    records,
    nowMilliseconds,
  });
}

/** No run returns to a pool in which nothing can be launched, or that a limit of the account forbids. */
const isUsable = (each: Known): boolean => isOpen(each) && !each.isLimited;

/** On-Demand, or a reservation, is assumed to have capacity as soon as its cool-down ends. */
const sureAfter = (waitSeconds: number): Outlook => {
  const chanceUp = waitSeconds > 0 ? 0.5 : 1;
  return { belief: [], chanceUp, waitSeconds, upSeconds: Number.POSITIVE_INFINITY };
};

function knownOf(candidate: Candidate, situation: Situation, seen: Seen) {
  const { work, met } = situation;
  const lately = met(candidate);
  const coolsSeconds = Math.max(lately.coolsSeconds, secondsUntilRoom(candidate, situation));
  const isSure = candidate.pool.purchaseOption !== 'spot';
  const workSeconds = workOf(candidate, work);
  return {
    candidate,
    ...lately,
    coolsSeconds,
    outlook: isSure ? sureAfter(coolsSeconds) : outlookOf(fitted(), candidate.pool, seen),
    /** How long the remaining work takes here: the expectation, and the ninth decile. */
    workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, work),
    /** With one start and the transfer, without a loss: when the run ends, the forecast says. */
    expectedSeconds:
      (isSure ? coolsSeconds : 0) +
      workSeconds +
      restartSecondsIn(candidate, work) +
      (candidate.transfer?.seconds ?? 0),
  };
}

export function assessPools(situation: Situation): readonly Assessed[] {
  const { candidates, fallbacks } = situation;
  const seen = seenIn(situation);
  const known = candidates.map((candidate) => knownOf(candidate, situation, seen(candidate)));
  const spot = known.filter(isSpot);
  const cheapest = spot.filter(isUsable).toSorted((a, b) => unitOf(a) - unitOf(b))[0];
  const values =
    cheapest === undefined ? [] : fallbacks.map((each) => spotValue(each, unitOf(cheapest), situation));
  const asked = spot.map((each) => askingFor(each, cheapest, values, situation));
  const returnsUsd = returnsOf(asked, values, situation);
  const together = new Map(besideEachOther(asked).map((each, k) => [spot[k], each]));
  const paid = known
    .filter(({ candidate }) => !isReserved(candidate))
    .map((each) => together.get(each) ?? onDemandFrom(each, returnsUsd, situation));
  const reserved = known.filter(({ candidate }) => isReserved(candidate));
  return [...paid, ...reserved.map((each) => reservedFrom(each, paid, situation))];
}

/** Nothing more is paid for its hours; the work that they do not finish costs its share of the cheapest other pool. */
function reservedFrom(each: Known, paid: readonly Assessed[], situation: Situation): Assessed {
  const { candidate, workSeconds, expectedSeconds } = each;
  const span = idleSpan(candidate, situation);
  const share = Math.min(
    1,
    (span?.workSeconds ?? situation.work.workSeconds) / Math.max(1, situation.work.workSeconds),
  );
  const restUsd = Math.min(...paid.filter(isOpen).map(({ expectedCostUsd }) => expectedCostUsd));
  const helpersUsd = costUsd(candidate.helpersHourlyUsd, share * workSeconds);
  const heldUsd = costUsd(situation.timeUsd, expectedSeconds - (1 - share) * workSeconds);
  return { ...each, expectedCostUsd: heldUsd + helpersUsd + (share < 1 ? (1 - share) * restUsd : 0) };
}

type Asked = ReturnType<typeof askingFor>;

/** @param cheapest of the Spot pools that may be used, for which the values are */
function askingFor(
  each: Known,
  cheapest: Known | undefined,
  values: readonly SpotValue[],
  situation: Situation,
) {
  const { work, timeUsd } = situation;
  const { candidate, outlook } = each;
  const hourlyUsd = gangUsd(candidate);
  const { spells, billed } = spellsOf(each, situation);
  const premiumUsd = cheapest === undefined ? 0 : premiumOver(cheapest, each, situation);
  const transferUsd = candidate.transfer?.usd ?? 0;
  const courses = values.map((value) => {
    const moreSeconds = restartSecondsIn(candidate, work) - value.restartSeconds;
    const startsUsd = costUsd(hourlyUsd, spells * moreSeconds);
    // A shorter start saves no more than the plan counts for it.
    const inAll = (usd: number): number => transferUsd + Math.max(0, usd + premiumUsd + startsUsd);
    const { ask, had, onDemand } = value.expectedUsd(outlook.belief);
    return { ask: inAll(ask), had: inAll(had), onDemand: inAll(onDemand) };
  });
  // With capacity another fallback may be the best than without.
  const least = (course: 'ask' | 'had'): number | undefined =>
    courses.length > 0 ? Math.min(...courses.map((each) => each[course])) : undefined;
  const aloneUsd = transferUsd + costUsd(hourlyUsd, billed) + costUsd(timeUsd, outlook.waitSeconds + billed);
  const askCostUsd =
    assumed.waitingShare *
    (1 - outlook.chanceUp) *
    costUsd(hourlyUsd, Math.min(assumed.patienceSeconds, billed));
  return {
    ...each,
    expectedCostUsd: askCostUsd + (least('ask') ?? aloneUsd),
    askCostUsd,
    /** Once its capacity is there; undefined for Spot alone. */
    hadUsd: least('had'),
    /** With each fallback: started on it now, and returned here later. */
    afterOnDemandUsd: courses.map(({ onDemand }) => onDemand),
  };
}

/** The work on Spot: the number of spells, each with a start, and the seconds billed in all. */
function spellsOf({ candidate, outlook, workSeconds }: Known, { work }: Pick<Situation, 'work'>) {
  const restartSeconds = restartSecondsIn(candidate, work);
  const useful = Math.max(outlook.upSeconds - restartSeconds, outlook.upSeconds / 10);
  const spells = Math.max(1, workSeconds / useful);
  return { spells, billed: workSeconds + spells * restartSeconds };
}

const spellSeconds = once(() => market().lastingTicks(market().start) * TICK_SECONDS);

/**
 * The run pays more until the cheapest pool is seen to be up again, at the next look at its score or, without one, after
 * the next loss; then it saves and starts there.
 */
function premiumOver(cheapest: Known, each: Known, situation: Situation): number {
  const { billed } = spellsOf(each, situation);
  const moreUsd = (unitOf(each) - unitOf(cheapest)) / each.candidate.throughput.factor;
  const gone = market().goneTicks(cheapest.outlook.belief) * TICK_SECONDS;
  const until = cheapest.candidate.score === undefined ? Math.max(gone, spellSeconds()) : gone + TICK_SECONDS;
  const move = assumed.saveSeconds + restartSecondsIn(cheapest.candidate, situation.work);
  const moveUsd = costUsd(gangUsd(cheapest.candidate), move);
  const toTheEnd = Math.max(0, costUsd(moreUsd, billed));
  return until < billed ? Math.min(toTheEnd, costUsd(moreUsd, until) + moveUsd) : toTheEnd;
}

/**
 * A run that meets one capacity error has lost a few minutes and can still ask the other pools, where scores tell them
 * apart. Assessed alone, the error would look as if all pools were down.
 */
function besideEachOther(pools: readonly Asked[]): readonly Assessed[] {
  const [best, second] = pools.filter(isUsable).toSorted((a, b) => a.expectedCostUsd - b.expectedCostUsd);
  return pools.map((each) => {
    const { candidate, outlook, hadUsd, askCostUsd, expectedCostUsd } = each;
    const other = each === best ? second : best;
    const isAlone = hadUsd === undefined || other === undefined || candidate.score === undefined;
    if (isAlone || outlook.chanceUp < assumed.leastChanceTried) return each;
    // A capacity error never counts less than the capacity; otherwise a better score would raise the cost.
    const refusedUsd = Math.max(hadUsd, other.expectedCostUsd);
    const requested = outlook.chanceUp * hadUsd + (1 - outlook.chanceUp) * refusedUsd + askCostUsd;
    return { ...each, expectedCostUsd: Math.min(expectedCostUsd, requested) };
  });
}

/**
 * What a start on each fallback saves because the job can return to Spot: to the pool where that costs least, of those
 * whose scores show when they are up.
 */
function returnsOf(
  asked: readonly Asked[],
  values: readonly SpotValue[],
  { work }: Situation,
): readonly number[] {
  // Of unknown length, the work may have ended before the job returns, and no job does so before a checkpoint (revise.ts).
  if (work.basis === 'assumed') return [];
  const seen = outsideLossCooldown(asked).filter(
    (each) => isUsable(each) && each.candidate.score !== undefined,
  );
  return values.map(({ surelyUsd }, k) =>
    Math.max(0, ...seen.map(({ afterOnDemandUsd }) => surelyUsd - (afterOnDemandUsd[k] ?? surelyUsd))),
  );
}

function onDemandFrom(
  each: Known,
  returnsUsd: readonly number[],
  { work, timeUsd, fallbacks }: Situation,
): Assessed {
  const { candidate, workSeconds, expectedSeconds } = each;
  const billed = workSeconds + restartSecondsIn(candidate, work);
  const aloneUsd =
    costUsd(gangUsd(candidate), billed) + (candidate.transfer?.usd ?? 0) + costUsd(timeUsd, expectedSeconds);
  // The same elsewhere, or on another type, is no fallback of its own, and saves as much.
  const isAlike = (other: Candidate): boolean =>
    unitUsd(other) === unitUsd(candidate) &&
    workOf(other, work) === workOf(candidate, work) &&
    restartSecondsIn(other, work) === restartSecondsIn(candidate, work) &&
    other.transfer?.usd === candidate.transfer?.usd;
  const own = fallbacks.indexOf(candidate);
  const returnUsd = returnsUsd[own >= 0 ? own : fallbacks.findIndex(isAlike)] ?? 0;
  return { ...each, expectedCostUsd: aloneUsd - returnUsd, returnUsd };
}
