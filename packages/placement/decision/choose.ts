/**
 * Chooses the next attempt's pool. The deadline comes first, then money: while an On-Demand start can still be put
 * off, Spot wherever it is expected to cost least; at the latest safe moment, On-Demand. Pure; the decision keeps
 * every number.
 */

import type { Candidate } from '../candidates/pools.ts';
import { sameShape } from '../candidates/topologies.ts';
import { dollars, hours } from '../model/assumed.ts';
import { TICK_SECONDS } from '../policy/market-model.ts';
import {
  nameOfPool,
  nameOfReservation,
  type Placement,
  type PlacementDecision,
  samePool,
} from '../records/placement-records.ts';
import { type Assessed, assessPools, isSpot } from './assess.ts';
import { cheaperPool } from './cheaper-pool.ts';
import { describeAction, rowsOf, type Weighed } from './decision-table.ts';
import { giveUpReason, type Wait, waitFor, whyNone, whyWait } from './no-launch.ts';
import { isReserved, paidRest, secondsUntilGone, spansAhead } from './reserved.ts';
import { cheapestPool, interimPool, secondsUntilUnsafe, whyNotAllowed } from './rules.ts';
import { type PlacementInput, type ReservedSpan, type Situation, situationOf } from './situation.ts';
import { costUsd, gangUsd, restartOf } from './work.ts';

export function choosePlacement(input: PlacementInput): PlacementDecision {
  const { situation, ends } = besideReservations(situationOf(input));
  const assessed = assessPools(situation);
  const table = { assessed, situation };
  const giveUp = giveUpReason(table, { isPaid: ends === undefined });
  if (giveUp !== undefined) return { kind: 'giveUp', reason: giveUp, considered: rowsOf(table) };
  const usable = assessed.filter(({ coolsSeconds }) => coolsSeconds <= 0);
  const picked = cheapestPool(usable, situation) ?? interimPool(assessed, situation);
  const reserved = ends && worthWaitingForReservation(ends, picked, situation);
  if (reserved) return waitFor(table, reserved);
  if (picked === undefined) return waitFor(table, { why: whyNone(table) });
  const choice = whyWait(picked, table) ?? amongSpot(picked, table);
  if ('why' in choice) return waitFor(table, choice);
  // What remains after a capacity error in a pool that the run tries before the picked one.
  const expectedCostUsd = Math.min(choice.expectedCostUsd, picked.expectedCostUsd);
  const chosen = { ...choice, expectedCostUsd };
  return launch(chosen, alternativesTo(chosen, table), table);
}

/** SageMaker's `InstancePreferences` has five types at most. */
const MOST_ALTERNATIVES = 4;
/** What an alternative may cost to the end, as a multiple of the chosen type. Stated. */
const DEAREST = 1.5;

/**
 * Types that the request names beside the chosen one, cheapest first, once a wait for On-Demand could make the attempt
 * late. Nothing but the type differs: the agent's job and the shape of the world are fixed before one is selected.
 */
function alternativesTo(
  { candidate, safeWorkSeconds, expectedCostUsd: chosenUsd }: Assessed,
  { assessed, situation }: Weighed,
): readonly Assessed[] {
  const { pool, topology } = candidate;
  const { secondsLeft, work, marginSeconds } = situation;
  const slackSeconds = secondsLeft - safeWorkSeconds - restartOf(candidate, work);
  const isUrgent = slackSeconds < work.restartSeconds + marginSeconds;
  // No request names groups and several types.
  if (pool.purchaseOption !== 'on-demand' || !isUrgent || candidate.helpersHourlyUsd > 0) return [];
  const needed = Math.min(secondsLeft, longestRun(candidate, situation));
  return assessed
    .filter(
      (each) =>
        each.candidate.pool.instanceType !== pool.instanceType &&
        samePool({ ...each.candidate.pool, instanceType: pool.instanceType }, pool) &&
        sameShape(each.candidate.topology, topology) &&
        each.candidate.helpersHourlyUsd === 0 &&
        !each.isQuota &&
        each.expectedCostUsd <= DEAREST * chosenUsd &&
        whyNotAllowed(each, situation) === undefined &&
        longestRun(each.candidate, situation) >= needed,
    )
    .toSorted((a, b) => a.expectedCostUsd - b.expectedCostUsd)
    .slice(0, MOST_ALTERNATIVES);
}

/**
 * The work and the time that are left beside the reservations that begin later.
 * @returns with `ends` where they do all of the work: then nothing may have to be paid, and the whole of it is weighed
 */
function besideReservations(whole: Situation) {
  const ahead = spansAhead(whole);
  const { situation, used } = paidRest(whole, ahead);
  if (ahead.length > 0 && situation.work.workSeconds <= 0) return { situation: whole, ends: used };
  return { situation: ahead.length === 0 ? whole : { ...situation, planned: used }, ends: undefined };
}

