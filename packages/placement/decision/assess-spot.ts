/** What the work probably costs in a Spot pool, the change to On-Demand at the end included. */

import type { Outlook } from '../belief/beliefs.ts';
import type { Candidate } from '../candidates/pools.ts';
import { PATIENCE_SECONDS } from '../model/capacity-wait.ts';
import type { Assessed, AssessInput } from './assessment.ts';
import { type CapacityErrors, isLimited } from './capacity-errors.ts';
import { costUsd, gangUsd, safeWorkOf, workOf } from './gang-cost.ts';
import { planSpot, type SpotPlan } from './spot-plan.ts';
import { restartSecondsIn, type WorkEstimate } from './work.ts';

/** The change to On-Demand that a Spot attempt can count on. Prices are of the gang. */
export interface Fallback {
  readonly hourlyUsd: number;
  readonly workSeconds: number;
  readonly restartSeconds: number;
  /** Price of the cheapest Spot pool for one hour of the reference topology's work. */
  readonly spotUnitUsd: number;
  readonly plan: SpotPlan | undefined;
}

/**
 * Plans a campaign on Spot that may change to this On-Demand pool. Times are seconds of the fallback's own work.
 * @param spotUnitUsd what an hour of the reference's work costs in the Spot pool that is planned for, the cheapest of several
 */
export function fallbackOf(
  fallback: Candidate,
  spotUnitUsd: number,
  { work, secondsLeft, timeUsd }: Pick<AssessInput, 'work' | 'secondsLeft' | 'timeUsd'>,
): Fallback {
  const hourlyUsd = gangUsd(fallback, fallback.hourlyUsd);
  const workSeconds = safeWorkOf(fallback, work);
  const expected = workOf(fallback, work);
  const restartSeconds = restartSecondsIn(fallback, work);
  const plan = planSpot({
    // Work that may take longer adds no expected cost, but the slack for it must stay unused.
    secondsLeft: secondsLeft - (workSeconds - expected),
    work: { ...work, workSeconds: expected, restartSeconds },
    spotUsd: spotUnitUsd / fallback.throughput.factor,
    onDemandUsd: hourlyUsd,
    timeUsd,
  });
  return { hourlyUsd, workSeconds, restartSeconds, spotUnitUsd, plan };
}

/**
 * Work proceeds in spells of capacity. Each spell pays a restart before it makes progress. On-Demand does what does
 * not fit before the latest safe moment. The plan gives the cost; it is made once, at the price of the cheapest pool.
 * This pool's premium for all of the work is added.
 */
export function assessSpot(
  candidate: Candidate,
  input: AssessInput,
  {
    outlook,
    premiumUsd,
    fallbacks,
    capacityErrors,
  }: {
    readonly outlook: Outlook;
    /** What this pool costs more than the cheapest one (premium.ts). */
    readonly premiumUsd: number;
    readonly fallbacks: readonly Fallback[];
    readonly capacityErrors: CapacityErrors;
  },
): Assessed {
  const { work, timeUsd = 0 } = input;
  const spells = spellsOf(candidate, outlook, input);
  const { expectedSeconds, remainingSeconds, spotUsd } = unplanned(candidate, spells, input, fallbacks[0]);
  const unplannedUsd = spotUsd + costUsd(timeUsd, expectedSeconds);
  // The plan already includes the value of time.
  const options = fallbacks.map(
    (fallback) =>
      plannedUsd(fallback, premiumUsd, { candidate, spells }) ?? {
        ask: unplannedUsd + costUsd(fallback.hourlyUsd, remainingSeconds),
      },
  );
  const transferUsd = candidate.transfer?.usd ?? 0;
  const askCostUsd = askCostOf(candidate, spells);
  const afterOnDemandUsd = options.map(({ onDemand = Number.POSITIVE_INFINITY }) => transferUsd + onDemand);
  const best = options.toSorted((a, b) => a.ask - b.ask)[0];
  return {
    candidate,
    outlook,
    expectedCostUsd: transferUsd + askCostUsd + (best?.ask ?? unplannedUsd),
    ...(best?.had !== undefined && { costOnceUpUsd: transferUsd + best.had }),
    askCostUsd,
    ...(seesItBack(candidate, capacityErrors, input) && { afterOnDemandUsd }),
    expectedSeconds,
    workSeconds: spells.workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, work),
    ...capacityErrors,
  };
}

/**
 * Share of the gang's price that a minute of waiting is taken to cost. Stated, not fitted: a higher share would give
 * Spot up too early.
 */
const WORTH_OF_WAITING = 0.1;

/**
 * The cost of asking a pool without success: the wait until the job is recalled, or the length of the work if that is
 * shorter. Waiting costs no money while there is slack. Without this cost, a run would ask a pool that is surely down
 * to save one cent.
 */
