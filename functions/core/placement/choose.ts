/**
 * The choice of the next attempt's pool. Deadline first, then money: while an On-Demand start can still be put off,
 * Spot wherever it is expected to cost least; at the latest safe moment On-Demand. Pure, and every number is kept.
 */

import { instanceFacts } from '../catalog/catalog.ts';
import { fittedRegimes } from '../policy/regimes.ts';
import type { Placement, PlacementDecision, PoolAssessment } from '../records.ts';
import { type Assessed, assess, backoffSeconds } from './assess.ts';
import { beliefModel, recentSightings, sightingsOf } from './beliefs.ts';
import { poolsOf } from './pools.ts';
import { type PlacementInput, type Situation, situationOf } from './situation.ts';
import { describeAction, rowsOf } from './table.ts';

const model = beliefModel(fittedRegimes);

export function choosePlacement(input: PlacementInput): PlacementDecision {
  const situation = situationOf(input);
  const { candidates, pruned } = poolsOf(input.compute, input.market);
  const assessed = assess(candidates, {
    model,
    sightings: recentSightings(
      [...(input.sightings ?? []), ...sightingsOf(input.attempts)],
      situation.nowMilliseconds,
    ),
    work: situation.work,
    nodes: input.compute.nodes,
    helpersHourlyUsd: input.helpersHourlyUsd ?? 0,
    secondsLeft: situation.secondsLeft,
    spotSeconds: situation.slackSeconds + situation.work.workSeconds,
    nowMilliseconds: situation.nowMilliseconds,
  });
  const hopeless = hopelessReason(situation, assessed);
  if (hopeless !== undefined) {
    return { kind: 'giveUp', reason: hopeless, considered: rowsOf(assessed, pruned) };
  }
  const rested = assessed.filter((each) => restSeconds(each, situation) <= 0);
  const chosen = pick(rested, situation);
  if (!chosen || isWorthWaiting(chosen, assessed, situation))
    return waitFor(assessed, situation, rowsOf(assessed, pruned));
  return launch(chosen, situation, rowsOf(assessed, pruned, chosen, spotRefusedBy(situation)));
}

/** An estimate must be off by more than this before a run is given up for its deadline. */
const ESTIMATE_TOLERANCE = 1.25;

function hopelessReason(situation: Situation, assessed: readonly Assessed[]): string | undefined {
  const { input, work, secondsLeft } = situation;
  const { limits } = input;
  if (input.attempts.length >= limits.attempts) {
    return `all ${limits.attempts} attempts of limits.attempts were used`;
  }
  if (secondsLeft <= 0) return `the deadline of ${limits.deadlineHours} h has passed`;
  // What former runs took is no proof: the declaration may have changed since.
  if (work.basis === 'measured' && work.workSeconds > secondsLeft * ESTIMATE_TOLERANCE) {
    return `the deadline cannot be met: ${hours(work.workSeconds)} of work are left and ${hours(secondsLeft)} of time`;
  }
  if (assessed.length === 0) return 'no pool can be weighed: see the table for the reason of each';
  return overBudget(situation, assessed);
}

function overBudget({ input, work, spentUsd }: Situation, assessed: readonly Assessed[]): string | undefined {
  const budget = input.limits.budgetUsd;
  if (budget === undefined) return undefined;
  const cheapest = assessed.reduce((least, each) =>
    each.expectedCostUsd < least.expectedCostUsd ? each : least,
  );
  const left = budget - spentUsd;
  const restart = (gangHourlyUsd(cheapest.candidate.hourlyUsd, input) * work.restartSeconds) / 3_600;
  // An assumed length of the work is no reason to give up; not even reaching the first new progress is.
  const needed = work.basis === 'assumed' ? restart : Math.max(restart, cheapest.expectedCostUsd);
  if (needed <= left) return undefined;
  return `the budget of ${usd(budget)} does not last: ${usd(spentUsd)} spent, at least ${usd(needed)} still needed`;
}

/** Whether putting off On-Demand once more is safe: a Spot attempt may bring nothing and cost a whole restart. */
const spotIsSafe = (situation: Situation): boolean => untilUnsafe(situation) >= 0;

const untilUnsafe = ({ slackSeconds, work, marginSeconds }: Situation): number =>
  slackSeconds - work.restartSeconds - marginSeconds;

/** While a job waits no work is done, so the moment at which Spot stops being safe is known now. */
const spotUntil = (situation: Situation): string =>
  new Date(situation.nowMilliseconds + untilUnsafe(situation) * 1_000).toISOString();

const spotRefusedBy = (situation: Situation): string | undefined =>
  situation.input.compute.market === 'spot-then-on-demand' && !spotIsSafe(situation)
    ? `no slack is left for Spot: ${hours(situation.slackSeconds)} until the latest safe start`
    : undefined;

