/**
 * Chooses the next attempt's pool. The deadline comes first, then money: while an On-Demand start can still be put
 * off, Spot wherever it is expected to cost least; at the latest safe moment, On-Demand. Pure; the decision keeps
 * every number.
 */

import type { Candidate } from '../candidates/pools.ts';
import { assumed } from '../model/assumed.ts';
import {
  nameOfPool,
  type Placement,
  type PlacementDecision,
  type PoolAssessment,
} from '../records/placement-records.ts';
import { type Assessed, assessPools, isSpot } from './assess.ts';
import { cheaperPool, LOOK_SECONDS } from './cheaper-pool.ts';
import { describeAction, rowsOf } from './decision-table.ts';
import { giveUpReason, ON_DEMAND_COOLS_DOWN, type Wait, waitFor, whyWait } from './no-launch.ts';
import { cheapestPool, interimPool, secondsUntilUnsafe, whyNotAllowed } from './rules.ts';
import { type PlacementInput, type Situation, situationOf } from './situation.ts';
import { costUsd, gangUsd, restartSecondsIn, workOf } from './work.ts';

export function choosePlacement(input: PlacementInput): PlacementDecision {
  const situation = situationOf(input);
  const { pruned } = situation;
  const assessed = assessPools(situation);
  const table = (chosen?: Assessed): readonly PoolAssessment[] =>
    rowsOf({
      assessed: assessed.map((each) => (each.candidate === chosen?.candidate ? chosen : each)),
      pruned,
      situation,
      chosen,
    });
  const giveUp = giveUpReason(situation, assessed);
  if (giveUp !== undefined) return { kind: 'giveUp', reason: giveUp, considered: table() };
  const usable = assessed.filter(({ coolsSeconds }) => coolsSeconds <= 0);
  const picked = cheapestPool(usable, situation) ?? interimPool(usable, assessed, situation);
  const wait = picked === undefined ? ON_DEMAND_COOLS_DOWN : whyWait(picked, assessed, situation);
  if (picked === undefined || wait !== undefined)
    return waitFor(assessed, situation, { ...(wait ?? ON_DEMAND_COOLS_DOWN), considered: table() });
  const choice = amongSpot(picked, assessed, situation);
  if (choice.kind === 'wait') return waitFor(assessed, situation, { ...choice, considered: table() });
  const chosen = withStatedCost(choice.pool, picked, assessed);
  return launch(chosen, situation, table(chosen));
}

/**
 * A pool that the run tries before the picked one costs its own expected cost or that of the picked pool, which remains
 * after a capacity error. The expected saving is part of neither: the cost of the pool at hand already includes the
 * move to a cheaper one.
 */
function withStatedCost({ candidate }: Assessed, picked: Assessed, assessed: readonly Assessed[]): Assessed {
  const own = assessed.find((each) => each.candidate === candidate) ?? picked;
  return { ...own, expectedCostUsd: Math.min(own.expectedCostUsd, picked.expectedCostUsd) };
}

function launch(
  chosen: Assessed,
  situation: Situation,
  considered: readonly PoolAssessment[],
): PlacementDecision {
  const { candidate } = chosen;
  const { input } = situation;
  const maximumRunSeconds = longestRun(candidate, situation);
  const spot = candidate.pool.purchaseOption === 'spot';
  const placement: Placement = {
    pool: candidate.pool,
    topology: candidate.topology,
    ...(candidate.subnetId === undefined ? {} : { subnetId: candidate.subnetId }),
    onDemandHourlyUsd: candidate.onDemandHourlyUsd,
    ...(candidate.helpersHourlyUsd === 0 ? {} : { helpersHourlyUsd: candidate.helpersHourlyUsd }),
    ...(situation.fileSystems.hourlyUsd > 0 && { fileSystemsHourlyUsd: situation.fileSystems.hourlyUsd }),
    ...(candidate.transfer === undefined ? {} : { transfer: candidate.transfer }),
    ...(input.expectedSeconds === undefined ? {} : { expectedSeconds: input.expectedSeconds }),
    maximumRunSeconds,
    // SageMaker counts waiting and running together and refuses less than the running time.
    ...(spot ? { maximumWaitSeconds: Math.max(maximumRunSeconds, Math.ceil(situation.secondsLeft)) } : {}),
    // After that moment the run tries Spot only because On-Demand has no capacity; then no wait is too long.
    ...(spot &&
    input.compute.purchaseOption === 'spot-then-on-demand' &&
    secondsUntilUnsafe(situation, candidate) >= 0
      ? { spotUntil: spotUntil(situation, candidate) }
      : {}),
    reason: describeAction(chosen, situation),
    considered,
    decidedAt: input.now,
  };
  return { kind: 'launch', placement };
}

