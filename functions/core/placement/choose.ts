/**
 * The choice of the next attempt's pool. Deadline first, then money: while an On-Demand start can still be put off,
 * Spot wherever it is expected to cost least; at the latest safe moment On-Demand. Pure, and every number is kept.
 */
import { fittedRegimes } from '../policy/regimes.ts';
import type { Placement, PlacementDecision, PoolAssessment } from '../records.ts';
import { type Assessed, assess } from './assess.ts';
import { beliefModel } from './beliefs.ts';
import { restartOf } from './gang-cost.ts';
import { gangHourlyUsd, hopelessReason, isOpen } from './hopeless.ts';
import type { Candidate } from './pools.ts';
import { restSeconds } from './refusals.ts';
import { type PlacementInput, type Situation, situationOf } from './situation.ts';
import { spread } from './spread.ts';
import { describeAction, rowsOf } from './table.ts';

const model = beliefModel(fittedRegimes);

/** Every pool of the situation, weighed. */
function assessAll(situation: Situation): readonly Assessed[] {
  const { candidates, work, secondsLeft, slackSeconds } = situation;
  return assess(candidates, {
    model,
    sightings: situation.sightings,
    records: situation.records,
    work,
    fallbacks: situation.fallbacks,
    secondsLeft,
    spotSeconds: slackSeconds + work.workSeconds,
    timeUsd: situation.timeUsd,
    nowMilliseconds: situation.nowMilliseconds,
  });
}

export function choosePlacement(input: PlacementInput): PlacementDecision {
  const situation = situationOf(input);
  const { pruned } = situation;
  const assessed = assessAll(situation);
  const table = (chosen?: Assessed): readonly PoolAssessment[] =>
    rowsOf({ assessed, pruned, situation, chosen, whyNot: (each) => whyNot(each, situation) });
  const hopeless = hopelessReason(situation, assessed);
  if (hopeless !== undefined) return { kind: 'giveUp', reason: hopeless, considered: table() };
  const rested = assessed.filter((each) => restSeconds(each, situation) <= 0);
  const chosen = pick(rested, situation) ?? meanwhile(rested, assessed, situation);
  const why = chosen === undefined ? NEEDED : worthWaiting(chosen, assessed, situation);
  if (chosen === undefined || why !== undefined)
    return waitFor(assessed, situation, { why: why ?? NEEDED, considered: table() });
  return launch(chosen, situation, table(chosen));
}

const NEEDED = 'On-Demand is needed now and has refused lately';

/** Whether putting off On-Demand once more is safe: a Spot attempt may bring nothing and cost a whole restart. */
const spotIsSafe = (situation: Situation): boolean => untilUnsafe(situation) >= 0;

const untilUnsafe = ({ slackSeconds, work, marginSeconds }: Situation): number =>
  slackSeconds - work.restartSeconds - marginSeconds;

/** While a job waits no work is done, so the moment at which Spot stops being safe is known now. */
const spotUntil = (situation: Situation): string =>
  new Date(situation.nowMilliseconds + untilUnsafe(situation) * 1_000).toISOString();

/** Whether this pool's own work, as slow as it may turn out, ends while there is time. */
const endsInTime = (each: Assessed, { secondsLeft, work }: Situation): boolean =>
  each.safeWorkSeconds + restartOf(each.candidate, work) <= secondsLeft;

/**
 * Why a pool may not be chosen, whatever it costs. While Spot runs at least as fast as the fallback, slack does not
 * shrink; a slower one must leave its restart and margin until its very end.
 */
function whyNot(each: Assessed, situation: Situation): string | undefined {
  const { candidate, safeWorkSeconds } = each;
  const { closed, pool } = candidate;
  if (closed !== undefined) return closed;
  const { input, work, secondsLeft, marginSeconds, slackSeconds } = situation;
  if (pool.market === 'on-demand')
    return endsInTime(each, situation)
      ? undefined
      : `would probably be late: it may take ${hours(safeWorkSeconds)}, ${hours(secondsLeft)} are left`;
  if (input.compute.market !== 'spot-then-on-demand') return undefined;
  if (!spotIsSafe(situation))
    return `no slack is left for Spot: ${hours(slackSeconds)} until the latest safe start`;
  const atItsEnd = secondsLeft - safeWorkSeconds - restartOf(candidate, work);
  return atItsEnd >= work.restartSeconds + marginSeconds
    ? undefined
    : `too slow to leave time for On-Demand after a loss: it may take ${hours(safeWorkSeconds)}`;
}

function pick(assessed: readonly Assessed[], situation: Situation): Assessed | undefined {
  const allowed = assessed.filter((each) => whyNot(each, situation) === undefined);
  const spot = allowed.filter((each) => each.candidate.pool.market === 'spot');
  const onDemand = allowed.filter((each) => each.candidate.pool.market === 'on-demand');
  const best = [...spread(spot, situation.nowMilliseconds), ...onDemand].toSorted(byCostThenTime)[0];
  return best ?? fastestOnDemand(assessed);
}

/** The Spot pool that a run would be moved to now: allowed, not at rest, and expected to cost least. */
export function spotToAsk(situation: Situation): Assessed | undefined {
  const open = assessAll(situation).filter(
    (each) => each.candidate.pool.market === 'spot' && restSeconds(each, situation) <= 0,
  );
  const best = pick(open, situation);
  return best !== undefined && best.candidate.pool.market === 'spot' ? best : undefined;
}

/** Where nothing ends in time for sure, what may be the least late. */
const fastestOnDemand = (assessed: readonly Assessed[]): Assessed | undefined =>
  assessed
    .filter((each) => isOpen(each) && each.candidate.pool.market === 'on-demand')
    .toSorted((a, b) => a.safeWorkSeconds - b.safeWorkSeconds || byCostThenTime(a, b))[0];