function pick(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  const safe = spotRefusedBy(situation) === undefined;
  const allowed = assessed.filter((each) => safe || each.candidate.pool.market === 'on-demand');
  // Where capacity was just taken it may flicker back; while other Spot pools are there, attempts are spread.
  const spot = allowed.filter((each) => each.candidate.pool.market === 'spot');
  const others = spot.filter((each) => !wasJustLost(each, situation));
  const onDemand = allowed.filter((each) => each.candidate.pool.market === 'on-demand');
  return [...(others.length > 0 ? others : spot), ...onDemand].toSorted(byCostThenTime)[0];
}

/** A Spot pool that refused a moment ago is worth its rest when On-Demand is all that is left and costs more. */
function isWorthWaiting(chosen: Assessed, assessed: readonly Assessed[], situation: Situation): boolean {
  if (chosen.candidate.pool.market === 'spot') return false;
  const best = pick(assessed, situation);
  return best !== undefined && best.candidate.pool.market === 'spot';
}

const JUST_LOST_MILLISECONDS = 30 * 60_000;

const wasJustLost = (each: Assessed, { nowMilliseconds }: Situation): boolean =>
  each.lastLossMilliseconds !== undefined &&
  nowMilliseconds - each.lastLossMilliseconds < JUST_LOST_MILLISECONDS;

const byCostThenTime = (a: Assessed, b: Assessed): number =>
  a.expectedCostUsd - b.expectedCostUsd ||
  a.expectedSeconds - b.expectedSeconds ||
  poolName(a).localeCompare(poolName(b));

const poolName = ({ candidate: { pool } }: Assessed): string =>
  `${pool.instanceType} ${pool.zoneId ?? ''} ${pool.market}`;

/** How long a pool that refused us should still be left alone. */
function restSeconds(each: Assessed, { nowMilliseconds }: Situation): number {
  if (each.lastRefusalMilliseconds === undefined) return 0;
  return backoffSeconds(each.refusals) - (nowMilliseconds - each.lastRefusalMilliseconds) / 1_000;
}

function waitFor(
  assessed: readonly Assessed[],
  situation: Situation,
  considered: readonly PoolAssessment[],
): PlacementDecision {
  const rests = assessed.map((each) => restSeconds(each, situation)).filter((rest) => rest > 0);
  // No wait may outlast the latest safe moment of an On-Demand start that is still open.
  const safe = untilUnsafe(situation);
  const limit = safe > 0 && rests.length < assessed.length ? safe : situation.secondsLeft;
  const seconds = Math.max(1, Math.ceil(Math.min(...rests, limit)));
  const why =
    rests.length < assessed.length
      ? 'Spot has refused lately and is expected to cost less than On-Demand now'
      : 'every pool that may be used has refused lately';
  const reason = `${why}; asked again in ${seconds} s, ${hours(situation.slackSeconds)} of slack left`;
  return { kind: 'wait', seconds, reason, considered };
}

function launch(
  chosen: Assessed,
  situation: Situation,
  considered: readonly PoolAssessment[],
): PlacementDecision {
  const { candidate } = chosen;
  const { input } = situation;
  const maximumRunSeconds = longestRun(candidate.hourlyUsd, situation);
  const spot = candidate.pool.market === 'spot';
  const placement: Placement = {
    pool: candidate.pool,
    topology: {
      nodes: input.compute.nodes,
      acceleratorsPerNode: instanceFacts(candidate.pool.instanceType)?.acceleratorCount ?? 0,
    },
    ...(candidate.subnetId === undefined ? {} : { subnetId: candidate.subnetId }),
    onDemandHourlyUsd: candidate.onDemandHourlyUsd,
    ...(input.helpersHourlyUsd === undefined ? {} : { helpersHourlyUsd: input.helpersHourlyUsd }),
    ...(input.expectedSeconds === undefined ? {} : { expectedSeconds: input.expectedSeconds }),
    maximumRunSeconds,
    // SageMaker counts waiting and running together and refuses less than the running time.
    ...(spot ? { maximumWaitSeconds: Math.max(maximumRunSeconds, Math.ceil(situation.secondsLeft)) } : {}),
    ...(spot && input.compute.market === 'spot-then-on-demand' ? { spotUntil: spotUntil(situation) } : {}),
    reason: describeAction(chosen, situation),
    considered,
    decidedAt: input.now,
  };
  return { kind: 'launch', placement };
}

const gangHourlyUsd = (hourlyUsd: number, { compute, helpersHourlyUsd }: PlacementInput): number =>
  hourlyUsd * compute.nodes + (helpersHourlyUsd ?? 0);

/** SageMaker itself ends an attempt that would pass the budget. */
function longestRun(hourlyUsd: number, { input, spentUsd }: Situation): number {
  const { budgetUsd, maximumRunSeconds } = input.limits;
  if (budgetUsd === undefined) return maximumRunSeconds;
  const affordable = Math.floor(((budgetUsd - spentUsd) / gangHourlyUsd(hourlyUsd, input)) * 3_600);
  return Math.max(1, Math.min(maximumRunSeconds, affordable));
}

const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;
const usd = (amount: number): string => `$${amount.toFixed(2)}`;