/** ISO 8601. A job that waits does no work, so the moment at which waiting stops being safe is known in advance. */
const spotUntil = (situation: Situation, attempt: Candidate): string =>
  new Date(situation.nowMilliseconds + secondsUntilUnsafe(situation, attempt) * 1_000).toISOString();

/** SageMaker itself stops an attempt at its budget. */
function longestRun(candidate: Candidate, { input, spentUsd, fileSystems }: Situation): number {
  const { budgetUsd, maximumRunSeconds } = input.limits;
  if (budgetUsd === undefined) return maximumRunSeconds;
  const left = budgetUsd - spentUsd - (candidate.transfer?.usd ?? 0);
  const hourlyUsd = gangUsd(candidate, candidate.hourlyUsd) + fileSystems.hourlyUsd;
  const affordable = Math.floor((left / hourlyUsd) * 3_600);
  return Math.max(1, Math.min(maximumRunSeconds, affordable));
}

// Chooses among several Spot pools of which one probably has capacity: start there, ask a cheaper one first, or wait
// for one. A pool's own cost assumes that it is the only one; after a capacity error the run can still ask the others.

type SpotChoice = { readonly kind: 'launch'; readonly pool: Assessed } | ({ readonly kind: 'wait' } & Wait);

/** @param picked the cheapest of all pools that are not cooling down */
function amongSpot(picked: Assessed, assessed: readonly Assessed[], situation: Situation): SpotChoice {
  const launched: SpotChoice = { kind: 'launch', pool: picked };
  const allowed = assessed.filter((each) => isSpot(each) && whyNotAllowed(each, situation) === undefined);
  const atHand = isSpot(picked) ? cheapestLikelyUp(allowed, assessed, situation) : undefined;
  const cheaper = atHand && cheaperPool(atHand, allowed, { situation, inUse: false });
  if (atHand === undefined || cheaper === undefined) return launched;
  const { kind, pool, savedUsd } = cheaper;
  const expectedCostUsd = Math.max(atHand.expectedCostUsd - savedUsd, neverLostUsd(pool, situation));
  if (expectedCostUsd >= picked.expectedCostUsd) return launched;
  if (kind === 'ask') return { kind: 'launch', pool: { ...pool, expectedCostUsd } };
  const [there, here] = [pool, atHand].map(({ candidate }) => nameOfPool(candidate.pool));
  const why = `${there} is down, cheaper than ${here}, and expected to have capacity again: waiting for it saves $${savedUsd.toFixed(2)}`;
  return { kind: 'wait', why, atMostSeconds: LOOK_SECONDS };
}

/** A pool costs at least what its work costs if capacity is never lost. */
const neverLostUsd = ({ candidate }: Assessed, { work, timeUsd }: Situation): number =>
  costUsd(
    gangUsd(candidate, candidate.hourlyUsd) + timeUsd,
    workOf(candidate, work) + restartSecondsIn(candidate, work),
  );

/** The cheapest pool that is more likely up than down, unless On-Demand is cheaper. */
function cheapestLikelyUp(
  allowed: readonly Assessed[],
  assessed: readonly Assessed[],
  situation: Situation,
): Assessed | undefined {
  const likely = allowed.filter(
    (each) => each.outlook.chanceUp >= assumed.leastChance && each.coolsSeconds <= 0,
  );
  const onDemand = assessed.filter((each) => !isSpot(each) && each.coolsSeconds <= 0);
  const best = cheapestPool([...likely, ...onDemand], situation);
  return best !== undefined && isSpot(best) ? best : undefined;
}