/**
 * On-Demand is needed, and every pool of it has refused so often, or for a limit of the account, that it is left alone for
 * longer than a start takes: to wait would bring nothing, while Spot that has not refused may get on with the work.
 */
function meanwhile(
  rested: readonly Assessed[],
  assessed: readonly Assessed[],
  situation: Situation,
): Assessed | undefined {
  if (situation.input.compute.market !== 'spot-then-on-demand') return undefined;
  const refused = assessed.filter((each) => isOpen(each) && each.candidate.pool.market === 'on-demand');
  const soonest = Math.min(...refused.map((each) => restSeconds(each, situation)));
  if (soonest <= situation.work.restartSeconds) return undefined;
  const spot = rested.filter((each) => isOpen(each) && each.candidate.pool.market === 'spot');
  return spread(spot, situation.nowMilliseconds).toSorted(
    (a, b) => a.expectedSeconds - b.expectedSeconds || byCostThenTime(a, b),
  )[0];
}

/** Why a pool that refused a moment ago is worth its rest: On-Demand is all that is left and costs more, or is too slow. */
function worthWaiting(
  chosen: Assessed,
  assessed: readonly Assessed[],
  situation: Situation,
): string | undefined {
  if (chosen.candidate.pool.market === 'spot') return undefined;
  if (!endsInTime(chosen, situation))
    return assessed.some(
      (each) =>
        each.candidate.pool.market === 'on-demand' &&
        whyNot(each, situation) === undefined &&
        each.safeWorkSeconds + restartOf(each.candidate, situation.work) + restSeconds(each, situation) <=
          situation.secondsLeft,
    )
      ? 'the On-Demand pool that would end in time has refused lately'
      : undefined;
  // Nobody knows when a limit of the account is lifted: that is not waited for while something else can be had.
  const lifted = assessed.filter((each) => !each.quota || restSeconds(each, situation) <= 0);
  const best = pick(lifted, situation);
  return best !== undefined && best.candidate.pool.market === 'spot'
    ? 'Spot has refused lately and is expected to cost less than On-Demand now'
    : undefined;
}

const byCostThenTime = (a: Assessed, b: Assessed): number =>
  a.expectedCostUsd - b.expectedCostUsd ||
  a.expectedSeconds - b.expectedSeconds ||
  byText(poolName(a), poolName(b));

/** As `localeCompare` sorts names of pools, without its start of 10 ms. */
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const poolName = ({ candidate: { pool, topology } }: Assessed): string =>
  `${pool.instanceType} ${pool.region ?? ''} ${pool.zoneId ?? ''} ${pool.market} ${topology.nodes}`;

function waitFor(
  assessed: readonly Assessed[],
  situation: Situation,
  { why, considered }: { readonly why: string; readonly considered: readonly PoolAssessment[] },
): PlacementDecision {
  const open = assessed.filter(isOpen);
  const rests = open.map((each) => restSeconds(each, situation)).filter((rest) => rest > 0);
  // No wait may outlast the latest safe moment of an On-Demand start that is still open.
  const safe = untilUnsafe(situation);
  const limit = safe > 0 && rests.length < open.length ? safe : situation.secondsLeft;
  const seconds = Math.max(1, Math.ceil(Math.min(...rests, limit)));
  const all = 'every pool that may be used has refused lately';
  const reason = `${rests.length < open.length ? why : all}; asked again in ${seconds} s, ${hours(situation.slackSeconds)} of slack left`;
  return { kind: 'wait', seconds, reason, considered };
}

function launch(
  chosen: Assessed,
  situation: Situation,
  considered: readonly PoolAssessment[],
): PlacementDecision {
  const { candidate } = chosen;
  const { input } = situation;
  const maximumRunSeconds = longestRun(candidate, situation);
  const spot = candidate.pool.market === 'spot';
  const placement: Placement = {
    pool: candidate.pool,
    topology: candidate.topology,
    ...(candidate.subnetId === undefined ? {} : { subnetId: candidate.subnetId }),
    onDemandHourlyUsd: candidate.onDemandHourlyUsd,
    ...(candidate.helpersHourlyUsd === 0 ? {} : { helpersHourlyUsd: candidate.helpersHourlyUsd }),
    ...(candidate.transfer === undefined ? {} : { transfer: candidate.transfer }),
    ...(input.expectedSeconds === undefined ? {} : { expectedSeconds: input.expectedSeconds }),
    maximumRunSeconds,
    // SageMaker counts waiting and running together and refuses less than the running time.
    ...(spot ? { maximumWaitSeconds: Math.max(maximumRunSeconds, Math.ceil(situation.secondsLeft)) } : {}),
    // Past that moment it is asked only because On-Demand is refused: then no moment is too late to wait for it.
    ...(spot && input.compute.market === 'spot-then-on-demand' && spotIsSafe(situation)
      ? { spotUntil: spotUntil(situation) }
      : {}),
    reason: describeAction(chosen, situation),
    considered,
    decidedAt: input.now,
  };
  return { kind: 'launch', placement };
}

/** SageMaker itself ends an attempt that would pass the budget. */
function longestRun(candidate: Candidate, { input, spentUsd }: Situation): number {
  const { budgetUsd, maximumRunSeconds } = input.limits;
  if (budgetUsd === undefined) return maximumRunSeconds;
  const left = budgetUsd - spentUsd - (candidate.transfer?.usd ?? 0);
  const affordable = Math.floor((left / gangHourlyUsd(candidate)) * 3_600);
  return Math.max(1, Math.min(maximumRunSeconds, affordable));
}

const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;