const askCostOf = (candidate: Candidate, { outlook, billed }: Spells): number =>
  WORTH_OF_WAITING *
  (1 - outlook.chanceUp) *
  costUsd(gangUsd(candidate, candidate.hourlyUsd), Math.min(PATIENCE_SECONDS, billed));

/** The work on Spot: the number of spells, each with a start, and the seconds billed in all. */
interface Spells {
  readonly outlook: Outlook;
  readonly workSeconds: number;
  readonly restartSeconds: number;
  readonly spells: number;
  readonly billed: number;
}

function spellsOf(candidate: Candidate, outlook: Outlook, { work }: Pick<AssessInput, 'work'>): Spells {
  const restartSeconds = restartSecondsIn(candidate, work);
  const workSeconds = workOf(candidate, work);
  const useful = Math.max(outlook.upSeconds - restartSeconds, outlook.upSeconds / 10);
  const spells = Math.max(1, workSeconds / useful);
  return { outlook, workSeconds, restartSeconds, spells, billed: workSeconds + spells * restartSeconds };
}

/** Seconds billed for the work, including the starts between its spells. */
export const billedSeconds = (candidate: Candidate, outlook: Outlook, work: WorkEstimate): number =>
  spellsOf(candidate, outlook, { work }).billed;

/**
 * Time and cost where no plan can be made: Spot does what fits before the latest safe moment, On-Demand does the rest.
 */
function unplanned(
  candidate: Candidate,
  { outlook, restartSeconds, spells, billed }: Spells,
  { model, spotSeconds }: AssessInput,
  onDemand: Fallback | undefined,
): { readonly expectedSeconds: number; readonly remainingSeconds: number; readonly spotUsd: number } {
  const running = billed + (spells - 1) * model.waitAfterLossSeconds;
  const share = onDemand === undefined ? 1 : shareOnSpot(outlook, running, spotSeconds);
  const remainingSeconds =
    (1 - share) * ((onDemand?.workSeconds ?? 0) + (onDemand?.restartSeconds ?? restartSeconds));
  // A pool that is up now has no wait, however long that of one that is down.
  const waited = (1 - outlook.chanceUp) * Math.min(waitIfDown(outlook), Math.max(0, spotSeconds));
  return {
    expectedSeconds: (candidate.transfer?.seconds ?? 0) + share * (waited + running) + remainingSeconds,
    remainingSeconds,
    spotUsd: share * costUsd(gangUsd(candidate, candidate.hourlyUsd), billed),
  };
}

/** An On-Demand job returns only to a pool that may be used and whose score shows when it has capacity. */
const seesItBack = (
  { closed, score }: Candidate,
  capacityErrors: CapacityErrors,
  moment: AssessInput,
): boolean => closed === undefined && score !== undefined && !isLimited(capacityErrors, moment);

/**
 * The plan is made for the cheapest pool and the fallback's own start. What this pool and its launcher cost more is
 * paid whenever the work is done here, at once or after On-Demand.
 */
function plannedUsd(
  { plan, restartSeconds: planned }: Fallback,
  premiumUsd: number,
  { candidate, spells }: { readonly candidate: Candidate; readonly spells: Spells },
): { readonly ask: number; readonly had?: number; readonly onDemand?: number } | undefined {
  if (plan === undefined) return undefined;
  const startsUsd = costUsd(
    gangUsd(candidate, candidate.hourlyUsd),
    spells.spells * (spells.restartSeconds - planned),
  );
  // A shorter start saves no more than the plan counts for it; otherwise work that is nearly done would cost
  // less than nothing.
  const inAll = (plannedUsd: number): number => Math.max(0, plannedUsd + premiumUsd + startsUsd);
  const { ask, had, onDemand } = plan.expectedUsd(spells.outlook.belief);
  return { ask: inAll(ask), had: inAll(had), onDemand: inAll(onDemand) };
}

/**
 * The share of the work that Spot probably does before the latest safe moment. Up and down are weighted separately:
 * the mean wait of a pool that is down has a tail of days, which says nothing about a pool that is up.
 */
function shareOnSpot(outlook: Outlook, runningSeconds: number, spotSeconds: number): number {
  const { chanceUp } = outlook;
  const within = (elapsed: number) => Math.min(1, Math.max(0, spotSeconds) / Math.max(1, elapsed));
  return chanceUp * within(runningSeconds) + (1 - chanceUp) * within(waitIfDown(outlook) + runningSeconds);
}

/** The outlook's wait is a mean over both cases, and is 0 where capacity is there. */
const waitIfDown = ({ chanceUp, waitSeconds }: Outlook): number =>
  chanceUp < 1 ? waitSeconds / (1 - chanceUp) : 0;