/** Nothing is paid meanwhile but the hours until the end, and what is idle goes first. */
function worthWaitingForReservation(
  ends: readonly ReservedSpan[],
  picked: Assessed | undefined,
  { timeUsd }: Situation,
): Wait | undefined {
  const [first] = ends;
  if (first === undefined || (picked !== undefined && isReserved(picked.candidate))) return undefined;
  const seconds = ends.at(-1)?.untilSeconds ?? first.untilSeconds;
  const savedUsd = (picked?.expectedCostUsd ?? Number.POSITIVE_INFINITY) - costUsd(timeUsd, seconds);
  if (savedUsd <= 0) return undefined;
  const { pool } = first.candidate;
  const saves =
    picked === undefined
      ? ''
      : `, which saves ${dollars(savedUsd)} against ${nameOfPool(picked.candidate.pool)}`;
  const why = `${nameOfReservation(pool.reservation)} begins in ${hours(first.fromSeconds)} and has been paid for${saves}`;
  return { why, atMostSeconds: Math.min(first.fromSeconds, RESERVATION_LOOK_SECONDS) };
}

/** A reservation may be cancelled or extended meanwhile. */
const RESERVATION_LOOK_SECONDS = 3_600;

function launch(
  chosen: Assessed,
  alternatives: readonly Assessed[],
  { assessed, situation }: Weighed,
): PlacementDecision {
  const { candidate } = chosen;
  const { input } = situation;
  const named = [chosen, ...alternatives].map((each) => each.candidate);
  const maximumRunSeconds = Math.min(...named.map((each) => longestRun(each, situation)));
  const spot = candidate.pool.purchaseOption === 'spot';
  const untilUnsafe = secondsUntilUnsafe(situation, candidate);
  const placement: Placement = {
    pool: candidate.pool,
    topology: candidate.topology,
    ...(candidate.subnetId !== undefined && { subnetId: candidate.subnetId }),
    onDemandHourlyUsd: candidate.onDemandHourlyUsd,
    ...(alternatives.length > 0 && {
      alternatives: alternatives.map(({ candidate: { pool, onDemandHourlyUsd } }) => ({
        instanceType: pool.instanceType,
        onDemandHourlyUsd,
      })),
    }),
    ...(candidate.helpersHourlyUsd !== 0 && { helpersHourlyUsd: candidate.helpersHourlyUsd }),
    ...(situation.fileSystems.hourlyUsd > 0 && { fileSystemsHourlyUsd: situation.fileSystems.hourlyUsd }),
    ...(candidate.transfer && { transfer: candidate.transfer }),
    ...(input.expectedSeconds !== undefined && { expectedSeconds: input.expectedSeconds }),
    maximumRunSeconds,
    // SageMaker counts waiting and running together and refuses less than the running time.
    ...(spot && { maximumWaitSeconds: Math.max(maximumRunSeconds, Math.ceil(situation.secondsLeft)) }),
    // A job that waits does no work, so the moment at which waiting stops being safe is known in advance. After it the
    // run tries Spot only because On-Demand has no capacity; then no wait is too long.
    ...(spot &&
      input.compute.purchaseOption === 'spot-then-on-demand' &&
      untilUnsafe >= 0 && {
        spotUntil: new Date(situation.nowMilliseconds + untilUnsafe * 1_000).toISOString(),
      }),
    ...reservedPart(candidate, situation),
    reason: describeAction(chosen, alternatives, situation),
    considered: rowsOf({
      assessed: assessed.map((each) => (each.candidate === candidate ? chosen : each)),
      situation,
      chosen,
      alternatives,
    }),
    decidedAt: input.now,
  };
  return { kind: 'launch', placement };
}

function reservedPart(candidate: Candidate, situation: Situation): Pick<Placement, 'reserved'> {
  const { reservation } = candidate;
  if (reservation === undefined) return {};
  const { kind, placementGroup } = reservation;
  const untilGone = secondsUntilGone(candidate, situation);
  const until = new Date(Math.round(situation.nowMilliseconds + untilGone * 1_000));
  const ends = Number.isFinite(untilGone) ? { until: until.toISOString() } : {};
  return { reserved: { kind, ...ends, ...(placementGroup !== undefined && { placementGroup }) } };
}

/** SageMaker itself stops an attempt at its budget. */
function longestRun(candidate: Candidate, { input, spentUsd, fileSystems }: Situation): number {
  const { budgetUsd, maximumRunSeconds } = input.limits;
  if (budgetUsd === undefined) return maximumRunSeconds;
  const left = budgetUsd - spentUsd - (candidate.transfer?.usd ?? 0);
  const hourlyUsd = gangUsd(candidate) + fileSystems.hourlyUsd;
  if (hourlyUsd <= 0) return maximumRunSeconds;
  const affordable = Math.floor((left / hourlyUsd) * 3_600);
  return Math.max(1, Math.min(maximumRunSeconds, affordable));
}

/**
 * The pool to start in, which is the picked one or a cheaper one to ask first; or why to wait for a cheaper one.
 * @param picked the cheapest of all pools that are not cooling down
 */
function amongSpot(picked: Assessed, { assessed, situation }: Weighed): Assessed | Wait {
  const allowed = assessed.filter((each) => isSpot(each) && whyNotAllowed(each, situation) === undefined);
  const cheaper = isSpot(picked) ? cheaperPool(picked, allowed, { situation, inUse: false }) : undefined;
  if (cheaper === undefined) return picked;
  const { kind, pool, savedUsd } = cheaper;
  if (kind === 'ask') return pool;
  const [there, here] = [pool, picked].map(({ candidate }) => nameOfPool(candidate.pool));
  const why = `${there} is down, cheaper than ${here}, and expected to have capacity again: waiting for it saves $${savedUsd.toFixed(2)}`;
  // It looks again once per tick of the policy.
  return { why, atMostSeconds: TICK_SECONDS };
}
